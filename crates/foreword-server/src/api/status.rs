//! How things stand: what `foreword status` shows, and how the server stands that is asked. The owner sees the whole;
//! everybody else their conversation, and what their trust opens.

mod nodes;

use std::collections::BTreeMap;

use axum::extract::State;
use foreword_agent::failing_sources::FailingSource;
use foreword_agent::status::{BudgetStanding, LayerStatus, Standing, Status, StoreKind, Talk, Whole};
use foreword_agent::viewer::Viewer;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::nodes::{NodeBody, Queues};
use super::event_body::EventBody;
use super::extract::Query;
use super::looking::{conversation_id, viewer};
use super::moment::Moment;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;
use crate::standing_problems::{self, StandingProblem};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_status))
}

/// Which conversation.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct StatusQuery {
    /// The conversation of which whoever is not the owner wants to know.
    conversation: Option<String>,
}

/// How things stand.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Status)]
struct StatusBody {
    /// When.
    now: Moment,
    /// What only the owner sees.
    #[serde(flatten)]
    whole: WholeBody,
    /// The conversation that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<TalkBody>,
    /// How many observations are in each store that is open to you.
    memory: BTreeMap<&'static str, u64>,
    /// The layers of the prompt that your trust permits, in their order. Never their text.
    layers: Vec<LayerBody>,
    /// The latest errors that may be seen, the last first.
    errors: Vec<EventBody>,
}

/// A layer of the prompt.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LayerStatus)]
struct LayerBody {
    /// Its id.
    id: String,
    /// Its name for people.
    title: String,
    /// How long its bytes stay the same.
    #[schema(example = "static")]
    stability: &'static str,
    /// Who may see it.
    #[schema(example = "public")]
    trust: &'static str,
    /// Whether the agent may edit it.
    mutable: bool,
    /// The version of its text in the store; `null` if the store has none.
    version: Option<u64>,
    /// When that version was stored.
    updated_at: Option<Moment>,
}

impl From<LayerStatus> for LayerBody {
    fn from(layer: LayerStatus) -> Self {
        let LayerStatus { id, title, stability, trust, mutable, version, updated_at } = layer;
        let (trust, updated_at) = (trust.as_str(), updated_at.map(Into::into));
        Self { id, title, stability, trust, mutable, version, updated_at }
    }
}

/// What only the owner sees; for everybody else it is left out.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = StatusWhole)]
struct WholeBody {
    /// The server that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<ServerBody>,
    /// The servers that share its store, in the order they started.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<NodeBody>>,
    /// How much waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    queues: Option<Queues>,
    /// In what kind of store everything is kept: `sqlite` or `postgres`.
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
    /// What was spent today, where the server is.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_today: Option<CostToday>,
    /// What may be spent, and how much of it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    budgets: Option<Vec<BudgetBody>>,
    /// How many events of the last 24 hours could not be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    events_lost: Option<u64>,
    /// The servers of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_servers: Option<Vec<ToolServerBody>>,
    /// What fires next, the first first.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_firings: Option<Vec<NextFiringBody>>,
    /// When something was last kept in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_kept_at: Option<Moment>,
}

/// A server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ServerStatus)]
struct ServerBody {
    /// The node.
    node: String,
    /// The version of the program.
    version: &'static str,
    /// Where it listens.
    #[schema(example = "127.0.0.1:7777")]
    listen: String,
    /// Since when.
    started_at: Moment,
    /// And for how many seconds.
    uptime_s: u64,
    /// Whether it has been told to stop.
    stopping: bool,
    /// What is wrong with its configuration, its workspace and its store.
    problems: Vec<StandingProblem>,
}

/// What is known of a channel.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChannelStatus)]
struct ChannelBody {
    /// When the last message came in or went out.
    last_message: Option<Moment>,
    /// How many errors there were.
    errors: usize,
}

/// Conversations that are going on.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ActiveConversations)]
struct ActiveBody {
    /// How many.
    count: usize,
    /// Whether there may be more.
    or_more: bool,
    /// The first of them, the last one active first.
    listed: Vec<TalkBody>,
}

