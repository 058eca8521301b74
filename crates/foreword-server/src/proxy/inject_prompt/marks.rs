//! Cache breakpoints: counts the client's and chooses the injected ones. A request may have four, and a longer TTL must
//! not follow a shorter one.

use std::ops::Range;

use foreword_core::models::cache_limits::MAX_BREAKPOINTS;
use foreword_core::price::CacheTtl;
use memchr::memmem;

use super::PromptBlocks;
use crate::proxy::scan;

const KEY: &[u8] = b"\"cache_control\"";

/// The breakpoints in a part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Marks {
    pub(super) count: usize,
    /// Whether any has a TTL of an hour.
    pub(super) long: bool,
    /// Whether any has a shorter TTL.
    pub(super) short: bool,
}

impl Marks {
    /// The breakpoints in `range`. Counts every key of that name: too few injected breakpoints are better than a
    /// refused request.
    pub(super) fn in_range(bytes: &[u8], range: Range<usize>) -> Self {
        let mut marks = Self::default();
        let part = bytes.get(range.clone()).unwrap_or_default();
        for found in memmem::find_iter(part, KEY) {
            let at = range.start + found;
            let colon = scan::skip_whitespace(bytes, at + KEY.len());
            let is_key = bytes.get(colon) == Some(&b':') && (at == 0 || bytes[at - 1] != b'\\');
            let start = scan::skip_whitespace(bytes, colon + 1);
            let Some(end) = is_key.then(|| scan::end_of_value(bytes, start).ok()).flatten() else { continue };
            let value = &bytes[start..end];
            if value == b"null" {
                continue;
            }
            let long = memmem::find(value, b"\"1h\"").is_some();
            marks = marks.and(Self { count: 1, long, short: !long });
        }
        marks
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            long: self.long || other.long,
            short: self.short || other.short,
        }
    }
}

/// The breakpoints of the injected blocks, given the client's `before` and `behind` them; `tools` is the size of the
/// tools in bytes.
pub(super) fn choose(
    prompt: &PromptBlocks,
    tools: usize,
    before: Marks,
    behind: Marks,
) -> Vec<(usize, CacheTtl)> {
    let most = MAX_BREAKPOINTS.saturating_sub(before.count + behind.count);
    if !prompt.takes_marks || most == 0 {
        return Vec::new();
    }
    let blocks: Vec<_> = prompt.blocks.iter().map(|block| (block.class, block.tokens)).collect();
    let longest = if before.short { CacheTtl::FiveMinutes } else { prompt.ttl };
    let mut marks =
        foreword_core::model::breakpoints::of_blocks(&blocks, tools, prompt.min_cacheable, longest, most);
    if behind.long {
        // A breakpoint before one with a TTL of an hour must have that TTL too.
        marks.iter_mut().for_each(|(_, ttl)| *ttl = CacheTtl::OneHour);
    }
    marks
}
