//! Where the provider is asked to cache: behind each block of a frozen prompt that is large enough. Data for the
//! provider dialects to lower; never more breakpoints than any provider takes.

use serde::Serialize;

use crate::prompt::{CacheClass, Frozen};

/// The most breakpoints a request may have; one of them is left for the conversation.
pub const MOST_BREAKPOINTS: usize = 4;

/// A place behind which the provider is asked to cache everything up to there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Breakpoint {
    /// The block it stands behind.
    pub block: usize,
    /// How long what is before it stays the same.
    pub class: CacheClass,
    /// All tokens before it.
    pub tokens: usize,
    /// Its place in the frozen text.
    pub at: usize,
}

/// The breakpoints of `frozen` for a model that caches nothing smaller than `min_cacheable` tokens.
///
/// A request may have four; the last is kept for the conversation. Of a prompt's three classes the largest prefix
/// matters most, so the first ones go when there are too many.
#[must_use]
pub fn breakpoints(frozen: &Frozen, min_cacheable: usize) -> Vec<Breakpoint> {
    let mut before = 0;
    let mut all = Vec::new();
    for (block, part) in frozen.blocks.iter().enumerate() {
        before += part.tokens;
        if before >= min_cacheable.max(1) && part.class != CacheClass::None {
            all.push(Breakpoint { block, class: part.class, tokens: before, at: part.range.end });
        }
    }
    let surplus = all.len().saturating_sub(MOST_BREAKPOINTS - 1);
    all.split_off(surplus)
}
