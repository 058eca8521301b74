//! Marks for the provider's cache: how many the client has set, and which of ours still fit. There are four in all, and one
//! that lasts longer never stands behind one that lasts less.

use std::ops::Range;

use foreword_core::models::caching::MOST_MARKS;
use foreword_core::price::CacheTtl;
use memchr::memmem;

use super::Words;
use crate::proxy::scan;

const KEY: &[u8] = b"\"cache_control\"";

/// The marks in a part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Marks {
    pub(super) count: usize,
    /// Whether some last an hour.
    pub(super) long: bool,
    /// Whether some last less.
    pub(super) short: bool,
}

impl Marks {
    /// The marks in `range`. A key of that name anywhere counts: rather one of ours too few than a request that is refused.
    pub(super) fn in_range(bytes: &[u8], range: Range<usize>) -> Self {
        let mut marks = Self::default();
        let part = bytes.get(range.clone()).unwrap_or_default();
        for found in memmem::find_iter(part, KEY) {
            let at = range.start + found;
            let colon = scan::after_space(bytes, at + KEY.len());
            let is_key = bytes.get(colon) == Some(&b':') && (at == 0 || bytes[at - 1] != b'\\');
            let start = scan::after_space(bytes, colon + 1);
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

/// Which of our blocks are marked, where the client has marked `before` and `behind` them; `tools` is how many bytes of tools
/// stand before them.
pub(super) fn ours(words: &Words, tools: usize, before: Marks, behind: Marks) -> Vec<(usize, CacheTtl)> {
    let most = MOST_MARKS.saturating_sub(before.count + behind.count);
    if !words.takes_marks || most == 0 {
        return Vec::new();
    }
    let blocks: Vec<_> = words.blocks.iter().map(|block| (block.class, block.tokens)).collect();
    let longest = if before.short { CacheTtl::FiveMinutes } else { words.ttl };
    let mut marks =
        foreword_core::model::marks::of_blocks(&blocks, (tools, words.min_cacheable), longest, most);
    if behind.long {
        // What stands before one that lasts an hour has to last as long.
        marks.iter_mut().for_each(|(_, ttl)| *ttl = CacheTtl::OneHour);
    }
    marks
}
