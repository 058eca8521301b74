//! Runs of workflows: what was run, how far it came, and going on with what was cut off or failed. The owner sees all of
//! them; everybody else those that they have started.

use std::time::Duration;

use axum::extract::State;
use foreword_agent::error::AgentError;
use foreword_agent::workflows::{ResumeWorkflow, RunEnd, StepOutput, WorkflowError, is_open_to};
use foreword_core::api_token::Scope;
use foreword_core::failure::OwnerOnly;
use foreword_core::id::RunId;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::TurnState;
use foreword_core::workflow::Resume;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::workflow_runs::{RunFilter, WorkflowRun, WorkflowStep};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::JoinHandle;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Json, Path, Query};
use super::moment::Moment;
use super::paging::{Page, PageQuery};
use crate::app::App;
use crate::auth::{Caller, turn_in_hand};
use crate::problem::Problem;

/// How soon to look again whether a run has begun.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// What readers below the owner see of a failure.
const FAILED: &str = "workflow_failed: the agent's owner finds the reason";

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_workflow_runs))
        .routes(routes!(get_workflow_run))
        .routes(routes!(resume_workflow_run))
}

/// A run.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowRun)]
struct RunBody {
    /// Its id.
    run: String,
    /// The workflow's name.
    workflow: String,
    /// `running`, `done`, `failed` or `cancelled`.
    #[schema(example = "done")]
    state: &'static str,
    /// What it was started with.
    parameters: Value,
    /// Who started it.
    started_by: Option<String>,
    /// When it was started.
    started_at: Moment,
    /// When it ended.
    ended_at: Option<Moment>,
    /// What it gave.
    output: Option<Value>,
    /// Why it failed.
    error: Option<String>,
    /// Whether it has read text from outside.
    tainted: bool,
}

/// A run, step by step.
#[derive(Debug, Serialize, ToSchema)]
struct WorkflowRunInFull {
    /// The run.
    #[serde(flatten)]
    run: RunBody,
    /// Its steps so far.
    steps: Vec<RunStepBody>,
}

/// A step of a run.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowRunStep)]
struct RunStepBody {
    /// Its number; the first is 1.
    number: u64,
    /// Its name.
    name: String,
    /// How often it was begun.
    attempts: u64,
    /// What it gave.
    output: Option<String>,
    /// Whether somebody has decided to go on without it.
    skipped: bool,
    /// Why it failed, now or before.
    error: Option<String>,
    /// When it was started.
    started_at: Moment,
    /// When it ended.
    ended_at: Option<Moment>,
}

/// How a run ended.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowRunEnd)]
pub(crate) struct RunEndBody {
    /// The run.
    run: String,
    /// The workflow's name.
    workflow: String,
    /// `done`, `failed` or `cancelled`.
    #[schema(example = "done")]
    outcome: &'static str,
    /// What it gave; empty if it did not come to its end.
    output: String,
    /// Why it failed, and at which step.
    error: Option<String>,
    /// Whether it has read text from outside.
    tainted: bool,
    /// The steps that were begun, in order.
    steps: Vec<StepEndBody>,
}

/// How far a step came.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowStepEnd)]
struct StepEndBody {
    /// Its name.
    name: String,
    /// Whether it is done.
    done: bool,
    /// What it gave.
    output: Option<String>,
    /// Why it failed, now or before.
    error: Option<String>,
}

/// A run that has begun.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowRunBegun)]
pub(crate) struct RunBegun {
    /// Its id.
    run: String,
}

/// What is answered to whoever runs something.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum RunAnswer {
    /// It has ended.
    Ended(RunEndBody),
    /// Nobody waits for that.
    Begun(RunBegun),
}

/// Which runs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct RunsQuery {
    /// Those of this workflow.
    workflow: Option<String>,
}

/// How to go on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ResumeRequest {
    /// What to do about the step that failed: `again`, if that is safe; `redo`, whatever it may have done; `skip`.
    #[serde(default)]
    how: How,
    /// Whether to go on although steps that are done read differently by now.
    #[serde(default)]
    force: bool,
}

