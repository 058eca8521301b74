//! Counts attempts at the same request, so that a directive can fail a few times and then succeed. Bounded: the oldest
//! entries are removed.

use std::collections::{BTreeMap, VecDeque};

use foreword_prompt::text::ContentHash;

const MAX_ENTRIES: usize = 1_024;

/// The number of attempts by request.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    counts: BTreeMap<ContentHash, u32>,
    oldest_first: VecDeque<ContentHash>,
}

impl Attempts {
    /// Increments and returns the number of attempts, starting at 1.
    pub(crate) fn next(&mut self, asked: ContentHash) -> u32 {
        if let Some(count) = self.counts.get_mut(&asked) {
            *count = count.saturating_add(1);
            return *count;
        }
        if self.oldest_first.len() == MAX_ENTRIES
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.counts.remove(&oldest);
        }
        self.counts.insert(asked, 1);
        self.oldest_first.push_back(asked);
        1
    }

    /// Resets the count after a success.
    pub(crate) fn forget(&mut self, asked: ContentHash) {
        self.counts.remove(&asked);
        self.oldest_first.retain(|known| *known != asked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_entry_is_evicted_at_the_limit() {
        let mut attempts = Attempts::default();
        let name = |n: usize| ContentHash::of(&n.to_string());
        (0..=MAX_ENTRIES).for_each(|n| assert_eq!(attempts.next(name(n)), 1));
        assert_eq!((attempts.counts.len(), attempts.oldest_first.len()), (MAX_ENTRIES, MAX_ENTRIES));
        assert_eq!((attempts.next(name(MAX_ENTRIES)), attempts.next(name(0))), (2, 1));
    }

    #[test]
    fn success_resets_the_attempts() {
        let mut attempts = Attempts::default();
        let asked = ContentHash::of("x");
        assert_eq!((attempts.next(asked), attempts.next(asked)), (1, 2));
        attempts.forget(asked);
        assert_eq!(attempts.next(asked), 1);
    }
}
