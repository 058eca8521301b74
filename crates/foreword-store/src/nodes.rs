//! Servers that share this store: each says from time to time that it is there, and takes its row along when it stops in order.

use foreword_core::id::NodeId;
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Sql, values};
use crate::error::StoreError;
use crate::store::Store;

/// A server, as it last said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its id.
    pub node: NodeId,
    /// The version of its program.
    pub version: String,
    /// Where it listens.
    pub listen: String,
    /// Since when.
    pub started_at: Timestamp,
    /// When it last said so.
    pub seen_at: Timestamp,
}

impl Store {
    /// Notes that a node is there.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn node_is_there(&self, node: Node) -> Result<(), StoreError> {
        self.run(There(node)).await
    }

    /// Notes that a node has stopped.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn node_has_stopped(&self, node: &NodeId) -> Result<(), StoreError> {
        self.run(Stopped(node.clone())).await
    }

    /// Every node that was seen since then, in the order they started.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn nodes(&self, since: Timestamp) -> Result<Vec<Node>, StoreError> {
        self.run(Seen(since)).await
    }

    /// Forgets nodes that were not seen since then.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn forget_nodes(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.run(Forget(before)).await
    }
}

struct There(Node);

impl Operation for There {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<(), StoreError> {
        let Node { node, version, listen, started_at, seen_at } = &self.0;
        sql.execute(
            "INSERT INTO nodes (node, version, listen, started_at, seen_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (node) DO UPDATE SET version = ?2, listen = ?3, started_at = ?4, seen_at = ?5",
            values![node, version, listen, *started_at, *seen_at],
        )
        .await?;
        Ok(())
    }
}

struct Stopped(NodeId);

impl Operation for Stopped {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<(), StoreError> {
        sql.execute("DELETE FROM nodes WHERE node = ?1", values![&self.0]).await?;
        Ok(())
    }
}

struct Seen(Timestamp);

impl Operation for Seen {
    type Output = Vec<Node>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<Node>, StoreError> {
        let select = "SELECT node, version, listen, started_at, seen_at FROM nodes WHERE seen_at >= ?1
             ORDER BY started_at, node";
        let rows = sql.query(select, values![self.0]).await?;
        rows.iter()
            .map(|row| {
                Ok(Node {
                    node: row.parse(0)?,
                    version: row.get(1)?,
                    listen: row.get(2)?,
                    started_at: row.parse(3)?,
                    seen_at: row.parse(4)?,
                })
            })
            .collect()
    }
}

struct Forget(Timestamp);

impl Operation for Forget {
    type Output = u64;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<u64, StoreError> {
        sql.execute("DELETE FROM nodes WHERE seen_at < ?1", values![self.0]).await
    }
}
