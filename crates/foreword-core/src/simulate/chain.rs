//! A request's parts as names and sizes, chained so that a prefix of any length is one number. Holds no text: whatever
//! changes gets another name.

/// The name of a text by its content. The same name is the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(pub u64);

impl Identity {
    /// The name of this text in its `version`.
    ///
    /// ```
    /// use foreword_core::simulate::Identity;
    /// assert_eq!(Identity(7).in_version(1), Identity(7).in_version(1));
    /// assert_ne!(Identity(7).in_version(1), Identity(7).in_version(2));
    /// ```
    #[must_use]
    pub const fn in_version(self, version: u64) -> Self {
        Self(mix(self.0, version))
    }
}

/// A piece of a request that is there whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Which text it is.
    pub identity: Identity,
    /// What it weighs.
    pub tokens: usize,
}

/// Everything up to the end of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prefix {
    /// The name of all of it.
    pub id: u64,
    /// What all of it weighs.
    pub tokens: usize,
}

/// Segments one after the other, with the prefix that ends behind each. It is added to and never changed before its end, so
/// that a long conversation is not copied for each of its requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    prefixes: Vec<Prefix>,
}

impl Chain {
    /// Adds a segment at the end.
    pub fn push(&mut self, segment: Segment) {
        let before = self.prefix(self.len());
        self.prefixes.push(Prefix {
            id: mix(before.id, segment.identity.0),
            tokens: before.tokens.saturating_add(segment.tokens),
        });
    }

    /// How many segments there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.prefixes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// What all of it weighs.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.prefix(self.len()).tokens
    }

    /// The first `segments` of it, or all if there are fewer.
    #[must_use]
    pub fn prefix(&self, segments: usize) -> Prefix {
        let last = segments.min(self.len()).checked_sub(1);
        last.and_then(|last| self.prefixes.get(last)).copied().unwrap_or_default()
    }
}

impl FromIterator<Segment> for Chain {
    fn from_iter<I: IntoIterator<Item = Segment>>(segments: I) -> Self {
        let mut chain = Self::default();
        segments.into_iter().for_each(|segment| chain.push(segment));
        chain
    }
}

/// Two numbers as one, in which the order counts (the finaliser of `SplitMix64`). All names are our own, so nobody looks for
/// two that fall together; of a million names two do in one of 37 million runs.
pub(super) const fn mix(before: u64, next: u64) -> u64 {
    let mut bits = before.rotate_left(25).wrapping_add(next).wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(names: &[u64]) -> Chain {
        names.iter().map(|name| Segment { identity: Identity(*name), tokens: 10 }).collect()
    }

    #[test]
    fn chains_have_the_same_prefix_up_to_the_first_segment_that_differs() {
        let (a, b) = (chain(&[1, 2, 3, 4]), chain(&[1, 2, 9, 4]));
        let same: Vec<bool> = (0..=4).map(|at| a.prefix(at) == b.prefix(at)).collect();
        assert_eq!(same, [true, true, true, false, false]);
    }

    #[test]
    fn the_order_of_segments_counts() {
        assert_ne!(chain(&[1, 2]).prefix(2).id, chain(&[2, 1]).prefix(2).id);
        assert_eq!(chain(&[1, 2]).tokens(), 20);
    }

    #[test]
    fn a_prefix_longer_than_the_chain_is_all_of_it() {
        assert_eq!(chain(&[1, 2]).prefix(9), chain(&[1, 2]).prefix(2));
        assert_eq!(Chain::default().prefix(9), Prefix::default());
    }
}