/// What to do about a step that failed.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ResumeHow)]
enum How {
    /// Do it again, if that is safe.
    #[default]
    Again,
    /// Do it again, whatever it may have done.
    Redo,
    /// Go on without it.
    Skip,
}

/// Runs, the newest first
#[utoipa::path(get, path = "/api/v1/workflows/runs", tag = "workflows", security(("bearer" = ["chat"])),
    params(RunsQuery, PageQuery),
    responses(
        (status = 200, body = Page<RunBody>),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ))]
async fn list_workflow_runs(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<RunsQuery>,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Page<RunBody>>, Problem> {
    caller.needs(Scope::Chat)?;
    let trust = caller.trust(&app.config());
    let limit = page.limit()?;
    let started_by = (!trust.permits(Trust::Full)).then(|| caller.user().to_owned());
    let before = page.after().map(behind).transpose()?;
    let filter = RunFilter { workflow: query.workflow, started_by, before };
    let runs = app.store.workflow_runs(filter, u32::try_from(limit).unwrap_or(u32::MAX)).await?;
    let last = runs.last().filter(|_| runs.len() as u64 >= limit);
    let next = last.map(|run| format!("{}-{}", run.started_at.as_micros(), run.id));
    let seen = runs.iter().filter(|run| is_open_to(run, caller.user(), trust));
    Ok(axum::Json(Page { items: seen.map(|run| RunBody::of(run, trust)).collect(), next }))
}

/// One run, step by step
#[utoipa::path(get, path = "/api/v1/workflows/runs/{id}", tag = "workflows", security(("bearer" = ["chat"])),
    params(("id" = String, Path, description = "The run's id.")),
    responses(
        (status = 200, body = WorkflowRunInFull),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
async fn get_workflow_run(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<axum::Json<WorkflowRunInFull>, Problem> {
    let (run, steps) = open_run(&app, &caller, &id).await?;
    let trust = caller.trust(&app.config());
    let steps = steps.iter().map(|step| RunStepBody::of(step, trust)).collect();
    Ok(axum::Json(WorkflowRunInFull { run: RunBody::of(&run, trust), steps }))
}

/// Goes on with a run that failed or was stopped
///
/// From the step that failed, with everything kept that was done before; waits for its end.
#[utoipa::path(post, path = "/api/v1/workflows/runs/{id}/resume", tag = "workflows", security(("bearer" = ["chat"])),
    params(("id" = String, Path, description = "The run's id.")), request_body = ResumeRequest,
    responses(
        (status = 200, body = RunEndBody, description = "It has ended, well or not."),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
    ))]
async fn resume_workflow_run(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(request): Json<ResumeRequest>,
) -> Result<(StatusCode, axum::Json<RunAnswer>), Problem> {
    let (run, _) = open_run(&app, &caller, &id).await?;
    let how = match request.how {
        How::Again => Resume::Plain,
        How::Redo => Resume::Redo,
        How::Skip => Resume::Skip,
    };
    let resume = ResumeWorkflow { run: run.id.clone(), how, force: request.force };
    let admitted = app.limits.begin_turn(caller.api_token(), &app.config().server.limits)?;
    let agent = app.agent.clone();
    let task =
        turn_in_hand::keep_run(&app, admitted, &run.id, async move { agent.resume_workflow(resume).await });
    begin(&app, &run.id, task, true, caller.trust(&app.config())).await
}

/// Waits for the end of a run, or until it is on record. It goes on if the client goes away.
pub(crate) async fn begin(
    app: &App,
    run: &RunId,
    task: JoinHandle<Result<RunEnd, AgentError>>,
    wait: bool,
    reader: Trust,
) -> Result<(StatusCode, axum::Json<RunAnswer>), Problem> {
    while !wait && !task.is_finished() {
        match app.store.workflow_run(run).await {
            Ok(_) => {
                let begun = RunAnswer::Begun(RunBegun { run: run.to_string() });
                return Ok((StatusCode::ACCEPTED, axum::Json(begun)));
            }
            Err(StoreError::NotFound { .. }) => tokio::time::sleep(LOOK_AGAIN).await,
            Err(error) => return Err(error.into()),
        }
    }
    match task.await {
        Ok(Ok(end)) => Ok((StatusCode::OK, axum::Json(RunAnswer::Ended(RunEndBody::of(end, reader))))),
        Ok(Err(error)) => Err(refused(error, reader)),
        Err(_) => Err(Problem::unavailable("stopping", "the run was cut off").retry_after(1)),
    }
}

/// A run that the caller may see.
async fn open_run(app: &App, caller: &Caller, id: &str) -> Result<(WorkflowRun, Vec<WorkflowStep>), Problem> {
    caller.needs(Scope::Chat)?;
    let run = RunId::new(id).map_err(|bad| Problem::bad_request("bad_id", bad.to_string()))?;
    match app.store.workflow_run(&run).await {
        Ok((run, steps)) if is_open_to(&run, caller.user(), caller.trust(&app.config())) => Ok((run, steps)),
        Ok(_) | Err(StoreError::NotFound { .. }) => Err(Problem::not_found("run", id)),
        Err(error) => Err(error.into()),
    }
}

fn refused(error: AgentError, reader: Trust) -> Problem {
    let words = error.shown_at(reader);
    match error {
        AgentError::Workflow(WorkflowError::Unknown { .. }) => {
            Problem::new(StatusCode::NOT_FOUND, "not_found", words)
        }
        AgentError::Workflow(WorkflowError::Parameters(_)) => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_parameters", words)
        }
        AgentError::Workflow(WorkflowError::UnderWay { .. }) => {
            Problem::conflict("run_under_way", words).retry_after(1)
        }
        AgentError::Workflow(WorkflowError::HasEnded(_)) => Problem::conflict("run_ended", words),
        AgentError::Workflow(WorkflowError::Resume(_) | WorkflowError::FileChanged { .. }) => {
            Problem::conflict("cannot_resume", words)
        }
        other => Problem::told(other, reader),
    }
}

