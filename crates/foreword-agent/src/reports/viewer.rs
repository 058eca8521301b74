//! Access to events. The owner sees all; other viewers see the events of their current conversation, from turns at a
//! trust that theirs permits. Withheld events are not counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::event::{Event, StoredEvent};
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::events::{EventFilter, EventKey, EventPage, EventTail};
use foreword_store::store::Store;
use jiff::tz::TimeZone;

use crate::tool::ToolCall;

/// How many pages of events are read at most, once a visible event is found.
const MAX_PAGES: usize = 10;

/// A reader of events, with access rights.
#[derive(Debug, Clone)]
pub struct Viewer {
    pub store: Store,
    /// The viewer's trust.
    pub trust: Trust,
    /// The user, if known.
    pub user: Option<Arc<str>>,
    pub conversation: Option<ConversationId>,
    /// The turn that reads.
    pub turn: Option<TurnId>,
    pub now: Timestamp,
    /// The time zone, for the start of days.
    pub zone: TimeZone,
}

/// Visible events, newest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VisibleEvents {
    pub events: Vec<StoredEvent>,
    /// The cursor of the next page, if there may be more.
    pub next: Option<EventKey>,
}

impl From<&ToolCall> for Viewer {
    fn from(call: &ToolCall) -> Self {
        Self {
            store: call.store.clone(),
            trust: call.trust,
            user: call.user.clone(),
            conversation: Some(call.conversation.clone()),
            turn: Some(call.turn.clone()),
            now: call.now,
            zone: TimeZone::system(),
        }
    }
}

impl Viewer {
    /// Whether this is the owner.
    #[must_use]
    pub fn sees_everything(&self) -> bool {
        self.trust.permits(Trust::Full)
    }

    /// The event as this viewer may read it: only the owner sees error texts, others see codes.
    #[must_use]
    pub fn visible_form(&self, event: Event) -> Event {
        if self.sees_everything() { event } else { event.below_owner() }
    }

    /// The newest `limit` visible events that match `filter`, newest first.
    pub async fn newest(&self, filter: EventFilter, limit: usize) -> Result<Vec<Event>, StoreError> {
        let found = self.newest_stored(filter, limit).await?;
        Ok(found.into_iter().map(|stored| stored.event).collect())
    }

    /// Like [`Viewer::newest`], with event ids.
    pub async fn newest_stored(
        &self,
        filter: EventFilter,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        Ok(self.page(filter, limit, None).await?.events)
    }

    /// One page of [`Viewer::newest_stored`], after the event at `after`.
    pub async fn page(
        &self,
        filter: EventFilter,
        limit: usize,
        after: Option<EventKey>,
    ) -> Result<VisibleEvents, StoreError> {
        if self.sees_everything() {
            let page = EventPage { after, ..EventPage::newest(limit as u64) };
            let events = self.store.events(&filter, &page).await?;
            let next = events.last().map(EventKey::from).filter(|_| events.len() >= limit);
            return Ok(VisibleEvents { events, next });
        }
        let Some((filter, mut visibility)) = self.narrowed(filter) else {
            return Ok(VisibleEvents::default());
        };
        let (mut seen, mut looked) = (Vec::new(), 0);
        let mut page = EventPage { after, ..EventPage::newest(limit.max(50) as u64) };
        let more = loop {
            let events = self.store.events(&filter, &page).await?;
            let full = events.len() as u64 >= page.limit;
            page.after = events.last().map(EventKey::from);
            for stored in events {
                seen.extend(visibility.of(stored).await?);
            }
            looked += 1;
            // The cursor must be a visible event, never a withheld one, so at least one is needed.
            let enough = seen.len() >= limit || (looked >= MAX_PAGES && !seen.is_empty());
            if enough || !full {
                break full;
            }
        };
        let more = more || seen.len() > limit;
        seen.truncate(limit);
        let next = seen.last().map(EventKey::from).filter(|_| more);
        Ok(VisibleEvents { events: seen, next })
    }

    /// At most `limit` visible events that match `filter` and were written after the event with id `after`, in write
    /// order; for following the log.
    pub async fn written_after(
        &self,
        filter: &EventFilter,
        after: u64,
        limit: u64,
    ) -> Result<EventTail, StoreError> {
        if self.sees_everything() {
            return self.store.events_written_after(filter, after, limit).await;
        }
        let Some((filter, mut visibility)) = self.narrowed(filter.clone()) else {
            return Ok(EventTail { events: Vec::new(), last_id: self.store.newest_event_id().await? });
        };
        let found = self.store.events_written_after(&filter, after, limit).await?;
        let mut events = Vec::new();
        for stored in found.events {
            events.extend(visibility.of(stored).await?);
        }
        Ok(EventTail { events, ..found })
    }

    /// Restricts the filter of a viewer who is not the owner; `None` if nothing can match.
    fn narrowed(&self, mut filter: EventFilter) -> Option<(EventFilter, EventVisibility<'_>)> {
        let conversation = self.conversation.as_ref()?;
        let own_session = filter.session.as_ref().is_none_or(|session| session == conversation);
        let own_user = filter.user.as_deref().is_none_or(|user| Some(user) == self.user.as_deref());
        if !own_session || !own_user {
            return None;
        }
        filter.session = Some(conversation.clone());
        Some((filter, EventVisibility { viewer: self, conversation, turns: BTreeMap::new() }))
    }
}

/// Decides what a viewer who is not the owner sees of a conversation.
struct EventVisibility<'a> {
    viewer: &'a Viewer,
    conversation: &'a ConversationId,
    /// Cached decisions by turn.
    turns: BTreeMap<TurnId, bool>,
}

impl EventVisibility<'_> {
    async fn of(&mut self, stored: StoredEvent) -> Result<Option<StoredEvent>, StoreError> {
        let StoredEvent { id, event } = stored;
        let event = match event.turn_id.clone() {
            Some(turn) => self.is_open(&turn).await?.then(|| event.below_owner()),
            // The trust of this event is unknown, so events of other users are withheld.
            None if event.user_id.is_some() && event.user_id != self.viewer.user => None,
            // Otherwise remove texts, and the channel if no user is named.
            None => {
                let channel = event.channel.filter(|_| event.user_id.is_some());
                Some(Event { error: None, metadata: None, channel, ..event })
            }
        };
        Ok(event.map(|event| StoredEvent { id, event }))
    }

    async fn is_open(&mut self, turn: &TurnId) -> Result<bool, StoreError> {
        if let Some(known) = self.turns.get(turn) {
            return Ok(*known);
        }
        let open = self.viewer.turn.as_ref() == Some(turn)
            || match self.viewer.store.turn(turn).await {
                Ok(found) => {
                    found.conversation == *self.conversation && self.viewer.trust.permits(found.trust)
                }
                Err(StoreError::NotFound { .. }) => false,
                Err(error) => return Err(error),
            };
        self.turns.insert(turn.clone(), open);
        Ok(open)
    }
}
