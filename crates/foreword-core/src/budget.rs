//! The budget of an agent: remaining amount, runway at the current rate, and tier. Callers pass in the amount spent.

use std::fmt;
use std::time::Duration;

use jiff::Zoned;
use jiff::civil::Weekday;
use serde::{Deserialize, Serialize};

use crate::money::Money;

/// The largest valid budget, in US dollars; a larger number is most likely given in the wrong unit.
pub const MAX_BUDGET_USD: f64 = 1_000_000.0;
/// The window over which the spending rate is measured.
pub const RATE_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

/// Below this remaining percentage the tier is [`BudgetTier::Low`].
const LOW_PERCENT: u128 = 25;
/// Below this remaining percentage the tier is [`BudgetTier::Critical`].
const CRITICAL_PERCENT: u128 = 5;

/// The period of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Period {
    /// A calendar day.
    Day,
    /// A week, starting on Monday.
    Week,
    /// A calendar month.
    #[default]
    Month,
}

impl Period {
    /// The name in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// When the period that contains `now` began, in the time zone of `now`.
    ///
    /// ```
    /// use foreword_core::budget::Period;
    /// let now = "2026-11-18T08:30:00+01:00[Europe/Berlin]".parse().unwrap();
    /// assert_eq!(Period::Day.began(&now).to_string(), "2026-11-18T00:00:00+01:00[Europe/Berlin]");
    /// assert_eq!(Period::Week.began(&now).to_string(), "2026-11-16T00:00:00+01:00[Europe/Berlin]");
    /// assert_eq!(Period::Month.began(&now).to_string(), "2026-11-01T00:00:00+01:00[Europe/Berlin]");
    /// ```
    #[must_use]
    pub fn began(self, now: &Zoned) -> Zoned {
        let today = now.date();
        let first = match self {
            Self::Day => today,
            Self::Week => {
                let days = today.weekday().since(Weekday::Monday);
                today.saturating_sub(jiff::Span::new().days(i64::from(days)))
            }
            Self::Month => today.first_of_month(),
        };
        // `to_zoned` fails only at the limits of the supported date range.
        first.to_zoned(now.time_zone().clone()).unwrap_or_else(|_| now.clone())
    }
}

impl Period {
    /// When the next period begins, in the time zone of `now`.
    ///
    /// ```
    /// use foreword_core::budget::Period;
    /// let now = "2026-11-18T08:30:00+01:00[Europe/Berlin]".parse().unwrap();
    /// assert_eq!(Period::Week.next(&now).to_string(), "2026-11-23T00:00:00+01:00[Europe/Berlin]");
    /// assert_eq!(Period::Month.next(&now).to_string(), "2026-12-01T00:00:00+01:00[Europe/Berlin]");
    /// ```
    #[must_use]
    pub fn next(self, now: &Zoned) -> Zoned {
        let length = match self {
            Self::Day => jiff::Span::new().days(1),
            Self::Week => jiff::Span::new().days(7),
            Self::Month => jiff::Span::new().months(1),
        };
        let first = self.began(now).date().saturating_add(length);
        first.to_zoned(now.time_zone().clone()).unwrap_or_else(|_| now.clone())
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An amount of money per period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    amount: Money,
    per: Period,
}

impl Budget {
    /// A budget of `usd` US dollars per period; `None` if the amount is not positive or exceeds [`MAX_BUDGET_USD`].
    #[must_use]
    pub fn new(usd: f64, per: Period) -> Option<Self> {
        let amount = Money::from_dollars(usd);
        (usd <= MAX_BUDGET_USD && amount > Money::ZERO).then_some(Self { amount, per })
    }

    /// The amount per period.
    #[must_use]
    pub fn amount(self) -> Money {
        self.amount
    }

    /// The period.
    #[must_use]
    pub fn per(self) -> Period {
        self.per
    }

    /// The status of the budget after `spending`.
    ///
    /// ```
    /// use foreword_core::budget::{Budget, Period, Spending, BudgetTier};
    /// let budget = Budget::new(20.0, Period::Month).unwrap();
    /// let status = budget.status(&Spending { period_usd: 8.0, lately_usd: 2.4, unpriced_calls: 0 });
    /// assert_eq!(status.balance.to_string(), "$12.00");
    /// assert_eq!(status.runway_hours, Some(120));
    /// assert_eq!(status.tier, BudgetTier::Normal);
    /// ```
    #[must_use]
    pub fn status(self, spending: &Spending) -> BudgetStatus {
        let (all, spent) = (self.amount.picodollars(), Money::from_dollars(spending.period_usd));
        let left = all.saturating_sub(spent.picodollars());
        let share = |percent: u128| u128::from(left) * 100 < u128::from(all) * percent;
        let tier = match () {
            () if left == 0 || share(CRITICAL_PERCENT) => BudgetTier::Critical,
            () if share(LOW_PERCENT) => BudgetTier::Low,
            () => BudgetTier::Normal,
        };
        let lately = u128::from(Money::from_dollars(spending.lately_usd).picodollars());
        let hours = u128::from(RATE_WINDOW.as_secs() / 3_600);
        let runway = (u128::from(left) * hours).checked_div(lately);
        BudgetStatus {
            balance: Money::from_picodollars(left),
            spent,
            runway_hours: runway.map(|hours| u64::try_from(hours).unwrap_or(u64::MAX)),
            tier,
            unpriced_calls: spending.unpriced_calls,
        }
    }
}

/// Recorded spending.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spending {
    /// In the current period, in US dollars.
    pub period_usd: f64,
    /// Within [`RATE_WINDOW`], in US dollars.
    pub lately_usd: f64,
    /// Number of calls in this period whose price is unknown.
    pub unpriced_calls: u64,
}

