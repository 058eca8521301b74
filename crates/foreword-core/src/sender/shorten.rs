//! Truncates a text to a number of characters, with a mark for the omitted rest.

use std::borrow::Cow;

use foreword_prompt::text::with_thousands;
use unicode_normalization::char::is_combining_mark;

/// How far back a cut may move to keep a grapheme cluster together; combining accents can form a cluster of any length.
const MAX_CLUSTER_CHARS: usize = 16;

/// `text` if it has at most `limit` characters; otherwise its start and a mark, together at most `limit` characters.
///
/// Accents, emoji sequences and flags are kept whole, so the result may be slightly shorter.
///
/// ```
/// use foreword_core::sender::shorten;
/// assert_eq!(shorten("hello", 500), "hello");
/// let long = "x".repeat(2_000);
/// let short = shorten(&long, 500);
/// assert_eq!(short.chars().count(), 500);
/// assert!(short.ends_with("x… [1,525 more characters]"));
/// ```
#[must_use]
pub fn shorten(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let total = text.chars().count();
    if total <= limit {
        return Cow::Borrowed(text);
    }
    // The mark is longest for the number of all characters.
    let longest_mark = mark(total).chars().count();
    let Some(room) = limit.checked_sub(longest_mark) else {
        return Cow::Owned(text.chars().take(limit).collect());
    };
    let kept = whole_characters(text, room);
    let end = text.char_indices().nth(kept).map_or(text.len(), |(offset, _)| offset);
    Cow::Owned(format!("{}{}", text.get(..end).unwrap_or_default(), mark(total - kept)))
}

fn mark(missing: usize) -> String {
    format!("… [{} more characters]", with_thousands(missing))
}

/// How many of the first `room` characters to keep without splitting a cluster.
fn whole_characters(text: &str, room: usize) -> usize {
    let start = room.saturating_sub(MAX_CLUSTER_CHARS);
    let around: Vec<char> = text.chars().skip(start).take(room - start + 1).collect();
    let between = |at: usize| Some((*around.get(at.checked_sub(1)?)?, *around.get(at)?));
    let cut =
        (1..=room - start).rev().find(|&at| between(at).is_none_or(|(left, right)| !joined(left, right)));
    cut.map_or(room, |at| start + at)
}

/// Whether two adjacent characters form one cluster. A heuristic, not complete Unicode segmentation.
fn joined(left: char, right: char) -> bool {
    const JOINER: char = '\u{200d}';
    let style_or_skin =
        matches!(right, '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}');
    let flag = |c: char| matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
    let line_end = left == '\r' && right == '\n';
    is_combining_mark(right)
        || left == JOINER
        || right == JOINER
        || style_or_skin
        || (flag(left) && flag(right))
        || line_end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result for a cut `inside` characters into `cluster`.
    fn cut_inside(cluster: &str, inside: usize) -> String {
        let total = 1_000;
        let room = 500 - mark(total).chars().count();
        let text = format!("{}{cluster}", "x".repeat(room - inside));
        let text = format!("{text}{}", "y".repeat(total - text.chars().count()));
        let short = shorten(&text, 500).into_owned();
        assert!(short.chars().count() <= 500);
        short.split('…').next().unwrap().trim_start_matches('x').to_owned()
    }

    #[test]
    fn grapheme_clusters_are_not_split() {
        for cluster in ["e\u{301}", "👩\u{200d}🚀", "👍\u{1f3fd}", "❤\u{fe0f}", "\u{1f1e9}\u{1f1ea}", "\r\n"]
        {
            let length = cluster.chars().count();
            for inside in 1..length {
                assert_eq!(cut_inside(cluster, inside), "", "{cluster:?} {inside}");
            }
            assert_eq!(cut_inside(cluster, length), cluster);
        }
    }

    #[test]
    fn long_clusters_are_cut() {
        let pile = format!("a{}", "\u{301}".repeat(5_000));
        let short = shorten(&pile, 500);
        assert!(short.chars().count() == 500 && short.contains("more characters"), "{short}");
    }

    #[test]
    fn small_limit_cuts_without_mark() {
        assert_eq!(shorten("abcdef", 3), "abc");
        assert_eq!(shorten("abcdef", 0), "");
    }
}
