//! The server as its clients see it, over real sockets.

#[cfg(test)]
mod api_document;
#[cfg(test)]
mod api_observing;
#[cfg(test)]
mod api_tokens;
#[cfg(test)]
mod api_workflows;
#[cfg(test)]
mod house;
#[cfg(test)]
mod opening;
