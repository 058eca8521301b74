//! Sums of money without rounding: whole numbers of pico-dollars, so that a million cached tokens add up exactly.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use serde::{Serialize, Serializer};

const PICO_PER_DOLLAR: u64 = 1_000_000_000_000;

/// An amount of US dollars.
///
/// ```
/// use foreword_core::money::Money;
/// let price = Money::per_million_tokens(3.0).unwrap();
/// assert_eq!(price.times(1_500).to_string(), "$0.0045");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Money(u64);

impl Money {
    /// Nothing at all.
    pub const ZERO: Self = Self(0);

    /// The price of one token, from dollars per million tokens; `None` if that is no price.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
    pub fn per_million_tokens(dollars: f64) -> Option<Self> {
        (dollars.is_finite() && (0.0..=1_000_000.0).contains(&dollars))
            .then(|| Self((dollars * 1_000_000.0).round() as u64))
    }

    /// This amount for each of `tokens` tokens.
    #[must_use]
    pub fn times(self, tokens: usize) -> Self {
        Self(self.0.saturating_mul(tokens as u64))
    }

    /// As a plain number of dollars.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "for display and JSON; sums are made on the whole numbers"
    )]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / PICO_PER_DOLLAR as f64
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.dollars();
        match self.0 {
            0 => f.write_str("$0"),
            _ if dollars >= 1.0 => write!(f, "${dollars:.2}"),
            _ if dollars >= 0.0001 => write!(f, "${dollars:.4}"),
            // Never shown as nothing: a small price is a price.
            _ => write!(f, "${dollars:.7}"),
        }
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}
