//! What happened, made visible. Whatever runs hands its [`Event`](foreword_core::event::Event)s to a [`Recorder`]; the
//! recorder takes secrets out of them and emits them through `tracing`, where they meet what libraries have to say. From
//! there layers carry them on: to the store, to the log file, to the terminal, to counters, to a collector.
//!
//! Two things hold whatever is added here:
//! - Nothing is seen by a layer that has not been redacted: a layer is given a [`Redacted`] event, and only a redactor
//!   makes one.
//! - Recording never waits and never fails. A sink that can't keep up drops, and counts what it dropped.
//!
//! [`Recorder`]: recorder::Recorder
//! [`Redacted`]: redact::Redacted

mod carrier;
pub mod error;
pub mod human;
pub mod lines;
pub mod metrics;
pub mod names;
pub mod news;
pub mod otlp;
pub mod recorder;
pub mod redact;
pub mod sink;
