//! The log as lines of JSON, one for each thing that happened. [`LineLayer`] makes them, of our events and of what libraries
//! say; a [`LineSink`] takes them: a file that is turned over by date and size ([`mod@file`]), or standard output.
//!
//! A line is an object with these names, as far as they are known: `ts`, `level`, `module`, `event`, `sessionId`, `userId`,
//! `agentId`, `channel`, `turnId`, `traceId`, `spanId`, `parentSpanId`, `durationMs`, `inputTokens`, `outputTokens`,
//! `totalTokens`, `cacheReadTokens`, `cacheWriteTokens`, `costUsd`, `error`, `promptFingerprint`, `layerVersions`; then the
//! event's own fields. One of those that has a name of this list is left out if it says the same, and else stands under
//! `metadata.` and its name.

mod entry;
pub mod file;
mod layer;
mod level;
mod library;
mod object;
pub mod queue;
pub mod stdout;

pub use entry::line_of;
pub use layer::{LineForm, LineLayer, LineSink};
pub use level::Levels;
