//! Simulates a provider's cache: what each request reads and writes. Knows prefixes and times, not prices.

use std::collections::BTreeMap;

use super::chain::Prefix;
use super::request::{CacheMarker, SimulatedRequest};
use super::request_charge::RequestCharge;
use super::rules::{CacheLookup, CacheModel};
use crate::models::cache_limits::MAX_BREAKPOINTS;
use crate::price::CacheTtl;

/// The number of entries that triggers the first removal of expired ones.
const TIDY_FROM: usize = 4_096;

/// A simulated cache. Times are in seconds and never decrease.
#[derive(Debug, Clone)]
pub struct Cache {
    rules: CacheModel,
    /// Entries by prefix id.
    entries: BTreeMap<u64, Entry>,
    /// For [`CacheLookup::LongestPrefix`]: how much of each conversation was seen, by head and first message.
    /// Conversations only grow; for a truncated or rewritten one only the head matches.
    seen: BTreeMap<(u64, u64), Seen>,
    tidy_at: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The time to live, in seconds.
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
    pub fn new(rules: CacheModel) -> Self {
        Self { rules, entries: BTreeMap::new(), seen: BTreeMap::new(), tidy_at: TIDY_FROM }
    }

    /// Sends `request` at `now` and returns what it reads and writes.
    pub fn send(&mut self, now: u64, request: &SimulatedRequest<'_>) -> RequestCharge {
        self.tidy(now);
        match self.rules.finding {
            CacheLookup::AtMarks { look_back } => self.at_marks(now, request, request.marks(), look_back),
            CacheLookup::AtMarksAndTheEnd { look_back } => {
                // The provider's own breakpoint is the last of the four; of the client's only the latest three count.
                let own = CacheMarker { at: request.len(), ttl: CacheTtl::FiveMinutes };
                let mut marks: Vec<CacheMarker> =
                    request.marks().iter().copied().filter(|mark| mark.at < own.at).collect();
                marks.drain(..marks.len().saturating_sub(MAX_BREAKPOINTS - 1));
                marks.push(own);
                self.at_marks(now, request, &marks, look_back)
            }
            CacheLookup::AtTheEnd => {
                let end = CacheMarker { at: request.len(), ttl: CacheTtl::FiveMinutes };
                self.at_marks(now, request, &[end], usize::MAX)
            }
            CacheLookup::LongestPrefix { step, writes } => self.longest(now, request, step, writes),
            CacheLookup::Nothing => RequestCharge { total: request.tokens(), ..RequestCharge::default() },
        }
    }

    fn at_marks(
        &mut self,
        now: u64,
        request: &SimulatedRequest<'_>,
        marks: &[CacheMarker],
        look_back: usize,
    ) -> RequestCharge {
        let minimum = self.rules.minimum.max(1);
        let counting = || marks.iter().filter(|mark| request.prefix(mark.at).tokens >= minimum);
        let found = counting().rev().find_map(|mark| self.look_back(now, request, mark.at, look_back));
        let read = found.map_or(0, |prefix| prefix.tokens);
        if let Some(found) = found {
            self.use_again(now, found.id, self.rules.kept);
        }
        let mut charged = RequestCharge { read, hour: read, written: read, total: request.tokens() };
        for mark in counting() {
            let prefix = request.prefix(mark.at);
            let kept = self.rules.cache_seconds(mark.ttl);
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

    /// The longest cached prefix within the lookback from `at`. An earlier breakpoint cannot lead to a longer one.
    fn look_back(
        &self,
        now: u64,
        request: &SimulatedRequest<'_>,
        at: usize,
        look_back: usize,
    ) -> Option<Prefix> {
        let from = (at + 1).saturating_sub(look_back).max(1);
        let prefixes = (from..=at).rev().map(|at| request.prefix(at));
        prefixes
            .take_while(|prefix| prefix.tokens >= self.rules.minimum)
            .find(|prefix| self.entries.get(&prefix.id).is_some_and(|entry| now <= entry.until))
    }

    /// Renews an entry for its original time to live. An expired entry is restored, since it is part of the prefix that
    /// was read.
    fn use_again(&mut self, now: u64, id: u64, kept: u64) {
        let entry = self.entries.entry(id).or_insert(Entry { kept, until: 0 });
        if entry.until < now {
            entry.kept = kept;
        }
        entry.until = now.saturating_add(entry.kept);
    }

    fn longest(
        &mut self,
        now: u64,
        request: &SimulatedRequest<'_>,
        step: usize,
        writes: bool,
    ) -> RequestCharge {
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
        RequestCharge { read, hour: read, written, total }
    }

    /// How many leading tokens of the request were seen before.
    fn common(&self, now: u64, request: &SimulatedRequest<'_>) -> usize {
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

    fn remember(&mut self, now: u64, request: &SimulatedRequest<'_>) {
        let (head, said, kept) = (request.head(), request.messages(), self.rules.kept);
        let until = now.saturating_add(kept);
        for at in 1..=head.len() {
            self.entries.insert(head.prefix(at).id, Entry { kept, until });
        }
        let seen = Seen { messages: said.len(), id: said.prefix(said.len()).id, until };
        self.seen.insert(Self::conversation(request), seen);
    }

    fn conversation(request: &SimulatedRequest<'_>) -> (u64, u64) {
        (request.head().prefix(request.head().len()).id, request.messages().prefix(1).id)
    }

    /// Removes expired entries whenever the number has doubled, to bound memory use.
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
