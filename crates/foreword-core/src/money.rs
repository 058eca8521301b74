//! Exact amounts of money in picodollars, in which every provider's price per token is an integer. An unknown price is
//! a separate value, never zero.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use serde::{Deserialize, Serialize};

const PICODOLLARS_PER_DOLLAR: u64 = 1_000_000_000_000;

/// An amount in US dollars. Serialised as a number of dollars.
///
/// ```
/// use foreword_core::money::Rate;
/// let per_turn = Rate::per_million(3.0)?.times(4_100);
/// assert_eq!(per_turn.to_string(), "$0.0123");
/// # Ok::<(), foreword_core::money::InvalidRate>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Money {
    picodollars: u64,
}

impl Money {
    /// Zero.
    pub const ZERO: Self = Self { picodollars: 0 };

    /// An amount of picodollars (10⁻¹² dollars).
    #[must_use]
    pub const fn from_picodollars(picodollars: u64) -> Self {
        Self { picodollars }
    }

    /// An amount of dollars, clamped to the valid range.
    ///
    /// ```
    /// use foreword_core::money::Money;
    /// assert_eq!(Money::from_dollars(0.0123).to_string(), "$0.0123");
    /// assert_eq!(Money::from_dollars(-1.0), Money::ZERO);
    /// ```
    #[must_use]
    pub fn from_dollars(dollars: f64) -> Self {
        // `as` converts negative numbers and NaN to 0 and saturates large ones.
        Self { picodollars: (dollars * PICODOLLARS_PER_DOLLAR as f64).round() as u64 }
    }

    /// The amount in picodollars.
    #[must_use]
    pub const fn picodollars(self) -> u64 {
        self.picodollars
    }

    /// The amount in dollars, for charts and JSON. Use [`Money`] for sums.
    #[must_use]
    pub fn dollars(self) -> f64 {
        self.picodollars as f64 / PICODOLLARS_PER_DOLLAR as f64
    }
}

impl Add for Money {
    type Output = Self;

    /// Saturates at about 18 million dollars.
    fn add(self, other: Self) -> Self {
        Self { picodollars: self.picodollars.saturating_add(other.picodollars) }
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Money {
    /// Four decimals, two from ten dollars on, and enough for two significant digits of a smaller amount, so that only
    /// zero is shown as `$0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.picodollars == 0 {
            return f.pad("$0");
        }
        let digits = self.picodollars.ilog10() + 1;
        let decimals = if self.picodollars >= 10 * PICODOLLARS_PER_DOLLAR {
            2
        } else {
            14_u32.saturating_sub(digits).clamp(4, 12)
        };
        let unit = u128::from(10_u64.pow(12 - decimals));
        let shown = (u128::from(self.picodollars) + unit / 2) / unit;
        let whole = u128::from(10_u64.pow(decimals));
        f.pad(&format!("${}.{:0width$}", shown / whole, shown % whole, width = decimals as usize))
    }
}

impl Serialize for Money {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::from_dollars)
    }
}

/// The price of tokens. Written as US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "f64", into = "f64")]
#[cfg_attr(feature = "schema", schemars(with = "f64"))]
pub struct Rate {
    picodollars_per_token: u64,
}

impl Rate {
    /// The largest valid price; a larger number is most likely given in the wrong unit.
    const MAX_USD_PER_MILLION: f64 = 1_000_000.0;

    /// A price in US dollars per million tokens.
    ///
    /// # Errors
    /// If it is negative, not a number, or too large.
    pub fn per_million(dollars: f64) -> Result<Self, InvalidRate> {
        if !(0.0..=Self::MAX_USD_PER_MILLION).contains(&dollars) {
            return Err(InvalidRate { written: dollars.to_string() });
        }
        // One dollar per million tokens is one million picodollars per token.
        Ok(Self { picodollars_per_token: (dollars * 1e6).round() as u64 })
    }

    /// The price of `tokens`.
    #[must_use]
    pub fn times(self, tokens: usize) -> Money {
        let tokens = u64::try_from(tokens).unwrap_or(u64::MAX);
        Money::from_picodollars(self.picodollars_per_token.saturating_mul(tokens))
    }
}

impl TryFrom<f64> for Rate {
    type Error = InvalidRate;