/// Why a run or a step failed, as a reader sees it: the cause for the owner, the id to name to them for everybody else.
fn failure(error: Option<&OwnerOnly<String>>, reader: Trust, id: &str) -> Option<String> {
    let error = error?;
    Some(error.at(reader).cloned().unwrap_or_else(|| format!("{FAILED} (`{id}`)")))
}

/// Where the page before ended.
fn behind(after: &str) -> Result<(Timestamp, RunId), Problem> {
    let read = || {
        let (micros, id) = after.split_once('-')?;
        Some((Timestamp::from_micros(micros.parse().ok()?), RunId::new(id).ok()?))
    };
    read().ok_or_else(|| Problem::bad_request("bad_cursor", "`after` is no place that a page ended at"))
}

impl RunBody {
    fn of(run: &WorkflowRun, reader: Trust) -> Self {
        Self {
            run: run.id.to_string(),
            workflow: run.workflow.clone(),
            state: run.state.as_str(),
            parameters: run.parameters.clone(),
            started_by: run.started_by.clone(),
            started_at: run.started_at.into(),
            ended_at: run.ended_at.map(Into::into),
            output: run.output.clone(),
            error: failure(run.error.as_ref(), reader, run.id.as_str()),
            tainted: run.tainted,
        }
    }
}

impl RunStepBody {
    fn of(step: &WorkflowStep, reader: Trust) -> Self {
        let given = StepOutput::of(step);
        Self {
            number: step.number,
            name: step.name.clone(),
            attempts: step.attempts,
            skipped: given.as_ref().is_some_and(|given| given.skipped),
            output: given.map(|given| given.text),
            error: failure(step.error.as_ref(), reader, &step.name),
            started_at: step.started_at.into(),
            ended_at: step.ended_at.map(Into::into),
        }
    }
}

impl RunEndBody {
    fn of(end: RunEnd, reader: Trust) -> Self {
        let error = end.failure_at(reader);
        let step = |step: foreword_agent::workflows::StepEnd| StepEndBody {
            done: step.done,
            output: step.output,
            error: failure(step.error.as_ref(), reader, &step.name),
            name: step.name,
        };
        Self {
            run: end.run.to_string(),
            workflow: end.workflow,
            outcome: TurnState::Ended(end.outcome).as_str(),
            output: end.output,
            error,
            tainted: end.tainted,
            steps: end.steps.into_iter().map(step).collect(),
        }
    }
}
