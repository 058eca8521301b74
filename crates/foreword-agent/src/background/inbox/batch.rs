//! Chooses the next batch of the inbox and its conversation. The conversation id is derived from the oldest message, so
//! that only one of several nodes starts the turn.

use std::sync::Arc;

use foreword_core::id::{BadId, ConversationId, InboxId};
use foreword_core::sender::{
    BATCH_WINDOW, BatchOrder, MessageBatch, NextBatch, SenderAddress, WaitingMessage, next_batch,
};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::occasion::Channel;
use foreword_prompt::text::ContentHash;
use foreword_store::error::StoreError;
use foreword_store::messages::IdempotencyKey;
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use foreword_workspace::speaker::Speaker;

use super::stage::channel_of;
use crate::conversation::inbound::{Attendance, INBOX, Purpose, TurnOrigin};
use crate::shared::Shared;

/// Id prefix of inbox conversations.
pub(crate) const CONVERSATION: &str = "inbox-";
/// How many hash characters an id contains.
const HASH_CHARS: usize = 16;

/// A batch with its conversation.
#[derive(Debug, Clone)]
pub(super) struct PlannedBatch {
    pub(super) conversation: ConversationId,
    pub(super) occasion: TurnOrigin,
    pub(super) key: IdempotencyKey,
}

/// What to do next with the inbox.
#[derive(Debug, Clone)]
pub(super) enum BatchChoice {
    Nothing,
    /// All pending messages wait for a retry at this time.
    NotBefore(Timestamp),
    Now(Box<PlannedBatch>),
}

/// The batch that is due now.
pub(super) async fn due_batch(
    shared: &Shared,
    config: &Config,
    first: BatchOrder,
) -> Result<BatchChoice, StoreError> {
    let now = shared.now();
    let (_, next) = read_pending(&shared.store, config, now, first).await?;
    Ok(to_choice(next, config))
}

/// The next batch, even if its retry is not due yet. Messages that have failed before come last, since this function
/// does not know whether anything was answered since.
pub(super) async fn next_planned_batch(
    shared: &Shared,
    config: &Config,
) -> Result<Option<PlannedBatch>, StoreError> {
    let first = BatchOrder::LeastTried;
    let (waiting, mut next) = read_pending(&shared.store, config, shared.now(), first).await?;
    if let NextBatch::NotBefore(due) = next {
        next = next_batch(&waiting, user_of_sender(config), due, first);
    }
    match to_choice(next, config) {
        BatchChoice::Now(planned) => Ok(Some(*planned)),
        BatchChoice::Nothing | BatchChoice::NotBefore(_) => Ok(None),
    }
}

/// Reads the oldest pending messages. If all of them have failed before, it reads more, so that a few senders can't
/// block the others.
async fn read_pending(
    store: &Store,
    config: &Config,
    now: Timestamp,
    first: BatchOrder,
) -> Result<(Vec<WaitingMessage>, NextBatch), StoreError> {
    let mut window = BATCH_WINDOW;
    loop {
        let waiting = store.waiting(window).await?;
        let next = next_batch(&waiting, user_of_sender(config), now, first);
        let is_found = match &next {
            NextBatch::Nothing => true,
            NextBatch::NotBefore(_) => false,
            NextBatch::Now(batch) => {
                first == BatchOrder::Oldest || batch.messages.iter().all(|message| message.attempts == 0)
            }
        };
        let is_all = u64::try_from(waiting.len()).is_ok_and(|found| found < window);
        if is_found || is_all {
            return Ok((waiting, next));
        }
        window = window.saturating_mul(8);
    }
}

fn user_of_sender(config: &Config) -> impl Fn(&SenderAddress) -> Option<Arc<str>> {
    |sender| config.user_at(&channel_of(sender)).map(|user| user.name.clone())
}

fn to_choice(next: NextBatch, config: &Config) -> BatchChoice {
    match next {
        NextBatch::Nothing => BatchChoice::Nothing,
        NextBatch::NotBefore(due) => BatchChoice::NotBefore(due),
        // The id consists of letters and digits, so it is always valid.
        NextBatch::Now(batch) => planned(&batch, config)
            .ok()
            .flatten()
            .map_or(BatchChoice::Nothing, |planned| BatchChoice::Now(Box::new(planned))),
    }
}

fn planned(batch: &MessageBatch, config: &Config) -> Result<Option<PlannedBatch>, BadId> {
    let Some(first) = batch.messages.first() else { return Ok(None) };
    let hash = ContentHash::of(first.id.as_str()).to_string();
    let short: String = hash.chars().skip("blake3:".len()).take(HASH_CHARS).collect();
    let name = format!("{CONVERSATION}{short}-{}", first.attempts);
    let channel = match batch.senders().as_slice() {
        [one] => channel_of(one),
        _ => Channel::new(INBOX),
    };
    let messages: Vec<InboxId> = batch.messages.iter().map(|message| message.id.clone()).collect();
    let occasion = TurnOrigin {
        speaker: Speaker {
            user: batch.user.clone(),
            channel: Some(channel),
            situation: Some(INBOX.into()),
            unknown_trust: Some(config.inbox.trust),
            ..Speaker::default()
        },
        purpose: Purpose::Inbox { messages },
        attendance: Attendance::Unattended,
    };
    let key = IdempotencyKey { scope: INBOX.to_owned(), key: name.clone() };
    Ok(Some(PlannedBatch { conversation: ConversationId::new(name)?, occasion, key }))
}
