//! The transport against a real server on a loopback port, in both dialects.

#[cfg(test)]
mod faults;
#[cfg(test)]
mod litellm;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod talk;
