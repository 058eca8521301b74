//! What of a request was read, written and sent plainly: four places in it, from which the usage of any part follows.

use std::ops::Range;

use crate::message::Usage;

/// How a request was billed. Each field is the number of tokens from the start of the request to an end, and none is before
/// the one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Charged {
    /// Where what was read from the cache ends.
    pub read: usize,
    /// Where what was written to it for an hour ends.
    pub hour: usize,
    /// Where what was written to it for five minutes, or for as long as the provider keeps it, ends.
    pub written: usize,
    /// Where the request ends; what is behind `written` is plain input.
    pub total: usize,
}

impl Charged {
    /// The usage of all of it.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.between(0..self.total)
    }

    /// The usage of a part of it, from one token to another.
    ///
    /// ```
    /// use foreword_core::simulate::Charged;
    /// let charged = Charged { read: 100, hour: 100, written: 150, total: 160 };
    /// let second_half = charged.between(80..160);
    /// assert_eq!((second_half.cache_read, second_half.cache_write, second_half.input), (20, 50, 10));
    /// ```
    #[must_use]
    pub fn between(&self, part: Range<usize>) -> Usage {
        let common = |from: usize, to: usize| to.min(part.end).saturating_sub(from.max(part.start)) as u64;
        let hour = common(self.read, self.hour);
        Usage {
            input: common(self.written, self.total),
            output: 0,
            cache_read: common(0, self.read),
            cache_write: hour + common(self.hour, self.written),
            cache_write_1h: hour,
            cache_unknown: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_parts_of_a_request_add_up_to_all_of_it(
            sizes in proptest::array::uniform4(0..5_000_usize), cuts in proptest::array::uniform2(0..20_000_usize)
        ) {
            let [read, hour, written, plain] = sizes;
            let charged = Charged {
                read, hour: read + hour, written: read + hour + written, total: read + hour + written + plain,
            };
            let (from, to) = (cuts[0].min(cuts[1]).min(charged.total), cuts[0].max(cuts[1]).min(charged.total));
            let sum = charged.between(0..from) + charged.between(from..to) + charged.between(to..charged.total);
            prop_assert_eq!(sum, charged.usage());
            prop_assert_eq!(sum.input + sum.cache_read + sum.cache_write, charged.total as u64);
        }
    }
}
