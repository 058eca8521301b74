//! The servers that share a store, and what waits there; for the owner.

use foreword_store::nodes::Node;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::moment::Moment;
use crate::app::App;
use crate::nodes;
use crate::problem::Problem;

/// A server that shares the store.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NodeStatus)]
pub(super) struct NodeBody {
    /// The node.
    node: String,
    /// The version of its program.
    version: String,
    /// Where it listens.
    #[schema(example = "127.0.0.1:7777")]
    listen: String,
    /// Since when.
    started_at: Moment,
    /// When it last said that it is there; it does about every 15 seconds.
    seen_at: Moment,
    /// Whether it is the one that was asked.
    here: bool,
    /// Whether it has been silent for more than two minutes, without having stopped in order. It is told of for a day.
    gone: bool,
}

/// How much waits.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Queues {
    /// Messages of the inbox that no turn has dealt with.
    inbox: u64,
    /// Turns under way, on all nodes.
    turns: u64,
    /// Answers that a bridge has not taken yet.
    deliveries: u64,
    /// Messages of the outbox that nobody has fetched.
    outbox: u64,
    /// Events of this node on their way into the store.
    events: usize,
}

impl NodeBody {
    pub(super) async fn all(app: &App) -> Result<Vec<Self>, Problem> {
        let all = nodes::all(app).await?;
        let told = |node: Node| {
            let here = node.node == app.node;
            Self {
                node: node.node.to_string(),
                version: node.version,
                listen: node.listen,
                started_at: node.started_at.into(),
                seen_at: node.seen_at.into(),
                here,
                gone: !here && nodes::is_gone(node.seen_at, all.now),
            }
        };
        Ok(all.nodes.into_iter().map(told).collect())
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
