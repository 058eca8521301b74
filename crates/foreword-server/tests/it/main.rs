//! The server as its clients see it, over real sockets.

#[cfg(test)]
mod house;
#[cfg(test)]
mod live_nodes;
#[cfg(test)]
mod live_order;
#[cfg(test)]
mod live_page;
#[cfg(test)]
mod live_people;
#[cfg(test)]
mod live_slow;
#[cfg(test)]
mod opening;
