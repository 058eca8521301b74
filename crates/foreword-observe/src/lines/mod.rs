//! The log as lines of JSON, one per event. [`LineLayer`] formats our events and library output; a [`LineSink`]
//! receives the lines: a file with rotation by date and size ([`mod@file`]), or standard output.
//!
//! A line is an object with these fields, if known: `ts`, `level`, `module`, `event`, `sessionId`, `userId`, `agentId`,
//! `channel`, `turnId`, `traceId`, `spanId`, `parentSpanId`, `durationMs`, `inputTokens`, `outputTokens`,
//! `totalTokens`, `cacheReadTokens`, `cacheWriteTokens`, `costUsd`, `error`, `promptFingerprint`, `layerVersions`; then
//! the event's own fields. An own field with a name of this list is omitted if its value is the same, and otherwise
//! written as `metadata.` plus its name.

mod direct;
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
