//! What calls to models came to, by day or by whatever else tells them apart: for one user, or for everybody. Days begin
//! where whoever asks is.

use std::time::Duration;

use foreword_core::cost_sum::CostSum;
use foreword_core::timestamp::Timestamp;
use foreword_core::word::UnknownWord;
use foreword_store::error::StoreError;
use foreword_store::events::{CostBy, CostFilter};
use foreword_store::store::Store;
use jiff::{ToSpan, Zoned};

/// How many days are told of if nobody says how many.
const DAYS: i64 = 30;
/// How many days can be asked for one by one.
pub const MOST_DAYS: usize = 3_660;

/// What costs are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToldApart {
    /// The day.
    #[default]
    ByDay,
    /// The conversation, the user, the model or the agent.
    By(CostBy),
}

impl ToldApart {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::ByDay,
        Self::By(CostBy::Session),
        Self::By(CostBy::User),
        Self::By(CostBy::Model),
        Self::By(CostBy::Agent),
    ];

    /// The word for it.
    ///
    /// ```
    /// use foreword_agent::cost_report::ToldApart;
    /// assert_eq!("model".parse::<ToldApart>().unwrap().as_str(), "model");
    /// assert!("colour".parse::<ToldApart>().is_err());
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

impl std::str::FromStr for ToldApart {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|known| known.as_str() == word);
        found.ok_or_else(|| UnknownWord { what: "way to tell costs apart", word: word.to_owned() })
    }
}

/// A time that can't be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSpan {
    /// Its end is before its beginning.
    #[error("that time ends before it begins")]
    Backwards,
    /// It has more days than anybody reads.
    #[error("that is more than {MOST_DAYS} days")]
    TooLong,
}

/// The time that is asked for.
#[derive(Debug, Clone)]
pub struct CostSpan {
    since: Timestamp,
    until: Timestamp,
    /// The beginnings of its days, and its end.
    days: Vec<Zoned>,
}

impl CostSpan {
    /// From `since` to `until`, both included; the last 30 days, if nobody says.
    ///
    /// # Errors
    /// If it ends before it begins, or has too many days.
    pub fn new(since: Option<Timestamp>, until: Option<Timestamp>, now: &Zoned) -> Result<Self, BadSpan> {
        let until = until.unwrap_or_else(|| now.timestamp().into());
        let in_zone = |at: Timestamp| jiff::Timestamp::from(at).to_zoned(now.time_zone().clone());
        let since = since.unwrap_or_else(|| midnight(&in_zone(until), 1 - DAYS).timestamp().into());
        if since > until {
            return Err(BadSpan::Backwards);
        }
        let (mut days, end) = (vec![in_zone(since)], in_zone(until));
        while let Some(next) = days.last().map(|day| midnight(day, 1)).filter(|next| *next < end) {
            // At the ends of time there is no next day.
            if days.last().is_some_and(|last| next <= *last) {
                break;
            }
            days.push(next);
            if days.len() > MOST_DAYS {
                return Err(BadSpan::TooLong);
            }
        }
        // What happens at this very moment is part of it.
        let until = until.plus(Duration::from_micros(1));
        days.push(in_zone(until));
        Ok(Self { since, until, days })
    }
}

/// When the day began, or one so many days later.
fn midnight(at: &Zoned, days: i64) -> Zoned {
    let day = at.date().saturating_add(days.days());
    day.to_zoned(at.time_zone().clone()).unwrap_or_else(|_| at.clone())
}

/// What calls came to.
#[derive(Debug, Clone)]
pub struct CostReport {
    /// What they are told apart by.
    pub by: ToldApart,
    /// Not before.
    pub since: Timestamp,
    /// Before.
    pub until: Timestamp,
    /// Days in their order, without those on which nothing was; else the dearest first.
    pub rows: Vec<(Option<String>, CostSum)>,
    /// Every day, if told apart by day.
    pub days: Vec<CostSum>,
    /// All together.
    pub total: CostSum,
    /// Those of today.
    pub today: CostSum,
    /// The conversation with the most tokens.
    pub longest: Option<(String, CostSum)>,
}

impl CostReport {
    /// What there is to tell where nothing was ever stored.
    #[must_use]
    pub fn none(by: ToldApart, span: &CostSpan) -> Self {
        let (rows, days) = (Vec::new(), Vec::new());
        let (total, today) = (CostSum::default(), CostSum::default());
        Self { by, since: span.since, until: span.until, rows, days, total, today, longest: None }
    }

    /// What the calls of `user`, or everybody's, came to.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn read(
        store: &Store,
        by: ToldApart,
        (span, now): (&CostSpan, &Zoned),
        user: Option<&str>,
    ) -> Result<Self, StoreError> {
        let whose = CostFilter { user: user.map(str::to_owned), ..CostFilter::default() };
        let filter = CostFilter { since: Some(span.since), until: Some(span.until), ..whose.clone() };
        let total = store.cost(filter.clone()).await?;
        let today = midnight(now, 0).timestamp().into();
        let today = store.cost(CostFilter { since: Some(today), ..whose.clone() }).await?;
        let sessions = store.cost_by(CostBy::Session, filter.clone()).await?;
        let named = sessions.iter().filter_map(|(name, sum)| Some((name.clone()?, *sum)));
        // The first by name, if two are as long.
        let longest = named.min_by_key(|(name, sum)| (std::cmp::Reverse(sum.tokens()), name.clone()));
        let mut days = Vec::new();
        let mut rows = match by {
            ToldApart::ByDay => {
                let bounds: Vec<Timestamp> = span.days.iter().map(|day| day.timestamp().into()).collect();
                days = store.cost_between(&bounds, whose).await?;
                let named = span.days.iter().map(|day| Some(day.date().to_string())).zip(days.clone());
                named.filter(|(_, sum)| !sum.is_empty()).collect()
            }
            ToldApart::By(CostBy::Session) => sessions,
            ToldApart::By(by) => store.cost_by(by, filter).await?,
        };
        if by != ToldApart::ByDay {
            rows.sort_by(|(one_name, one), (other_name, other)| {
                let dearest = other.usd.total_cmp(&one.usd).then(other.tokens().cmp(&one.tokens()));
                dearest.then_with(|| one_name.cmp(other_name))
            });
        }
        Ok(Self { by, since: span.since, until: span.until, rows, days, total, today, longest })
    }
}
