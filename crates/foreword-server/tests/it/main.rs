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
mod hostile_clients;
#[cfg(test)]
mod house;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod operating;
