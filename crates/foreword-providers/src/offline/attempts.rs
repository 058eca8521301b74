//! How often the same thing has been asked, so that a directive can fail a few times and then succeed. Bounded: the
//! oldest are forgotten.

use std::collections::{BTreeMap, VecDeque};

use foreword_prompt::text::ContentHash;

const MOST: usize = 1_024;

/// Attempts, by what was asked.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    counts: BTreeMap<ContentHash, u32>,
    oldest_first: VecDeque<ContentHash>,
}

impl Attempts {
    /// Counts one more, and says which it is; the first is 1.
    pub(super) fn next(&mut self, asked: ContentHash) -> u32 {
        if let Some(count) = self.counts.get_mut(&asked) {
            *count = count.saturating_add(1);
            return *count;
        }
        if self.oldest_first.len() == MOST
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.counts.remove(&oldest);
        }
        self.counts.insert(asked, 1);
        self.oldest_first.push_back(asked);
        1
    }

    /// An attempt has succeeded: the same words begin anew.
    pub(super) fn forget(&mut self, asked: ContentHash) {
        self.counts.remove(&asked);
        self.oldest_first.retain(|known| *known != asked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_when_there_are_too_many() {
        let mut attempts = Attempts::default();
        let name = |n: usize| ContentHash::of(&n.to_string());
        (0..=MOST).for_each(|n| assert_eq!(attempts.next(name(n)), 1));
        assert_eq!((attempts.counts.len(), attempts.oldest_first.len()), (MOST, MOST));
        assert_eq!((attempts.next(name(MOST)), attempts.next(name(0))), (2, 1));
    }

    #[test]
    fn a_success_begins_anew() {
        let mut attempts = Attempts::default();
        let asked = ContentHash::of("x");
        assert_eq!((attempts.next(asked), attempts.next(asked)), (1, 2));
        attempts.forget(asked);
        assert_eq!(attempts.next(asked), 1);
    }
}
