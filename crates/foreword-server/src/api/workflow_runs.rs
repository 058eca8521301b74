//! Workflow runs: list, read and resume. The owner sees all of them; other users see those they started.

use std::time::Duration;

use axum::extract::State;
use foreword_agent::background::workflows::{
    ResumeWorkflow, RunEnd, StepOutput, WorkflowError, is_visible_to,
};
use foreword_agent::error::AgentError;
use foreword_core::api_token::Scope;
use foreword_core::failure::OwnerOnly;
use foreword_core::id::RunId;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::TurnState;
use foreword_core::workflow::Resume;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::workflow_runs::{RunFilter, WorkflowRun, WorkflowStepRecord};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::JoinHandle;
use utoipa::{IntoParams, ToSchema};

use super::extract::{Json, Path, Query};
use super::pagination::{Page, PageQuery};
use super::utc_time::UtcTime;
use crate::app::App;
use crate::auth::{Caller, turn_metering};
use crate::problem::Problem;

/// How often to check whether a run has started.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Replaces the error for readers below the owner.
const FAILED_PUBLIC: &str = "workflow_failed: the agent's owner can see the reason";

/// A run.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowRun)]
pub(crate) struct RunBody {
    /// Its id.
    run: String,
    /// The workflow's name.
    workflow: String,
    /// `running`, `done`, `failed` or `cancelled`.
    #[schema(example = "done")]
    state: &'static str,
    /// Its parameters.
    parameters: Value,
    /// The user who started it.
    started_by: Option<String>,
    /// When it was started.
    started_at: UtcTime,
    /// When it ended.
    ended_at: Option<UtcTime>,
    /// Its output.
    output: Option<Value>,
    /// The error.
    error: Option<String>,
    /// Whether it has read untrusted text.
    tainted: bool,
}

/// A run with its steps.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkflowRunDetail {
    /// The run.
    #[serde(flatten)]
    run: RunBody,
    /// Its steps so far.
    steps: Vec<RunStepBody>,
}

/// A step of a run.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowRunStep)]
pub(crate) struct RunStepBody {
    /// Its number, from 1.
    number: u64,
    /// Its name.
    name: String,
    /// Number of attempts.
    attempts: u64,
    /// Its output.
    output: Option<String>,
    /// Whether it was skipped by a user's decision.
    skipped: bool,
    /// The last error.
    error: Option<String>,
    /// When it was started.
    started_at: UtcTime,
    /// When it ended.
    ended_at: Option<UtcTime>,
}

/// The end of a run.
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
    /// Its output; empty if it did not finish.
    output: String,
    /// The error, with the step.
    error: Option<String>,
    /// Whether it has read untrusted text.
    tainted: bool,
    /// The started steps, in order.
    steps: Vec<StepEndBody>,
}

/// The state of a step.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowStepEnd)]
pub(crate) struct StepEndBody {
    /// Its name.
    name: String,
    /// Whether it has finished.
    done: bool,
    /// Its output.
    output: Option<String>,
    /// The last error.
    error: Option<String>,
}

/// A started run.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowRunBegun)]
pub(crate) struct RunBegun {
    /// Its id.
    run: String,
}

/// The response to a request that runs something.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum RunAnswer {
    /// The run has ended.
    Ended(RunEndBody),
    /// The run has started, and the client does not wait for its end.
    Begun(RunBegun),
}

/// Filters of runs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunsQuery {
    /// Only those of this workflow.
    workflow: Option<String>,
}

/// How to resume a run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResumeRequest {
    /// How to handle the failed step: `again` if that is safe, `redo` in any case, or `skip`.
    #[serde(default)]
    how: ResumeMode,
    /// Whether to resume although finished steps have changed in the file.
    #[serde(default)]
    force: bool,
}

/// How to handle the failed step.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResumeMode {
    /// Repeat it, if that is safe.
    #[default]
    Again,
    /// Repeat it, even if it may have had an effect.
    Redo,
    /// Skip it.
    Skip,
}

