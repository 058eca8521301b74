//! The parts of a request as ids and sizes, chained so that each prefix has one id. Contains no text: changed text has
//! another id.

/// The id of a text by its content. Equal ids mean equal text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(pub u64);

impl Identity {
    /// The id of this text in the given version.
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

/// An indivisible part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainSegment {
    /// The id of the text.
    pub identity: Identity,
    /// The size in tokens.
    pub tokens: usize,
}

/// Everything up to the end of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prefix {
    /// The id of the prefix.
    pub id: u64,
    /// The size in tokens.
    pub tokens: usize,
}

/// A list of segments with the prefix after each. Append-only, so that a long conversation is not copied for each
/// request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    prefixes: Vec<Prefix>,
}

impl Chain {
    /// Appends a segment.
    pub fn push(&mut self, segment: ChainSegment) {
        let before = self.prefix(self.len());
        self.prefixes.push(Prefix {
            id: mix(before.id, segment.identity.0),
            tokens: before.tokens.saturating_add(segment.tokens),
        });
    }

    /// The number of segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.prefixes.len()
    }

    /// Whether there are no segments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// The size in tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.prefix(self.len()).tokens
    }

    /// The prefix of the first `segments`, or of all if there are fewer.
    #[must_use]
    pub fn prefix(&self, segments: usize) -> Prefix {
        let last = segments.min(self.len()).checked_sub(1);
        last.and_then(|last| self.prefixes.get(last)).copied().unwrap_or_default()
    }
}

impl FromIterator<ChainSegment> for Chain {
    fn from_iter<I: IntoIterator<Item = ChainSegment>>(segments: I) -> Self {
        let mut chain = Self::default();
        segments.into_iter().for_each(|segment| chain.push(segment));
        chain
    }
}

/// Combines two numbers, order-dependent (the finaliser of `SplitMix64`). The ids are our own, so there are no
/// adversarial collisions; with a million ids a collision occurs in one of 37 million runs.
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
        names.iter().map(|name| ChainSegment { identity: Identity(*name), tokens: 10 }).collect()
    }

    #[test]
    fn equal_segments_have_equal_prefixes() {
        let (a, b) = (chain(&[1, 2, 3, 4]), chain(&[1, 2, 9, 4]));
        let same: Vec<bool> = (0..=4).map(|at| a.prefix(at) == b.prefix(at)).collect();
        assert_eq!(same, [true, true, true, false, false]);
    }

    #[test]
    fn segment_order_matters() {
        assert_ne!(chain(&[1, 2]).prefix(2).id, chain(&[2, 1]).prefix(2).id);
        assert_eq!(chain(&[1, 2]).tokens(), 20);
    }

    #[test]
    fn prefix_is_limited_to_the_chain() {
        assert_eq!(chain(&[1, 2]).prefix(9), chain(&[1, 2]).prefix(2));
        assert_eq!(Chain::default().prefix(9), Prefix::default());
    }
}
