//! What runs by the clock, when, and what became of it. For the owner alone: it speaks for whoever it is set up for.

use axum::extract::State;
use foreword_agent::schedules::{Fired, ScheduleView};
use foreword_core::api_token::Scope;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::schedules::Firing;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Path, Query};
use super::moment::Moment;
use super::paging::{Page, PageQuery};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// How many of the next times are told.
const NEXT: usize = 5;
/// How many firings are looked through for the place a page ended at.
const MOST_FIRINGS: u32 = 10_000;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_schedules))
        .routes(routes!(get_schedule))
        .routes(routes!(list_firings))
        .routes(routes!(run_schedule))
}

/// What runs by the clock.
#[derive(Debug, Serialize, ToSchema)]
struct Schedules {
    /// By name.
    schedules: Vec<ScheduleBody>,
    /// What to ask for `after` to get the rest, if this is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A schedule as it stands.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Schedule)]
struct ScheduleBody {
    /// Its name.
    name: String,
    /// `prompt`, `heartbeat`, `workflow`, `tick` or `compact`.
    #[schema(example = "heartbeat")]
    action: &'static str,
    /// When, as cron writes it.
    #[schema(example = "*/30 * * * *")]
    cron: String,
    /// When, in words.
    when: String,
    /// The time zone that is read in.
    time_zone: Option<String>,
    /// For whom it runs.
    user: String,
    /// What becomes of firings that were missed.
    missed: String,
    /// Whether it fires at all.
    enabled: bool,
    /// When it fires next; in the past, if that was missed and is to be made up for.
    next_fire_at: Option<Moment>,
    /// Its last firing.
    last: Option<FiringBody>,
    /// How often it failed in a row.
    consecutive_failures: u64,
}

/// A schedule, and when it fires.
#[derive(Debug, Serialize, ToSchema)]
struct ScheduleInFull {
    /// The schedule.
    #[serde(flatten)]
    schedule: ScheduleBody,
    /// The next times.
    next: Vec<Moment>,
}

/// One firing.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Firing)]
struct FiringBody {
    /// When it was due.
    due_at: Moment,
    /// The node that has it.
    node: String,
    /// Since when.
    claimed_at: Moment,
    /// When it ended.
    ended_at: Option<Moment>,
    /// `done`, `failed` or `skipped`; `null` while it is under way.
    outcome: Option<&'static str>,
    /// Why it failed.
    error: Option<String>,
    /// What else there is to say about it.
    note: Option<String>,
    /// The conversation it spoke in.
    conversation: Option<String>,
    /// What it said there.
    message: Option<String>,
    /// The workflow's run.
    run: Option<String>,
}

/// A firing that somebody has asked for.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScheduleFired)]
struct FiredBody {
    /// The schedule.
    schedule: String,
    /// When.
    due_at: Moment,
    /// `done`, `failed` or `skipped`.
    #[schema(example = "done")]
    outcome: &'static str,
    /// Why it failed.
    error: Option<String>,
    /// What else there is to say about it.
    note: Option<String>,
    /// What it gave, if it was a workflow.
    output: Option<String>,
}

/// All schedules
#[utoipa::path(get, path = "/api/v1/schedules", tag = "schedules", security(("bearer" = ["observe"])), params(PageQuery),
    responses(
        (status = 200, body = Schedules),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ))]
async fn list_schedules(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Schedules>, Problem> {
    caller.needs_owner(Scope::Observe, &app.config())?;
    let all = ScheduleView::all(&app.config(), Some(&app.store), &app.surroundings.now()).await?;
    let (schedules, next) = page.cut(all.into_iter().map(ScheduleBody::from).collect(), |one| &one.name)?;
    Ok(axum::Json(Schedules { schedules, next }))
}

/// One schedule, and when it fires
#[utoipa::path(get, path = "/api/v1/schedules/{name}", tag = "schedules", security(("bearer" = ["observe"])),
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 200, body = ScheduleInFull),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
async fn get_schedule(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<ScheduleInFull>, Problem> {
    caller.needs_owner(Scope::Observe, &app.config())?;
    let all = ScheduleView::all(&app.config(), Some(&app.store), &app.surroundings.now()).await?;
    let Some(view) = all.into_iter().find(|view| *view.schedule.name == *name) else {
        return Err(Problem::not_found("schedule", &name));
    };
    let next = view.times(NEXT).into_iter().map(Into::into).collect();
    Ok(axum::Json(ScheduleInFull { schedule: view.into(), next }))
}

/// The firings of a schedule, the newest first
///
/// One that is no longer configured keeps its history.
#[utoipa::path(get, path = "/api/v1/schedules/{name}/history", tag = "schedules", security(("bearer" = ["observe"])),
    params(("name" = String, Path, description = "Its name."), PageQuery),
    responses(
        (status = 200, body = Page<FiringBody>),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
async fn list_firings(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Page<FiringBody>>, Problem> {
    let config = app.config();
    caller.needs_owner(Scope::Observe, &config)?;
    let limit = usize::try_from(page.limit()?).unwrap_or(usize::MAX);
    let after = page.after().map(due).transpose()?;
    let mut firings = app.store.firings(&name, MOST_FIRINGS).await?;
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
/// Enabled or not; when it fires next stays as it is. Waits for its end, and goes on if nobody waits any more.
#[utoipa::path(post, path = "/api/v1/schedules/{name}/run", tag = "schedules", security(("bearer" = ["admin"])),
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 200, body = FiredBody, description = "It has ended, well or not."),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ))]
async fn run_schedule(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<FiredBody>, Problem> {
    let config = app.config();
    caller.needs_owner(Scope::Admin, &config)?;
    if !config.schedules.contains_key(&*name) {
        return Err(Problem::not_found("schedule", &name));
    }
    let fired = Box::pin(app.agent.fire_now(&name)).await;
    let fired = fired.map_err(|error| Problem::told(error, Trust::Full))?;
    Ok(axum::Json(FiredBody::of(name, &fired)))
}

/// When the last firing of the page before was due.
fn due(after: &str) -> Result<Timestamp, Problem> {
    let micros = after.parse().map(Timestamp::from_micros);
    micros.map_err(|_| Problem::bad_request("bad_cursor", "`after` is no place that a page ended at"))
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
            conversation: firing.place.conversation.map(Into::into),
            message: firing.place.message.map(Into::into),
            run: firing.place.run.map(Into::into),
        }
    }
}

impl FiredBody {
    fn of(schedule: String, fired: &Fired) -> Self {
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
