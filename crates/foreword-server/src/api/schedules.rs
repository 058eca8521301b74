//! Schedules and their firings. Owner only, since a schedule acts for its user.

use axum::extract::State;
use foreword_agent::background::schedules::{FiringResult, ScheduleView};
use foreword_core::api_token::Scope;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::schedules::Firing;
use serde::Serialize;
use utoipa::ToSchema;

use super::extract::{Path, Query};
use super::pagination::{Page, PageQuery};
use super::utc_time::UtcTime;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// The number of next firings to list.
const NEXT_FIRINGS: usize = 5;
/// The maximum number of firings to search for a cursor.
const MAX_FIRINGS: u32 = 10_000;

/// The schedules.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Schedules {
    /// By name.
    schedules: Vec<ScheduleBody>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A schedule and its state.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Schedule)]
pub(crate) struct ScheduleBody {
    /// Its name.
    name: String,
    /// `prompt`, `heartbeat`, `workflow`, `tick` or `compact`.
    #[schema(example = "heartbeat")]
    action: &'static str,
    /// The cron expression.
    #[schema(example = "*/30 * * * *")]
    cron: String,
    /// The cron expression in words.
    when: String,
    /// The time zone of the cron expression.
    time_zone: Option<String>,
    /// The user it runs for.
    user: String,
    /// How missed firings are handled.
    missed: String,
    /// Whether it is enabled.
    enabled: bool,
    /// The next firing; in the past if a missed one is to be made up for.
    next_fire_at: Option<UtcTime>,
    /// Its last firing.
    last: Option<FiringBody>,
    /// Number of consecutive failures.
    consecutive_failures: u64,
}

/// A schedule with its next firings.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ScheduleDetail {
    /// The schedule.
    #[serde(flatten)]
    schedule: ScheduleBody,
    /// The next firings.
    next: Vec<UtcTime>,
}

/// A firing.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Firing)]
pub(crate) struct FiringBody {
    /// When it was due.
    due_at: UtcTime,
    /// The node that runs it.
    node: String,
    /// When it was claimed.
    claimed_at: UtcTime,
    /// When it ended.
    ended_at: Option<UtcTime>,
    /// `done`, `failed` or `skipped`; `null` while it runs.
    outcome: Option<&'static str>,
    /// The error.
    error: Option<String>,
    /// A note on the outcome.
    note: Option<String>,
    /// Its conversation.
    conversation: Option<String>,
    /// Its message.
    message: Option<String>,
    /// The workflow's run.
    run: Option<String>,
}

/// A manual firing.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScheduleFired)]
pub(crate) struct FiredBody {
    /// The schedule.
    schedule: String,
    /// When it was due.
    due_at: UtcTime,
    /// `done`, `failed` or `skipped`.
    #[schema(example = "done")]
    outcome: &'static str,
    /// The error.
    error: Option<String>,
    /// A note on the outcome.
    note: Option<String>,
    /// The output of a workflow.
    output: Option<String>,
}

