//! Which events somebody may see. The owner sees all; everybody else sees those of the conversation they are in, and of
//! these only what was done at a trust that theirs permits, or outside of turns by themselves. What is withheld is not
//! counted either.

use std::collections::BTreeMap;

use foreword_core::event::{Event, StoredEvent};
use foreword_core::id::TurnId;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::events::{EventFilter, EventKey, EventPage};

use crate::tool::ToolCall;

/// How many events are looked through for those that may be seen.
const MOST_PAGES: usize = 10;

/// Whether this call is the owner's.
pub(super) fn sees_everything(call: &ToolCall) -> bool {
    call.trust.permits(Trust::Full)
}

/// The newest `limit` events that pass `filter` and may be seen, the last first.
pub(super) async fn newest(
    call: &ToolCall,
    mut filter: EventFilter,
    limit: usize,
) -> Result<Vec<Event>, StoreError> {
    if sees_everything(call) {
        let page = EventPage::newest(limit as u64);
        return Ok(call.store.events(&filter, &page).await?.into_iter().map(|stored| stored.event).collect());
    }
    let own_session = filter.session.as_ref().is_none_or(|session| *session == call.conversation);
    let own_user = filter.user.as_deref().is_none_or(|user| Some(user) == call.user.as_deref());
    if !own_session || !own_user {
        return Ok(Vec::new());
    }
    filter.session = Some(call.conversation.clone());
    let mut sight = Sight { call, turns: BTreeMap::new() };
    let (mut seen, mut page) = (Vec::new(), EventPage::newest(limit.max(50) as u64));
    for _ in 0..MOST_PAGES {
        let events = call.store.events(&filter, &page).await?;
        let (full, last) = (events.len() as u64 >= page.limit, events.last().map(EventKey::from));
        for StoredEvent { event, .. } in events {
            seen.extend(sight.of(event).await?);
        }
        if seen.len() >= limit || !full {
            break;
        }
        page.after = last;
    }
    seen.truncate(limit);
    Ok(seen)
}

/// What somebody who is no owner sees of a conversation.
struct Sight<'a> {
    call: &'a ToolCall,
    /// Which turns are open to them.
    turns: BTreeMap<TurnId, bool>,
}

impl Sight<'_> {
    async fn of(&mut self, event: Event) -> Result<Option<Event>, StoreError> {
        match event.turn_id.clone() {
            Some(turn) => Ok(self.is_open(&turn).await?.then_some(event)),
            // Nobody knows at which trust it happened, so what is somebody else's is not told: it may be withheld.
            None if event.user_id.is_some() && event.user_id != self.call.user => Ok(None),
            // Of the rest, names and numbers remain; where nobody is named, not even the place.
            None => {
                let channel = event.channel.filter(|_| event.user_id.is_some());
                Ok(Some(Event { error: None, metadata: None, channel, ..event }))
            }
        }
    }

    async fn is_open(&mut self, turn: &TurnId) -> Result<bool, StoreError> {
        if let Some(known) = self.turns.get(turn) {
            return Ok(*known);
        }
        let open = *turn == self.call.turn
            || match self.call.store.turn(turn).await {
                Ok(found) => {
                    found.conversation == self.call.conversation && self.call.trust.permits(found.trust)
                }
                Err(StoreError::NotFound { .. }) => false,
                Err(error) => return Err(error),
            };
        self.turns.insert(turn.clone(), open);
        Ok(open)
    }
}