/// A conversation in short.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ConversationStatus)]
struct TalkBody {
    /// Its id.
    id: String,
    /// Whose it is.
    user: Option<String>,
    /// Where it began.
    channel: Option<String>,
    /// In what kind of place.
    situation: Option<String>,
    /// When something last happened in it.
    last_activity_at: Moment,
}

/// A prompt source that can't be read or rendered. Running conversations keep their frozen prompt.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FailingSource)]
struct FailingSourceBody {
    /// The file or template.
    source: String,
    /// The layer it is the source of.
    layer: String,
    /// Why it fails.
    error: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// What new prompts contain instead: `last_good` (its last good version), `skipped`, or `nothing`: no new conversation can
    /// start.
    #[schema(example = "last_good")]
    replacement: &'static str,
}

impl From<FailingSource> for FailingSourceBody {
    fn from(failing: FailingSource) -> Self {
        let FailingSource { source, layer, error, help, replacement } = failing;
        Self { source, layer, error, help, replacement }
    }
}

/// What was spent today.
#[derive(Debug, Serialize, ToSchema)]
struct CostToday {
    /// How many calls.
    calls: u64,
    /// How many of them broke off.
    failed: u64,
    /// In how many turns.
    turns: u64,
    /// Tokens read, from wherever.
    tokens_in: u64,
    /// Tokens written.
    tokens_out: u64,
    /// Tokens read from the provider's cache.
    cache_read: u64,
    /// Tokens written there.
    cache_write: u64,
    /// Tokens read by calls of which the provider told what came from its cache.
    tokens_told: u64,
    /// US dollars, as far as prices are known.
    usd: f64,
    /// Calls whose price is not known.
    unpriced: u64,
}

/// How much of a budget is spent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BudgetStatus)]
struct BudgetBody {
    /// Which, as people say it.
    budget: String,
    /// Whose account: `user`, `session` and `agent`, as far as it is held apart by them.
    account: BTreeMap<&'static str, Option<String>>,
    /// What is spent, in US dollars.
    spent_usd: f64,
    /// What may be.
    amount_usd: f64,
    /// `fine`, `warn` or `stop`.
    #[schema(example = "fine")]
    state: &'static str,
    /// When it begins anew.
    begins_anew: Moment,
    /// Calls that are in none of it, because their price is not known.
    unpriced_calls: u64,
}

/// A server of tools.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolServerStatus)]
struct ToolServerBody {
    /// Its name.
    name: String,
    /// `program` or `address`.
    reached_by: &'static str,
    /// What was last told of it.
    last_told: Option<String>,
}

/// When a schedule fires next.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NextFiring)]
struct NextFiringBody {
    /// Its name.
    schedule: String,
    /// When.
    at: Moment,
}

