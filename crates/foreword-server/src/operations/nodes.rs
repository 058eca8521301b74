//! Heartbeats of this node in the shared store, and the list of nodes.

use std::time::Duration;

use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::nodes::{Node, Nodes};

use crate::app::App;

const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// A node without a heartbeat for this long counts as dead.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(2 * 60);
/// How long dead nodes are listed.
const NODE_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);
/// The number of heartbeats between two cleanups of dead nodes: about an hour.
const CLEANUP_ROUNDS: u32 = 240;

pub(crate) async fn send_heartbeat(app: &App) -> Result<(), StoreError> {
    let node = Node {
        node: app.node.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        listen: app.address.to_string(),
        started_at: app.started,
        seen_at: app.now(),
    };
    app.store.register_node(node).await
}

/// Sends heartbeats for as long as the server runs. A failed one is made up for by the next.
pub(crate) async fn send_heartbeats(app: App) {
    for round in 0_u32.. {
        if round.is_multiple_of(CLEANUP_ROUNDS) {
            let _ = app.store.remove_stale_nodes(app.now(), NODE_RETENTION).await;
        }
        tokio::time::sleep(HEARTBEAT_INTERVAL).await;
        let _ = send_heartbeat(&app).await;
    }
}

/// Whether a node last seen at `seen_at` is dead. Both times must come from the same clock.
pub(crate) fn is_dead(seen_at: Timestamp, now: Timestamp) -> bool {
    now.since(seen_at) > HEARTBEAT_TIMEOUT
}

/// The live nodes, and the dead ones within the retention.
pub(crate) async fn list(app: &App) -> Result<Nodes, StoreError> {
    app.store.nodes(app.now(), NODE_RETENTION).await
}
