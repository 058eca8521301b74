//! What the agent turns to next: a batch of the inbox, with the conversation it is answered in. The conversation's name
//! follows from the oldest message, so that of several nodes that look at the same moment one begins the turn.

use std::sync::Arc;

use foreword_core::id::{BadId, ConversationId, InboxId};
use foreword_core::sender::{BATCH_WINDOW, Batch, First, Next, SenderAddress, Waiting, next_batch};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::occasion::Channel;
use foreword_prompt::text::ContentHash;
use foreword_store::error::StoreError;
use foreword_store::messages::IdempotencyKey;
use foreword_store::store::Store;
use foreword_workspace::config::Config;

use super::staging::channel_of;
use crate::inbound::{INBOX, Occasion, Purpose, Watched};
use crate::shared::Shared;

/// How the conversations begin in which batches are answered.
pub(crate) const CONVERSATION: &str = "inbox-";
/// How many characters of a hash tell one message from another.
const HASH_CHARS: usize = 16;

/// A batch and where it is answered.
#[derive(Debug, Clone)]
pub(super) struct Picked {
    pub(super) conversation: ConversationId,
    pub(super) occasion: Occasion,
    pub(super) key: IdempotencyKey,
}

/// What there is to do about the inbox.
#[derive(Debug, Clone)]
pub(super) enum Pick {
    Nothing,
    /// All that wait are waiting for another attempt.
    NotBefore(Timestamp),
    Now(Box<Picked>),
}

/// What is due now.
pub(super) async fn pick_due(shared: &Shared, config: &Config, first: First) -> Result<Pick, StoreError> {
    let now = shared.now();
    let (_, next) = look(&shared.store, config, (now, first)).await?;
    Ok(to_pick(next, config))
}

/// The next batch, if anything waits: what is due, or what is the first to be. Whoever asks for one wants it now. What has
/// failed before goes last, for nobody here remembers whether anything was answered since.
pub(super) async fn pick(shared: &Shared, config: &Config) -> Result<Option<Picked>, StoreError> {
    let first = First::LeastTried;
    let (waiting, mut next) = look(&shared.store, config, (shared.now(), first)).await?;
    if let Next::NotBefore(due) = next {
        next = next_batch(&waiting, known(config), (due, first));
    }
    match to_pick(next, config) {
        Pick::Now(picked) => Ok(Some(*picked)),
        Pick::Nothing | Pick::NotBefore(_) => Ok(None),
    }
}

/// Looks at the oldest messages that wait. If nothing is found among them but what has failed, it looks further, or a few
/// senders could hide everybody else.
async fn look(
    store: &Store,
    config: &Config,
    when: (Timestamp, First),
) -> Result<(Vec<Waiting>, Next), StoreError> {
    let mut window = BATCH_WINDOW;
    loop {
        let waiting = store.waiting(window).await?;
        let next = next_batch(&waiting, known(config), when);
        let is_found = match &next {
            Next::Nothing => true,
            Next::NotBefore(_) => false,
            Next::Now(batch) => {
                when.1 == First::Oldest || batch.messages.iter().all(|message| message.attempts == 0)
            }
        };
        let is_all = u64::try_from(waiting.len()).is_ok_and(|found| found < window);
        if is_found || is_all {
            return Ok((waiting, next));
        }
        window = window.saturating_mul(8);
    }
}

fn known(config: &Config) -> impl Fn(&SenderAddress) -> Option<Arc<str>> {
    |sender| config.user_at(&channel_of(sender)).map(|user| user.name.clone())
}

fn to_pick(next: Next, config: &Config) -> Pick {
    match next {
        Next::Nothing => Pick::Nothing,
        Next::NotBefore(due) => Pick::NotBefore(due),
        // Made of letters and digits, so it always is an id.
        Next::Now(batch) => {
            picked(&batch, config).ok().flatten().map_or(Pick::Nothing, |picked| Pick::Now(Box::new(picked)))
        }
    }
}

fn picked(batch: &Batch, config: &Config) -> Result<Option<Picked>, BadId> {
    let Some(first) = batch.messages.first() else { return Ok(None) };
    let hash = ContentHash::of(first.id.as_str()).to_string();
    let short: String = hash.chars().skip("blake3:".len()).take(HASH_CHARS).collect();
    let name = format!("{CONVERSATION}{short}-{}", first.attempts);
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
