//! Servers that share this store: each says from time to time that it is there, and takes its row along when it stops in order.
//! When that was is told by the store's clock, whose ever the machine is: two machines need not agree on what time it is.

use std::collections::BTreeSet;
use std::time::Duration;

use foreword_core::id::NodeId;
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Row, Sql, values};
use crate::error::StoreError;
use crate::store::{Engine, Store};

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

/// The servers there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nodes {
    /// What time it is by the clock that says when they were seen.
    pub now: Timestamp,
    /// All of them, in the order they started.
    pub nodes: Vec<Node>,
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

    /// Says that `node` is this process, so that others on this machine see at once when it has ended. Where several machines
    /// share the store they go by leases alone.
    ///
    /// # Errors
    /// If that can't be marked beside the database.
    pub fn hold_node(&self, node: &NodeId) -> Result<(), StoreError> {
        match self.engine() {
            Engine::Sqlite(sqlite) => {
                let place = sqlite.place();
                place.node_locks().hold(node).map_err(|error| place.unreachable(&error))
            }
            Engine::Postgres(_) => Ok(()),
        }
    }

    /// Forgets processes that have ended without a word and have left nothing to go on with.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn forget_dead_nodes(&self) -> Result<(), StoreError> {
        let Engine::Sqlite(sqlite) = self.engine() else { return Ok(()) };
        let needed = self.run(Holders).await?;
        sqlite.place().node_locks().remove_dead(|node| needed.contains(node));
        Ok(())
    }

    /// Every node that was seen within that time. `now` is the caller's clock, for a store that has none.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn nodes(&self, now: Timestamp, within: Duration) -> Result<Nodes, StoreError> {
        self.run(Seen { now, within }).await
    }

    /// Forgets nodes that were not seen within that time.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn forget_nodes(&self, now: Timestamp, within: Duration) -> Result<u64, StoreError> {
        self.run(Forget { now, within }).await
    }
}

/// Who holds something that is not at its end.
struct Holders;

impl Operation for Holders {
    type Output = BTreeSet<String>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<BTreeSet<String>, StoreError> {
        let select = "SELECT holder FROM turns WHERE state = 'running'
            UNION SELECT holder FROM workflow_runs WHERE state = 'running'
            UNION SELECT node FROM schedule_firings WHERE ended_at IS NULL";
        sql.query(select, &[]).await?.iter().map(|row| row.get(0)).collect()
    }
}

struct There(Node);

impl Operation for There {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<(), StoreError> {
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<(), StoreError> {
        sql.execute("DELETE FROM nodes WHERE node = ?1", values![&self.0]).await?;
        Ok(())
    }
}

struct Seen {
    now: Timestamp,
    within: Duration,
}

impl Operation for Seen {
    type Output = Nodes;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Nodes, StoreError> {
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<u64, StoreError> {
        let now = sql.clock(self.now).await?;
        sql.execute("DELETE FROM nodes WHERE seen_at < ?1", values![now.minus(self.within)]).await
    }
}
