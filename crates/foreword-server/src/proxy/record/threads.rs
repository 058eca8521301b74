//! Finds the conversation that a request continues: by the client's name for it, or by its beginning among the payer's
//! recent conversations. A bounded cache, filled from the store at the start and on demand.

use std::collections::HashMap;
use std::sync::Arc;

use foreword_agent::clock_and_rng::ClockAndRng;
use foreword_core::cache::{ChainKey, Link};
use foreword_core::conversation_matcher::ConversationMatcher;
use foreword_core::id::{BadId, ConversationId};
use foreword_core::provider::WireDialect;
use foreword_store::proxied::{ID_PREFIX, ProxiedConversation};
use parking_lot::Mutex;

use super::shape::ParsedRequest;

/// The maximum number of links of all payers.
const MAX_LINKS: usize = 1_000_000;
/// The maximum number of links of one conversation. Longer ones are matched by their beginning.
const MAX_CHAIN_LINKS: usize = 4_096;
const MAX_PAYERS: usize = 10_000;

/// The recent conversations of all payers.
#[derive(Debug, Default)]
pub(super) struct Threads(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    payers: HashMap<Arc<str>, PayerConversations>,
    links: usize,
    clock: u64,
}

#[derive(Debug, Default)]
struct PayerConversations {
    recent: ConversationMatcher,
    used: u64,
}

/// The conversation of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Joined {
    pub(super) conversation: ConversationId,
    /// Whether it was unknown before.
    pub(super) is_new: bool,
}

/// The stored name of a dialect.
pub(super) fn dialect_name(dialect: WireDialect) -> &'static str {
    match dialect {
        WireDialect::Anthropic => "anthropic",
        WireDialect::OpenAi => "openai",
    }
}

/// The hash chain of a request's messages.
pub(super) fn chain(key: &ChainKey, dialect: WireDialect, request: &ParsedRequest<'_>) -> Vec<Link> {
    let mut last = key.start(dialect_name(dialect));
    let links = request.messages(key).take(MAX_CHAIN_LINKS).map(|(role, text)| {
        last = key.link_hashed(last, role, text);
        last
    });
    links.collect()
}

impl Threads {
    /// The payer's conversation that a request with this chain continues. Remembers the chain.
    pub(super) fn join(
        &self,
        payer: &str,
        chain: Vec<Link>,
        named: Option<ConversationId>,
        clock_and_rng: &(dyn ClockAndRng + 'static),
    ) -> Result<Joined, BadId> {
        let mut state = self.0.lock();
        let conversations = state.conversations_of(payer);
        let (conversation, is_new) = match named {
            Some(named) => {
                let is_new = conversations.recent.chain(&named).is_none();
                (named, is_new)
            }
            None => match conversations.recent.find(&chain) {
                Some(found) => (found.clone(), false),
                None => (clock_and_rng.id(&format!("{ID_PREFIX}c"))?, true),
            },
        };
        state.note(payer, &conversation, chain);
        Ok(Joined { conversation, is_new })
    }

    /// The conversation of a client's name, within the payer's scope. The conversation's id is a valid name too.
    pub(super) fn named(&self, payer: &str, name: &str) -> Result<ConversationId, BadId> {
        let own = format!("{ID_PREFIX}{payer}:");
        if name.starts_with(&own) {
            return ConversationId::new(name);
        }
        match ConversationId::new(name) {
            Ok(id) if self.contains(payer, &id) => Ok(id),
            _ => ConversationId::new(format!("{own}{name}")),
        }
    }

    /// Whether a conversation of the payer is cached.
    pub(super) fn contains(&self, payer: &str, conversation: &ConversationId) -> bool {
        self.0.lock().conversations_of(payer).recent.chain(conversation).is_some()
    }

    /// Whether a cached conversation matches the chain.
    pub(super) fn matches(&self, payer: &str, chain: &[Link]) -> bool {
        self.0.lock().conversations_of(payer).recent.find(chain).is_some()
    }

    /// Loads stored conversations, newest first. Cached ones are not overwritten.
    pub(super) fn load(&self, stored: &[ProxiedConversation]) {
        let mut state = self.0.lock();
        for line in stored.iter().rev() {
            let known = state.conversations_of(&line.payer).recent.chain(&line.conversation).is_some();
            if !known {
                state.note(&line.payer, &line.conversation, Link::read(&line.chain));
            }
        }
    }

    /// The chain of a conversation's last request.
    pub(super) fn chain(&self, payer: &str, conversation: &ConversationId) -> Option<Vec<Link>> {
        let state = self.0.lock();
        state.payers.get(payer)?.recent.chain(conversation).map(<[Link]>::to_vec)
    }

    #[cfg(test)]
    fn links(&self) -> usize {
        self.0.lock().links
    }
}

impl State {
    fn conversations_of(&mut self, payer: &str) -> &mut PayerConversations {
        if !self.payers.contains_key(payer) {
            self.payers.insert(payer.into(), PayerConversations::default());
        }
        self.payers.entry(payer.into()).or_default()
    }

    fn note(&mut self, payer: &str, conversation: &ConversationId, chain: Vec<Link>) {
        self.clock += 1;
        let used = self.clock;
        let conversations = self.conversations_of(payer);
        let before = conversations.recent.links();
        conversations.recent.note(conversation, chain);
        conversations.used = used;
        let after = conversations.recent.links();
        self.links = self.links + after - before;
        if self.links > MAX_LINKS || self.payers.len() > MAX_PAYERS {
            self.evict();
        }
    }

    /// Evicts the least recently used payers until half of the space is free.
    fn evict(&mut self) {
        let mut by_use: Vec<(u64, Arc<str>)> = self
            .payers
            .iter()
            .map(|(payer, conversations)| (conversations.used, Arc::clone(payer)))
            .collect();
        by_use.sort_unstable();
        for (_, payer) in by_use {
            if self.links <= MAX_LINKS / 2 && self.payers.len() <= MAX_PAYERS / 2 {
                break;
            }
            let gone = self.payers.remove(&payer);
            self.links -= gone.map_or(0, |conversations| conversations.recent.links());
        }
    }
}

#[cfg(test)]
mod tests;
