//! What the agent turns to next: a batch of the inbox, with the conversation it is answered in. The conversation's name
//! follows from the oldest message, so that of several nodes that look at the same moment one begins the turn.

use foreword_core::id::{BadId, ConversationId, InboxId};
use foreword_core::sender::{BATCH_WINDOW, Batch, next_batch};
use foreword_prompt::occasion::Channel;
use foreword_prompt::text::ContentHash;
use foreword_store::error::StoreError;
use foreword_store::messages::IdempotencyKey;
use foreword_store::store::Store;
use foreword_workspace::config::Config;

use super::staging::channel_of;
use crate::inbound::{INBOX, Occasion, Purpose, Watched};

/// How many characters of a hash tell one message from another.
const HASH_CHARS: usize = 16;

/// A batch and where it is answered.
#[derive(Debug, Clone)]
pub(super) struct Picked {
    pub(super) conversation: ConversationId,
    pub(super) occasion: Occasion,
    pub(super) key: IdempotencyKey,
}

/// The next batch, if anything waits.
pub(super) async fn pick(store: &Store, config: &Config) -> Result<Option<Picked>, StoreError> {
    let waiting = store.waiting(BATCH_WINDOW).await?;
    let known = |sender: &_| config.user_at(&channel_of(sender)).map(|user| user.name.clone());
    let batch = next_batch(&waiting, known);
    // Made of letters and digits, so it always is an id.
    Ok(batch.and_then(|batch| picked(&batch, config).ok()).flatten())
}

fn picked(batch: &Batch, config: &Config) -> Result<Option<Picked>, BadId> {
    let Some(first) = batch.messages.first() else { return Ok(None) };
    let hash = ContentHash::of(first.id.as_str()).to_string();
    let short: String = hash.chars().skip("blake3:".len()).take(HASH_CHARS).collect();
    let name = format!("inbox-{short}-{}", first.attempts);
    let channel = match batch.senders().as_slice() {
        [one] => channel_of(one),
        _ => Channel::new(INBOX),
    };
    let messages: Vec<InboxId> = batch.messages.iter().map(|message| message.id.clone()).collect();
    let occasion = Occasion {
        user: batch.user.clone(),
        channel: Some(channel),
        situation: Some(INBOX.into()),
        purpose: Purpose::Inbox { messages },
        strangers: Some(config.inbox.trust),
        watched: Watched::ByNobody,
        ..Occasion::default()
    };
    let key = IdempotencyKey { scope: INBOX.to_owned(), key: name.clone() };
    Ok(Some(Picked { conversation: ConversationId::new(name)?, occasion, key }))
}
