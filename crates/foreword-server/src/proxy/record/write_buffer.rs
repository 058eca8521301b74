//! Buffers the durable part of exchanges and stores it in batches, only the last request of each conversation.

use std::collections::HashMap;
use std::time::Duration;

use foreword_core::cache::Link;
use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_store::proxied::{NewProxiedConversation, ProxiedConversation};
use foreword_store::store::Store;
use tokio::time::Instant;

use super::entries::channel;
use super::shapes::Shapes;
use super::threads::{self, Threads};
use crate::proxy::exchange::{Exchange, Payer};

const FLUSH_INTERVAL: Duration = Duration::from_secs(2);
/// The interval when another node may serve the next request.
const SHARED_FLUSH_INTERVAL: Duration = Duration::from_millis(100);
const MAX_CONVERSATIONS_PER_PAYER: u32 = 1_000;
const MAX_BATCH: usize = 512;
/// The maximum number of buffered conversations while the store fails.
const MAX_BUFFERED: usize = 64 * 1_024;

/// The conversations to store.
#[derive(Default)]
pub(super) struct WriteBuffer {
    conversations: HashMap<ConversationId, BufferedConversation>,
    due: Option<Instant>,
}

struct BufferedConversation {
    payer: Payer,
    dialect: &'static str,
    at: Timestamp,
}

impl WriteBuffer {
    /// The time of the next flush.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The flush interval for this store.
    pub(super) fn flush_interval(store: &Store) -> Duration {
        if store.is_shared() { SHARED_FLUSH_INTERVAL } else { FLUSH_INTERVAL }
    }

    /// Adds a conversation. It is stored within `interval`.
    pub(super) fn add(&mut self, id: &ConversationId, exchange: &Exchange, interval: Duration) {
        match self.conversations.get_mut(id) {
            Some(buffered) => buffered.at = exchange.began,
            None => {
                let (payer, dialect) = (exchange.payer.clone(), threads::dialect_name(exchange.dialect));
                self.conversations
                    .insert(id.clone(), BufferedConversation { payer, dialect, at: exchange.began });
            }
        }
        self.due.get_or_insert_with(|| Instant::now() + interval);
    }

    /// Stores all buffered conversations. Failed ones are retried with the next flush.
    pub(super) async fn flush(&mut self, store: &Store, threads: &Threads, shapes: &Shapes, agent: &str) {
        self.due = None;
        let mut conversations: Vec<(ConversationId, BufferedConversation)> =
            self.conversations.drain().collect();
        conversations.sort_unstable_by_key(|(_, buffered)| std::cmp::Reverse(buffered.at));
        while !conversations.is_empty() {
            let rest = conversations.split_off(conversations.len().min(MAX_BATCH));
            if !write_batch(store, &conversations, threads, shapes, agent).await {
                // Bounds the buffer while the store fails.
                self.conversations.extend(conversations.into_iter().chain(rest).take(MAX_BUFFERED));
                return;
            }
            conversations = rest;
        }
    }
}

/// Stores a batch. Returns whether that succeeded.
async fn write_batch(
    store: &Store,
    conversations: &[(ConversationId, BufferedConversation)],
    threads: &Threads,
    shapes: &Shapes,
    agent: &str,
) -> bool {
    let new = conversations.iter().map(|(id, buffered)| new_proxied(threads, id, buffered, agent)).collect();
    let requests = conversations.iter().filter_map(|(id, _)| Some(shapes.of(id)?.stored(id)));
    if store.save_proxied(new, requests.collect()).await.is_err() {
        return false;
    }
    let mut payers: Vec<&str> = conversations.iter().map(|(_, buffered)| buffered.payer.name()).collect();
    payers.sort_unstable();
    payers.dedup();
    for payer in payers {
        // A failure is made up for next time.
        let _ = store.trim_proxied(payer, MAX_CONVERSATIONS_PER_PAYER).await;
    }
    true
}

fn new_proxied(
    threads: &Threads,
    id: &ConversationId,
    buffered: &BufferedConversation,
    agent: &str,
) -> NewProxiedConversation {
    // The chain may have been evicted; then the stored one is kept.
    let chain = threads.chain(buffered.payer.name(), id).unwrap_or_default();
    NewProxiedConversation {
        proxied: ProxiedConversation {
            conversation: id.clone(),
            payer: buffered.payer.name().to_owned(),
            dialect: buffered.dialect.to_owned(),
            last_at: buffered.at,
            chain: Link::store(&chain),
        },
        agent: agent.to_owned(),
        user: buffered.payer.user().map(str::to_owned),
        channel: channel(&buffered.payer),
    }
}
