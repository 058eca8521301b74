//! Where a schedule speaks, and which of its tools were blocked there.

use foreword_core::event::EventType;
use foreword_core::id::{BadId, ConversationId, TurnId};
use foreword_core::taint::taint_of_history;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::untrusted::display_line;
use foreword_store::events::{EventFilter, EventPage};
use foreword_workspace::config::Schedule;
use foreword_workspace::config::schedules::Action;
use serde_json::Value;

use crate::agent::Agent;
use crate::error::AgentError;

/// How the conversations of schedules begin.
pub(crate) const CONVERSATION: &str = "schedule-";
/// Among how many of the last firings one is looked for that has spoken.
const LOOKED_THROUGH: u32 = 100;
/// How many blocked calls are looked at.
const BLOCKED: u64 = 20;
/// The longest reason that is noted.
const REASON_CHARS: usize = 300;

/// The conversation a schedule speaks in first.
pub(super) fn first(schedule: &str) -> Result<ConversationId, BadId> {
    ConversationId::new(format!("{CONVERSATION}{schedule}"))
}

/// The conversation for a firing: the last one, unless it has come to hold text from outside. Then it goes on in a new one,
/// for nobody is there to agree, and no later turn would ever get a sensitive tool again. `None` if nothing is said.
pub(super) async fn choose(
    agent: &Agent,
    schedule: &Schedule,
    due_at: Timestamp,
) -> Result<Option<ConversationId>, AgentError> {
    if !matches!(schedule.action, Action::Prompt(_) | Action::Heartbeat) {
        return Ok(None);
    }
    let store = &agent.shared().store;
    let (first, begun) = (first(&schedule.name)?, format!("{CONVERSATION}{}@", schedule.name));
    // A schedule may have been a workflow before: that has conversations of its own.
    let spoken = |id: &ConversationId| *id == first || id.as_str().starts_with(&begun);
    let firings = store.firings(&schedule.name, LOOKED_THROUGH).await?;
    let last = firings.into_iter().filter_map(|firing| firing.place.conversation).find(spoken);
    let last = last.unwrap_or(first);
    if store.conversation(&last).await?.is_none() {
        return Ok(Some(last));
    }
    let history = store.history(&last).await?;
    if taint_of_history(&history.messages, Some(&schedule.user)).is_tainted() {
        // Whoever chooses again for the same firing chooses the same.
        return Ok(Some(ConversationId::new(format!("{begun}{due_at}"))?));
    }
    Ok(Some(last))
}

/// What to say of the tools that a turn wanted and did not get.
pub(super) async fn blocked(agent: &Agent, turn: &TurnId) -> Result<Option<String>, AgentError> {
    let shared = agent.shared();
    // A queue that is closed has written all it had.
    let _ = shared.events.flush().await;
    let filter = EventFilter {
        turn: Some(turn.clone()),
        event_type: Some(EventType::ToolBlocked),
        ..EventFilter::default()
    };
    let mut events = shared.store.events(&filter, &EventPage::newest(BLOCKED)).await?;
    events.reverse();
    let word = |metadata: &Value, key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
    let mut all = events.iter().filter_map(|event| event.event.metadata.as_ref());
    let Some(one) = all.next() else { return Ok(None) };
    let more = match all.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    // Backticks stay: people read them, and here they quote nothing that could be broken out of.
    let reason = display_line(&word(one, "reason"), REASON_CHARS);
    Ok(Some(format!("{} was blocked{more}: {reason}", word(one, "tool"))))
}
