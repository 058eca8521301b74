//! A correction factor for token estimates.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A correction factor from 0.5 to 2, in steps of a thousandth. A value outside that range means that something else
/// was counted.
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
    /// No correction.
    pub const ONE: Self = Self { thousandths: 1_000 };
    /// The smallest factor.
    pub const MIN: Self = Self { thousandths: 500 };
    /// The largest factor.
    pub const MAX: Self = Self { thousandths: 2_000 };

    /// `reported` divided by `estimated`, clamped to the valid range. `estimated` must not be 0.
    pub(super) fn of(estimated: u64, reported: u64) -> Self {
        let thousandths =
            (u128::from(reported) * 1_000 + u128::from(estimated) / 2) / u128::from(estimated.max(1));
        let within = thousandths.clamp(Self::MIN.thousandths.into(), Self::MAX.thousandths.into());
        Self { thousandths: u16::try_from(within).unwrap_or(Self::ONE.thousandths) }
    }

    /// The mean of two factors.
    pub(super) fn between(self, other: Self) -> Self {
        Self { thousandths: self.thousandths.midpoint(other.thousandths) }
    }

    /// `tokens`, corrected and rounded up, so that a token budget is not exceeded.
    #[must_use]
    pub fn times(self, tokens: usize) -> usize {
        let corrected = (tokens as u128 * u128::from(self.thousandths)).div_ceil(1_000);
        usize::try_from(corrected).unwrap_or(usize::MAX)
    }

    /// The largest estimate whose corrected value is at most `tokens`.
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

    /// Rounded to the nearest twentieth, so that small changes cause no rebuild.
    #[must_use]
    pub fn to_a_twentieth(self) -> Self {
        Self { thousandths: (self.thousandths + 25) / 50 * 50 }
    }

    /// Like [`Factor::to_a_twentieth`], but keeps `used` while it is less than a twentieth off. This hysteresis avoids
    /// rebuilding back and forth.
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

/// An invalid factor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{written}` is not a valid calibration: give what the provider counts divided by the estimate, from 0.5 to 2"
)]
pub struct InvalidFactor {
    written: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factor_has_hysteresis() {
        let [below, above, far] = [1.02, 1.03, 1.06].map(|factor| Factor::try_from(factor).unwrap());
        assert_ne!(below.to_a_twentieth(), above.to_a_twentieth());
        let used = below.to_a_twentieth();
        assert_eq!([above, below].map(|factor| factor.to_a_twentieth_from(used)), [used, used]);
        assert_eq!(far.to_a_twentieth_from(used), far.to_a_twentieth());
    }
}
