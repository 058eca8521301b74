//! The server nodes that share this store. Each sends a heartbeat and removes its row on shutdown. Heartbeats use the
//! store's clock, so the machines' clocks need not agree.

use std::collections::BTreeSet;
use std::time::Duration;

use foreword_core::id::NodeId;
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::{Engine, Store};

/// A node's last heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub node: NodeId,
    /// The version of its program.
    pub version: String,
    /// Its listen address.
    pub listen: String,
    /// When it started.
    pub started_at: Timestamp,
    /// The time of the heartbeat.
    pub seen_at: Timestamp,
}

/// The nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nodes {
    /// The current time by the store's clock.
    pub now: Timestamp,
    /// All nodes, in order of their start.
    pub nodes: Vec<Node>,
}

impl Store {
    /// Records a node's heartbeat.
    pub async fn register_node(&self, node: Node) -> Result<(), StoreError> {
        self.run(RegisterNode(node)).await
    }

    /// Removes a node on shutdown.
    pub async fn unregister_node(&self, node: &NodeId) -> Result<(), StoreError> {
        self.run(Stopped(node.clone())).await
    }

    /// Marks `node` as this process, so that others on this machine notice at once when it exits. Does nothing where
    /// several machines share the store; there, leases must expire.
    ///
    /// # Errors
    /// If the lock file can't be created next to the database.
    pub fn lock_node(&self, node: &NodeId) -> Result<(), StoreError> {
        match self.engine() {
            Engine::Sqlite(sqlite) => {
                let place = sqlite.file();
                place.node_locks().hold(node).map_err(|error| place.unreachable(&error))
            }
            Engine::Postgres(_) => Ok(()),
        }
    }

    /// Removes the lock files of crashed processes that hold no lease any more.
    pub async fn remove_dead_nodes(&self) -> Result<(), StoreError> {
        let Engine::Sqlite(sqlite) = self.engine() else { return Ok(()) };
        let needed = self.run(Holders).await?;
        sqlite.file().node_locks().remove_dead(|node| needed.contains(node));
        Ok(())
    }

    /// The nodes with a heartbeat in the last `within`. `now` is the caller's clock, for a store without its own.
    pub async fn nodes(&self, now: Timestamp, within: Duration) -> Result<Nodes, StoreError> {
        self.run(ListNodes { now, within }).await
    }

    /// Removes nodes without a heartbeat in the last `within`. Returns how many.
    pub async fn remove_stale_nodes(&self, now: Timestamp, within: Duration) -> Result<u64, StoreError> {
        self.run(Forget { now, within }).await
    }
}

/// Returns the holders of all running turns, runs and firings.
struct Holders;

impl Operation for Holders {
    type Output = BTreeSet<String>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<BTreeSet<String>, StoreError> {
        let select = "SELECT holder FROM turns WHERE state = 'running'
            UNION SELECT holder FROM workflow_runs WHERE state = 'running'
            UNION SELECT node FROM schedule_firings WHERE ended_at IS NULL";
        sql.query(select, &[]).await?.iter().map(|row| row.get(0)).collect()
    }
}

struct RegisterNode(Node);

impl Operation for RegisterNode {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        let Node { node, version, listen, started_at, seen_at } = &self.0;
        let seen_at = sql.clock(*seen_at).await?;
        sql.execute(
            "INSERT INTO nodes (node, version, listen, started_at, seen_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (node) DO UPDATE SET version = ?2, listen = ?3, started_at = ?4, seen_at = ?5",
            values![node, version, listen, *started_at, seen_at],
        )
        .await?;
        Ok(())
    }
}

struct Stopped(NodeId);

impl Operation for Stopped {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        sql.execute("DELETE FROM nodes WHERE node = ?1", values![&self.0]).await?;
        Ok(())
    }
}

struct ListNodes {
    now: Timestamp,
    within: Duration,
}

impl Operation for ListNodes {
    type Output = Nodes;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Nodes, StoreError> {
        let now = sql.clock(self.now).await?;
        let select = "SELECT node, version, listen, started_at, seen_at FROM nodes WHERE seen_at >= ?1
             ORDER BY started_at, node";
        let rows = sql.query(select, values![now.minus(self.within)]).await?;
        let node = |row: &Row| {
            Ok(Node {
                node: row.parse(0)?,
                version: row.get(1)?,
                listen: row.get(2)?,
                started_at: row.parse(3)?,
                seen_at: row.parse(4)?,
            })
        };
        Ok(Nodes { now, nodes: rows.iter().map(node).collect::<Result<_, StoreError>>()? })
    }
}

struct Forget {
    now: Timestamp,
    within: Duration,
}

impl Operation for Forget {
    type Output = u64;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<u64, StoreError> {
        let now = sql.clock(self.now).await?;
        sql.execute("DELETE FROM nodes WHERE seen_at < ?1", values![now.minus(self.within)]).await
    }
}
