//! Lines: which conversation a request goes on with that does not say so. Known by how it begins, as a chain of links; where
//! the requests came from, and what they say, is not known here.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::cache::Link;
use crate::id::ConversationId;

/// The conversations of one client that were active lately.
///
/// A request goes on with the conversation it shares most messages with: if it has more than the first of them in common,
/// or begins with all that was last said there. Two conversations that merely begin with the same greeting are two.
///
/// ```
/// use foreword_core::cache::Link;
/// use foreword_core::id::ConversationId;
/// use foreword_core::lines::RecentLines;
///
/// let [hello, answer, more] = [1, 2, 3].map(Link::from_number);
/// let talk = ConversationId::new("c-1").unwrap();
/// let mut recent = RecentLines::default();
/// recent.note(&talk, vec![hello]);
/// assert_eq!(recent.find(&[hello, answer, more]), Some(&talk));
/// ```
#[derive(Debug, Default)]
pub struct RecentLines {
    lines: BTreeMap<ConversationId, Line>,
    /// Whoever said it last.
    links: BTreeMap<Link, ConversationId>,
    clock: u64,
}

#[derive(Debug)]
struct Line {
    /// The last request of it.
    chain: Vec<Link>,
    used: u64,
}

impl RecentLines {
    /// The most conversations that are remembered.
    pub const MOST_LINES: usize = 256;
    /// The most messages of them.
    pub const MOST_LINKS: usize = 32_768;

    /// The conversation that a request with this chain goes on with.
    #[must_use]
    pub fn find(&self, chain: &[Link]) -> Option<&ConversationId> {
        let longest = chain.iter().enumerate().rev();
        let (shared, conversation) =
            longest.map(|(at, link)| (at + 1, self.links.get(link))).find(|(_, found)| found.is_some())?;
        let conversation = conversation?;
        if shared > 1 {
            return Some(conversation);
        }
        // Only the first message: it goes on from there, or is the same again, if nothing else was said there since.
        let last = self.lines.get(conversation)?;
        (last.chain.len() == 1).then_some(conversation)
    }

    /// Takes a request of a conversation in.
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
        if self.lines.len() > Self::MOST_LINES || self.links.len() > Self::MOST_LINKS {
            self.forget_some();
        }
    }

    /// What the last request of a conversation was.
    #[must_use]
    pub fn chain(&self, conversation: &ConversationId) -> Option<&[Link]> {
        self.lines.get(conversation).map(|line| line.chain.as_slice())
    }

    /// How many links are held.
    #[must_use]
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// How many conversations are remembered.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Forgets those that were not used for longest, until there is room for as many again as were too many.
    fn forget_some(&mut self) {
        let mut by_use: Vec<(u64, usize, ConversationId)> =
            self.lines.iter().map(|(id, line)| (line.used, line.chain.len(), id.clone())).collect();
        by_use.sort_unstable_by_key(|(used, ..)| Reverse(*used));
        let (mut lines, mut links) = (0, 0);
        for (_, length, id) in by_use {
            (lines, links) = (lines + 1, links + length);
            // The last one stays, however long it is.
            if lines > 1 && (lines > Self::MOST_LINES * 3 / 4 || links > Self::MOST_LINKS / 2) {
                self.lines.remove(&id);
            }
        }
        // Of what stays, only the way it went last: what was left behind on other ways goes as well.
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

    /// A chain of messages as words: each link depends on all before it.
    fn chain(words: &str) -> Vec<Link> {
        let mut before = 17_u64;
        let links = words.split_whitespace().map(|word| {
            before =
                word.bytes().fold(before, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
            Link::from_number(before)
        });
        links.collect()
    }

    fn said(requests: &[(&str, &str)]) -> RecentLines {
        let mut recent = RecentLines::default();
        for (conversation, words) in requests {
            recent.note(&id(conversation), chain(words));
        }
        recent
    }

    fn check(requests: &[(&str, &str)], next: &str, expected: Option<&str>) {
        let found = said(requests).find(&chain(next)).map(ToString::to_string);
        assert_eq!(found.as_deref(), expected, "{requests:?} then {next:?}");
    }

    #[test]
    fn a_request_goes_on_with_the_conversation_it_shares_most_with() {
        check(&[], "hi", None);
        // Grown, sent again, cut back, and answered anew.
        check(&[("a", "hi")], "hi hello how", Some("a"));
        check(&[("a", "hi")], "hi", Some("a"));
        check(&[("a", "hi hello how fine well")], "hi hello how", Some("a"));
        check(&[("a", "hi hello how")], "hi hello why", Some("a"));
        // The first message was edited: nothing is shared.
        check(&[("a", "hi hello how")], "ho hello how", None);
        // The longer way is preferred, whoever spoke last.
        check(&[("a", "hi hello how"), ("b", "hi moin what")], "hi hello how fine", Some("a"));
    }

    #[test]
    fn two_conversations_that_begin_with_the_same_greeting_are_two() {
        check(&[("a", "hi hello how")], "hi", None);
        check(&[("a", "hi hello how")], "hi moin what", None);
        let at_once = [("a", "hi"), ("a", "hi"), ("a", "hi hello how")];
        check(&at_once, "hi moin what", None);
        check(&[&at_once[..], &[("b", "hi moin what")]].concat(), "hi hello how x y", Some("a"));
        check(&[&at_once[..], &[("b", "hi moin what")]].concat(), "hi moin what x y", Some("b"));
    }

    #[test]
    fn what_was_used_last_is_kept_and_all_of_it_is_bounded() {
        let mut recent = RecentLines::default();
        for number in 0..10_000 {
            recent.note(&id("kept"), chain("this one is used again"));
            let words: String = (0..number % 50).map(|word| format!("{number}-{word} ")).collect();
            recent.note(&id(&format!("c-{number}")), chain(&words));
            assert!(recent.lines() <= RecentLines::MOST_LINES, "{}", recent.lines());
            assert!(recent.links() <= RecentLines::MOST_LINKS, "{}", recent.links());
        }
        assert_eq!(recent.find(&chain("this one is used again and on")), Some(&id("kept")));
        assert_eq!(recent.find(&chain("49-0 49-1 49-2")), None);
    }

    #[test]
    fn ways_that_were_left_do_not_pile_up() {
        let mut recent = RecentLines::default();
        for number in 0..RecentLines::MOST_LINKS * 2 {
            recent.note(&id("a"), chain(&format!("one two {number}")));
        }
        assert!(recent.links() <= RecentLines::MOST_LINKS);
        assert_eq!(recent.find(&chain("one two other")), Some(&id("a")));
    }

    proptest! {
        #[test]
        fn what_extends_the_last_request_of_a_conversation_joins_it(
            first in prop::collection::vec("[a-c]", 1..6),
            more in prop::collection::vec("[a-c]", 0..6),
            others in prop::collection::vec(prop::collection::vec("[d-f]", 1..6), 0..5),
        ) {
            let mut recent = RecentLines::default();
            recent.note(&id("a"), chain(&first.join(" ")));
            for (number, other) in others.iter().enumerate() {
                recent.note(&id(&format!("o-{number}")), chain(&other.join(" ")));
            }
            let next = [first, more].concat().join(" ");
            prop_assert_eq!(recent.find(&chain(&next)), Some(&id("a")));
        }
    }
}
