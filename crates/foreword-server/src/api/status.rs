//! The status, as `foreword status` shows it, and that of this server. The owner sees all of it; other users see their
//! conversation and what their trust permits.

mod nodes;
mod spending;

use std::collections::BTreeMap;

use axum::extract::State;
use foreword_agent::prompt::failing_sources::FailingSource;
use foreword_agent::reports::status::{
    AgentStatus, ConversationStatus, LayerStatus, OperationalStatus, OwnerStatus, StoreKind,
};
use foreword_agent::reports::viewer::Viewer;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use self::nodes::{NodeBody, Queues};
use self::spending::{BudgetBody, CostToday};
use super::event_body::EventBody;
use super::extract::Query;
use super::utc_time::UtcTime;
use super::viewer::{conversation_id, viewer};
use crate::app::App;
use crate::auth::Caller;
use crate::operations::server_problems::{self, ServerProblem};
use crate::problem::Problem;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatusQuery {
    /// The conversation to report on, for users other than the owner.
    conversation: Option<String>,
}

/// The status.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Status)]
pub(crate) struct StatusBody {
    /// The current time.
    now: UtcTime,
    /// The part for the owner.
    #[serde(flatten)]
    owner: OwnerStatusBody,
    /// The requested conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<ConversationStatusBody>,
    /// Number of notes by memory store, as your trust permits.
    memory: BTreeMap<&'static str, u64>,
    /// The layers of the prompt that your trust permits, without their text.
    layers: Vec<LayerBody>,
    /// The latest errors that you may see, newest first.
    errors: Vec<EventBody>,
}

/// A layer of the prompt.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LayerStatus)]
pub(crate) struct LayerBody {
    /// Its id.
    id: String,
    /// Its title.
    title: String,
    /// How long its text stays the same.
    #[schema(example = "static")]
    stability: &'static str,
    /// The trust needed to see it.
    #[schema(example = "public")]
    trust: &'static str,
    /// Whether the agent may edit it.
    mutable: bool,
    /// The stored version; `null` if none is stored.
    version: Option<u64>,
    /// When that version was stored.
    updated_at: Option<UtcTime>,
}

impl From<LayerStatus> for LayerBody {
    fn from(layer: LayerStatus) -> Self {
        let LayerStatus { id, title, stability, trust, mutable, version, updated_at } = layer;
        let (trust, updated_at) = (trust.as_str(), updated_at.map(Into::into));
        Self { id, title, stability, trust, mutable, version, updated_at }
    }
}

/// The part for the owner; absent for other users.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = OwnerStatus)]
pub(crate) struct OwnerStatusBody {
    /// This server.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<ServerBody>,
    /// The nodes that share the store, in the order of their start.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<NodeBody>>,
    /// The lengths of the queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    queues: Option<Queues>,
    /// The store: `sqlite` or `postgres`.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<&'static str>,
    /// The channels of the last 24 hours, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    channels: Option<BTreeMap<String, ChannelBody>>,
    /// The conversations of the last 24 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversations: Option<ActiveBody>,
    /// The prompt sources (files, templates) that can't be read or rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Vec<FailingSourceBody>>,
    /// Today's costs, in the server's time zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_today: Option<CostToday>,
    /// The budgets and their use.
    #[serde(skip_serializing_if = "Option::is_none")]
    budgets: Option<Vec<BudgetBody>>,
    /// Number of events of the last 24 hours that could not be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    events_lost: Option<u64>,
    /// The tool servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_servers: Option<Vec<ToolServerBody>>,
    /// The next firings of schedules, soonest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_firings: Option<Vec<NextFiringBody>>,
    /// When the last note was stored in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_kept_at: Option<UtcTime>,
}

/// A server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ServerStatus)]
pub(crate) struct ServerBody {
    /// The node's id.
    node: String,
    /// The version of the program.
    version: &'static str,
    /// The address it listens on.
    #[schema(example = "127.0.0.1:7777")]
    listen: String,
    /// When it started.
    started_at: UtcTime,
    /// Uptime in seconds.
    uptime_s: u64,
    /// Whether it is stopping.
    stopping: bool,
    /// Current problems of its configuration, workspace and store.
    problems: Vec<ServerProblem>,
}

/// The activity of a channel.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChannelStatus)]
pub(crate) struct ChannelBody {
    /// When the last message was sent or received.
    last_message: Option<UtcTime>,
    /// Number of errors.
    errors: usize,
}

/// Active conversations.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ActiveConversations)]
pub(crate) struct ActiveBody {
    /// Number of conversations.
    count: usize,
    /// Whether there may be more.
    or_more: bool,
    /// The most recently active ones.
    listed: Vec<ConversationStatusBody>,
}

/// A conversation in brief.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ConversationStatus)]
pub(crate) struct ConversationStatusBody {
    /// Its id.
    id: String,
    /// The user.
    user: Option<String>,
    /// The channel.
    channel: Option<String>,
    /// The situation.
    situation: Option<String>,
    /// When the last message was sent.
    last_activity_at: UtcTime,
}

/// A prompt source that can't be read or rendered. Running conversations keep their frozen prompt.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FailingSource)]
pub(crate) struct FailingSourceBody {
    /// The file or template.
    source: String,
    /// The layer it belongs to.
    layer: String,
    /// The error.
    error: String,
    /// A hint on how to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// What new prompts contain instead: `last_good` (its last good version), `skipped`, or `nothing`: no new
    /// conversation can start.
    #[schema(example = "last_good")]
    replacement: &'static str,
}

