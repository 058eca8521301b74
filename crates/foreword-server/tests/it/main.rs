//! The server as its clients see it, over real sockets.

#[cfg(test)]
mod bridge;
#[cfg(test)]
mod bridge_nodes;
#[cfg(test)]
mod encryption;
#[cfg(test)]
mod hostile_clients;
#[cfg(test)]
mod house;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod operating;
#[cfg(test)]
mod webhook;
