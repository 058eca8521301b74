//! The end of a turn that has answered the inbox: its messages are taken out, its answers put into the outbox and both
//! remembered, in one step that can be taken again. A message whose sender gets no reply stays pending.

use std::collections::BTreeSet;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::id::{InboxId, OutboxId, TurnId};
use foreword_core::sender::{
    HistoryLimits, InboxState, NotKeptReason, Reply, SenderAddress, replies, unanswered,
};
use foreword_core::turn::Said;
use foreword_store::error::StoreError;
use foreword_store::mailboxes::{Finished, FinishedBatch, InboxMessage, NewOutboxMessage, Unanswered};
use foreword_store::senders::Recorded;
use serde_json::json;

use super::staging::channel_of;
use crate::error::AgentError;
use crate::feed::{Feed, Progress};
use crate::inbound::{INBOX, Purpose};
use crate::prepare::Placed;
use crate::shared::Shared;

/// Why a message stays pending although its turn has ended well.
const NO_REPLY: &str = "the turn ended without a reply to this sender";

/// How often the messages are looked up again, if somebody else deals with some of them at the same moment.
const TRIES: u32 = 3;

/// Settles what a turn that has ended well did with the messages of its batch. A turn for another purpose has none.
pub(crate) async fn settle(
    shared: &Shared,
    placed: &Placed,
    (turn, said): (&TurnId, &[Said]),
    feed: &Feed,
) -> Result<(), AgentError> {
    let Purpose::Inbox { messages } = &placed.occasion.purpose else { return Ok(()) };
    let mut tries = 1;
    loop {
        let batch = batch(shared, messages, (turn, said)).await?;
        match shared.store.finish_batch(batch.clone()).await {
            Ok(Finished::Before) => return Ok(()),
            Ok(Finished::Now(recorded)) => {
                log(shared, placed, (turn, &batch), &recorded);
                tell(feed, &batch, &recorded);
                return Ok(());
            }
            Err(StoreError::Taken { .. } | StoreError::Refused { .. }) if tries < TRIES => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// What the turn did with those messages that are still its own.
async fn batch(
    shared: &Shared,
    messages: &[InboxId],
    (turn, said): (&TurnId, &[Said]),
) -> Result<FinishedBatch, AgentError> {
    let is_own = |message: &InboxMessage| match message.state {
        InboxState::Staged => true,
        InboxState::Consumed => message.consumed.as_ref().is_some_and(|(by, _)| by == turn),
        InboxState::SetAside => false,
    };
    let found = shared.store.inbox_batch(messages).await?;
    let own: BTreeSet<InboxId> =
        found.iter().filter(|message| is_own(message)).map(|message| message.id.clone()).collect();
    // Who is answered follows from the whole batch, whatever has become of some of its messages meanwhile.
    let all: Vec<(InboxId, SenderAddress)> =
        found.into_iter().map(|message| (message.id, message.sender)).collect();
    let mut missing = unanswered(said, &all);
    missing.retain(|id| own.contains(id));
    let answers_own = |reply: &Reply| reply.in_reply_to.as_ref().is_some_and(|id| own.contains(id));
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

/// The name of a turn's answer follows from the turn, so that putting it out again is the same.
pub(super) fn reply_id(turn: &TurnId, number: u32) -> Result<OutboxId, AgentError> {
    Ok(OutboxId::new(format!("{turn}-r{number}"))?)
}

fn outgoing(reply: Reply, turn: &TurnId, number: u32) -> Result<NewOutboxMessage, AgentError> {
    let Reply { recipient, in_reply_to, body } = reply;
    Ok(NewOutboxMessage { id: reply_id(turn, number)?, recipient, body, in_reply_to })
}

fn log(shared: &Shared, placed: &Placed, (turn, batch): (&TurnId, &FinishedBatch), recorded: &Recorded) {
    let event = |event_type: EventType| Event {
        session_id: Some(placed.conversation.clone()),
        user_id: placed.occasion.user.clone(),
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

fn tell(feed: &Feed, batch: &FinishedBatch, recorded: &Recorded) {
    let status = match batch.replies.len() {
        0 => "No message was answered.".to_owned(),
        1 => "1 answer is in the outbox.".to_owned(),
        count => format!("{count} answers are in the outbox."),
    };
    feed.tell(Progress::Status(status));
    let unanswered = batch.unanswered.messages.len();
    if unanswered > 0 {
        let messages = if unanswered == 1 {
            "1 message stays".to_owned()
        } else {
            format!("{unanswered} messages stay")
        };
        feed.tell(Progress::Status(format!("{messages} pending: the model did not reply to the sender.")));
    }
    let mut reasons: Vec<&str> = recorded.not_kept.iter().map(|not| reason(not.reason)).collect();
    reasons.dedup();
    for why in reasons {
        let count = recorded.not_kept.iter().filter(|not| reason(not.reason) == why).count();
        let senders = if count == 1 { "1 sender".to_owned() } else { format!("{count} senders") };
        feed.tell(Progress::Status(format!("What was said with {senders} is not remembered: {why}.")));
    }
}

fn reason(reason: NotKeptReason) -> &'static str {
    match reason {
        NotKeptReason::TooManyNewSenders => "too many new senders within an hour",
        NotKeptReason::NoRoom => "no room for another sender",
    }
}
