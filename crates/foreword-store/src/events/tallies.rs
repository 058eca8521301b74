//! How much there has been so far: what calls to models have cost, and how many turns.

use foreword_core::id::TurnId;
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Sql, values};
use crate::error::StoreError;
use crate::store::Store;

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// In US dollars, as far as prices are known.
    pub usd: f64,
    /// Calls whose price is not known.
    pub unpriced: u64,
}

impl Store {
    /// What calls to models have cost since then, those that broke off included.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn spent_since(&self, since: Timestamp) -> Result<Spent, StoreError> {
        self.run(Since(since)).await
    }

    /// Which turn of its conversation this is; the first is 1. Nothing, if there is no such turn.
    ///
    /// # Errors
    /// If they can't be counted.
    pub async fn turn_place(&self, turn: &TurnId) -> Result<Option<u64>, StoreError> {
        self.run(Place(turn.clone())).await
    }

    /// How many turns there have been.
    ///
    /// # Errors
    /// If they can't be counted.
    pub async fn count_turns(&self) -> Result<u64, StoreError> {
        self.run(CountTurns).await
    }
}

struct Since(Timestamp);

impl Operation for Since {
    type Output = Spent;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Spent, StoreError> {
        // Once for each type, so that each is led by the index of types.
        let select = "SELECT COALESCE(SUM(cost_usd), 0.0), COUNT(*) - COUNT(cost_usd) FROM events
            WHERE event_type = ?1 AND timestamp >= ?2";
        let mut spent = Spent::default();
        // A call that failed before it took anything has no price, and needs none.
        for (event_type, all_have_a_price) in [("api_call", true), ("api_error", false)] {
            let Some(row) = sql.query_optional(select, values![event_type, self.0]).await? else { continue };
            spent.usd += row.get::<f64>(0)?;
            spent.unpriced += if all_have_a_price { row.get::<u64>(1)? } else { 0 };
        }
        Ok(spent)
    }
}

struct Place(TurnId);

impl Operation for Place {
    type Output = Option<u64>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Option<u64>, StoreError> {
        let count = "SELECT COUNT(*) FROM turns AS own JOIN turns AS earlier
            ON earlier.conversation_id = own.conversation_id
            AND (earlier.started_at, earlier.id) <= (own.started_at, own.id) WHERE own.id = ?1";
        let row = sql.query_optional(count, values![&self.0]).await?;
        let place: u64 = row.map_or(Ok(0), |row| row.get(0))?;
        Ok((place > 0).then_some(place))
    }
}

struct CountTurns;

impl Operation for CountTurns {
    type Output = u64;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<u64, StoreError> {
        let row = sql.query_optional("SELECT COUNT(*) FROM turns", &[]).await?;
        row.map_or(Ok(0), |row| row.get(0))
    }
}
