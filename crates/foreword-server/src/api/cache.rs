//! What the provider's cache gave, and why it gave no more: what `foreword cache` shows.

use axum::extract::State;
use foreword_agent::cache_report::{CacheReport, CauseSum, Miss, Talk};
use foreword_core::cache::HitRate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::Query;
use super::looking::{conversation_id, viewer_of};
use super::moment::{Moment, moment};
use super::paging::PageQuery;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// How far back is looked if nobody says.
const USUAL: &str = "30d";

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_cache))
}

/// Which calls.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct CacheQuery {
    /// Those of this conversation. Whoever is not the owner has to name one of their own.
    conversation: Option<String>,
    /// Not before: `12h`, `7d`, `today`, `2026-11-16` or a time. Default: `30d`.
    since: Option<String>,
}

/// What the cache gave.
#[derive(Debug, Serialize, ToSchema)]
struct Cache {
    /// Over all calls.
    #[serde(flatten)]
    rate: RateBody,
    /// What was missed, by cause, the dearest first.
    causes: Vec<Cause>,
    /// The conversations, the last one active first.
    conversations: Vec<CachedConversation>,
    /// What to ask for `after` to get the rest, if this is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Whether there were more calls than were looked at.
    cut: bool,
}

/// How much of what was sent came from the cache.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HitRate)]
struct RateBody {
    /// From 0 to 1; `null` if no provider has reported anything.
    hit_rate: Option<f64>,
    /// Tokens read from the cache.
    tokens_read: u64,
    /// Tokens read in all, by calls that were reported.
    input_tokens: u64,
    /// Calls that were reported.
    calls: u64,
    /// Calls of which the provider did not say.
    calls_unreported: u64,
}

/// What one cause came to.
#[derive(Debug, Serialize, ToSchema)]
struct Cause {
    /// Its short name.
    #[schema(example = "layer_edited")]
    cause: String,
    /// How often.
    misses: u64,
    /// Tokens that were processed again.
    tokens_rewritten: u64,
    /// What that cost more than reading them would have, in US dollars, as far as prices are known.
    extra_usd: f64,
    /// How often nobody knows what it cost.
    unpriced: u64,
}

/// A conversation.
#[derive(Debug, Serialize, ToSchema)]
struct CachedConversation {
    /// Its id.
    conversation: String,
    /// Over its calls.
    #[serde(flatten)]
    rate: RateBody,
    /// What was missed, the first first.
    misses: Vec<CacheMiss>,
    /// When it last called a model.
    last_call_at: Moment,
}

/// A request that read less than it could have: when, in which turn, and the diagnosis (`verdict`, `cause`, `detail`,
/// `section`, `layer`, `tokens_rewritten`, `cost_usd`, `cost_if_hit_usd`, `advice` and others).
#[derive(Debug, Serialize, ToSchema)]
struct CacheMiss {
    /// When it was sent.
    at: Moment,
    /// The turn.
    turn_id: Option<String>,
    /// Which turn of the conversation that is; the first is 1.
    turn: Option<u64>,
    /// The diagnosis.
    #[serde(flatten)]
    #[schema(value_type = Object, additional_properties)]
    diagnosis: Map<String, Value>,
}

/// What the cache gave, and why it gave no more
///
/// As `foreword --json cache` writes it.
#[utoipa::path(get, path = "/api/v1/cache", tag = "observing", security(("bearer" = ["observe"])), params(CacheQuery, PageQuery),
    responses(
        (status = 200, body = Cache),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
async fn get_cache(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<CacheQuery>,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Cache>, Problem> {
    let conversation = conversation_id(query.conversation.as_deref())?;
    let viewer = viewer_of(&app, &caller, conversation.clone()).await?;
    let since = moment(Some(query.since.as_deref().unwrap_or(USUAL)), &app)?;
    let report = CacheReport::seen_by(&viewer, conversation, since).await?;
    let mut cache = Cache::from(report);
    (cache.conversations, cache.next) = page.cut(cache.conversations, |one| &one.conversation)?;
    Ok(axum::Json(cache))
}

impl From<CacheReport> for Cache {
    fn from(report: CacheReport) -> Self {
        Self {
            rate: report.rate.into(),
            causes: report.causes.into_iter().map(Into::into).collect(),
            conversations: report.conversations.into_iter().map(Into::into).collect(),
            next: None,
            cut: report.cut,
        }
    }
}

impl From<HitRate> for RateBody {
    fn from(rate: HitRate) -> Self {
        Self {
            hit_rate: rate.share(),
            tokens_read: rate.tokens_read(),
            input_tokens: rate.input_tokens(),
            calls: rate.calls(),
            calls_unreported: rate.unreported(),
        }
    }
}

impl From<CauseSum> for Cause {
    fn from(sum: CauseSum) -> Self {
        let CauseSum { cause, misses, tokens_rewritten, extra_usd, unpriced } = sum;
        Self { cause, misses, tokens_rewritten, extra_usd, unpriced }
    }
}

impl From<Talk> for CachedConversation {
    fn from(talk: Talk) -> Self {
        Self {
            conversation: talk.conversation.into(),
            rate: talk.rate.into(),
            misses: talk.misses.into_iter().map(Into::into).collect(),
            last_call_at: talk.last_call_at.into(),
        }
    }
}

impl From<Miss> for CacheMiss {
    fn from(miss: Miss) -> Self {
        Self {
            at: miss.at.into(),
            turn_id: miss.turn_id.map(Into::into),
            turn: miss.turn,
            diagnosis: miss.diagnosis,
        }
    }
}
