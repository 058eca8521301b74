//! Finds the conversation that a request without a conversation id continues, by the hash chain of its messages.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::cache::Link;
use crate::id::ConversationId;

/// The recent conversations of one client.
///
/// A request continues the conversation with the longest common prefix of messages, if it shares more than the first
/// message or extends the last request of that conversation. Two conversations with the same greeting stay separate.
///
/// ```
/// use foreword_core::cache::Link;
/// use foreword_core::id::ConversationId;
/// use foreword_core::conversation_matcher::ConversationMatcher;
///
/// let [hello, answer, more] = [1, 2, 3].map(Link::from_number);
/// let talk = ConversationId::new("c-1").unwrap();
/// let mut recent = ConversationMatcher::default();
/// recent.note(&talk, vec![hello]);
/// assert_eq!(recent.find(&[hello, answer, more]), Some(&talk));
/// ```
#[derive(Debug, Default)]
pub struct ConversationMatcher {
    lines: BTreeMap<ConversationId, Line>,
    /// The last conversation that contained each link.
    links: BTreeMap<Link, ConversationId>,
    clock: u64,
}

#[derive(Debug)]
struct Line {
    /// The chain of its last request.
    chain: Vec<Link>,
    used: u64,
}

impl ConversationMatcher {
    /// The maximum number of remembered conversations.
    pub const MAX_CONVERSATIONS: usize = 256;
    /// The maximum number of remembered messages.
    pub const MAX_LINKS: usize = 32_768;

    /// The conversation that a request with this chain continues.
    #[must_use]
    pub fn find(&self, chain: &[Link]) -> Option<&ConversationId> {
        let longest = chain.iter().enumerate().rev();
        let (shared, conversation) =
            longest.map(|(at, link)| (at + 1, self.links.get(link))).find(|(_, found)| found.is_some())?;
        let conversation = conversation?;
        if shared > 1 {
            return Some(conversation);
        }
        // Only the first message matches: it continues the conversation if it has no other messages.
        let last = self.lines.get(conversation)?;
        (last.chain.len() == 1).then_some(conversation)
    }

    /// Records a request of a conversation.
    pub fn note(&mut self, conversation: &ConversationId, chain: Vec<Link>) {
        self.clock += 1;
        for link in &chain {
            match self.links.get_mut(link) {
                Some(said_by) if said_by == conversation => {}
                Some(said_by) => *said_by = conversation.clone(),
                None => {
                    self.links.insert(*link, conversation.clone());
                }
            }
        }
        let used = self.clock;
        match self.lines.get_mut(conversation) {
            Some(line) => (line.chain, line.used) = (chain, used),
            None => {
                self.lines.insert(conversation.clone(), Line { chain, used });
            }
        }
        if self.lines.len() > Self::MAX_CONVERSATIONS || self.links.len() > Self::MAX_LINKS {
            self.forget_some();
        }
    }

    /// The chain of the last request of a conversation.
    #[must_use]
    pub fn chain(&self, conversation: &ConversationId) -> Option<&[Link]> {
        self.lines.get(conversation).map(|line| line.chain.as_slice())
    }

