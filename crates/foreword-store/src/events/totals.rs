//! Totals: the cost of model calls and the number of turns.

use foreword_core::id::TurnId;
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// A sum of costs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SpendTotal {
    /// In US dollars, for calls with a known price.
    pub usd: f64,
    /// The number of calls without a known price.
    pub unpriced: u64,
}

impl Store {
    /// The cost of model calls since `since`, including calls that failed midway.
    pub async fn spend_since(&self, since: Timestamp) -> Result<SpendTotal, StoreError> {
        self.run(Since(since)).await
    }

    /// The number of a turn in its conversation, from 1. `None` if there is no such turn.
    pub async fn turn_number(&self, turn: &TurnId) -> Result<Option<u64>, StoreError> {
        self.run(TurnNumber(turn.clone())).await
    }

    /// The number of all turns.
    pub async fn count_turns(&self) -> Result<u64, StoreError> {
        self.run(CountTurns).await
    }
}

struct Since(Timestamp);

impl Operation for Since {
    type Output = SpendTotal;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<SpendTotal, StoreError> {
        // One query per type, so that each uses the index on types.
        let select = "SELECT COALESCE(SUM(cost_usd), 0.0), COUNT(*) - COUNT(cost_usd) FROM events
            WHERE event_type = ?1 AND timestamp >= ?2";
        let mut spent = SpendTotal::default();
        // A call that failed before using tokens has no price and needs none.
        for (event_type, all_have_a_price) in [("api_call", true), ("api_error", false)] {
            let Some(row) = sql.query_optional(select, values![event_type, self.0]).await? else { continue };
            spent.usd += row.get::<f64>(0)?;
            spent.unpriced += if all_have_a_price { row.get::<u64>(1)? } else { 0 };
        }
        Ok(spent)
    }
}

struct TurnNumber(TurnId);

impl Operation for TurnNumber {
    type Output = Option<u64>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<u64>, StoreError> {
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

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<u64, StoreError> {
        let row = sql.query_optional("SELECT COUNT(*) FROM turns", &[]).await?;
        row.map_or(Ok(0), |row| row.get(0))
    }
}
