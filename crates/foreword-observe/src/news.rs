//! What those have to say who work in the background, where nobody reads their results: that they fail, and that it is over.

use std::sync::Arc;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::timestamp::Timestamp;

/// Something that whoever looks after the process wants to read, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// It fails, and why.
    Failing(String),
    /// It is well again.
    Well(String),
}

/// Who is told.
pub type Tell = Arc<dyn Fn(News) + Send + Sync>;

impl News {
    /// As an event.
    #[must_use]
    pub fn event(self, at: Timestamp) -> Event {
        let (event_type, level, words) = match self {
            Self::Failing(why) => (EventType::from("export_failed"), Level::Warn, why),
            Self::Well(how) => (EventType::from("export_resumed"), Level::Info, how),
        };
        let event = Event { level, ..Event::new(event_type, at) };
        match level {
            Level::Warn => Event { error: Some(words), ..event },
            _ => Event { metadata: Some(serde_json::json!({ "note": words })), ..event },
        }
    }
}
