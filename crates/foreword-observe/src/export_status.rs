//! Reports state changes of background exports: failing and recovered.

use std::sync::Arc;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::timestamp::Timestamp;

/// A state change of a background export, reported once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportStatus {
    /// The export fails, with the reason.
    Failing(String),
    /// The export works again.
    Recovered(String),
}

/// Called on each state change.
pub type StatusCallback = Arc<dyn Fn(ExportStatus) + Send + Sync>;

impl ExportStatus {
    /// The status as an event.
    #[must_use]
    pub fn event(self, at: Timestamp) -> Event {
        let (event_type, level, words) = match self {
            Self::Failing(why) => (EventType::from("export_failed"), Level::Warn, why),
            Self::Recovered(how) => (EventType::from("export_resumed"), Level::Info, how),
        };
        let event = Event { level, ..Event::new(event_type, at) };
        match level {
            Level::Warn => Event { error: Some(words), ..event },
            _ => Event { metadata: Some(serde_json::json!({ "note": words })), ..event },
        }
    }
}