/// Lists runs, newest first
#[utoipa::path(get, path = "/api/v1/workflows/runs", tag = "workflows", security(("bearer" = ["chat"])),
    params(RunsQuery, PageQuery),
    responses(
        (status = 200, body = Page<RunBody>),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn list_workflow_runs(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<RunsQuery>,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Page<RunBody>>, Problem> {
    caller.require(Scope::Chat)?;
    let trust = caller.trust(&app.config());
    let limit = page.limit()?;
    let started_by = (!trust.permits(Trust::Full)).then(|| caller.user().to_owned());
    let before = page.after().map(behind).transpose()?;
    let filter = RunFilter { workflow: query.workflow, started_by, before };
    let runs = app.store.workflow_runs(filter, u32::try_from(limit).unwrap_or(u32::MAX)).await?;
    let last = runs.last().filter(|_| runs.len() as u64 >= limit);
    let next = last.map(|run| format!("{}-{}", run.started_at.as_micros(), run.id));
    let seen = runs.iter().filter(|run| is_visible_to(run, caller.user(), trust));
    Ok(axum::Json(Page { items: seen.map(|run| RunBody::of(run, trust)).collect(), next }))
}

/// Returns a run with its steps
#[utoipa::path(get, path = "/api/v1/workflows/runs/{id}", tag = "workflows", security(("bearer" = ["chat"])),
    params(("id" = String, Path, description = "The run's id.")),
    responses(
        (status = 200, body = WorkflowRunDetail),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn get_workflow_run(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<axum::Json<WorkflowRunDetail>, Problem> {
    let (run, steps) = open_run(&app, &caller, &id).await?;
    let trust = caller.trust(&app.config());
    let steps = steps.iter().map(|step| RunStepBody::of(step, trust)).collect();
    Ok(axum::Json(WorkflowRunDetail { run: RunBody::of(&run, trust), steps }))
}

/// Resumes a run that failed or was cancelled
///
/// Starts at the failed step and keeps the finished ones. Waits for the end.
#[utoipa::path(post, path = "/api/v1/workflows/runs/{id}/resume", tag = "workflows", security(("bearer" = ["chat"])),
    params(("id" = String, Path, description = "The run's id.")), request_body = ResumeRequest,
    responses(
        (status = 200, body = RunEndBody, description = "It has ended, successfully or not."),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn resume_workflow_run(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(request): Json<ResumeRequest>,
) -> Result<(StatusCode, axum::Json<RunAnswer>), Problem> {
    let (run, _) = open_run(&app, &caller, &id).await?;
    let how = match request.how {
        ResumeMode::Again => Resume::Plain,
        ResumeMode::Redo => Resume::Redo,
        ResumeMode::Skip => Resume::Skip,
    };
    let resume = ResumeWorkflow { run: run.id.clone(), how, force: request.force };
    let permit = app.limits.begin_turn(caller.api_token(), &app.config().server.limits)?;
    let agent = app.agent.clone();
    let task =
        turn_metering::meter_run(&app, permit, &run.id, async move { agent.resume_workflow(resume).await });
    begin(&app, &run.id, task, true, caller.trust(&app.config())).await
}

/// Waits for the end of a run, or until it is stored. The run continues if the client disconnects.
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
            Err(StoreError::NotFound { .. }) => tokio::time::sleep(POLL_INTERVAL).await,
            Err(error) => return Err(error.into()),
        }
    }
    match task.await {
        Ok(Ok(end)) => Ok((StatusCode::OK, axum::Json(RunAnswer::Ended(RunEndBody::of(end, reader))))),
        Ok(Err(error)) => Err(refused(error, reader)),
        Err(_) => Err(Problem::unavailable("stopping", "the run was interrupted").retry_after(1)),
    }
}

/// The run, if the caller may see it.
async fn open_run(
    app: &App,
    caller: &Caller,
    id: &str,
) -> Result<(WorkflowRun, Vec<WorkflowStepRecord>), Problem> {
    caller.require(Scope::Chat)?;
    let run = RunId::new(id).map_err(|bad| Problem::bad_request("invalid_id", bad.to_string()))?;
    match app.store.workflow_run(&run).await {
        Ok((run, steps)) if is_visible_to(&run, caller.user(), caller.trust(&app.config())) => {
            Ok((run, steps))
        }
        Ok(_) | Err(StoreError::NotFound { .. }) => Err(Problem::not_found("run", id)),
        Err(error) => Err(error.into()),
    }
}

fn refused(error: AgentError, reader: Trust) -> Problem {
    let words = error.visible_at(reader);
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
        other => Problem::of_agent(other, reader),
    }
}

/// The error of a run or step as a reader sees it: the cause for the owner, an id to report for other users.
fn failure(error: Option<&OwnerOnly<String>>, reader: Trust, id: &str) -> Option<String> {
    let error = error?;
    Some(error.at(reader).cloned().unwrap_or_else(|| format!("{FAILED_PUBLIC} (`{id}`)")))
}

/// Decodes the cursor.
fn behind(after: &str) -> Result<(Timestamp, RunId), Problem> {
    let read = || {
        let (micros, id) = after.split_once('-')?;
        Some((Timestamp::from_micros(micros.parse().ok()?), RunId::new(id).ok()?))
    };
    read().ok_or_else(|| Problem::bad_request("bad_cursor", "`after` is not a valid cursor of this list"))
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
    fn of(step: &WorkflowStepRecord, reader: Trust) -> Self {
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
        let step = |step: foreword_agent::background::workflows::StepEnd| StepEndBody {
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