    /// The number of remembered links.
    #[must_use]
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// The number of remembered conversations.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Evicts the least recently used conversations until a quarter of the capacity is free.
    fn forget_some(&mut self) {
        let mut by_use: Vec<(u64, usize, ConversationId)> =
            self.lines.iter().map(|(id, line)| (line.used, line.chain.len(), id.clone())).collect();
        by_use.sort_unstable_by_key(|(used, ..)| Reverse(*used));
        let (mut lines, mut links) = (0, 0);
        for (_, length, id) in by_use {
            (lines, links) = (lines + 1, links + length);
            // The most recent conversation stays, whatever its length.
            if lines > 1 && (lines > Self::MAX_CONVERSATIONS * 3 / 4 || links > Self::MAX_LINKS / 2) {
                self.lines.remove(&id);
            }
        }
        // Keep only the links of each conversation's last request; abandoned branches are dropped.
        self.links.clear();
        for (id, line) in &self.lines {
            self.links.extend(line.chain.iter().map(|link| (*link, id.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(name: &str) -> ConversationId {
        ConversationId::new(name).unwrap()
    }

    /// A chain of words as messages: each link depends on all before it.
    fn chain(words: &str) -> Vec<Link> {
        let mut before = 17_u64;
        let links = words.split_whitespace().map(|word| {
            before =
                word.bytes().fold(before, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
            Link::from_number(before)
        });
        links.collect()
    }

    fn matcher(requests: &[(&str, &str)]) -> ConversationMatcher {
        let mut recent = ConversationMatcher::default();
        for (conversation, words) in requests {
            recent.note(&id(conversation), chain(words));
        }
        recent
    }

    fn check(requests: &[(&str, &str)], next: &str, expected: Option<&str>) {
        let found = matcher(requests).find(&chain(next)).map(ToString::to_string);
        assert_eq!(found.as_deref(), expected, "{requests:?} then {next:?}");
    }

    #[test]
    fn longest_common_prefix_wins() {
        check(&[], "hi", None);
        // Extended, repeated, cut back, and answered again.
        check(&[("a", "hi")], "hi hello how", Some("a"));
        check(&[("a", "hi")], "hi", Some("a"));
        check(&[("a", "hi hello how fine well")], "hi hello how", Some("a"));
        check(&[("a", "hi hello how")], "hi hello why", Some("a"));
        // The first message was edited: nothing is shared.
        check(&[("a", "hi hello how")], "ho hello how", None);
        // The longer prefix wins, regardless of recency.
        check(&[("a", "hi hello how"), ("b", "hi moin what")], "hi hello how fine", Some("a"));
    }

    #[test]
    fn same_greeting_does_not_merge_conversations() {
        check(&[("a", "hi hello how")], "hi", None);
        check(&[("a", "hi hello how")], "hi moin what", None);
        let at_once = [("a", "hi"), ("a", "hi"), ("a", "hi hello how")];
        check(&at_once, "hi moin what", None);
        check(&[&at_once[..], &[("b", "hi moin what")]].concat(), "hi hello how x y", Some("a"));
        check(&[&at_once[..], &[("b", "hi moin what")]].concat(), "hi moin what x y", Some("b"));
    }

    #[test]
    fn least_recently_used_conversations_are_evicted() {
        let mut recent = ConversationMatcher::default();
        for number in 0..10_000 {
            recent.note(&id("kept"), chain("this one is used again"));
            let words: String = (0..number % 50).map(|word| format!("{number}-{word} ")).collect();
            recent.note(&id(&format!("c-{number}")), chain(&words));
            assert!(recent.lines() <= ConversationMatcher::MAX_CONVERSATIONS, "{}", recent.lines());
            assert!(recent.links() <= ConversationMatcher::MAX_LINKS, "{}", recent.links());
        }
        assert_eq!(recent.find(&chain("this one is used again and on")), Some(&id("kept")));
        assert_eq!(recent.find(&chain("49-0 49-1 49-2")), None);
    }

    #[test]
    fn abandoned_branches_are_dropped() {
        let mut recent = ConversationMatcher::default();
        for number in 0..ConversationMatcher::MAX_LINKS * 2 {
            recent.note(&id("a"), chain(&format!("one two {number}")));
        }
        assert!(recent.links() <= ConversationMatcher::MAX_LINKS);
        assert_eq!(recent.find(&chain("one two other")), Some(&id("a")));
    }

    proptest! {
        #[test]
        fn extending_request_joins_its_conversation(
            first in prop::collection::vec("[a-c]", 1..6),
            more in prop::collection::vec("[a-c]", 0..6),
            others in prop::collection::vec(prop::collection::vec("[d-f]", 1..6), 0..5),
        ) {
            let mut recent = ConversationMatcher::default();
            recent.note(&id("a"), chain(&first.join(" ")));
            for (number, other) in others.iter().enumerate() {
                recent.note(&id(&format!("o-{number}")), chain(&other.join(" ")));
            }
            let next = [first, more].concat().join(" ");
            prop_assert_eq!(recent.find(&chain(&next)), Some(&id("a")));
        }
    }
}
