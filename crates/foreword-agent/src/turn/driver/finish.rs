//! Ends a turn: stores its result in one transaction, logs it and publishes it in the feed.

use foreword_core::event::{Event, EventType, Level};
use foreword_core::failure::Failure;
use foreword_core::id::{MessageId, TurnId};
use foreword_core::message::{ContentBlock, Kind, NewMessage, Provenance, Role, Usage};
use foreword_core::money::{Money, Price};
use foreword_core::turn::Ending;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::health::StoreFault;
use foreword_store::turns::{FinishTurn, StartedTurn, TurnLease};
use serde_json::json;

use super::Driver;
use crate::conversation::feed::{Feed, Progress};
use crate::conversation::hand_over;
use crate::conversation::inbound::Purpose;
use crate::error::AgentError;
use crate::shared::Shared;
use crate::turn::scope::TurnScope;
use crate::turn::turn_log::{root, trace_of};

impl Driver {
    /// Stores the result of the turn, logs it and publishes it.
    pub(super) async fn finish(&mut self, ending: Ending) -> Result<(), AgentError> {
        self.call = None;
        self.running = None;
        self.record_answers().await?;
        self.journal.flush().await?;
        self.publish_notice(&ending);
        if ending.outcome == Outcome::Done {
            self.scope.settle(&self.shared, &self.drafts.turn, self.turn.messages(), &self.feed).await?;
        }
        let now = self.shared.now();
        let reply = self.drafts.messages(self.turn.messages(), now)?;
        let answer = answer(&reply);
        let finish = FinishTurn { outcome: ending.outcome, reply, failure: ending.failure.clone(), at: now };
        self.shared.store.finish_turn(self.journal.hold(), finish).await?;
        self.log.ended(&self.turn, &ending, self.cost, now, self.began.elapsed());
        if let (Purpose::Talk, Some((message, length))) = (&self.scope.origin.purpose, answer) {
            self.log.answer_sent(&message, length, now);
        }
        let messages = self.turn.messages();
        hand_over::after_turn(&self.shared, &self.scope.conversation, messages, now, &self.feed).await;
        self.feed.publish(Progress::TurnEnded {
            turn: self.drafts.turn.clone(),
            outcome: ending.outcome,
            failure: ending.failure,
            usage: self.turn.usage(),
            cost: self.cost,
        });
        Ok(())
    }

    /// Publishes the notice of a complete answer with a limitation, such as one that stops at its token limit.
    fn publish_notice(&self, ending: &Ending) {
        let last = self.turn.messages().last().filter(|message| message.kind() == Kind::Notice);
        if let (Outcome::Done, Some([ContentBlock::Text { text }])) =
            (ending.outcome, last.map(|message| message.content.as_slice()))
        {
            self.feed.publish(Progress::Status(text.clone()));
        }
    }
}

/// The last answer of the model, with its length in bytes.
fn answer(reply: &[NewMessage]) -> Option<(MessageId, usize)> {
    let answers = reply.iter().filter(|message| message.role == Role::Assistant).map(|message| {
        let length: usize = message.content.iter().filter_map(ContentBlock::as_text).map(str::len).sum();
        (message.id.clone(), length)
    });
    answers.rev().find(|(_, length)| *length > 0)
}

/// Fails a turn whose prompt could not be built. The conversation can continue.
pub(super) async fn fail_start(
    shared: &Shared,
    scope: &TurnScope,
    begun: &StartedTurn,
    feed: &Feed,
    error: AgentError,
) -> Result<(), AgentError> {
    // After a transient store error, the process that takes the turn over retries.
    if matches!(error, AgentError::Store(_)) && !is_permanent(&error) {
        return Err(error);
    }
    let (turn, failure) = (begun.hold.turn.clone(), error.to_failure());
    store_failure(shared, scope, &begun.hold, &failure).await?;
    let trace = begun.messages.first().and_then(|first| trace_of(&first.message.id));
    let event = |event_type, level, error| Event {
        level,
        session_id: Some(scope.conversation.clone()),
        user_id: scope.origin.speaker.user.clone(),
        channel: scope.origin.speaker.channel.as_ref().map(|channel| channel.as_str().into()),
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
    feed.publish(Progress::TurnStarted {
        turn: turn.clone(),
        messages: begun.messages.iter().map(|message| message.message.id.clone()).collect(),
        user: scope.origin.speaker.user.clone(),
        trust: scope.trust(shared),
        resumed: false,
    });
    publish_failed(feed, &turn, failure);
    Ok(())
}

/// Publishes the failure of a turn.
fn publish_failed(feed: &Feed, turn: &TurnId, failure: Failure) {
    feed.publish(Progress::TurnEnded {
        turn: turn.clone(),
        outcome: Outcome::Failed,
        failure: Some(failure),
        usage: Usage::default(),
        cost: Price::Known(Money::ZERO),
    });
}

/// Whether the store error is permanent.
fn is_permanent(error: &AgentError) -> bool {
    matches!(error, AgentError::Store(error) if StoreFault::of(error).is_some_and(StoreFault::is_lasting))
}

/// Leaves a turn that can't continue in this process. After a permanent error the turn fails. Otherwise, or if the
/// failure can't be stored, another process takes it over.
pub(super) async fn leave(
    shared: &Shared,
    scope: &TurnScope,
    hold: &TurnLease,
    feed: &Feed,
    error: AgentError,
) {
    let failure = error.to_failure();
    if is_permanent(&error) && store_failure(shared, scope, hold, &failure).await.is_ok() {
        log_left(shared, scope, &hold.turn, &error);
        return publish_failed(feed, &hold.turn, failure);
    }
    log_left(shared, scope, &hold.turn, &error);
    feed.publish(Progress::TurnLeft { turn: hold.turn.clone(), reason: error.cause() });
}

/// Logs why a turn was left, unless the process shuts down or another one holds the turn.
pub(crate) fn log_left(shared: &Shared, scope: &TurnScope, turn: &TurnId, error: &AgentError) {
    if matches!(error, AgentError::Closed | AgentError::Store(StoreError::LeaseLost { .. })) {
        return;
    }
    shared.log(Event {
        level: Level::Error,
        session_id: Some(scope.conversation.clone()),
        user_id: scope.origin.speaker.user.clone(),
        turn_id: Some(turn.clone()),
        error: Some(error.cause().for_record().clone()),
        ..Event::new(EventType::TurnLeft, shared.now())
    });
}

async fn store_failure(
    shared: &Shared,
    scope: &TurnScope,
    hold: &TurnLease,
    failure: &Failure,
) -> Result<(), StoreError> {
    let now = shared.now();
    let id = MessageId::new(format!("{}-0", hold.turn));
    let notice = id.map(|id| NewMessage {
        id,
        conversation: scope.conversation.clone(),
        role: Role::System,
        kind: Kind::Notice,
        content: vec![ContentBlock::text(format!("This turn failed: {}.", failure.detail.for_record()))],
        // The failure may contain file names, so only the owner may read it.
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