    fn try_from(dollars: f64) -> Result<Self, InvalidRate> {
        Self::per_million(dollars)
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> Self {
        rate.picodollars_per_token as f64 / 1e6
    }
}

/// An invalid price.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{written}` is not a valid price: give US dollars per million tokens, from 0 to 1000000")]
pub struct InvalidRate {
    written: String,
}

/// A cost, or unknown. Serialised as a number of dollars, or null.
///
/// ```
/// use foreword_core::money::{Money, Price};
/// let known = Price::Known(Money::from_picodollars(12_300_000_000));
/// assert_eq!(known.to_string(), "$0.0123");
/// assert_eq!((known + Price::Unknown).to_string(), "unknown");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(into = "Option<Money>")]
pub enum Price {
    /// The cost, possibly zero.
    Known(Money),
    /// The model's price is unknown. Not the same as zero.
    Unknown,
}

impl Price {
    /// The amount, if known.
    #[must_use]
    pub fn known(self) -> Option<Money> {
        match self {
            Self::Known(money) => Some(money),
            Self::Unknown => None,
        }
    }
}

impl From<Option<Money>> for Price {
    fn from(money: Option<Money>) -> Self {
        money.map_or(Self::Unknown, Self::Known)
    }
}

impl From<Price> for Option<Money> {
    fn from(price: Price) -> Self {
        price.known()
    }
}

impl Add for Price {
    type Output = Self;

    /// A sum with an unknown part is unknown.
    fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::Known(a), Self::Known(b)) => Self::Known(a + b),
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
        }
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(money) => money.fmt(f),
            Self::Unknown => f.pad("unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_have_readable_precision() {
        let shown = |picodollars| Money::from_picodollars(picodollars).to_string();
        assert_eq!(shown(0), "$0");
        assert_eq!(shown(1), "$0.000000000001");
        assert_eq!(shown(44_000), "$0.000000044");
        assert_eq!(shown(12_300_000), "$0.000012");
        assert_eq!(shown(12_300_000_000), "$0.0123");
        assert_eq!(shown(999_960_000_000), "$1.0000");
        assert_eq!(shown(1_234_500_000_000), "$1.2345");
        assert_eq!(shown(12_345_600_000_000), "$12.35");
        assert_eq!(format!("[{:>10}]", Money::from_picodollars(12_300_000_000)), "[   $0.0123]");
    }

    #[test]
    fn million_small_amounts_sum_exactly() {
        let one = Rate::per_million(0.1).unwrap().times(1);
        let sum: Money = std::iter::repeat_n(one, 1_000_000).sum();
        assert_eq!(sum.to_string(), "$0.1000");
        assert_eq!(sum.picodollars(), 100_000_000_000);
    }

    #[test]
    fn money_serialises_as_dollars_or_null() {
        let known = Price::Known(Money::from_picodollars(12_300_000_000));
        assert_eq!(serde_json::to_string(&[known, Price::Unknown]).unwrap(), "[0.0123,null]");
    }

    #[test]
    fn invalid_prices_are_rejected() {
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 2e6] {
            let error = Rate::per_million(wrong).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{wrong}` is not a valid price: give US dollars")),
                "{error}"
            );
        }
    }

    #[test]
    fn addition_saturates() {
        let most = Rate::per_million(1e6).unwrap().times(usize::MAX);
        assert_eq!(most + most, Money::from_picodollars(u64::MAX));
        assert_eq!(most.to_string(), "$18446744.07");
    }

    proptest! {
        #[test]
        fn only_zero_is_shown_as_zero(picodollars in any::<u64>()) {
            let shown = Money::from_picodollars(picodollars).to_string();
            let says_zero = shown.chars().all(|c| matches!(c, '$' | '0' | '.'));
            prop_assert_eq!(says_zero, picodollars == 0, "{}", shown);
        }

        #[test]
        fn rates_round_trip(millionths in 0..1_000_000_000_u64) {
            let rate = Rate::per_million(millionths as f64 / 1e6).unwrap();
            prop_assert_eq!(rate.times(1).picodollars(), millionths);
            prop_assert_eq!(Rate::try_from(f64::from(rate)).unwrap(), rate);
        }
    }
}
