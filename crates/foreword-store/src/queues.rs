//! The lengths of the queues, counted with partial indexes.

use crate::engine::{Access, Operation, Transaction};
use crate::error::StoreError;
use crate::store::Store;

/// The lengths of the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queues {
    /// Staged messages in the inbox.
    pub inbox: u64,
    /// Running turns.
    pub turns: u64,
    /// Pending deliveries to bridges.
    pub deliveries: u64,
    /// Undelivered messages in the outbox.
    pub outbox: u64,
}

impl Store {
    /// The lengths of the queues, from one snapshot.
    pub async fn queues(&self) -> Result<Queues, StoreError> {
        self.run(Count).await
    }
}

const INBOX: &str = "SELECT COUNT(*) FROM inbox WHERE state = 'staged'";
const TURNS: &str = "SELECT COUNT(*) FROM turns WHERE state = 'running'";
const DELIVERIES: &str = "SELECT COUNT(*) FROM deliveries WHERE delivered_at IS NULL AND gave_up_at IS NULL";
const OUTBOX: &str = "SELECT COUNT(*) FROM outbox WHERE delivered_at IS NULL";

struct Count;

impl Operation for Count {
    type Output = Queues;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Queues, StoreError> {
        Ok(Queues {
            inbox: count(sql, INBOX).await?,
            turns: count(sql, TURNS).await?,
            deliveries: count(sql, DELIVERIES).await?,
            outbox: count(sql, OUTBOX).await?,
        })
    }
}

async fn count(sql: &mut Transaction<'_>, select: &'static str) -> Result<u64, StoreError> {
    sql.query_optional(select, &[]).await?.map_or(Ok(0), |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::engine::migrations::MIGRATIONS;

    #[test]
    fn queue_counts_use_indexes() {
        let connection = Connection::open_in_memory().unwrap();
        for part in MIGRATIONS.iter().flat_map(|migration| migration.sqlite) {
            connection.execute_batch(part).unwrap();
        }
        for sql in [INBOX, TURNS, DELIVERIES, OUTBOX] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3));
            let plan = steps.map(Result::unwrap).collect::<Vec<_>>().join("; ");
            assert!(plan.contains("INDEX"), "{sql}: {plan}");
        }
    }
}
