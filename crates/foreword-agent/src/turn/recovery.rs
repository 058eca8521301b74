//! Recovers interrupted turns: claims them, then resumes or reports them.

use std::sync::Arc;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::failure::Failure;
use foreword_core::id::TurnId;
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role};
use foreword_core::retry::ErrorCategory;
use foreword_core::turn_journal::{AfterCrash, Outcome, ReportReason, TurnState};
use foreword_prompt::occasion::Channel;
use foreword_store::conversations::Conversation;
use foreword_store::turns::{FinishTurn, StartedTurn, TakeOver, TakenOver};
use foreword_workspace::speaker::Speaker;
use serde_json::json;

use crate::conversation::feed::{Feed, Progress};
use crate::conversation::inbound::{Attendance, TurnOrigin};
use crate::conversation::mailbox::Mailbox;
use crate::error::AgentError;
use crate::shared::{MAX_TURN_ATTEMPTS, Shared};
use crate::turn::await_tool_servers;
use crate::turn::driver::Driver;
use crate::turn::read_ahead::ReadAhead;
use crate::turn::saved_state::{Saved, SavedOrigin};
use crate::turn::scope::TurnScope;

/// Claims an interrupted turn. `None` if another node holds it or it has ended.
pub(crate) async fn claim(shared: &Shared, turn: TurnId) -> Result<Option<TakenOver>, AgentError> {
    let (node, now) = (shared.node.clone(), shared.now());
    Ok(shared
        .store
        .take_over(TakeOver { turn, node, lease: shared.lease, attempts_limit: MAX_TURN_ATTEMPTS, now })
        .await?)
}

/// Resumes a claimed turn, or reports it as interrupted.
pub(crate) async fn resume(
    shared: &Arc<Shared>,
    taken: TakenOver,
    mailbox: &mut Mailbox,
    feed: &Feed,
) -> Result<(), AgentError> {
    match &taken.after_crash {
        AfterCrash::Report(why) => report(shared, &taken, why, feed).await,
        AfterCrash::Resume => {
            await_tool_servers::wait(shared, &taken.hold, mailbox).await?;
            let driver = match &taken.saved {
                Some(saved) => {
                    let saved: Saved = serde_json::from_value(saved.clone()).map_err(|error| {
                        AgentError::Unreadable { turn: taken.turn.id.to_string(), reason: error.to_string() }
                    })?;
                    let origin = TurnOrigin::from(saved.origin.clone());
                    let conversation = taken.turn.conversation.clone();
                    let scope = TurnScope { conversation, origin, accepted_at: taken.turn.trust };
                    // Content that was read at a higher trust must not be used at a lower one.
                    if !scope.trust(shared).permits(taken.turn.trust) {
                        return report(shared, &taken, &ReportReason::TrustFell, feed).await;
                    }
                    Driver::resume(shared, taken, scope, saved, feed).await?
                }
                // It has done nothing yet, so it can start again.
                None => restart(shared, taken, feed).await?,
            };
            if let Some(driver) = driver {
                driver.run(mailbox).await;
            }
            Ok(())
        }
    }
}

/// Restarts a turn without a saved state. A turn without messages was a compaction, which is not repeated.
async fn restart(shared: &Arc<Shared>, taken: TakenOver, feed: &Feed) -> Result<Option<Driver>, AgentError> {
    let conversation = taken.turn.conversation.clone();
    let history = shared.store.history(&conversation).await?;
    // Skip a summary that the turn has already stored.
    let own = |message: &Message| {
        message.message.turn.as_ref() == Some(&taken.turn.id) && message.message.kind == Kind::Message
    };
    let messages: Vec<Message> = history.messages.into_iter().filter(own).collect();
    let Some(first) = messages.first() else {
        let failure = Some(Failure::new(ErrorCategory::InternalError, "interrupted before the first step"));
        let finish = FinishTurn { outcome: Outcome::Failed, reply: Vec::new(), failure, at: shared.now() };
        shared.store.finish_turn(&taken.hold, finish).await?;
        return Ok(None);
    };
    let known = shared.store.conversation(&conversation).await?;
    let origin = origin_of(known.as_ref(), first);
    let scope = TurnScope { conversation, origin, accepted_at: taken.turn.trust };
    let next_step = taken.journal.next_number();
    // The settings are read again.
    let begun = StartedTurn { hold: taken.hold, messages, next_step, settings_version: 0 };
    Driver::begin(shared, begun, scope, ReadAhead::Nothing, feed).await
}

async fn report(
    shared: &Shared,
    taken: &TakenOver,
    why: &ReportReason,
    feed: &Feed,
) -> Result<(), AgentError> {
    let text = format!("A turn was interrupted and is not run again: {why}.");
    let notice = NewMessage {
        id: shared.clock_and_rng.id("m")?,
        conversation: taken.turn.conversation.clone(),
        role: Role::System,
        kind: Kind::Notice,
        content: vec![ContentBlock::text(text.clone())],
        trust: taken.turn.trust,
        provenance: Provenance::Agent,
        author: None,
        turn: Some(taken.turn.id.clone()),
        usage: None,
        at: shared.now(),
    };
    shared.store.report_interrupted(&taken.hold, why, notice).await?;
    shared.log(Event {
        level: Level::Error,
        session_id: Some(taken.turn.conversation.clone()),
        turn_id: Some(taken.turn.id.clone()),
        error: Some(why.to_string()),
        metadata: Some(json!({ "outcome": TurnState::Interrupted.as_str() })),
        ..Event::new(EventType::TurnCompleted, shared.now())
    });
    let (turn, trust) = (taken.turn.id.clone(), taken.turn.trust);
    feed.publish(Progress::TurnInterrupted { turn, trust, reason: text });
    Ok(())
}

/// The origin of a message that another process has accepted, as stored with the message. Without a stored origin, it
/// derives from the conversation. No user watches.
pub(crate) fn origin_of(conversation: Option<&Conversation>, message: &Message) -> TurnOrigin {
    if let Some(origin) = SavedOrigin::in_message(&message.message.content) {
        return TurnOrigin { attendance: Attendance::Unattended, ..origin.into() };
    }
    TurnOrigin {
        speaker: Speaker {
            user: message.message.author.as_deref().map(Into::into),
            channel: conversation.and_then(|found| found.channel.as_deref()).map(Channel::new),
            situation: conversation.map(|found| found.situation.as_str().into()),
            ..Speaker::default()
        },
        attendance: Attendance::Unattended,
        ..TurnOrigin::default()
    }
}
