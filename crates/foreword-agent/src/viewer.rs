//! Who looks into what happened, and how much of it they may see. The owner sees all; everybody else sees what happened in
//! the conversation they are in, and of that only what was done at a trust that theirs permits. What is withheld is not
//! counted either.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::event::{Event, StoredEvent};
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::events::{EventFilter, EventKey, EventPage, Followed};
use foreword_store::store::Store;
use jiff::tz::TimeZone;

use crate::tool::ToolCall;

/// How often more events are looked through for those that may be seen, once there are some.
const MOST_PAGES: usize = 10;

/// Somebody who looks into what happened.
#[derive(Debug, Clone)]
pub struct Viewer {
    /// Where it is kept.
    pub store: Store,
    /// How far they are trusted.
    pub trust: Trust,
    /// Who they are, if that is known.
    pub user: Option<Arc<str>>,
    /// The conversation they are in.
    pub conversation: Option<ConversationId>,
    /// The turn that looks.
    pub turn: Option<TurnId>,
    /// When.
    pub now: Timestamp,
    /// Where: a day begins there.
    pub zone: TimeZone,
}

/// Events that may be seen, the last first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeenEvents {
    /// The events.
    pub events: Vec<StoredEvent>,
    /// Where to go on from, if there may be more.
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

    /// The event as this viewer may read it: errors are for the owner, for everybody else they are codes.
    #[must_use]
    pub fn shown(&self, event: Event) -> Event {
        if self.sees_everything() { event } else { event.below_owner() }
    }

    /// The newest `limit` events that pass `filter` and may be seen, the last first.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn newest(&self, filter: EventFilter, limit: usize) -> Result<Vec<Event>, StoreError> {
        let found = self.newest_stored(filter, limit).await?;
        Ok(found.into_iter().map(|stored| stored.event).collect())
    }

    /// The same with their numbers.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn newest_stored(
        &self,
        filter: EventFilter,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        Ok(self.page(filter, limit, None).await?.events)
    }

    /// The same, a page at a time: those behind the event at `after`.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn page(
        &self,
        filter: EventFilter,
        limit: usize,
        after: Option<EventKey>,
    ) -> Result<SeenEvents, StoreError> {
        if self.sees_everything() {
            let page = EventPage { after, ..EventPage::newest(limit as u64) };
            let events = self.store.events(&filter, &page).await?;
            let next = events.last().map(EventKey::from).filter(|_| events.len() >= limit);
            return Ok(SeenEvents { events, next });
        }
        let Some((filter, mut sight)) = self.narrowed(filter) else { return Ok(SeenEvents::default()) };
        let (mut seen, mut looked) = (Vec::new(), 0);
        let mut page = EventPage { after, ..EventPage::newest(limit.max(50) as u64) };
        let more = loop {
            let events = self.store.events(&filter, &page).await?;
            let full = events.len() as u64 >= page.limit;
            page.after = events.last().map(EventKey::from);
            for stored in events {
                seen.extend(sight.of(stored).await?);
            }
            looked += 1;
            // Where to go on from is told by what was seen, never by what is withheld: so something has to be.
            let enough = seen.len() >= limit || (looked >= MOST_PAGES && !seen.is_empty());
            if enough || !full {
                break full;
            }
        };
        let more = more || seen.len() > limit;
        seen.truncate(limit);
        let next = seen.last().map(EventKey::from).filter(|_| more);
        Ok(SeenEvents { events: seen, next })
    }

    /// At most `limit` events that pass `filter`, may be seen and were written after the one numbered `after`, in the
    /// order they were written; for whoever follows.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn written_after(
        &self,
        filter: &EventFilter,
        after: u64,
        limit: u64,
    ) -> Result<Followed, StoreError> {
        if self.sees_everything() {
            return self.store.events_written_after(filter, after, limit).await;
        }
        let Some((filter, mut sight)) = self.narrowed(filter.clone()) else {
            return Ok(Followed { events: Vec::new(), last_id: self.store.newest_event_id().await? });
        };
        let found = self.store.events_written_after(&filter, after, limit).await?;
        let mut events = Vec::new();
        for stored in found.events {
            events.extend(sight.of(stored).await?);
        }
        Ok(Followed { events, ..found })
    }

    /// What somebody who is no owner may look for at all.
    fn narrowed(&self, mut filter: EventFilter) -> Option<(EventFilter, Sight<'_>)> {
        let conversation = self.conversation.as_ref()?;
        let own_session = filter.session.as_ref().is_none_or(|session| session == conversation);
        let own_user = filter.user.as_deref().is_none_or(|user| Some(user) == self.user.as_deref());
        if !own_session || !own_user {
            return None;
        }
        filter.session = Some(conversation.clone());
        Some((filter, Sight { viewer: self, conversation, turns: BTreeMap::new() }))
    }
}

/// What somebody who is no owner sees of a conversation.
struct Sight<'a> {
    viewer: &'a Viewer,
    conversation: &'a ConversationId,
    /// Which turns are open to them.
    turns: BTreeMap<TurnId, bool>,
}

impl Sight<'_> {
    async fn of(&mut self, stored: StoredEvent) -> Result<Option<StoredEvent>, StoreError> {
        let StoredEvent { id, event } = stored;
        let event = match event.turn_id.clone() {
            Some(turn) => self.is_open(&turn).await?.then(|| event.below_owner()),
            // Nobody knows at which trust it happened, so what is somebody else's is not told: it may be withheld.
            None if event.user_id.is_some() && event.user_id != self.viewer.user => None,
            // Of the rest, names and numbers remain; where nobody is named, not even the place.
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
