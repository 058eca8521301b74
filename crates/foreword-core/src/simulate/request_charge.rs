//! The cached, written and uncached parts of a request as four positions.

use std::ops::Range;

use crate::message::Usage;

/// How a request is charged. Each field is a number of tokens from the start of the request; the fields never decrease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestCharge {
    /// The end of the part read from the cache.
    pub read: usize,
    /// The end of the part written for an hour.
    pub hour: usize,
    /// The end of the part written for five minutes, or for as long as the provider keeps it.
    pub written: usize,
    /// The end of the request; the part after `written` is uncached input.
    pub total: usize,
}

impl RequestCharge {
    /// The usage of the whole request.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.between(0..self.total)
    }

    /// The usage of a range of tokens.
    ///
    /// ```
    /// use foreword_core::simulate::RequestCharge;
    /// let charged = RequestCharge { read: 100, hour: 100, written: 150, total: 160 };
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
        fn usage_of_parts_adds_up(
            sizes in proptest::array::uniform4(0..5_000_usize), cuts in proptest::array::uniform2(0..20_000_usize)
        ) {
            let [read, hour, written, plain] = sizes;
            let charged = RequestCharge {
                read, hour: read + hour, written: read + hour + written, total: read + hour + written + plain,
            };
            let (from, to) = (cuts[0].min(cuts[1]).min(charged.total), cuts[0].max(cuts[1]).min(charged.total));
            let sum = charged.between(0..from) + charged.between(from..to) + charged.between(to..charged.total);
            prop_assert_eq!(sum, charged.usage());
            prop_assert_eq!(sum.input + sum.cache_read + sum.cache_write, charged.total as u64);
        }
    }
}