/// How things stand
///
/// As `foreword --json status` writes it, with the server that was asked. Whoever is not the owner sees the conversation they
/// name, if it is theirs, and what is open to them.
#[utoipa::path(get, path = "/api/v1/status", tag = "observing", security(("bearer" = ["observe"])), params(StatusQuery),
    responses(
        (status = 200, body = StatusBody),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
async fn get_status(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<StatusQuery>,
) -> Result<axum::Json<StatusBody>, Problem> {
    let viewer = viewer(&app, &caller, conversation_id(query.conversation.as_deref())?).await?;
    match StatusBody::seen_by(&app, &viewer).await {
        // While the store fails the owner sees why.
        Err(_) if viewer.sees_everything() && !app.store.health().is_up() => {
            Ok(axum::Json(StatusBody::without_store(&app)))
        }
        status => Ok(axum::Json(status?)),
    }
}

impl StatusBody {
    async fn seen_by(app: &App, viewer: &Viewer) -> Result<Self, Problem> {
        let status = Status::seen_by(viewer, &app.workspace, &app.config()).await?;
        let whole = match status.whole {
            Some(whole) => WholeBody {
                nodes: Some(NodeBody::all(app).await?),
                queues: Some(Queues::of(app).await?),
                ..WholeBody::of(whole, ServerBody::of(app))
            },
            None => WholeBody::default(),
        };
        Ok(Self {
            now: status.now.into(),
            whole,
            conversation: status.conversation.map(Into::into),
            memory: status.memory.into_iter().map(|(store, count)| (store.as_str(), count)).collect(),
            layers: status.layers.into_iter().map(Into::into).collect(),
            errors: status.errors.into_iter().map(|event| EventBody::new(event, viewer)).collect(),
        })
    }

    /// What the server knows by itself.
    fn without_store(app: &App) -> Self {
        Self {
            now: app.now().into(),
            whole: WholeBody { server: Some(ServerBody::of(app)), ..WholeBody::default() },
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
            problems: standing_problems::all(app),
        }
    }
}

impl WholeBody {
    fn of(whole: Whole, server: ServerBody) -> Self {
        let Standing { cost_today, budgets, events_lost, tool_servers, next_firings, memory_kept_at } =
            whole.standing;
        let channel = |channel: foreword_agent::status::Channel| ChannelBody {
            last_message: channel.last_message.map(Into::into),
            errors: channel.errors,
        };
        let tool_server = |server: foreword_agent::status::ToolServer| ToolServerBody {
            name: server.name,
            reached_by: server.reached_by,
            last_told: server.last_told,
        };
        let firing = |firing: foreword_agent::status::NextFiring| NextFiringBody {
            schedule: firing.schedule,
            at: firing.at.into(),
        };
        Self {
            server: Some(server),
            nodes: None,
            queues: None,
            store: whole.store.map(|kind| match kind {
                StoreKind::Sqlite => "sqlite",
                StoreKind::Postgres => "postgres",
            }),
            channels: Some(
                whole.channels.into_iter().map(|(name, one)| (name.to_string(), channel(one))).collect(),
            ),
            conversations: Some(ActiveBody {
                count: whole.conversations.count,
                or_more: whole.conversations.or_more,
                listed: whole.conversations.listed.into_iter().map(Into::into).collect(),
            }),
            sources: Some(whole.sources.into_iter().map(Into::into).collect()),
            cost_today: Some(cost_today.into()),
            budgets: Some(budgets.into_iter().map(Into::into).collect()),
            events_lost: Some(events_lost),
            tool_servers: Some(tool_servers.into_iter().map(tool_server).collect()),
            next_firings: Some(next_firings.into_iter().map(firing).collect()),
            memory_kept_at: memory_kept_at.map(Into::into),
        }
    }
}

impl From<Talk> for TalkBody {
    fn from(talk: Talk) -> Self {
        Self {
            id: talk.id,
            user: talk.user,
            channel: talk.channel,
            situation: talk.situation,
            last_activity_at: talk.last_activity_at.into(),
        }
    }
}

impl From<foreword_core::cost_sum::CostSum> for CostToday {
    fn from(sum: foreword_core::cost_sum::CostSum) -> Self {
        Self {
            calls: sum.calls,
            failed: sum.failed,
            turns: sum.turns,
            tokens_in: sum.tokens_in,
            tokens_out: sum.tokens_out,
            cache_read: sum.cache_read,
            cache_write: sum.cache_write,
            tokens_told: sum.tokens_told,
            usd: sum.usd,
            unpriced: sum.unpriced,
        }
    }
}

impl From<BudgetStanding> for BudgetBody {
    fn from(standing: BudgetStanding) -> Self {
        let account = standing.account;
        let parts = [
            account.user.map(|user| ("user", user)),
            account.session.map(|session| ("session", Some(session))),
            account.agent.map(|agent| ("agent", Some(agent))),
        ];
        Self {
            budget: standing.budget,
            account: parts.into_iter().flatten().collect(),
            spent_usd: standing.spent_usd.dollars(),
            amount_usd: standing.amount_usd.dollars(),
            state: standing.state,
            begins_anew: standing.begins_anew.into(),
            unpriced_calls: standing.unpriced_calls,
        }
    }
}
