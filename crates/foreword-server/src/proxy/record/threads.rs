//! Which conversation each request goes on with: named by its client, or found among the recent ones of whoever pays for it.
//! In memory and bounded; what the database has of earlier days is brought in once, and what other nodes have seen when it is
//! asked for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foreword_agent::surroundings::Surroundings;
use foreword_core::cache::{ChainKey, Link};
use foreword_core::id::{BadId, ConversationId};
use foreword_core::lines::RecentLines;
use foreword_core::provider::WireDialect;
use foreword_store::proxied::{ID_PREFIX, ProxiedLine};

use super::shape::Request;

/// The most links of all who pay together.
const MOST_LINKS: usize = 1_000_000;
/// The most of one conversation: what is longer is known by its beginning.
const MOST_IN_CHAIN: usize = 4_096;
/// The most who are remembered.
const MOST_PAYERS: usize = 10_000;

/// The recent conversations of everybody.
#[derive(Debug, Default)]
pub(super) struct Threads(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    payers: HashMap<Arc<str>, Lines>,
    links: usize,
    clock: u64,
}

#[derive(Debug, Default)]
struct Lines {
    recent: RecentLines,
    used: u64,
}

/// The conversation a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Joined {
    pub(super) conversation: ConversationId,
    /// Whether nothing was known of it before.
    pub(super) is_new: bool,
}

/// What a dialect is called where lines are kept.
pub(super) fn word(dialect: WireDialect) -> &'static str {
    match dialect {
        WireDialect::Anthropic => "anthropic",
        WireDialect::OpenAi => "openai",
    }
}

/// The chain of what is said in a request.
pub(super) fn chain(key: &ChainKey, dialect: WireDialect, request: &Request<'_>) -> Vec<Link> {
    let mut last = key.start(word(dialect));
    let links = request.said(key).take(MOST_IN_CHAIN).map(|(role, text)| {
        last = key.link_hashed(last, role, text);
        last
    });
    links.collect()
}

impl Threads {
    /// The conversation of `payer` that a request with this chain goes on with. It is remembered there.
    pub(super) fn join(
        &self,
        payer: &str,
        chain: Vec<Link>,
        named: Option<ConversationId>,
        surroundings: &(dyn Surroundings + 'static),
    ) -> Result<Joined, BadId> {
        let mut state = self.state();
        let lines = state.lines(payer);
        let (conversation, is_new) = match named {
            Some(named) => {
                let is_new = lines.recent.chain(&named).is_none();
                (named, is_new)
            }
            None => match lines.recent.find(&chain) {
                Some(found) => (found.clone(), false),
                None => (surroundings.id(&format!("{ID_PREFIX}c"))?, true),
            },
        };
        state.note(payer, &conversation, chain);
        Ok(Joined { conversation, is_new })
    }

    /// The conversation that a client names: the payer's alone, whatever it is called. Its id is a name as well, for whoever
    /// was told it.
    pub(super) fn named(&self, payer: &str, name: &str) -> Result<ConversationId, BadId> {
        let own = format!("{ID_PREFIX}{payer}:");
        if name.starts_with(&own) {
            return ConversationId::new(name);
        }
        match ConversationId::new(name) {
            Ok(id) if self.knows(payer, &id) => Ok(id),
            _ => ConversationId::new(format!("{own}{name}")),
        }
    }

    /// Whether a conversation of `payer` is remembered.
    pub(super) fn knows(&self, payer: &str, conversation: &ConversationId) -> bool {
        self.state().lines(payer).recent.chain(conversation).is_some()
    }

    /// Whether one is that a request with this chain goes on with.
    pub(super) fn finds(&self, payer: &str, chain: &[Link]) -> bool {
        self.state().lines(payer).recent.find(chain).is_some()
    }

    /// Brings in what was kept, the newest first; what is known better here stays.
    pub(super) fn recall(&self, kept: &[ProxiedLine]) {
        let mut state = self.state();
        for line in kept.iter().rev() {
            let known = state.lines(&line.payer).recent.chain(&line.conversation).is_some();
            if !known {
                state.note(&line.payer, &line.conversation, Link::read(&line.chain));
            }
        }
    }

    /// How the last request of a conversation began.
    pub(super) fn chain(&self, payer: &str, conversation: &ConversationId) -> Option<Vec<Link>> {
        let state = self.state();
        state.payers.get(payer)?.recent.chain(conversation).map(<[Link]>::to_vec)
    }

    #[cfg(test)]
    fn links(&self) -> usize {
        self.state().links
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing can fail while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn lines(&mut self, payer: &str) -> &mut Lines {
        if !self.payers.contains_key(payer) {
            self.payers.insert(payer.into(), Lines::default());
        }
        self.payers.entry(payer.into()).or_default()
    }

    fn note(&mut self, payer: &str, conversation: &ConversationId, chain: Vec<Link>) {
        self.clock += 1;
        let used = self.clock;
        let lines = self.lines(payer);
        let before = lines.recent.links();
        lines.recent.note(conversation, chain);
        lines.used = used;
        let after = lines.recent.links();
        self.links = self.links + after - before;
        if self.links > MOST_LINKS || self.payers.len() > MOST_PAYERS {
            self.forget_some();
        }
    }

    /// Forgets whoever has not asked for longest, until half of the room is free.
    fn forget_some(&mut self) {
        let mut by_use: Vec<(u64, Arc<str>)> =
            self.payers.iter().map(|(payer, lines)| (lines.used, Arc::clone(payer))).collect();
        by_use.sort_unstable();
        for (_, payer) in by_use {
            if self.links <= MOST_LINKS / 2 && self.payers.len() <= MOST_PAYERS / 2 {
                break;
            }
            let gone = self.payers.remove(&payer);
            self.links -= gone.map_or(0, |lines| lines.recent.links());
        }
    }
}

#[cfg(test)]
mod tests;
