//! How much of a request could have been read from the cache: the prefix that the previous request left there, as far
//! as it is unchanged.

use std::time::Duration;

use super::compare::Difference;
use super::evidence::{Evidence, PreviousRequest, Reported};
use super::rules::Expiry;
use super::shape::{RequestShape, tokens};
use crate::models::{Breakpoints, CacheMatch};
use crate::price::CacheTtl;

/// The prefix that the previous request left in the cache.
pub(super) struct Readable<'a> {
    evidence: &'a Evidence<'a>,
    seen: PreviousRequest<'a>,
    /// The number of cacheable sections of the previous request.
    pub(super) sections: usize,
    /// Their estimated size, in tokens.
    pub(super) estimate: u64,
    /// How many tokens of the current request could be read.
    pub(super) tokens: u64,
    /// Whether `tokens` was reported by the provider, not estimated.
    pub(super) exact: bool,
}

impl<'a> Readable<'a> {
    pub(super) fn of(evidence: &'a Evidence<'a>, seen: PreviousRequest<'a>) -> Self {
        let sections = cacheable(evidence.rules.breakpoints, seen.shape, evidence.current);
        let mut readable = Self { evidence, seen, sections, estimate: 0, tokens: 0, exact: false };
        readable.estimate = readable.scaled(tokens(&seen.shape.sections[..sections]));
        let exact = readable.reported_before();
        readable.exact = exact.is_some();
        readable.tokens = exact.unwrap_or(readable.estimate);
        if is_rewind(seen.shape, evidence.current) {
            readable.tokens = readable.tokens.min(readable.scaled(evidence.current.tokens()));
        }
        readable
    }

    /// The number of tokens in the cache after the previous request, as reported by the provider.
    fn reported_before(&self) -> Option<u64> {
        let reported = self.seen.reported?;
        let usage = reported.cache()?;
        match self.evidence.rules.breakpoints {
            Breakpoints::Explicit => Some(usage.cache_read.saturating_add(usage.cache_write)),
            _ if self.sections == self.seen.shape.sections.len() => Some(reported.whole()),
            _ => None,
        }
    }

    /// Converts one of our estimates to the provider's tokens, by the reported size of the whole request.
    pub(super) fn scaled(&self, estimate: usize) -> u64 {
        let whole_estimate = self.evidence.current.tokens().max(1) as u128;
        match self.evidence.reported.whole() {
            0 => estimate as u64,
            whole => u64::try_from(estimate as u128 * u128::from(whole) / whole_estimate).unwrap_or(u64::MAX),
        }
    }

    /// By how many tokens a read may fall short of `tokens` and still count as complete.
    pub(super) fn tolerance(&self, tokens: u64) -> u64 {
        let share = if self.exact { tokens / 100 } else { tokens / 10 };
        share.max(self.evidence.rules.step as u64)
    }

    /// Whether `read` covers `tokens`, within the tolerance.
    pub(super) fn is_all(&self, read: u64, tokens: u64) -> bool {
        read.saturating_add(self.tolerance(tokens)) >= tokens
    }

    /// How many tokens before a difference can still be read.
    pub(super) fn before(&self, difference: &Difference) -> u64 {
        match self.evidence.rules.breakpoints {
            // A unit that differs anywhere is a miss; shorter units are not documented.
            Breakpoints::Automatic if self.evidence.rules.matches == CacheMatch::Units => 0,
            Breakpoints::Automatic | Breakpoints::None => {
                let step = self.evidence.rules.step.max(1) as u64;
                let shared = self.scaled(difference.shared_tokens) / step * step;
                if shared < self.minimum().unwrap_or(0) as u64 { 0 } else { shared }
            }
            Breakpoints::Explicit | Breakpoints::Either => {
                let mut ends = self.seen.shape.breakpoints().map(|(end, _)| end).rev();
                let end = ends.find(|end| *end <= difference.shared_sections).unwrap_or(0);
                self.scaled(tokens(&self.seen.shape.sections[..end]))
            }
        }
    }

    pub(super) fn minimum(&self) -> Option<usize> {
        self.evidence.minimum()
    }

    /// Whether the prefix can still be in the cache.
    pub(super) fn expiry(&self) -> Expiry {
        let last: Option<CacheTtl> = self.seen.shape.breakpoints().next_back().map(|(_, ttl)| ttl);
        self.evidence.rules.expiry(last, self.idle())
    }

    /// The time since the last use of the prefix.
    pub(super) fn idle(&self) -> Duration {
        let touched = self.evidence.last_touch.map_or(self.seen.at, |touch| touch.max(self.seen.at));
        self.evidence.at.since(touched)
    }

    /// Whether the lookback from a breakpoint of this request reaches the end of the cached prefix.
    pub(super) fn in_reach(&self) -> bool {
        let Some(look_back) = self.evidence.rules.look_back else { return true };
        let blocks = |end: usize| -> usize {
            self.evidence.current.sections.iter().take(end).map(|section| section.blocks).sum()
        };
        let cached = blocks(self.sections);
        self.evidence.current.breakpoints().any(|(end, _)| {
            let here = blocks(end);
            here >= cached && here - cached < look_back
        })
    }
}

/// How many sections of `previous` its provider could cache.
fn cacheable(breakpoints: Breakpoints, previous: &RequestShape, current: &RequestShape) -> usize {
    let all = previous.sections.len();
    match breakpoints {
        Breakpoints::Explicit => previous.breakpoints().next_back().map_or(0, |(end, _)| end),
        // The last message was replaced in place; providers do not promise to have cached it.
        _ if all == current.sections.len() && all > 0 => all - 1,
        _ => all,
    }
}

/// Whether the conversation was rewound, so that it is shorter than its cached prefix.
fn is_rewind(previous: &RequestShape, current: &RequestShape) -> bool {
    let mut pairs = previous.sections.iter().zip(&current.sections);
    current.sections.len() <= previous.sections.len() && pairs.all(|(before, now)| before.is_same(now))
}

/// The tokens read from the cache, if reported.
pub(super) fn read(reported: &Reported) -> Option<u64> {
    reported.cache().map(|usage| usage.cache_read)
}
