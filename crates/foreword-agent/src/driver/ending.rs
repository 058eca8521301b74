//! The end of a turn: what it leaves is stored together, and everybody is told.

use foreword_core::event::{Event, EventType, Level};
use foreword_core::failure::Failure;
use foreword_core::id::{MessageId, TurnId};
use foreword_core::message::{ContentBlock, Kind, NewMessage, Provenance, Role, Usage};
use foreword_core::money::{Money, Price};
use foreword_core::turn::Ending;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::health::Fault;
use foreword_store::turns::{Begun, FinishTurn, Hold};
use serde_json::json;

use super::Driver;
use crate::error::AgentError;
use crate::feed::{Feed, Progress};
use crate::hand_over;
use crate::inbound::Purpose;
use crate::inbox;
use crate::prepare::Placed;
use crate::shared::Shared;
use crate::turn_log::{root, trace_of};

impl Driver {
    /// Stores what the turn leaves and tells everybody.
    pub(super) async fn finish(&mut self, ending: Ending) -> Result<(), AgentError> {
        self.call = None;
        self.running = None;
        self.record_answers().await?;
        self.journal.settle().await?;
        self.tell_notice(&ending);
        if ending.outcome == Outcome::Done {
            let said = (&self.drafts.turn, self.turn.said());
            Box::pin(inbox::settle(&self.shared, &self.placed, said, &self.feed)).await?;
        }
        let now = self.shared.now();
        let reply = self.drafts.messages(self.turn.said(), now)?;
        let answer = answer(&reply);
        let finish = FinishTurn { outcome: ending.outcome, reply, failure: ending.failure.clone(), at: now };
        self.shared.store.finish_turn(self.journal.hold(), finish).await?;
        self.log.ended(&self.turn, &ending, self.cost, (now, self.began.elapsed()));
        if let (Purpose::Talk, Some((message, length))) = (&self.placed.occasion.purpose, answer) {
            self.log.answer_sent(&message, length, now);
        }
        let said = (self.turn.said(), now);
        hand_over::after_turn(&self.shared, &self.placed.conversation, said, &self.feed).await;
        self.feed.tell(Progress::TurnEnded {
            turn: self.drafts.turn.clone(),
            outcome: ending.outcome,
            failure: ending.failure,
            usage: self.turn.usage(),
            cost: self.cost,
        });
        Ok(())
    }

    /// Tells what there is to know about an answer that is complete and yet not what was hoped for, such as one that
    /// stops at its limit.
    fn tell_notice(&self, ending: &Ending) {
        let last = self.turn.said().last().filter(|said| said.kind() == Kind::Notice);
        if let (Outcome::Done, Some([ContentBlock::Text { text }])) =
            (ending.outcome, last.map(|said| said.content.as_slice()))
        {
            self.feed.tell(Progress::Status(text.clone()));
        }
    }
}

/// The last words of the model, and how many bytes they are.
fn answer(reply: &[NewMessage]) -> Option<(MessageId, usize)> {
    let length = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => text.len(),
        _ => 0,
    };
    let spoken = reply.iter().filter(|message| message.role == Role::Assistant).map(|message| {
        let length: usize = message.content.iter().map(length).sum();
        (message.id.clone(), length)
    });
    spoken.rev().find(|(_, length)| *length > 0)
}

