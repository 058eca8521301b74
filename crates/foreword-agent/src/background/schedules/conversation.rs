//! Chooses the conversation of a scheduled message, and reports the tool calls that were blocked in it.

use foreword_core::event::EventType;
use foreword_core::id::{BadId, ConversationId, TurnId};
use foreword_core::taint::taint_of_history;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::untrusted::display_line;
use foreword_store::events::{EventFilter, EventPage};
use foreword_workspace::config::Schedule;
use foreword_workspace::config::schedules::ScheduleAction;
use serde_json::Value;

use super::actions::occasion;
use crate::agent::Agent;
use crate::error::AgentError;

/// Id prefix of schedule conversations.
pub(crate) const CONVERSATION: &str = "schedule-";
/// How many recent firings are searched for the last conversation.
const MAX_FIRINGS: u32 = 100;
/// How many blocked calls are read.
const MAX_BLOCKED_CALLS: u64 = 20;
/// Maximum length of a reason in a note.
const MAX_REASON_CHARS: usize = 300;

/// The first conversation of a schedule.
pub(super) fn first(schedule: &str) -> Result<ConversationId, BadId> {
    ConversationId::new(format!("{CONVERSATION}{schedule}"))
}

/// The conversation for a firing: the last one, or a new one if the last one is tainted by untrusted text. No user is
/// present to confirm sensitive tools, so in a tainted conversation they would stay blocked forever. `None` if the
/// action sends no message.
pub(super) async fn choose(
    agent: &Agent,
    schedule: &Schedule,
    due_at: Timestamp,
) -> Result<Option<ConversationId>, AgentError> {
    if !matches!(schedule.action, ScheduleAction::Prompt(_) | ScheduleAction::Heartbeat) {
        return Ok(None);
    }
    let store = &agent.shared().store;
    let (first, begun) = (first(&schedule.name)?, format!("{CONVERSATION}{}@", schedule.name));
    // Earlier firings may link to workflow conversations, if the schedule's action has changed.
    let spoken = |id: &ConversationId| *id == first || id.as_str().starts_with(&begun);
    let firings = store.firings(&schedule.name, MAX_FIRINGS).await?;
    let last = firings.into_iter().filter_map(|firing| firing.links.conversation).find(spoken);
    let last = last.unwrap_or(first);
    if store.conversation(&last).await?.is_none() {
        return Ok(Some(last));
    }
    let history = store.history(&last).await?;
    if taint_of_history(&history.messages, Some(&schedule.user)).is_tainted() {
        // Deterministic: a second attempt of the same firing chooses the same id.
        let next = ConversationId::new(format!("{begun}{due_at}"))?;
        let settings = store.conversation_settings(&last).await?;
        if !settings.is_empty() {
            agent.set_settings(&next, &occasion(schedule), settings.into()).await?;
        }
        return Ok(Some(next));
    }
    Ok(Some(last))
}

/// A note about the tool calls that were blocked in a turn.
pub(super) async fn blocked(agent: &Agent, turn: &TurnId) -> Result<Option<String>, AgentError> {
    let shared = agent.shared();
    // A closed queue has already written all its events.
    let _ = shared.events.flush().await;
    let filter = EventFilter {
        turn: Some(turn.clone()),
        event_type: Some(EventType::ToolBlocked),
        ..EventFilter::default()
    };
    let mut events = shared.store.events(&filter, &EventPage::newest(MAX_BLOCKED_CALLS)).await?;
    events.reverse();
    let word = |metadata: &Value, key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
    let mut all = events.iter().filter_map(|event| event.event.metadata.as_ref());
    let Some(one) = all.next() else { return Ok(None) };
    let more = match all.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    // Backticks need no escaping: people read this, and it is not part of a quotation.
    let reason = display_line(&word(one, "reason"), MAX_REASON_CHARS);
    Ok(Some(format!("{} was blocked{more}: {reason}", word(one, "tool"))))
}
