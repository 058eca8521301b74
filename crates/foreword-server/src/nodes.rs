//! This server among those that share its store: says that it is there while it is.

use std::time::Duration;

use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::nodes::{Node, Nodes};

use crate::app::App;

/// How often it says so.
const EVERY: Duration = Duration::from_secs(15);
/// For how long a node may be silent before it is thought gone.
const SILENT: Duration = Duration::from_secs(2 * 60);
/// For how long one that is gone is told of.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);
/// How often those are forgotten that are gone for longer, in rounds: about every hour.
const FORGET_EVERY: u32 = 240;

/// Says that it is there, now.
pub(crate) async fn announce(app: &App) -> Result<(), StoreError> {
    let node = Node {
        node: app.node.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        listen: app.address.to_string(),
        started_at: app.started,
        seen_at: app.now(),
    };
    app.store.node_is_there(node).await
}

/// Says so again and again. A database that is away is told the next time.
pub(crate) async fn stay_announced(app: App) {
    for round in 0_u32.. {
        if round.is_multiple_of(FORGET_EVERY) {
            let _ = app.store.forget_nodes(app.now(), REMEMBERED).await;
        }
        tokio::time::sleep(EVERY).await;
        let _ = announce(&app).await;
    }
}

/// Whether a node that was last seen then is thought gone now, by the same clock.
pub(crate) fn is_gone(seen_at: Timestamp, now: Timestamp) -> bool {
    now.since(seen_at) > SILENT
}

/// All that are there, and those that were a short while ago.
pub(crate) async fn all(app: &App) -> Result<Nodes, StoreError> {
    app.store.nodes(app.now(), REMEMBERED).await
}
