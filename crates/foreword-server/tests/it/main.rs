//! The server as its clients see it, over real sockets.

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
mod proxy_entry;
#[cfg(test)]
mod proxy_faults;
#[cfg(test)]
mod proxy_habits;
#[cfg(test)]
mod proxy_modes;
#[cfg(test)]
mod proxy_observe;
#[cfg(test)]
mod proxy_recorded;
#[cfg(test)]
mod sdk_clients;
