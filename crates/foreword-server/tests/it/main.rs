//! The server as its clients see it, over real sockets.

#[cfg(test)]
mod house;
#[cfg(test)]
mod mcp_http;
#[cfg(test)]
mod opening;
