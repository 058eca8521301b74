//! What calls to models came to: what `foreword cost` shows. The owner sees everybody's, everybody else their own.

use axum::extract::State;
use foreword_agent::cost_report::{BadSpan, CostReport, CostSpan, ToldApart};
use foreword_core::api_token::Scope;
use foreword_core::cost_sum::CostSum;
use foreword_prompt::trust::Trust;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::Query;
use super::looking::{between, log_written};
use super::moment::Moment;
use super::paging::PageQuery;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// What stands for a row without a name where a page ends: no name is that.
const NAMELESS: &str = "\u{1}";

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_costs))
}

/// Which costs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct CostsQuery {
    /// What to tell apart: `day`, `session`, `user`, `model` or `agent`. Default: `day`.
    #[param(example = "model")]
    by: Option<String>,
    /// Not before: `12h`, `7d`, `today`, `2026-11-16` or a time. Default: the last 30 days.
    since: Option<String>,
    /// Not after.
    until: Option<String>,
}

/// What calls came to.
#[derive(Debug, Serialize, ToSchema)]
struct Costs {
    /// What they are told apart by.
    #[schema(example = "day")]
    by: &'static str,
    /// Not before.
    since: Moment,
    /// Before.
    until: Moment,
    /// Days in their order, without those on which nothing was; else the dearest first.
    rows: Vec<CostRow>,
    /// What to ask for `after` to get the rest, if this is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// All together.
    total: CostSumBody,
    /// Those of today, where the server is.
    today: CostSumBody,
    /// The conversation with the most tokens.
    most_tokens: Option<MostTokens>,
}

/// The sum under one name.
#[derive(Debug, Serialize, ToSchema)]
struct CostRow {
    /// The name; `null` is whatever has none.
    key: Option<String>,
    /// The sum.
    #[serde(flatten)]
    sum: CostSumBody,
}

/// The conversation with the most tokens.
#[derive(Debug, Serialize, ToSchema)]
struct MostTokens {
    /// Which.
    session: String,
    /// How many.
    tokens: u64,
}

/// A sum of calls to models. What nobody knows is `null`, never 0.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CostSum)]
pub(crate) struct CostSumBody {
    /// In how many turns.
    turns: u64,
    /// How many calls.
    calls: u64,
    /// How many of them broke off.
    failed_calls: u64,
    /// How many have no known price and are in no sum.
    unpriced_calls: u64,
    /// Tokens read, from wherever.
    tokens_in: u64,
    /// Tokens written.
    tokens_out: u64,
    /// Tokens read from the provider's cache.
    cache_read_tokens: Option<u64>,
    /// Tokens written to the provider's cache.
    cache_write_tokens: Option<u64>,
    /// Which part came from the cache, from 0 to 1.
    cache_share: Option<f64>,
    /// US dollars.
    cost_usd: Option<f64>,
    /// US dollars a turn.
    cost_usd_per_turn: Option<f64>,
}

/// What calls to models came to
///
/// As `foreword --json cost` writes it. The owner sees everybody's calls; everybody else those that were made for them.
#[utoipa::path(get, path = "/api/v1/costs", tag = "observing", security(("bearer" = ["observe"])), params(CostsQuery, PageQuery),
    responses(
        (status = 200, body = Costs),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ))]
async fn get_costs(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<CostsQuery>,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Costs>, Problem> {
    caller.needs(Scope::Observe)?;
    let by = query.by.as_deref().map_or(Ok(ToldApart::default()), str::parse).map_err(|_| {
        let words = ToldApart::ALL.map(ToldApart::as_str).join(", ");
        Problem::bad_request("unknown_by", format!("`by` is one of {words}"))
    })?;
    let (since, until) = between(query.since.as_deref(), query.until.as_deref(), &app)?;
    let now = app.surroundings.now();
    let span = CostSpan::new(since, until, &now).map_err(|bad| {
        let help = match bad {
            BadSpan::Backwards => "such as `since=7d&until=today`",
            BadSpan::TooLong => "begin later, with `since`",
        };
        Problem::bad_request("bad_span", bad.to_string()).help(help)
    })?;
    let sees_all = caller.trust(&app.config()).permits(Trust::Full);
    let user = (!sees_all).then(|| caller.user());
    log_written(&app).await;
    let report = CostReport::read(&app.store, by, (&span, &now), user).await?;
    let mut costs = Costs::from(report);
    (costs.rows, costs.next) = page.cut(costs.rows, |row| row.key.as_deref().unwrap_or(NAMELESS))?;
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
        let told = sum.tokens_told > 0;
        Self {
            turns: sum.turns,
            calls: sum.calls,
            failed_calls: sum.failed,
            unpriced_calls: sum.unpriced,
            tokens_in: sum.tokens_in,
            tokens_out: sum.tokens_out,
            cache_read_tokens: told.then_some(sum.cache_read),
            cache_write_tokens: told.then_some(sum.cache_write),
            cache_share: sum.cache_share(),
            cost_usd: (sum.unpriced < sum.calls || sum.is_empty()).then_some(sum.usd),
            cost_usd_per_turn: sum.usd_per_turn(),
        }
    }
}