/// Lists schedules
#[utoipa::path(get, path = "/api/v1/schedules", tag = "schedules", security(("bearer" = ["observe"])), params(PageQuery),
    responses(
        (status = 200, body = Schedules),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn list_schedules(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Schedules>, Problem> {
    caller.require_owner(Scope::Observe, &app.config())?;
    let all = ScheduleView::all(&app.config(), Some(&app.store), &app.clock_and_rng.now()).await?;
    let (schedules, next) = page.cut(all.into_iter().map(ScheduleBody::from).collect(), |one| &one.name)?;
    Ok(axum::Json(Schedules { schedules, next }))
}

/// Returns a schedule with its next firings
#[utoipa::path(get, path = "/api/v1/schedules/{name}", tag = "schedules", security(("bearer" = ["observe"])),
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 200, body = ScheduleDetail),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn get_schedule(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<ScheduleDetail>, Problem> {
    caller.require_owner(Scope::Observe, &app.config())?;
    let all = ScheduleView::all(&app.config(), Some(&app.store), &app.clock_and_rng.now()).await?;
    let Some(view) = all.into_iter().find(|view| *view.schedule.name == *name) else {
        return Err(Problem::not_found("schedule", &name));
    };
    let next = view.times(NEXT_FIRINGS).into_iter().map(Into::into).collect();
    Ok(axum::Json(ScheduleDetail { schedule: view.into(), next }))
}

/// Lists the firings of a schedule, newest first
///
/// Also of schedules that are no longer configured.
#[utoipa::path(get, path = "/api/v1/schedules/{name}/history", tag = "schedules", security(("bearer" = ["observe"])),
    params(("name" = String, Path, description = "Its name."), PageQuery),
    responses(
        (status = 200, body = Page<FiringBody>),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn list_firings(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Page<FiringBody>>, Problem> {
    let config = app.config();
    caller.require_owner(Scope::Observe, &config)?;
    let limit = usize::try_from(page.limit()?).unwrap_or(usize::MAX);
    let after = page.after().map(due).transpose()?;
    let mut firings = app.store.firings(&name, MAX_FIRINGS).await?;
    if firings.is_empty() && !config.schedules.contains_key(&*name) {
        return Err(Problem::not_found("schedule", &name));
    }
    firings.retain(|firing| after.is_none_or(|after| firing.due_at < after));
    let more = firings.len() > limit;
    firings.truncate(limit);
    let next = firings.last().filter(|_| more).map(|last| last.due_at.as_micros().to_string());
    Ok(axum::Json(Page { items: firings.into_iter().map(Into::into).collect(), next }))
}

/// Fires a schedule now
///
/// Enabled or not; the next firing is not affected. Waits for the end, and continues if the client disconnects.
#[utoipa::path(post, path = "/api/v1/schedules/{name}/run", tag = "schedules", security(("bearer" = ["admin"])),
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 200, body = FiredBody, description = "It has ended, successfully or not."),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn run_schedule(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<FiredBody>, Problem> {
    let config = app.config();
    caller.require_owner(Scope::Admin, &config)?;
    if !config.schedules.contains_key(&*name) {
        return Err(Problem::not_found("schedule", &name));
    }
    let fired = Box::pin(app.agent.fire_now(&name)).await;
    let fired = fired.map_err(|error| Problem::of_agent(error, Trust::Full))?;
    Ok(axum::Json(FiredBody::of(name, &fired)))
}

/// Decodes the cursor.
fn due(after: &str) -> Result<Timestamp, Problem> {
    let micros = after.parse().map(Timestamp::from_micros);
    micros.map_err(|_| Problem::bad_request("bad_cursor", "`after` is not a valid cursor of this list"))
}

impl From<ScheduleView> for ScheduleBody {
    fn from(view: ScheduleView) -> Self {
        let schedule = &view.schedule;
        Self {
            name: schedule.name.to_string(),
            action: schedule.action.as_str(),
            cron: schedule.cron.as_str().to_owned(),
            when: schedule.cron.in_words(),
            time_zone: view.zone.iana_name().map(str::to_owned),
            user: schedule.user.to_string(),
            missed: schedule.missed.to_string(),
            enabled: schedule.enabled,
            next_fire_at: view.next.map(Into::into),
            last: view.last.map(Into::into),
            consecutive_failures: view.failures,
        }
    }
}

impl From<Firing> for FiringBody {
    fn from(firing: Firing) -> Self {
        Self {
            due_at: firing.due_at.into(),
            node: firing.node.into(),
            claimed_at: firing.claimed_at.into(),
            ended_at: firing.ended_at.map(Into::into),
            outcome: firing.outcome.map(|outcome| outcome.as_str()),
            error: firing.error,
            note: firing.note,
            conversation: firing.links.conversation.map(Into::into),
            message: firing.links.message.map(Into::into),
            run: firing.links.run.map(Into::into),
        }
    }
}

impl FiredBody {
    fn of(schedule: String, fired: &FiringResult) -> Self {
        Self {
            schedule,
            due_at: fired.due_at.into(),
            outcome: fired.end.outcome().as_str(),
            error: fired.end.error().map(str::to_owned),
            note: fired.end.note().map(str::to_owned),
            output: fired.output.clone(),
        }
    }
}
