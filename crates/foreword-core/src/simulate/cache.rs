//! A provider's cache, sent one request after the other: says what is read from it and what is written to it. Knows prefixes
//! and times, and no prices.

use std::collections::BTreeMap;

use super::chain::Prefix;
use super::charged::Charged;
use super::request::{Mark, Request};
use super::rules::{CacheRules, Finding};
use crate::models::caching::MOST_MARKS;
use crate::price::CacheTtl;

/// How many entries there may be before the first look for those that have run out.
const TIDY_FROM: usize = 4_096;

/// A cache under the rules of a provider. Times are seconds since any moment, and never go back.
#[derive(Debug, Clone)]
pub struct Cache {
    rules: CacheRules,
    /// By the prefix that is kept.
    entries: BTreeMap<u64, Entry>,
    /// Under [`Finding::LongestPrefix`], how much of a conversation was seen behind a head: by the head and the conversation's
    /// first message. Conversations only grow; of one that was cut short or rewritten no more than the head is found.
    seen: BTreeMap<(u64, u64), Seen>,
    tidy_at: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// For how long it is kept after it was used.
    kept: u64,
    until: u64,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    messages: usize,
    id: u64,
    until: u64,
}

impl Cache {
    /// An empty cache.
    #[must_use]
    pub fn new(rules: CacheRules) -> Self {
        Self { rules, entries: BTreeMap::new(), seen: BTreeMap::new(), tidy_at: TIDY_FROM }
    }

    /// What `request`, sent at `now`, finds in the cache and leaves there.
    pub fn send(&mut self, now: u64, request: &Request<'_>) -> Charged {
        self.tidy(now);
        match self.rules.finding {
            Finding::AtMarks { look_back } => self.at_marks(now, request, request.marks(), look_back),
            Finding::AtMarksAndTheEnd { look_back } => {
                // The provider's own mark is the last of the four; of the client's the latest three count.
                let own = Mark { at: request.len(), ttl: CacheTtl::FiveMinutes };
                let mut marks: Vec<Mark> =
                    request.marks().iter().copied().filter(|mark| mark.at < own.at).collect();
                marks.drain(..marks.len().saturating_sub(MOST_MARKS - 1));
                marks.push(own);
                self.at_marks(now, request, &marks, look_back)
            }
            Finding::AtTheEnd => {
                let end = Mark { at: request.len(), ttl: CacheTtl::FiveMinutes };
                self.at_marks(now, request, &[end], usize::MAX)
            }
            Finding::LongestPrefix { step, writes } => self.longest(now, request, step, writes),
            Finding::Nothing => Charged { total: request.tokens(), ..Charged::default() },
        }
    }

    fn at_marks(&mut self, now: u64, request: &Request<'_>, marks: &[Mark], look_back: usize) -> Charged {
        let minimum = self.rules.minimum.max(1);
        let counting = || marks.iter().filter(|mark| request.prefix(mark.at).tokens >= minimum);
        let found = counting().rev().find_map(|mark| self.look_back(now, request, mark.at, look_back));
        let read = found.map_or(0, |prefix| prefix.tokens);
        if let Some(found) = found {
            self.use_again(now, found.id, self.rules.kept);
        }
        let mut charged = Charged { read, hour: read, written: read, total: request.tokens() };
        for mark in counting() {
            let prefix = request.prefix(mark.at);
            let kept = self.rules.kept(mark.ttl);
            if prefix.tokens > read {
                self.entries.insert(prefix.id, Entry { kept, until: now.saturating_add(kept) });
                if mark.ttl == CacheTtl::OneHour {
                    charged.hour = prefix.tokens;
                }
                charged.written = prefix.tokens;
            } else {
                self.use_again(now, prefix.id, kept);
            }
        }
        charged
    }

    /// The longest prefix that is kept, from `at` back. All between it and `at` has been looked at, so no mark before `at`
    /// can lead to a longer one.
    fn look_back(&self, now: u64, request: &Request<'_>, at: usize, look_back: usize) -> Option<Prefix> {
        let from = (at + 1).saturating_sub(look_back).max(1);
        let prefixes = (from..=at).rev().map(|at| request.prefix(at));
        prefixes
            .take_while(|prefix| prefix.tokens >= self.rules.minimum)
            .find(|prefix| self.entries.get(&prefix.id).is_some_and(|entry| now <= entry.until))
    }

    /// What is used is kept for as long again as it was first asked to be; what has run out is there again, as it was part of
    /// what was read.
    fn use_again(&mut self, now: u64, id: u64, kept: u64) {
        let entry = self.entries.entry(id).or_insert(Entry { kept, until: 0 });
        if entry.until < now {
            entry.kept = kept;
        }
        entry.until = now.saturating_add(entry.kept);
    }

    fn longest(&mut self, now: u64, request: &Request<'_>, step: usize, writes: bool) -> Charged {
        let in_steps = |tokens: usize| match tokens.checked_sub(self.rules.minimum) {
            Some(above) => self.rules.minimum + above / step.max(1) * step.max(1),
            None => 0,
        };
        let total = request.tokens();
        let read = in_steps(self.common(now, request));
        let written = if writes { in_steps(total).max(read) } else { read };
        if total >= self.rules.minimum {
            self.remember(now, request);
        }
        Charged { read, hour: read, written, total }
    }

    /// How many tokens from its start a request has in common with one that was seen.
    fn common(&self, now: u64, request: &Request<'_>) -> usize {
        let head = request.head();
        let is_kept =
            |at: &usize| self.entries.get(&head.prefix(*at).id).is_some_and(|entry| now <= entry.until);
        let kept = (1..=head.len()).take_while(is_kept).last().unwrap_or(0);
        if kept < head.len() {
            return head.prefix(kept).tokens;
        }
        let said = request.messages();
        let seen = self.seen.get(&Self::conversation(request)).filter(|seen| now <= seen.until);
        let behind = seen.map_or(0, |seen| match said.prefix(seen.messages) {
            prefix if prefix.id == seen.id && seen.messages <= said.len() => prefix.tokens,
            _ => 0,
        });
        head.tokens().saturating_add(behind)
    }

    fn remember(&mut self, now: u64, request: &Request<'_>) {
        let (head, said, kept) = (request.head(), request.messages(), self.rules.kept);
        let until = now.saturating_add(kept);
        for at in 1..=head.len() {
            self.entries.insert(head.prefix(at).id, Entry { kept, until });
        }
        let seen = Seen { messages: said.len(), id: said.prefix(said.len()).id, until };
        self.seen.insert(Self::conversation(request), seen);
    }

    fn conversation(request: &Request<'_>) -> (u64, u64) {
        (request.head().prefix(request.head().len()).id, request.messages().prefix(1).id)
    }

    /// Drops what has run out, whenever there is twice as much as was left the last time: a long simulation stays small.
    fn tidy(&mut self, now: u64) {
        if self.entries.len() + self.seen.len() < self.tidy_at {
            return;
        }
        self.entries.retain(|_, entry| now <= entry.until);
        self.seen.retain(|_, seen| now <= seen.until);
        self.tidy_at = TIDY_FROM.max((self.entries.len() + self.seen.len()) * 2);
    }
}

#[cfg(test)]
mod tests;
