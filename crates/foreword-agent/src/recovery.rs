//! Turns that were cut off: claimed, and gone on with or reported.

use std::sync::Arc;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::failure::Failure;
use foreword_core::id::TurnId;
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role};
use foreword_core::retry::ErrorCategory;
use foreword_core::turn_journal::{AfterCrash, Outcome, TurnState, WhyReported};
use foreword_prompt::occasion::Channel;
use foreword_store::conversations::Conversation;
use foreword_store::turns::{Begun, FinishTurn, TakeOver, TakenOver};
use serde_json::json;

use crate::conversation::Mailbox;
use crate::driver::Driver;
use crate::error::AgentError;
use crate::feed::{Feed, Progress};
use crate::inbound::{Occasion, Watched};
use crate::prepare::Placed;
use crate::read_ahead::ReadAhead;
use crate::saved::{Saved, SavedOccasion};
use crate::settling;
use crate::shared::{ATTEMPTS, Shared};

/// Claims a turn that was cut off. `None` if somebody else has it, or it has ended.
pub(crate) async fn claim(shared: &Shared, turn: TurnId) -> Result<Option<TakenOver>, AgentError> {
    let (node, now) = (shared.node.clone(), shared.now());
    Ok(shared
        .store
        .take_over(TakeOver { turn, node, lease: shared.lease, attempts_limit: ATTEMPTS, now })
        .await?)
}

/// Goes on with a claimed turn, or tells the conversation that it can't.
pub(crate) async fn go_on(
    shared: &Arc<Shared>,
    taken: TakenOver,
    mailbox: &mut Mailbox,
    feed: &Feed,
) -> Result<(), AgentError> {
    match &taken.after_crash {
        AfterCrash::Report(why) => report(shared, &taken, why, feed).await,
        AfterCrash::Resume => {
            settling::wait(shared, &taken.hold, mailbox).await?;
            let driver = match &taken.saved {
                Some(saved) => {
                    let saved: Saved = serde_json::from_value(saved.clone()).map_err(|error| {
                        AgentError::Unreadable { turn: taken.turn.id.to_string(), reason: error.to_string() }
                    })?;
                    let occasion = Occasion::from(saved.occasion.clone());
                    let conversation = taken.turn.conversation.clone();
                    let placed = Placed { conversation, occasion, accepted_at: taken.turn.trust };
                    // What it has read at a higher trust must not go on at a lower one.
                    if !placed.trust(shared).permits(taken.turn.trust) {
                        return report(shared, &taken, &WhyReported::TrustFell, feed).await;
                    }
                    Driver::resume(shared, (taken, placed), saved, feed).await?
                }
                // It had hardly begun: nothing of it is lost if it begins again.
                None => begin_again(shared, taken, feed).await?,
            };
            if let Some(driver) = driver {
                driver.run(mailbox).await;
            }
            Ok(())
        }
    }
}

/// Begins a turn again of which nothing was saved. One that answers nobody was making a history shorter: whoever wants
/// that asks again.
async fn begin_again(
    shared: &Arc<Shared>,
    taken: TakenOver,
    feed: &Feed,
) -> Result<Option<Driver>, AgentError> {
    let conversation = taken.turn.conversation.clone();
    let history = shared.store.history(&conversation).await?;
    // A summary that was made in time is no message to be answered.
    let own = |message: &Message| {
        message.message.turn.as_ref() == Some(&taken.turn.id) && message.message.kind == Kind::Message
    };
    let messages: Vec<Message> = history.messages.into_iter().filter(own).collect();
    let Some(first) = messages.first() else {
        let failure =
            Some(Failure::new(ErrorCategory::InternalError, "interrupted before anything was done"));
        let finish = FinishTurn { outcome: Outcome::Failed, reply: Vec::new(), failure, at: shared.now() };
        shared.store.finish_turn(&taken.hold, finish).await?;
        return Ok(None);
    };
    let known = shared.store.conversation(&conversation).await?;
    let occasion = occasion_of(known.as_ref(), first);
    let placed = Placed { conversation, occasion, accepted_at: taken.turn.trust };
    let next_step = taken.journal.next_number();
    // The settings are read again with everything else.
    let begun = Begun { hold: taken.hold, messages, next_step, settings_version: 0 };
    Driver::begin(shared, begun, (placed, ReadAhead::Nothing), feed).await
}

async fn report(
    shared: &Shared,
    taken: &TakenOver,
    why: &WhyReported,
    feed: &Feed,
) -> Result<(), AgentError> {
    let text = format!("A turn was interrupted and is not run again: {why}.");
    let notice = NewMessage {
        id: shared.surroundings.id("m")?,
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
    feed.tell(Progress::TurnInterrupted { turn, trust, reason: text });
    Ok(())
}

/// The occasion of a message that another process has heard, as it was stored with it; nobody looks on here. What was
/// stored without one takes what the conversation says of itself.
pub(crate) fn occasion_of(conversation: Option<&Conversation>, message: &Message) -> Occasion {
    if let Some(occasion) = SavedOccasion::in_message(&message.message.content) {
        return Occasion { watched: Watched::ByNobody, ..occasion.into() };
    }
    Occasion {
        user: message.message.author.as_deref().map(Into::into),
        channel: conversation.and_then(|found| found.channel.as_deref()).map(Channel::new),
        situation: conversation.map(|found| found.situation.as_str().into()),
        watched: Watched::ByNobody,
        ..Occasion::default()
    }
}
