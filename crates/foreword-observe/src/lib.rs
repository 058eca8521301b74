//! Observability. All code records [`Event`](foreword_core::event::Event)s with a [`Recorder`]. The recorder redacts
//! secrets and emits the events through `tracing`, together with the `tracing` output of libraries. Layers pass them on
//! to the store, the log file, the terminal, the metrics and an OpenTelemetry collector.
//!
//! Invariants:
//! - Layers see only redacted events: they receive a [`Redacted`], which only a redactor can construct.
//! - Recording never blocks and never fails. A sink that is too slow drops events and counts them.
//!
//! [`Recorder`]: recorder::Recorder
//! [`Redacted`]: redact::Redacted

mod carrier;
pub mod error;
pub mod export_status;
pub mod human;
pub mod lines;
pub mod metrics;
pub mod otlp;
pub mod recorder;
pub mod redact;
pub mod sink;
pub mod turn_fields;