impl From<FailingSource> for FailingSourceBody {
    fn from(failing: FailingSource) -> Self {
        let FailingSource { source, layer, error, help, replacement } = failing;
        Self { source, layer, error, help, replacement }
    }
}

/// A tool server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolServerStatus)]
pub(crate) struct ToolServerBody {
    /// Its name.
    name: String,
    /// `program` or `address`.
    transport: &'static str,
    /// The last status message.
    last_status: Option<String>,
}

/// The next firing of a schedule.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NextFiring)]
pub(crate) struct NextFiringBody {
    /// The schedule's name.
    schedule: String,
    /// When it fires.
    at: UtcTime,
}

/// Returns the status
///
/// Same format as `foreword --json status`, plus this server. Users other than the owner see the named conversation, if
/// it is theirs, and what their trust permits.
#[utoipa::path(get, path = "/api/v1/status", tag = "observing", security(("bearer" = ["observe"])), params(StatusQuery),
    responses(
        (status = 200, body = StatusBody),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn get_status(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<StatusQuery>,
) -> Result<axum::Json<StatusBody>, Problem> {
    let viewer = viewer(&app, &caller, conversation_id(query.conversation.as_deref())?).await?;
    match StatusBody::visible_to(&app, &viewer).await {
        // While the store fails, the owner sees why.
        Err(_) if viewer.sees_everything() && !app.store.health().is_up() => {
            Ok(axum::Json(StatusBody::without_store(&app)))
        }
        status => Ok(axum::Json(status?)),
    }
}

impl StatusBody {
    async fn visible_to(app: &App, viewer: &Viewer) -> Result<Self, Problem> {
        let status = AgentStatus::visible_to(viewer, &app.workspace, &app.config()).await?;
        let owner = match status.owner {
            Some(owner) => OwnerStatusBody {
                nodes: Some(NodeBody::all(app).await?),
                queues: Some(Queues::of(app).await?),
                ..OwnerStatusBody::of(owner, ServerBody::of(app))
            },
            None => OwnerStatusBody::default(),
        };
        Ok(Self {
            now: status.now.into(),
            owner,
            conversation: status.conversation.map(Into::into),
            memory: status.memory.into_iter().map(|(store, count)| (store.as_str(), count)).collect(),
            layers: status.layers.into_iter().map(Into::into).collect(),
            errors: status.errors.into_iter().map(|event| EventBody::new(event, viewer)).collect(),
        })
    }

    /// The part that does not need the store.
    fn without_store(app: &App) -> Self {
        Self {
            now: app.now().into(),
            owner: OwnerStatusBody { server: Some(ServerBody::of(app)), ..OwnerStatusBody::default() },
            conversation: None,
            memory: BTreeMap::new(),
            layers: Vec::new(),
            errors: Vec::new(),
        }
    }
}

impl ServerBody {
    fn of(app: &App) -> Self {
        Self {
            node: app.node.to_string(),
            version: env!("CARGO_PKG_VERSION"),
            listen: app.address.to_string(),
            started_at: app.started.into(),
            uptime_s: app.now().since(app.started).as_secs(),
            stopping: app.is_stopping(),
            problems: server_problems::all(app),
        }
    }
}

impl OwnerStatusBody {
    fn of(owner: OwnerStatus, server: ServerBody) -> Self {
        let OperationalStatus {
            cost_today,
            budgets,
            events_lost,
            tool_servers,
            next_firings,
            memory_kept_at,
        } = owner.operational;
        let channel = |channel: foreword_agent::reports::status::ChannelStatus| ChannelBody {
            last_message: channel.last_message.map(Into::into),
            errors: channel.errors,
        };
        let tool_server = |server: foreword_agent::reports::status::ToolServer| ToolServerBody {
            name: server.name,
            transport: server.transport,
            last_status: server.last_status,
        };
        let firing = |firing: foreword_agent::reports::status::NextFiring| NextFiringBody {
            schedule: firing.schedule,
            at: firing.at.into(),
        };
        Self {
            server: Some(server),
            nodes: None,
            queues: None,
            store: owner.store.map(|kind| match kind {
                StoreKind::Sqlite => "sqlite",
                StoreKind::Postgres => "postgres",
            }),
            channels: Some(
                owner.channels.into_iter().map(|(name, one)| (name.to_string(), channel(one))).collect(),
            ),
            conversations: Some(ActiveBody {
                count: owner.conversations.count,
                or_more: owner.conversations.or_more,
                listed: owner.conversations.listed.into_iter().map(Into::into).collect(),
            }),
            sources: Some(owner.sources.into_iter().map(Into::into).collect()),
            cost_today: Some(cost_today.into()),
            budgets: Some(budgets.into_iter().map(Into::into).collect()),
            events_lost: Some(events_lost),
            tool_servers: Some(tool_servers.into_iter().map(tool_server).collect()),
            next_firings: Some(next_firings.into_iter().map(firing).collect()),
            memory_kept_at: memory_kept_at.map(Into::into),
        }
    }
}

impl From<ConversationStatus> for ConversationStatusBody {
    fn from(conversation: ConversationStatus) -> Self {
        Self {
            id: conversation.id,
            user: conversation.user,
            channel: conversation.channel,
            situation: conversation.situation,
            last_activity_at: conversation.last_activity_at.into(),
        }
    }
}
