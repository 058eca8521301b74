//! Cache hit rates and diagnosed misses, as `foreword cache` shows them.

use axum::extract::State;
use foreword_agent::reports::cache_report::{CacheConversation, CacheReport, CauseSum, Miss};
use foreword_core::cache::HitRate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::extract::Query;
use super::pagination::PageQuery;
use super::utc_time::{UtcTime, parse_time};
use super::viewer::{conversation_id, viewer_of_conversation};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

const DEFAULT_SINCE: &str = "30d";

/// Filters of model calls.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CacheQuery {
    /// Only calls of this conversation. Required for everyone but the owner, who must name one of their own.
    conversation: Option<String>,
    /// Start of the period: `12h`, `7d`, `today`, `2026-11-16` or a time. Default: `30d`.
    since: Option<String>,
}

/// Cache usage.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Cache {
    /// Over all calls.
    #[serde(flatten)]
    rate: RateBody,
    /// The misses by cause, most expensive first.
    causes: Vec<Cause>,
    /// The conversations, most recently active first.
    conversations: Vec<CachedConversation>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Whether there were too many calls to read all of them.
    cut: bool,
}

/// The share of input tokens read from the cache.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HitRate)]
pub(crate) struct RateBody {
    /// From 0 to 1; `null` if no provider reported it.
    hit_rate: Option<f64>,
    /// Tokens read from the cache.
    tokens_read: u64,
    /// All input tokens of reported calls.
    input_tokens: u64,
    /// Calls with reported cache usage.
    calls: u64,
    /// Calls without reported cache usage.
    calls_unreported: u64,
}

/// The misses of one cause.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Cause {
    /// The cause.
    #[schema(example = "layer_edited")]
    cause: String,
    /// Number of misses.
    misses: u64,
    /// Tokens that were processed again.
    tokens_rewritten: u64,
    /// Their cost beyond a cache read, in US dollars, as far as prices are known.
    extra_usd: f64,
    /// Misses without a known price.
    unpriced: u64,
}

/// Cache usage of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CachedConversation {
    /// Its id.
    conversation: String,
    /// Over its calls.
    #[serde(flatten)]
    rate: RateBody,
    /// The misses, oldest first.
    misses: Vec<CacheMiss>,
    /// When it last called a model.
    last_call_at: UtcTime,
}

/// A request that read less from the cache than it could have, with the diagnosis (`verdict`, `cause`, `detail`,
/// `section`, `layer`, `tokens_rewritten`, `cost_usd`, `cost_if_hit_usd`, `advice` and others).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CacheMiss {
    /// When it was sent.
    at: UtcTime,
    /// The turn.
    turn_id: Option<String>,
    /// The turn's number in the conversation, from 1.
    turn: Option<u64>,
    /// The diagnosis.
    #[serde(flatten)]
    #[schema(value_type = Object, additional_properties)]
    diagnosis: Map<String, Value>,
}

/// Cache hit rates and diagnosed misses
///
/// Same format as `foreword --json cache`.
#[utoipa::path(get, path = "/api/v1/cache", tag = "observing", security(("bearer" = ["observe"])), params(CacheQuery, PageQuery),
    responses(
        (status = 200, body = Cache),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn get_cache(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<CacheQuery>,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Cache>, Problem> {
    let conversation = conversation_id(query.conversation.as_deref())?;
    let viewer = viewer_of_conversation(&app, &caller, conversation.clone()).await?;
    let since = parse_time(Some(query.since.as_deref().unwrap_or(DEFAULT_SINCE)), &app)?;
    let report = CacheReport::visible_to(&viewer, conversation, since).await?;
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

impl From<CacheConversation> for CachedConversation {
    fn from(talk: CacheConversation) -> Self {
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
