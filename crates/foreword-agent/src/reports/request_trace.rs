//! Everything on record about one proxied request, as far as the viewer may see it. A request that the viewer may not
//! see looks exactly like one that does not exist.

use foreword_core::event::{Event, EventType, StoredEvent};
use foreword_core::id::ConversationId;
use foreword_core::message::Usage;
use foreword_core::span_tree::SpanTree;
use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::events::{EventFilter, EventKey};

use crate::reports::turn_trace::{Totals, cost};
use crate::reports::viewer::Viewer;

/// How many events of a request are read.
const MAX_EVENTS: usize = 100;

/// What is on record about a proxied request.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTrace {
    /// Its id, which the client received as `x-foreword-request-id`.
    pub request: String,
    /// Its conversation, if it joined one.
    pub conversation: Option<ConversationId>,
    /// When it came in.
    pub started_at: Timestamp,
    /// Its events, by time.
    pub events: Vec<StoredEvent>,
}

impl RequestTrace {
    /// The request with this id, as far as `viewer` may see it.
    pub async fn visible_to(viewer: &Viewer, request: &str) -> Result<Option<Self>, StoreError> {
        let Some(trace) = viewer.store.request_trace(request).await? else { return Ok(None) };
        let filter = EventFilter { trace: Some(trace), ..EventFilter::default() };
        let mut events = viewer.newest_stored(filter, MAX_EVENTS).await?;
        events.sort_by_key(|stored| EventKey::from(stored));
        let Some(first) = events.first() else { return Ok(None) };
        let conversation = events.iter().find_map(|stored| stored.event.session_id.clone());
        Ok(Some(Self {
            request: request.to_owned(),
            conversation,
            started_at: first.event.timestamp,
            events,
        }))
    }

    /// The conversation of the request with this id, without an access check; used to decide access.
    pub async fn conversation_of(
        store: &foreword_store::store::Store,
        request: &str,
    ) -> Result<Option<ConversationId>, StoreError> {
        let Some(trace) = store.request_trace(request).await? else { return Ok(None) };
        let filter = EventFilter { trace: Some(trace), ..EventFilter::default() };
        let events =
            store.events(&filter, &foreword_store::events::EventPage::oldest(MAX_EVENTS as u64)).await?;
        Ok(events.into_iter().find_map(|stored| stored.event.session_id))
    }

    /// `failed` or `done`.
    #[must_use]
    pub fn state(&self) -> &'static str {
        if self.of(EventType::ApiError).next().is_some() { "failed" } else { "done" }
    }

    /// Why it failed.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.of(EventType::ApiError).find_map(|event| event.error.as_deref())
    }

    /// The events as a tree of spans.
    #[must_use]
    pub fn tree(&self) -> Option<SpanTree> {
        SpanTree::of(self.events.clone())
    }

    /// Calls, tokens and cost.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let all = || self.of(EventType::ApiCall).chain(self.of(EventType::ApiError));
        Totals {
            calls: self.of(EventType::ApiCall).count(),
            failed: self.of(EventType::ApiError).count(),
            usage: all().map(usage).fold(Usage::default(), |sum, one| sum + one),
            cost: cost(self.of(EventType::ApiCall), self.of(EventType::ApiError)),
        }
    }

    fn of(&self, event_type: EventType) -> impl Iterator<Item = &Event> {
        self.events.iter().map(|stored| &stored.event).filter(move |event| event.event_type == event_type)
    }
}

fn usage(event: &Event) -> Usage {
    let (read, write) = (event.cache_read_tokens.unwrap_or(0), event.cache_write_tokens.unwrap_or(0));
    Usage {
        input: event.tokens_in.unwrap_or(0).saturating_sub(read).saturating_sub(write),
        output: event.tokens_out.unwrap_or(0),
        cache_read: read,
        cache_write: write,
        cache_unknown: event.tokens_in.is_some() && event.cache_read_tokens.is_none(),
        ..Usage::default()
    }
}
