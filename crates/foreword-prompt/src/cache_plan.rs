//! Cache breakpoints: after each block of a frozen prompt that is large enough. The provider dialects encode them;
//! never more than any provider accepts.

use serde::Serialize;

use crate::prompt::{CacheClass, Frozen};

/// The maximum number of breakpoints in a request; one is reserved for the conversation.
pub const MAX_BREAKPOINTS: usize = 4;

/// A cache breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Breakpoint {
    /// The block before it.
    pub block: usize,
    /// How long the text before it stays unchanged.
    pub class: CacheClass,
    /// The tokens before it.
    pub tokens: usize,
    /// Its offset in the frozen text.
    pub at: usize,
}

/// The breakpoints of `frozen` for a model that caches nothing smaller than `min_cacheable` tokens.
///
/// A request may have four; the last is reserved for the conversation. The largest prefix matters most, so the first
/// ones are dropped if there are too many.
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
    let surplus = all.len().saturating_sub(MAX_BREAKPOINTS - 1);
    all.split_off(surplus)
}
