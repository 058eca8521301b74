//! The cost report: model costs grouped by day, conversation, user, model or agent. Days use the viewer's time zone.

use std::time::Duration;

use foreword_core::cost_sum::CostSum;
use foreword_core::string_enum::UnknownValue;
use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::events::{CostBy, CostFilter};
use foreword_store::store::Store;
use jiff::{ToSpan, Zoned};

/// Default length of a report.
const DEFAULT_DAYS: i64 = 30;
/// Maximum number of days in a report.
pub const MAX_DAYS: usize = 3_660;

/// How costs are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CostGrouping {
    #[default]
    ByDay,
    /// The conversation, the user, the model or the agent.
    By(CostBy),
}

impl CostGrouping {
    /// All groupings.
    pub const ALL: [Self; 5] = [
        Self::ByDay,
        Self::By(CostBy::Session),
        Self::By(CostBy::User),
        Self::By(CostBy::Model),
        Self::By(CostBy::Agent),
    ];

    /// The name, as in `--by`.
    ///
    /// ```
    /// use foreword_agent::reports::cost_report::CostGrouping;
    /// assert_eq!("model".parse::<CostGrouping>().unwrap().as_str(), "model");
    /// assert!("colour".parse::<CostGrouping>().is_err());
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ByDay => "day",
            Self::By(CostBy::Session) => "session",
            Self::By(CostBy::User) => "user",
            Self::By(CostBy::Model) => "model",
            Self::By(CostBy::Agent) => "agent",
        }
    }
}

impl std::str::FromStr for CostGrouping {
    type Err = UnknownValue;

    fn from_str(word: &str) -> Result<Self, UnknownValue> {
        let found = Self::ALL.into_iter().find(|known| known.as_str() == word);
        found.ok_or_else(|| UnknownValue { what: "cost grouping", word: word.to_owned() })
    }
}

/// An invalid report period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// Its end is before its beginning.
    #[error("the period ends before it starts")]
    Backwards,
    /// It has too many days.
    #[error("the period is longer than {MAX_DAYS} days")]
    TooLong,
}

/// The period of a report.
#[derive(Debug, Clone)]
pub struct CostSpan {
    since: Timestamp,
    until: Timestamp,
    /// The starts of its days, and its end.
    days: Vec<Zoned>,
}

impl CostSpan {
    /// From `since` to `until`, both inclusive. Default: the last 30 days.
    ///
    /// # Errors
    /// If it ends before it begins, or has too many days.
    pub fn new(since: Option<Timestamp>, until: Option<Timestamp>, now: &Zoned) -> Result<Self, SpanError> {
        let until = until.unwrap_or_else(|| now.timestamp().into());
        let in_zone = |at: Timestamp| jiff::Timestamp::from(at).to_zoned(now.time_zone().clone());
        let since = since.unwrap_or_else(|| midnight(&in_zone(until), 1 - DEFAULT_DAYS).timestamp().into());
        if since > until {
            return Err(SpanError::Backwards);
        }
        let (mut days, end) = (vec![in_zone(since)], in_zone(until));
        while let Some(next) = days.last().map(|day| midnight(day, 1)).filter(|next| *next < end) {
            // At the limits of the calendar there is no next day.
            if days.last().is_some_and(|last| next <= *last) {
                break;
            }
            days.push(next);
            if days.len() > MAX_DAYS {
                return Err(SpanError::TooLong);
            }
        }
        // `until` is inclusive.
        let until = until.plus(Duration::from_micros(1));
        days.push(in_zone(until));
        Ok(Self { since, until, days })
    }
}

/// Midnight of the day of `at`, plus `days`.
fn midnight(at: &Zoned, days: i64) -> Zoned {
    let day = at.date().saturating_add(days.days());
    day.to_zoned(at.time_zone().clone()).unwrap_or_else(|_| at.clone())
}

/// Costs of model calls.
#[derive(Debug, Clone)]
pub struct CostReport {
    pub by: CostGrouping,
    /// Start, inclusive.
    pub since: Timestamp,
    /// End, exclusive.
    pub until: Timestamp,
    /// Non-empty days in order; other groups by descending cost.
    pub rows: Vec<(Option<String>, CostSum)>,
    /// All days, if grouped by day.
    pub days: Vec<CostSum>,
    pub total: CostSum,
    /// Today's costs.
    pub today: CostSum,
    /// The conversation with the most tokens.
    pub longest: Option<(String, CostSum)>,
}

impl CostReport {
    /// An empty report, for a workspace without a store.
    #[must_use]
    pub fn none(by: CostGrouping, span: &CostSpan) -> Self {
        let (rows, days) = (Vec::new(), Vec::new());
        let (total, today) = (CostSum::default(), CostSum::default());
        Self { by, since: span.since, until: span.until, rows, days, total, today, longest: None }
    }

    /// Reads the costs of `user`, or of all users.
    pub async fn read(
        store: &Store,
        by: CostGrouping,
        span: &CostSpan,
        now: &Zoned,
        user: Option<&str>,
    ) -> Result<Self, StoreError> {
        let whose = CostFilter { user: user.map(str::to_owned), ..CostFilter::default() };
        let filter = CostFilter { since: Some(span.since), until: Some(span.until), ..whose.clone() };
        let total = store.cost(filter.clone()).await?;
        let today = midnight(now, 0).timestamp().into();
        let today = store.cost(CostFilter { since: Some(today), ..whose.clone() }).await?;
        let sessions = store.cost_by(CostBy::Session, filter.clone()).await?;
        let named = sessions.iter().filter_map(|(name, sum)| Some((name.clone()?, *sum)));
        // Ties are broken by name.
        let longest = named.min_by_key(|(name, sum)| (std::cmp::Reverse(sum.tokens()), name.clone()));
        let mut days = Vec::new();
        let mut rows = match by {
            CostGrouping::ByDay => {
                let bounds: Vec<Timestamp> = span.days.iter().map(|day| day.timestamp().into()).collect();
                days = store.cost_between(&bounds, whose).await?;
                let named = span.days.iter().map(|day| Some(day.date().to_string())).zip(days.clone());
                named.filter(|(_, sum)| !sum.is_empty()).collect()
            }
            CostGrouping::By(CostBy::Session) => sessions,
            CostGrouping::By(by) => store.cost_by(by, filter).await?,
        };
        if by != CostGrouping::ByDay {
            rows.sort_by(|(one_name, one), (other_name, other)| {
                let dearest = other.usd.total_cmp(&one.usd).then(other.tokens().cmp(&one.tokens()));
                dearest.then_with(|| one_name.cmp(other_name))
            });
        }
        Ok(Self { by, since: span.since, until: span.until, rows, days, total, today, longest })
    }
}
