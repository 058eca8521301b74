//! How an agent stands that lives on a budget: what is left of it, how long that lasts at the present rate, and how
//! careful that makes it. Counts nothing itself; what was spent is told.

use std::fmt;
use std::time::Duration;

use jiff::Zoned;
use jiff::civil::Weekday;
use serde::{Deserialize, Serialize};

use crate::money::Money;

/// The most a budget may be, in US dollars: more is a slip of the unit.
pub const HIGHEST_BUDGET: f64 = 1_000_000.0;
/// The time over which the present rate is taken.
pub const RATE_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

/// Below this share of the budget, in percent, the agent is low.
const LOW_PERCENT: u128 = 25;
/// And below this, critical.
const CRITICAL_PERCENT: u128 = 5;

/// How often a budget begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Period {
    /// Every day.
    Day,
    /// Every Monday.
    Week,
    /// Every first of the month.
    #[default]
    Month,
}

impl Period {
    /// The word it is written as.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// When the period began that `now` is in, where `now` is.
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
        // A day always has a beginning, except at the ends of time.
        first.to_zoned(now.time_zone().clone()).unwrap_or_else(|_| now.clone())
    }
}

impl Period {
    /// When the next period begins, where `now` is.
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

/// So much money, each day, week or month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    amount: Money,
    per: Period,
}

impl Budget {
    /// So many US dollars per period; `None` if that is no amount one can live on, or beyond belief.
    #[must_use]
    pub fn new(usd: f64, per: Period) -> Option<Self> {
        let amount = Money::from_dollars(usd);
        (usd <= HIGHEST_BUDGET && amount > Money::ZERO).then_some(Self { amount, per })
    }

    /// The amount.
    #[must_use]
    pub fn amount(self) -> Money {
        self.amount
    }

    /// How often it begins anew.
    #[must_use]
    pub fn per(self) -> Period {
        self.per
    }

    /// How the agent stands after `spending`.
    ///
    /// ```
    /// use foreword_core::budget::{Budget, Period, Spending, Tier};
    /// let budget = Budget::new(20.0, Period::Month).unwrap();
    /// let standing = budget.standing(&Spending { period_usd: 8.0, lately_usd: 2.4, unpriced_calls: 0 });
    /// assert_eq!(standing.balance.to_string(), "$12.00");
    /// assert_eq!(standing.runway_hours, Some(120));
    /// assert_eq!(standing.tier, Tier::Normal);
    /// ```
    #[must_use]
    pub fn standing(self, spending: &Spending) -> Standing {
        let (all, spent) = (self.amount.picodollars(), Money::from_dollars(spending.period_usd));
        let left = all.saturating_sub(spent.picodollars());
        let share = |percent: u128| u128::from(left) * 100 < u128::from(all) * percent;
        let tier = match () {
            () if left == 0 || share(CRITICAL_PERCENT) => Tier::Critical,
            () if share(LOW_PERCENT) => Tier::Low,
            () => Tier::Normal,
        };
        let lately = u128::from(Money::from_dollars(spending.lately_usd).picodollars());
        let hours = u128::from(RATE_WINDOW.as_secs() / 3_600);
        let runway = (u128::from(left) * hours).checked_div(lately);
        Standing {
            balance: Money::from_picodollars(left),
            spent,
            runway_hours: runway.map(|hours| u64::try_from(hours).unwrap_or(u64::MAX)),
            tier,
            unpriced_calls: spending.unpriced_calls,
        }
    }
}

/// What was spent, as it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spending {
    /// In this period, in US dollars.
    pub period_usd: f64,
    /// Within [`RATE_WINDOW`].
    pub lately_usd: f64,
    /// Calls of this period whose price is not known.
    pub unpriced_calls: u64,
}

/// How an agent stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What is left.
    pub balance: Money,
    /// What was spent in this period.
    pub spent: Money,
    /// How long that lasts at the present rate; `None` if nothing was spent lately.
    pub runway_hours: Option<u64>,
    /// How careful that makes it.
    pub tier: Tier,
    /// Calls that are in none of these, because their price is not known.
    pub unpriced_calls: u64,
}

impl Standing {
    /// Names and values, as a model reads them.
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

/// How careful an agent has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// There is enough.
    Normal,
    /// Less than a quarter is left.
    Low,
    /// Less than a twentieth is left.
    Critical,
}

impl fmt::Display for Tier {
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
    fn an_amount_nobody_can_live_on_or_believe_is_no_budget() {
        for usd in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-13, 1_000_000.1] {
            assert_eq!(Budget::new(usd, Period::Day), None, "{usd}");
        }
        assert!(Budget::new(0.01, Period::Day).is_some() && Budget::new(1e6, Period::Day).is_some());
    }

    #[test]
    fn what_is_left_makes_the_agent_careful() {
        let budget = Budget::new(100.0, Period::Week).unwrap();
        for (spent, tier) in [
            (0.0, Tier::Normal),
            (75.0, Tier::Normal),
            (75.1, Tier::Low),
            (95.0, Tier::Low),
            (95.1, Tier::Critical),
            (100.0, Tier::Critical),
            (250.0, Tier::Critical),
        ] {
            let spending = Spending { period_usd: spent, ..Spending::default() };
            assert_eq!(budget.standing(&spending).tier, tier, "{spent}");
        }
    }

    #[test]
    fn a_model_reads_how_it_stands() {
        let budget = Budget::new(20.0, Period::Month).unwrap();
        let spending = Spending { period_usd: 16.5, lately_usd: 1.75, unpriced_calls: 2 };
        let lines = budget.standing(&spending).lines(budget);
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
        let idle = budget.standing(&Spending::default()).lines(budget);
        assert_eq!(idle[2].1, "nothing was spent lately");
    }

    #[test]
    fn a_period_begins_where_the_clock_is_however_long_its_days_are() {
        // The night on which an hour is missing, and the one on which an hour comes twice.
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
        fn spending_more_never_makes_an_agent_richer(
            usd in 0.01..1_000_000.0_f64, spent in -1.0..2e6_f64, more in 0.0..1e6_f64, lately in -1.0..1e6_f64,
        ) {
            let budget = Budget::new(usd, Period::Month).unwrap();
            let at = |period_usd: f64| {
                budget.standing(&Spending { period_usd, lately_usd: lately, unpriced_calls: 0 })
            };
            let (before, after) = (at(spent), at(spent + more));
            prop_assert!(after.balance <= before.balance && before.balance <= budget.amount());
            prop_assert!(after.tier >= before.tier);
            prop_assert!(after.runway_hours <= before.runway_hours);
            prop_assert_eq!(before.runway_hours.is_none(), Money::from_dollars(lately) == Money::ZERO);
        }

        #[test]
        fn a_period_has_begun_and_its_own_beginning_is_in_it(second in 0..4_000_000_000_i64) {
            let now = jiff::Timestamp::from_second(second).unwrap().in_tz("Europe/Berlin").unwrap();
            for period in [Period::Day, Period::Week, Period::Month] {
                let began = period.began(&now);
                prop_assert!(began <= now);
                prop_assert_eq!(period.began(&began), began);
            }
        }
    }
}
