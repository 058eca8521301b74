//! The nodes that share a store, and the lengths of its queues. For the owner.

use foreword_store::nodes::Node;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::utc_time::UtcTime;
use crate::app::App;
use crate::operations::nodes;
use crate::problem::Problem;

/// A node that shares the store.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NodeStatus)]
pub(crate) struct NodeBody {
    /// The node's id.
    node: String,
    /// The version of its program.
    version: String,
    /// The address it listens on.
    #[schema(example = "127.0.0.1:7777")]
    listen: String,
    /// When it started.
    started_at: UtcTime,
    /// When it last sent a heartbeat, which it does every 15 seconds.
    seen_at: UtcTime,
    /// Whether it is the node that answers.
    here: bool,
    /// Whether it has sent no heartbeat for two minutes, without having been stopped. Such nodes are listed for a day.
    gone: bool,
}

/// The lengths of the queues.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Queues {
    /// Inbox messages that are not consumed.
    inbox: u64,
    /// Running turns on all nodes.
    turns: u64,
    /// Webhook deliveries that are not delivered.
    deliveries: u64,
    /// Outbox messages that are not fetched.
    outbox: u64,
    /// Events of this node that are not stored yet.
    events: usize,
}

impl NodeBody {
    pub(super) async fn all(app: &App) -> Result<Vec<Self>, Problem> {
        let all = nodes::list(app).await?;
        let body = |node: Node| {
            let here = node.node == app.node;
            Self {
                node: node.node.to_string(),
                version: node.version,
                listen: node.listen,
                started_at: node.started_at.into(),
                seen_at: node.seen_at.into(),
                here,
                gone: !here && nodes::is_dead(node.seen_at, all.now),
            }
        };
        Ok(all.nodes.into_iter().map(body).collect())
    }
}

impl Queues {
    pub(super) async fn of(app: &App) -> Result<Self, Problem> {
        let waiting = app.store.queues().await?;
        Ok(Self {
            inbox: waiting.inbox,
            turns: waiting.turns,
            deliveries: waiting.deliveries,
            outbox: waiting.outbox,
            events: app.events.depth(),
        })
    }
}
