//! Metrics of a conversation: its turns, and sums over their events. Reads no message content.

use foreword_core::id::ConversationId;
use foreword_core::money::Money;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;

use crate::engine::{Access, Operation, Transaction, Value, values};
use crate::error::StoreError;
use crate::store::Store;

/// Metrics of a conversation. Tool calls, tokens and cost are sums over events, so they exclude events that retention
/// has deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConversationMetrics {
    /// The number of turns, including a running one.
    pub turns: u64,
    /// The number of tool calls.
    pub tool_calls: u64,
    /// The total duration of finished turns.
    pub duration_ms: u64,
    /// Input tokens, cached or not.
    pub tokens_in: u64,
    /// Output tokens.
    pub tokens_out: u64,
    /// The cost; `None` if the price of a call is unknown.
    pub cost: Option<Money>,
}

impl Store {
    /// The metrics of a conversation. Counts only turns at a trust that `reader` permits. For the owner, counts all
    /// calls, including those outside of a turn, such as for a summary.
    pub async fn conversation_metrics(
        &self,
        conversation: &ConversationId,
        reader: Trust,
    ) -> Result<ConversationMetrics, StoreError> {
        self.run(Measure { conversation: conversation.clone(), reader }).await
    }
}

const TURNS: &str = "SELECT started_at, ended_at FROM turns
     WHERE conversation_id = ?1 AND trust IN (?2, ?3, ?4, ?5)";

/// Sums by event type. The type is compared without its index, because a conversation has few events and a type has
/// many. Cast because Postgres sums integers as `numeric`.
macro_rules! sums {
    ($of_whom:literal) => {
        concat!(
            "SELECT event_type, COUNT(*), CAST(COALESCE(SUM(tokens_in), 0) AS BIGINT),
                 CAST(COALESCE(SUM(tokens_out), 0) AS BIGINT), COALESCE(SUM(cost_usd), 0.0),
                 COUNT(CASE WHEN cost_usd IS NULL AND (event_type = 'api_call' OR tokens_in IS NOT NULL) THEN 1 END)
             FROM events WHERE session_id = ?1
                 AND COALESCE(event_type, '') IN ('api_call', 'api_error', 'tool_call')",
            $of_whom,
            " GROUP BY event_type"
        )
    };
}

const ALL_EVENTS: &str = sums!("");
const PERMITTED_EVENTS: &str =
    sums!(" AND turn_id IN (SELECT id FROM turns WHERE conversation_id = ?1 AND trust IN (?2, ?3, ?4, ?5))");

/// For the test that no query scans all conversations.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[TURNS];

struct Measure {
    conversation: ConversationId,
    reader: Trust,
}

impl Measure {
    /// The conversation, and four trusts; a permitted trust fills in for one that is not.
    fn values(&self) -> Vec<Value> {
        let mut all = values![&self.conversation].to_vec();
        all.extend(
            Trust::ALL
                .map(|trust| Value::from(if self.reader.permits(trust) { trust } else { Trust::Public })),
        );
        all
    }
}

impl Operation for Measure {
    type Output = ConversationMetrics;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<ConversationMetrics, StoreError> {
        let mut metrics = ConversationMetrics::default();
        let mut duration = std::time::Duration::ZERO;
        for row in sql.query(TURNS, &self.values()).await? {
            metrics.turns += 1;
            if let Some(ended) = row.parse_optional::<Timestamp>(1)? {
                // Zero if the clock was set back in between.
                duration += ended.since(row.parse(0)?);
            }
        }
        metrics.duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let rows = if self.reader.permits(Trust::Full) {
            sql.query(ALL_EVENTS, values![&self.conversation]).await?
        } else {
            sql.query(PERMITTED_EVENTS, &self.values()).await?
        };
        let (mut usd, mut unpriced) = (0.0, 0_u64);
        for row in &rows {
            if row.text(0)? == "tool_call" {
                metrics.tool_calls += row.get::<u64>(1)?;
                continue;
            }
            metrics.tokens_in += row.get::<u64>(2)?;
            metrics.tokens_out += row.get::<u64>(3)?;
            usd += row.get::<f64>(4)?;
            unpriced += row.get::<u64>(5)?;
        }
        metrics.cost = (unpriced == 0).then(|| Money::from_dollars(usd));
        Ok(metrics)
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::engine::migrations::MIGRATIONS;

    #[test]
    fn metrics_use_the_conversation_index() {
        let connection = Connection::open_in_memory().unwrap();
        for part in MIGRATIONS.iter().flat_map(|migration| migration.sqlite) {
            connection.execute_batch(part).unwrap();
        }
        for sql in [ALL_EVENTS, PERMITTED_EVENTS] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3));
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            assert!(steps[0].contains("idx_events_session (session_id=?"), "{sql}\n{steps:#?}");
        }
    }
}
