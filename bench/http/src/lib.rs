//! Measures the `foreword` program from outside, next to a bare proxy: CPU time per request, turns per second, memory
//! and size. Knows nothing of the other crates, so that it builds in seconds.

pub mod bare_proxy;
mod client;
pub mod footprint;
pub mod gateway;
mod idle_clients;
mod load;
mod peers;
mod process;
pub mod processor;
pub mod program;
mod report;
pub mod sample;
pub mod server_turns;
pub mod table;
mod target;
pub mod timing;
mod upstream;

use std::error::Error;

/// A result of a measurement.
pub type Found<T> = Result<T, Box<dyn Error>>;
/// The result of a section.
pub type Outcome = Found<()>;
