//! The server as its clients see it, over real sockets.

#[cfg(test)]
mod api_conversations;
#[cfg(test)]
mod api_inbox;
#[cfg(test)]
mod api_layers;
#[cfg(test)]
mod api_memory;
#[cfg(test)]
mod api_prompts;
#[cfg(test)]
mod api_template;
#[cfg(test)]
mod house;
#[cfg(test)]
mod opening;
