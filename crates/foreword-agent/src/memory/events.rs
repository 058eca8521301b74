//! Log events of memory: searches and writes, with store and user, but never the text of notes.

use std::time::Duration;

use foreword_core::event::{Event, EventType};
use foreword_core::memory_store::MemoryStore;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::untrusted::single_line;
use serde_json::json;

use super::answer::Results;
use super::note::Written;

/// The maximum length of a query in the log, in characters.
const QUERY: usize = 80;

/// The event for a search.
#[must_use]
pub fn search_event(results: &Results, took: Duration, at: Timestamp) -> Event {
    let stores: Vec<&str> = results.stores.iter().map(|store| store.as_str()).collect();
    Event {
        duration_ms: Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        metadata: Some(json!({
            "query": single_line(&results.query, QUERY), "stores": stores, "results": results.snippets.len(),
        })),
        ..Event::new(EventType::MemorySearch, at)
    }
}

/// The event for a written note.
#[must_use]
pub fn write_event(written: &Written, at: Timestamp) -> Event {
    let store: MemoryStore = written.store;
    Event {
        metadata: Some(json!({
            "store": store.as_str(), "path": written.path, "bytes": written.bytes,
            "from_outside": written.from_outside,
        })),
        ..Event::new(EventType::MemoryWrite, at)
    }
}
