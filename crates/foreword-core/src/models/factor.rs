//! How far an estimate of tokens is off, as one number.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number that an estimate is multiplied by, from 0.5 to 2, in steps of a thousandth. What lies further off is no
/// estimate that could be corrected, but a count of something else.
///
/// ```
/// use foreword_core::models::Factor;
/// let factor = Factor::try_from(1.08)?;
/// assert_eq!(factor.times(1_000), 1_080);
/// assert!(Factor::try_from(3.0).is_err());
/// # Ok::<(), foreword_core::models::InvalidFactor>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "f64", into = "f64")]
#[cfg_attr(feature = "schema", schemars(with = "f64"))]
pub struct Factor {
    thousandths: u16,
}

impl Factor {
    /// As it is.
    pub const ONE: Self = Self { thousandths: 1_000 };
    /// The least there is.
    pub const LEAST: Self = Self { thousandths: 500 };
    /// The most there is.
    pub const MOST: Self = Self { thousandths: 2_000 };

    /// What `reported` is of `estimated`, which is not 0; brought within the bounds.
    pub(super) fn of(estimated: u64, reported: u64) -> Self {
        let thousandths =
            (u128::from(reported) * 1_000 + u128::from(estimated) / 2) / u128::from(estimated.max(1));
        let within = thousandths.clamp(Self::LEAST.thousandths.into(), Self::MOST.thousandths.into());
        Self { thousandths: u16::try_from(within).unwrap_or(Self::ONE.thousandths) }
    }

    /// The factor between two.
    pub(super) fn between(self, other: Self) -> Self {
        Self { thousandths: self.thousandths.midpoint(other.thousandths) }
    }

    /// `tokens`, corrected and rounded up: a budget is better told a token too many.
    #[must_use]
    pub fn times(self, tokens: usize) -> usize {
        let corrected = (tokens as u128 * u128::from(self.thousandths)).div_ceil(1_000);
        usize::try_from(corrected).unwrap_or(usize::MAX)
    }

    /// What may be estimated at most so that it is no more than `tokens` once it is corrected.
    ///
    /// ```
    /// use foreword_core::models::Factor;
    /// let factor = Factor::try_from(1.25)?;
    /// assert_eq!(factor.room_in(30_000), 24_000);
    /// # Ok::<(), foreword_core::models::InvalidFactor>(())
    /// ```
    #[must_use]
    pub fn room_in(self, tokens: usize) -> usize {
        let estimated = tokens as u128 * 1_000 / u128::from(self.thousandths);
        usize::try_from(estimated).unwrap_or(usize::MAX)
    }

    /// The nearest twentieth: what is built with it need not be built again for every answer.
    #[must_use]
    pub fn to_a_twentieth(self) -> Self {
        Self { thousandths: (self.thousandths + 25) / 50 * 50 }
    }

    /// The same, or `used` while that is less than a twentieth off: a factor between two steps does not go back and forth,
    /// and everything that is built with it along.
    #[must_use]
    pub fn to_a_twentieth_from(self, used: Self) -> Self {
        if self.thousandths.abs_diff(used.thousandths) < 50 { used } else { self.to_a_twentieth() }
    }
}

impl Default for Factor {
    fn default() -> Self {
        Self::ONE
    }
}

impl TryFrom<f64> for Factor {
    type Error = InvalidFactor;

    fn try_from(written: f64) -> Result<Self, InvalidFactor> {
        if !(0.5..=2.0).contains(&written) {
            return Err(InvalidFactor { written: written.to_string() });
        }
        Ok(Self { thousandths: (written * 1e3).round() as u16 })
    }
}

impl From<Factor> for f64 {
    fn from(factor: Factor) -> Self {
        f64::from(factor.thousandths) / 1e3
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", f64::from(*self))
    }
}

/// A number that is no factor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{written}` is no calibration: give what the provider counts divided by the estimate, from 0.5 to 2"
)]
pub struct InvalidFactor {
    written: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_between_two_steps_stays_with_the_one_that_is_used() {
        let [below, above, far] = [1.02, 1.03, 1.06].map(|factor| Factor::try_from(factor).unwrap());
        assert_ne!(below.to_a_twentieth(), above.to_a_twentieth());
        let used = below.to_a_twentieth();
        assert_eq!([above, below].map(|factor| factor.to_a_twentieth_from(used)), [used, used]);
        assert_eq!(far.to_a_twentieth_from(used), far.to_a_twentieth());
    }
}