/// The status of a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetStatus {
    /// The remaining amount.
    pub balance: Money,
    /// The amount spent in this period.
    pub spent: Money,
    /// How many hours the balance lasts at the current rate; `None` if nothing was spent within [`RATE_WINDOW`].
    pub runway_hours: Option<u64>,
    /// How careful the agent has to be.
    pub tier: BudgetTier,
    /// Calls of unknown price, which are in none of these amounts.
    pub unpriced_calls: u64,
}

impl BudgetStatus {
    /// Names and values for the prompt.
    #[must_use]
    pub fn lines(&self, budget: Budget) -> Vec<(String, String)> {
        let runway = match self.runway_hours {
            Some(hours) => hours.to_string(),
            None => "nothing was spent lately".to_owned(),
        };
        let line = |name: &str, value: String| (name.to_owned(), value);
        let mut lines = vec![
            line("balance", self.balance.to_string()),
            line("spent", format!("{} of {} per {}", self.spent, budget.amount, budget.per)),
            line("runway_hours", runway),
            line("survival_tier", self.tier.to_string()),
        ];
        if self.unpriced_calls > 0 {
            lines.push(line("calls_of_unknown_price", self.unpriced_calls.to_string()));
        }
        lines
    }
}

/// How much of a budget remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BudgetTier {
    /// At least a quarter remains.
    Normal,
    /// Less than a quarter remains.
    Low,
    /// Less than a twentieth remains.
    Critical,
}

impl fmt::Display for BudgetTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "normal",
            Self::Low => "low",
            Self::Critical => "critical",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invalid_budget_amounts_are_rejected() {
        for usd in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-13, 1_000_000.1] {
            assert_eq!(Budget::new(usd, Period::Day), None, "{usd}");
        }
        assert!(Budget::new(0.01, Period::Day).is_some() && Budget::new(1e6, Period::Day).is_some());
    }

    #[test]
    fn tier_depends_on_the_balance() {
        let budget = Budget::new(100.0, Period::Week).unwrap();
        for (spent, tier) in [
            (0.0, BudgetTier::Normal),
            (75.0, BudgetTier::Normal),
            (75.1, BudgetTier::Low),
            (95.0, BudgetTier::Low),
            (95.1, BudgetTier::Critical),
            (100.0, BudgetTier::Critical),
            (250.0, BudgetTier::Critical),
        ] {
            let spending = Spending { period_usd: spent, ..Spending::default() };
            assert_eq!(budget.status(&spending).tier, tier, "{spent}");
        }
    }

    #[test]
    fn status_lines_are_formatted_for_the_model() {
        let budget = Budget::new(20.0, Period::Month).unwrap();
        let spending = Spending { period_usd: 16.5, lately_usd: 1.75, unpriced_calls: 2 };
        let lines = budget.status(&spending).lines(budget);
        let lines: Vec<String> = lines.into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(
            lines,
            [
                "balance: $3.5000",
                "spent: $16.50 of $20.00 per month",
                "runway_hours: 48",
                "survival_tier: low",
                "calls_of_unknown_price: 2",
            ]
        );
        let idle = budget.status(&Spending::default()).lines(budget);
        assert_eq!(idle[2].1, "nothing was spent lately");
    }

    #[test]
    fn periods_begin_at_local_midnight_across_dst() {
        // The daylight saving time changes in spring and autumn.
        for (now, day, week) in [
            (
                "2026-03-29T03:30:00+02:00[Europe/Berlin]",
                "2026-03-29T00:00:00+01:00",
                "2026-03-23T00:00:00+01:00",
            ),
            (
                "2026-10-25T02:30:00+01:00[Europe/Berlin]",
                "2026-10-25T00:00:00+02:00",
                "2026-10-19T00:00:00+02:00",
            ),
        ] {
            let now: Zoned = now.parse().unwrap();
            assert!(Period::Day.began(&now).to_string().starts_with(day));
            assert!(Period::Week.began(&now).to_string().starts_with(week));
        }
    }

    proptest! {
        #[test]
        fn more_spending_never_raises_the_balance(
            usd in 0.01..1_000_000.0_f64, spent in -1.0..2e6_f64, more in 0.0..1e6_f64, lately in -1.0..1e6_f64,
        ) {
            let budget = Budget::new(usd, Period::Month).unwrap();
            let at = |period_usd: f64| {
                budget.status(&Spending { period_usd, lately_usd: lately, unpriced_calls: 0 })
            };
            let (before, after) = (at(spent), at(spent + more));
            prop_assert!(after.balance <= before.balance && before.balance <= budget.amount());
            prop_assert!(after.tier >= before.tier);
            prop_assert!(after.runway_hours <= before.runway_hours);
            prop_assert_eq!(before.runway_hours.is_none(), Money::from_dollars(lately) == Money::ZERO);
        }

        #[test]
        fn period_contains_its_own_start(second in 0..4_000_000_000_i64) {
            let now = jiff::Timestamp::from_second(second).unwrap().in_tz("Europe/Berlin").unwrap();
            for period in [Period::Day, Period::Week, Period::Month] {
                let began = period.began(&now);
                prop_assert!(began <= now);
                prop_assert_eq!(period.began(&began), began);
            }
        }
    }
}
