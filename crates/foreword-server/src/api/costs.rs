//! Costs of model calls, as `foreword cost` shows them: all for the owner, their own for other users.

use axum::extract::State;
use foreword_agent::reports::cost_report::{CostGrouping, CostReport, CostSpan, SpanError};
use foreword_core::api_token::Scope;
use foreword_core::cost_sum::CostSum;
use foreword_prompt::trust::Trust;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::extract::Query;
use super::pagination::PageQuery;
use super::utc_time::UtcTime;
use super::viewer::{flush_events, time_span};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// The cursor of a row without a key, which no key equals.
const NO_KEY: &str = "\u{1}";

/// Filters of costs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CostsQuery {
    /// The grouping: `day`, `session`, `user`, `model` or `agent`. Default: `day`.
    #[param(example = "model")]
    by: Option<String>,
    /// Start of the period: `12h`, `7d`, `today`, `2026-11-16` or a time. Default: 30 days ago.
    since: Option<String>,
    /// End of the period.
    until: Option<String>,
}

/// Costs of model calls.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Costs {
    /// The grouping.
    #[schema(example = "day")]
    by: &'static str,
    /// Start of the period.
    since: UtcTime,
    /// End of the period, exclusive.
    until: UtcTime,
    /// Days in order, without empty ones; other groups by cost, highest first.
    rows: Vec<CostRow>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// The total.
    total: CostSumBody,
    /// Today's total, in the server's time zone.
    today: CostSumBody,
    /// The conversation with the most tokens.
    most_tokens: Option<MostTokens>,
}

/// The sum of a group.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CostRow {
    /// The group; `null` for calls without one.
    key: Option<String>,
    /// The sum.
    #[serde(flatten)]
    sum: CostSumBody,
}

/// The conversation with the most tokens.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MostTokens {
    /// The conversation's id.
    session: String,
    /// Its tokens.
    tokens: u64,
}

/// A sum of model calls. Unknown values are `null`, never 0.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CostSum)]
pub(crate) struct CostSumBody {
    /// Number of turns.
    turns: u64,
    /// Number of calls.
    calls: u64,
    /// Number of failed calls.
    failed_calls: u64,
    /// Number of calls without a known price, which are not part of the cost.
    unpriced_calls: u64,
    /// Input tokens, cached ones included.
    tokens_in: u64,
    /// Output tokens.
    tokens_out: u64,
    /// Input tokens read from the provider's cache.
    cache_read_tokens: Option<u64>,
    /// Input tokens written to the provider's cache.
    cache_write_tokens: Option<u64>,
    /// The cached share of input tokens, from 0 to 1.
    cache_share: Option<f64>,
    /// Cost in US dollars.
    cost_usd: Option<f64>,
    /// Average cost of a turn in US dollars.
    cost_usd_per_turn: Option<f64>,
}

/// Costs of model calls
///
/// Same format as `foreword --json cost`. The owner sees all calls; other users see those made for them.
#[utoipa::path(get, path = "/api/v1/costs", tag = "observing", security(("bearer" = ["observe"])), params(CostsQuery, PageQuery),
    responses(
        (status = 200, body = Costs),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn get_costs(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<CostsQuery>,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Costs>, Problem> {
    caller.require(Scope::Observe)?;
    let by = query.by.as_deref().map_or(Ok(CostGrouping::default()), str::parse).map_err(|_| {
        let words = CostGrouping::ALL.map(CostGrouping::as_str).join(", ");
        Problem::bad_request("unknown_by", format!("`by` is one of {words}"))
    })?;
    let (since, until) = time_span(query.since.as_deref(), query.until.as_deref(), &app)?;
    let now = app.clock_and_rng.now();
    let span = CostSpan::new(since, until, &now).map_err(|bad| {
        let help = match bad {
            SpanError::Backwards => "for example `since=7d&until=today`",
            SpanError::TooLong => "use a later `since`",
        };
        Problem::bad_request("bad_span", bad.to_string()).help(help)
    })?;
    let sees_all = caller.trust(&app.config()).permits(Trust::Full);
    let user = (!sees_all).then(|| caller.user());
    flush_events(&app).await;
    let report = CostReport::read(&app.store, by, &span, &now, user).await?;
    let mut costs = Costs::from(report);
    (costs.rows, costs.next) = page.cut(costs.rows, |row| row.key.as_deref().unwrap_or(NO_KEY))?;
    Ok(axum::Json(costs))
}

impl From<CostReport> for Costs {
    fn from(report: CostReport) -> Self {
        let row = |(key, sum): (Option<String>, CostSum)| CostRow { key, sum: sum.into() };
        Self {
            by: report.by.as_str(),
            since: report.since.into(),
            until: report.until.into(),
            rows: report.rows.into_iter().map(row).collect(),
            next: None,
            total: report.total.into(),
            today: report.today.into(),
            most_tokens: report.longest.map(|(session, sum)| MostTokens { session, tokens: sum.tokens() }),
        }
    }
}

impl From<CostSum> for CostSumBody {
    fn from(sum: CostSum) -> Self {
        let is_reported = sum.tokens_with_cache_usage > 0;
        Self {
            turns: sum.turns,
            calls: sum.calls,
            failed_calls: sum.failed,
            unpriced_calls: sum.unpriced,
            tokens_in: sum.tokens_in,
            tokens_out: sum.tokens_out,
            cache_read_tokens: is_reported.then_some(sum.cache_read),
            cache_write_tokens: is_reported.then_some(sum.cache_write),
            cache_share: sum.cache_share(),
            cost_usd: (sum.unpriced < sum.calls || sum.is_empty()).then_some(sum.usd),
            cost_usd_per_turn: sum.usd_per_turn(),
        }
    }
}
