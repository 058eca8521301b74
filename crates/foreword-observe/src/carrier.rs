//! Carries an event through `tracing` as a typed value. `tracing` fields are numbers, strings or errors, so an event is
//! passed as an error: our layers downcast it, and any other layer prints it as a line.

use std::error::Error;
use std::fmt;

use tracing::field::{Field, Visit};

use crate::redact::Redacted;

/// The target of our own events.
pub(crate) const TARGET: &str = "foreword";

/// The target of payloads, which are written to the log only.
pub(crate) const PAYLOAD_TARGET: &str = "foreword::payload";

/// An event as a `tracing` field value.
#[derive(Debug)]
pub(crate) struct Carrier(pub(crate) Redacted);

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.event().event_type.as_str())?;
        match &self.0.event().error {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}

impl Error for Carrier {}

/// Extracts the event from a `tracing` event.
#[derive(Debug, Default)]
pub(crate) struct Unpack(pub(crate) Option<Redacted>);

impl Visit for Unpack {
    fn record_error(&mut self, _field: &Field, value: &(dyn Error + 'static)) {
        if let Some(Carrier(event)) = value.downcast_ref() {
            self.0 = Some(event.clone());
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn fmt::Debug) {}
}
