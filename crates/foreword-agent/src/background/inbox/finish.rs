//! The end of an inbox turn: consumes its messages, puts the replies into the outbox and records the exchanges in one
//! idempotent transaction. A message whose sender gets no reply stays pending.

use std::collections::BTreeSet;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::id::{InboxId, OutboxId, TurnId};
use foreword_core::sender::{
    HistoryLimits, InboxState, SenderAddress, SenderReply, SkipReason, replies, unanswered,
};
use foreword_core::turn::TurnMessage;
use foreword_store::error::StoreError;
use foreword_store::mailboxes::{BatchOutcome, FinishedBatch, InboxMessage, NewOutboxMessage, Unanswered};
use foreword_store::senders::RecordedExchanges;
use serde_json::json;

use super::stage::channel_of;
use crate::conversation::feed::{Feed, Progress};
use crate::conversation::inbound::{INBOX, Purpose};
use crate::error::AgentError;
use crate::shared::Shared;
use crate::turn::scope::TurnScope;

/// Why a message stays pending although its turn succeeded.
const NO_REPLY: &str = "the turn ended without a reply to this sender";

/// How often to retry after a conflict with a concurrent change of the messages.
const MAX_TRIES: u32 = 3;

/// Finishes the batch of a successful inbox turn. Does nothing for other turns.
pub(crate) async fn settle(
    shared: &Shared,
    scope: &TurnScope,
    turn: &TurnId,
    said: &[TurnMessage],
    feed: &Feed,
) -> Result<(), AgentError> {
    let Purpose::Inbox { messages } = &scope.origin.purpose else { return Ok(()) };
    let mut tries = 1;
    loop {
        let batch = batch(shared, messages, turn, said).await?;
        match shared.store.finish_batch(batch.clone()).await {
            Ok(BatchOutcome::Before) => return Ok(()),
            Ok(BatchOutcome::Now(recorded)) => {
                log(shared, scope, turn, &batch, &recorded);
                report(feed, &batch, &recorded);
                return Ok(());
            }
            Err(StoreError::Taken { .. } | StoreError::Refused { .. }) if tries < MAX_TRIES => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// The result for the messages that no other turn or user has changed.
async fn batch(
    shared: &Shared,
    messages: &[InboxId],
    turn: &TurnId,
    said: &[TurnMessage],
) -> Result<FinishedBatch, AgentError> {
    let is_own = |message: &InboxMessage| match message.state {
        InboxState::Staged => true,
        InboxState::Consumed => message.consumed.as_ref().is_some_and(|(by, _)| by == turn),
        InboxState::SetAside => false,
    };
    let found = shared.store.inbox_batch(messages).await?;
    let own: BTreeSet<InboxId> =
        found.iter().filter(|message| is_own(message)).map(|message| message.id.clone()).collect();
    // Recipients are computed from the whole batch, including messages that changed meanwhile.
    let all: Vec<(InboxId, SenderAddress)> =
        found.into_iter().map(|message| (message.id, message.sender)).collect();
    let mut missing = unanswered(said, &all);
    missing.retain(|id| own.contains(id));
    let answers_own = |reply: &SenderReply| reply.in_reply_to.as_ref().is_some_and(|id| own.contains(id));
    let numbered = replies(said, &all).into_iter().filter(answers_own).zip(1_u32..);
    let consumed = all.iter().map(|(id, _)| id).filter(|id| own.contains(*id) && !missing.contains(id));
    Ok(FinishedBatch {
        turn: turn.clone(),
        at: shared.now(),
        consumed: consumed.cloned().collect(),
        unanswered: Unanswered { messages: missing, reason: NO_REPLY.to_owned() },
        replies: numbered.map(|(reply, number)| outgoing(reply, turn, number)).collect::<Result<_, _>>()?,
        limits: HistoryLimits::default(),
    })
}

/// The id of a reply is derived from the turn, so that a retry is idempotent.
pub(super) fn reply_id(turn: &TurnId, number: u32) -> Result<OutboxId, AgentError> {
    Ok(OutboxId::new(format!("{turn}-r{number}"))?)
}

fn outgoing(reply: SenderReply, turn: &TurnId, number: u32) -> Result<NewOutboxMessage, AgentError> {
    let SenderReply { recipient, in_reply_to, body } = reply;
    Ok(NewOutboxMessage { id: reply_id(turn, number)?, recipient, body, in_reply_to })
}

fn log(
    shared: &Shared,
    scope: &TurnScope,
    turn: &TurnId,
    batch: &FinishedBatch,
    recorded: &RecordedExchanges,
) {
    let event = |event_type: EventType| Event {
        session_id: Some(scope.conversation.clone()),
        user_id: scope.origin.speaker.user.clone(),
        turn_id: Some(turn.clone()),
        ..Event::new(event_type, batch.at)
    };
    for reply in &batch.replies {
        let not_kept = recorded.not_kept.iter().find(|not| not.sender == reply.recipient);
        shared.log(Event {
            channel: Some(channel_of(&reply.recipient).as_str().into()),
            metadata: Some(json!({
                "message": reply.id.as_str(),
                "inReplyTo": reply.in_reply_to.as_ref().map(InboxId::as_str),
                "length": reply.body.len(),
                "history": not_kept.map_or("kept", |not| reason(not.reason)),
                "evicted": recorded.evicted.len(),
            })),
            ..event(EventType::MessageSent)
        });
    }
    let unanswered = &batch.unanswered.messages;
    if !unanswered.is_empty() {
        shared.log(Event {
            level: Level::Warn,
            channel: Some(INBOX.into()),
            error: Some(
                "the turn ended without a reply to some senders; their messages stay pending".to_owned(),
            ),
            metadata: Some(json!({
                "messages": unanswered.iter().map(InboxId::as_str).collect::<Vec<_>>(),
            })),
            ..event(EventType::ChannelError)
        });
    }
}

fn report(feed: &Feed, batch: &FinishedBatch, recorded: &RecordedExchanges) {
    let status = match batch.replies.len() {
        0 => "No message was answered.".to_owned(),
        1 => "1 answer is in the outbox.".to_owned(),
        count => format!("{count} answers are in the outbox."),
    };
    feed.publish(Progress::Status(status));
    let unanswered = batch.unanswered.messages.len();
    if unanswered > 0 {
        let messages = if unanswered == 1 {
            "1 message stays".to_owned()
        } else {
            format!("{unanswered} messages stay")
        };
        feed.publish(Progress::Status(format!("{messages} pending: the model did not reply to the sender.")));
    }
    let mut reasons: Vec<&str> = recorded.not_kept.iter().map(|not| reason(not.reason)).collect();
    reasons.dedup();
    for why in reasons {
        let count = recorded.not_kept.iter().filter(|not| reason(not.reason) == why).count();
        let senders = if count == 1 { "1 sender".to_owned() } else { format!("{count} senders") };
        feed.publish(Progress::Status(format!("The exchange with {senders} is not recorded: {why}.")));
    }
}

fn reason(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::TooManyNewSenders => "too many new senders within an hour",
        SkipReason::NoRoom => "sender history is full",
    }
}
