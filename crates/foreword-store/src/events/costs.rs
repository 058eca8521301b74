//! Sums of model call costs by conversation, user, model, agent and time. Uses the index on event types, so that only
//! calls are read. A day is passed as a time range, because the database does not know the time zone.

use foreword_core::cost_sum::CostSum;
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Row, Transaction, Value};
use crate::error::StoreError;
use crate::store::Store;

/// What costs are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostBy {
    /// The conversation.
    Session,
    User,
    Model,
    Agent,
}

/// Which calls to sum; `None` matches all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CostFilter {
    /// Calls of this conversation.
    pub session: Option<String>,
    /// Calls of this user.
    pub user: Option<String>,
    /// Calls without a known user.
    pub nobody_known: bool,
    /// Calls of this agent.
    pub agent: Option<String>,
    /// At or after this time.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
}

impl CostFilter {
    fn values(&self, since: Option<Timestamp>, until: Option<Timestamp>) -> Vec<Value> {
        vec![
            // An empty string sorts before all times.
            since.map(|at| at.to_string()).unwrap_or_default().into(),
            until.unwrap_or_else(|| Timestamp::from_micros(i64::MAX)).into(),
            self.session.as_deref().into(),
            self.user.as_deref().into(),
            self.agent.as_deref().into(),
            self.nobody_known.then_some("yes").into(),
        ]
    }
}

impl Store {
    /// The sum of the calls that pass `filter`.
    ///
    /// # Errors
    /// If the database can't be read.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let now = "2026-11-16T08:00:00Z".parse()?;
    /// # let location = foreword_store::location::Location::file(folder.path().join("foreword.db"));
    /// # let store = foreword_store::store::Store::open(&location, now).await?;
    /// use foreword_core::event::{Event, EventType};
    /// use foreword_store::events::CostFilter;
    ///
    /// let call = Event { tokens_in: Some(5_200), cost_usd: Some(0.12), ..Event::new(EventType::ApiCall, now) };
    /// store.add_events(&[call.clone(), call]).await?;
    /// let sum = store.cost(CostFilter::default()).await?;
    /// assert_eq!((sum.calls, sum.tokens_in, sum.usd), (2, 10_400, 0.24));
    /// # Ok(()) }
    /// ```
    pub async fn cost(&self, filter: CostFilter) -> Result<CostSum, StoreError> {
        let ranges = vec![(filter.since, filter.until)];
        let sums = self.run(Ranges { filter, ranges }).await?;
        Ok(sums.into_iter().next().unwrap_or_default())
    }

    /// The sums for each interval between consecutive `bounds`, from one snapshot. Ignores the times of `filter`.
    pub async fn cost_between(
        &self,
        bounds: &[Timestamp],
        filter: CostFilter,
    ) -> Result<Vec<CostSum>, StoreError> {
        let ranges = bounds.windows(2).map(|pair| (pair.first().copied(), pair.last().copied())).collect();
        self.run(Ranges { filter, ranges }).await
    }

    /// The sums per group, in no defined order. Calls without a value for the group are under `None`.
    pub async fn cost_by(
        &self,
        by: CostBy,
        filter: CostFilter,
    ) -> Result<Vec<(Option<String>, CostSum)>, StoreError> {
        self.run(Grouped { by, filter }).await
    }
}

/// The summed columns; cast because Postgres sums integers as `numeric`.
macro_rules! sums {
    () => {
        "COUNT(*), COUNT(CASE WHEN event_type = 'api_error' THEN 1 END), COUNT(DISTINCT turn_id),
         CAST(COALESCE(SUM(tokens_in), 0) AS BIGINT), CAST(COALESCE(SUM(tokens_out), 0) AS BIGINT),
         CAST(COALESCE(SUM(cache_read_tokens), 0) AS BIGINT), CAST(COALESCE(SUM(cache_write_tokens), 0) AS BIGINT),
         CAST(COALESCE(SUM(CASE WHEN cache_read_tokens IS NOT NULL THEN tokens_in END), 0) AS BIGINT),
         COALESCE(SUM(cost_usd), 0.0), COUNT(*) - COUNT(cost_usd)
         FROM events WHERE event_type IN ('api_call', 'api_error') AND timestamp >= ?1 AND timestamp < ?2
         AND (event_type = 'api_call' OR tokens_in IS NOT NULL OR cost_usd IS NOT NULL)
         AND (CAST(?3 AS TEXT) IS NULL OR session_id = ?3)
         AND (CAST(?4 AS TEXT) IS NULL OR user_id = ?4)
         AND (CAST(?5 AS TEXT) IS NULL OR agent_id = ?5)
         AND (CAST(?6 AS TEXT) IS NULL OR user_id IS NULL)"
    };
}

const WHOLE: &str = concat!("SELECT NULL, ", sums!());

fn statement(by: CostBy) -> &'static str {
    match by {
        CostBy::Session => concat!("SELECT session_id, ", sums!(), " GROUP BY session_id"),
        CostBy::User => concat!("SELECT user_id, ", sums!(), " GROUP BY user_id"),
        CostBy::Model => concat!("SELECT model, ", sums!(), " GROUP BY model"),
        CostBy::Agent => concat!("SELECT agent_id, ", sums!(), " GROUP BY agent_id"),
    }
}

fn sum(row: &Row) -> Result<CostSum, StoreError> {
    Ok(CostSum {
        calls: row.get(1)?,
        failed: row.get(2)?,
        turns: row.get(3)?,
        tokens_in: row.get(4)?,
        tokens_out: row.get(5)?,
        cache_read: row.get(6)?,
        cache_write: row.get(7)?,
        tokens_with_cache_usage: row.get(8)?,
        usd: row.get(9)?,
        unpriced: row.get(10)?,
    })
}

struct Ranges {
    filter: CostFilter,
    ranges: Vec<(Option<Timestamp>, Option<Timestamp>)>,
}

impl Operation for Ranges {
    type Output = Vec<CostSum>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<CostSum>, StoreError> {
        let mut sums = Vec::with_capacity(self.ranges.len());
        for (since, until) in &self.ranges {
            let row = sql.query_optional(WHOLE, &self.filter.values(*since, *until)).await?;
            sums.push(row.as_ref().map(sum).transpose()?.unwrap_or_default());
        }
        Ok(sums)
    }
}

struct Grouped {
    by: CostBy,
    filter: CostFilter,
}

impl Operation for Grouped {
    type Output = Vec<(Option<String>, CostSum)>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Self::Output, StoreError> {
        let values = self.filter.values(self.filter.since, self.filter.until);
        let rows = sql.query(statement(self.by), &values).await?;
        rows.iter().map(|row| Ok((row.get(0)?, sum(row)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::engine::migrations::MIGRATIONS;

    #[test]
    fn cost_sums_read_calls_only() {
        let connection = Connection::open_in_memory().unwrap();
        for part in MIGRATIONS.iter().flat_map(|migration| migration.sqlite) {
            connection.execute_batch(part).unwrap();
        }
        for sql in [WHOLE, statement(CostBy::Session), statement(CostBy::User), statement(CostBy::Model)] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3));
            let plan = steps.map(Result::unwrap).collect::<Vec<_>>().join("; ");
            assert!(
                plan.contains("idx_events_type (event_type=? AND timestamp>? AND timestamp<?)"),
                "{plan}"
            );
        }
    }
}