/// Ends a turn whose prompt could not be made: the conversation is told why, and can go on.
pub(super) async fn never_began(
    shared: &Shared,
    placed: &Placed,
    begun: &Begun,
    (feed, error): (&Feed, AgentError),
) -> Result<(), AgentError> {
    // A database that is away for a moment is no reason to give a message up: whoever takes the turn over goes on.
    if matches!(error, AgentError::Store(_)) && !is_lasting(&error) {
        return Err(error);
    }
    let (turn, failure) = (begun.hold.turn.clone(), error.to_failure());
    store_failure(shared, placed, &begun.hold, &failure).await?;
    let trace = begun.messages.first().and_then(|first| trace_of(&first.message.id));
    let event = |event_type, level, error| Event {
        level,
        session_id: Some(placed.conversation.clone()),
        user_id: placed.occasion.user.clone(),
        channel: placed.occasion.channel.as_ref().map(|channel| channel.as_str().into()),
        turn_id: Some(turn.clone()),
        trace_id: trace,
        span_id: trace.and_then(|trace| trace.span(turn.as_str())),
        parent_span_id: root(trace),
        error,
        ..Event::new(event_type, shared.now())
    };
    shared.log(event(EventType::TurnStarted, Level::Info, None));
    let failed = event(EventType::TurnCompleted, Level::Error, Some(failure.detail.for_record().clone()));
    let outcome = TurnState::Ended(Outcome::Failed).as_str();
    shared.log(Event { metadata: Some(json!({ "outcome": outcome, "code": failure.code })), ..failed });
    feed.tell(Progress::TurnStarted {
        turn: turn.clone(),
        messages: begun.messages.iter().map(|message| message.message.id.clone()).collect(),
        user: placed.occasion.user.clone(),
        trust: placed.trust(shared),
        resumed: false,
    });
    tell_failed(feed, &turn, failure);
    Ok(())
}

/// Tells that a turn has failed for a reason of Foreword's own.
fn tell_failed(feed: &Feed, turn: &TurnId, failure: Failure) {
    feed.tell(Progress::TurnEnded {
        turn: turn.clone(),
        outcome: Outcome::Failed,
        failure: Some(failure),
        usage: Usage::default(),
        cost: Price::Known(Money::ZERO),
    });
}

/// Whether the store will say the same however often the turn is taken up again.
fn is_lasting(error: &AgentError) -> bool {
    matches!(error, AgentError::Store(error) if Fault::of(error).is_some_and(Fault::is_lasting))
}

/// Lets go of a turn that can't go on here. If the reason will not pass, the turn fails now; otherwise, or if not even that
/// can be stored, it is logged and left to whoever takes it over.
pub(super) async fn leave(shared: &Shared, placed: &Placed, hold: &Hold, feed: &Feed, error: AgentError) {
    let failure = error.to_failure();
    if is_lasting(&error) && store_failure(shared, placed, hold, &failure).await.is_ok() {
        log_left(shared, placed, &hold.turn, &error);
        return tell_failed(feed, &hold.turn, failure);
    }
    log_left(shared, placed, &hold.turn, &error);
    feed.tell(Progress::TurnLeft { turn: hold.turn.clone(), reason: error.cause() });
}

/// Puts on record that a turn was left, and why, unless this process ends or another one has the turn.
pub(crate) fn log_left(shared: &Shared, placed: &Placed, turn: &TurnId, error: &AgentError) {
    if matches!(error, AgentError::Closed | AgentError::Store(StoreError::LeaseLost { .. })) {
        return;
    }
    shared.log(Event {
        level: Level::Error,
        session_id: Some(placed.conversation.clone()),
        user_id: placed.occasion.user.clone(),
        turn_id: Some(turn.clone()),
        error: Some(error.cause().for_record().clone()),
        ..Event::new(EventType::TurnLeft, shared.now())
    });
}

async fn store_failure(
    shared: &Shared,
    placed: &Placed,
    hold: &Hold,
    failure: &Failure,
) -> Result<(), StoreError> {
    let now = shared.now();
    let id = MessageId::new(format!("{}-0", hold.turn));
    let notice = id.map(|id| NewMessage {
        id,
        conversation: placed.conversation.clone(),
        role: Role::System,
        kind: Kind::Notice,
        content: vec![ContentBlock::text(format!("This turn failed: {}.", failure.detail.for_record()))],
        // What is wrong with a prompt may name files: only the owner reads of it later.
        trust: Trust::Full,
        provenance: Provenance::Agent,
        author: None,
        turn: Some(hold.turn.clone()),
        usage: None,
        at: now,
    });
    let (reply, failure) = (notice.into_iter().collect(), Some(failure.clone()));
    let finish = FinishTurn { outcome: Outcome::Failed, reply, failure, at: now };
    shared.store.finish_turn(hold, finish).await.map(drop)
}
