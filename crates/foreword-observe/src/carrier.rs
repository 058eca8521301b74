//! How an event gets through `tracing` whole. A field of `tracing` is a number, a text or an error; so an event travels as
//! an error, which a layer of ours turns back into the event, and which any other layer prints as a line.

use std::error::Error;
use std::fmt;

use tracing::field::{Field, Visit};

use crate::redact::Redacted;

/// The target that our own events have.
pub(crate) const TARGET: &str = "foreword";

/// The target of payloads, which only lines of the log have.
pub(crate) const PAYLOAD_TARGET: &str = "foreword::payload";

/// An event on its way through `tracing`.
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

/// Looks for the event that a `tracing` event carries.
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
