//! Workflows: which there are for the caller, and running them. What was run is in `workflow_runs`.

use axum::extract::State;
use foreword_agent::workflows::StartWorkflow;
use foreword_core::api_token::Scope;
use foreword_core::id::RunId;
use foreword_prompt::trust::Trust;
use foreword_store::conversation_settings::ConversationSettings;
use foreword_workspace::workflows::{StepAction, Workflow, WorkflowParameter, WorkflowStep};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::conversations::refused;
use super::extract::{Json, Path, Query};
use super::paging::PageQuery;
use super::workflow_runs::{self, RunAnswer, begin};
use crate::app::App;
use crate::auth::{Asserted, Caller, may_set, turn_in_hand};
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_workflows))
        .routes(routes!(get_workflow))
        .routes(routes!(run_workflow))
        .merge(workflow_runs::routes())
}

/// The workflows there are.
#[derive(Debug, Serialize, ToSchema)]
struct Workflows {
    /// By name.
    workflows: Vec<WorkflowBody>,
    /// What to ask for `after` to get the rest, if this is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A workflow. What it does is told to the owner alone.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Workflow)]
struct WorkflowBody {
    /// Its name.
    name: String,
    /// What it is for, in one line.
    description: String,
    /// The least trust at which it is seen and run, where its file says so.
    trust: Option<&'static str>,
    /// What it is given.
    parameters: Vec<ParameterBody>,
    /// The file it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// What is done, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepBody>>,
    /// What it gives in the end, as a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

/// Something a workflow is given.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowParameter)]
struct ParameterBody {
    /// Its name.
    name: String,
    /// `string`, `number`, `integer` or `boolean`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// What it is for.
    description: String,
    /// Whether the workflow can't run without it.
    required: bool,
    /// What it is if nobody gives it.
    default: Option<Value>,
}

/// A step of a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowStep)]
struct StepBody {
    /// Its name.
    name: String,
    /// What the model is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// Or the tool that is called,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// with this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    arguments: Option<Map<String, Value>>,
}

/// What to run a workflow with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RunRequest {
    /// The parameters, by name.
    #[serde(default)]
    #[schema(value_type = Object)]
    parameters: Map<String, Value>,
    /// Whether to wait for its end. Without, the answer is 202 as soon as it has begun.
    #[serde(default = "waits")]
    #[schema(default = true)]
    wait: bool,
    /// Instructions for the run's conversation alone; only for the owner, or with the scope `assert`.
    session_instructions: Option<String>,
    /// The working directory of the run's conversation; only for the owner, or with the scope `assert`.
    cwd: Option<String>,
    /// Values for templates in the run's conversation; only for the owner, or with the scope `assert`.
    #[schema(value_type = Option<Object>)]
    context: Option<Map<String, Value>>,
}

fn waits() -> bool {
    true
}

/// The workflows that you may run
#[utoipa::path(get, path = "/api/v1/workflows", tag = "workflows", security(("bearer" = ["chat"])), params(PageQuery),
    responses(
        (status = 200, body = Workflows),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ))]
async fn list_workflows(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Workflows>, Problem> {
    caller.needs(Scope::Chat)?;
    let trust = caller.trust(&app.config());
    let snapshot = app.workspace.snapshot();
    let open = snapshot.workflows().items.iter();
    let open = open.filter(|workflow| workflow.is_for(&snapshot, Some(caller.user()), trust));
    let open = open.map(|workflow| WorkflowBody::of(workflow, trust)).collect();
    let (workflows, next) = page.cut(open, |workflow| &workflow.name)?;
    Ok(axum::Json(Workflows { workflows, next }))
}

/// One workflow
#[utoipa::path(get, path = "/api/v1/workflows/{name}", tag = "workflows", security(("bearer" = ["chat"])),
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 200, body = WorkflowBody),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
async fn get_workflow(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<WorkflowBody>, Problem> {
    caller.needs(Scope::Chat)?;
    let trust = caller.trust(&app.config());
    let snapshot = app.workspace.snapshot();
    let found = snapshot.workflows().items.iter().find(|workflow| workflow.name == name);
    match found.filter(|workflow| workflow.is_for(&snapshot, Some(caller.user()), trust)) {
        Some(workflow) => Ok(axum::Json(WorkflowBody::of(workflow, trust))),
        None => Err(Problem::not_found("workflow", &name)),
    }
}

/// Runs a workflow
///
/// It takes one of the token's turns, and goes on if nobody waits any more; `GET /api/v1/workflows/runs/{id}` tells how far it has come.
#[utoipa::path(post, path = "/api/v1/workflows/{name}/run", tag = "workflows", security(("bearer" = ["chat"])),
    params(("name" = String, Path, description = "Its name.")), request_body = RunRequest,
    responses(
        (status = 200, body = workflow_runs::RunEndBody, description = "It has ended, well or not."),
        (status = 202, body = workflow_runs::RunBegun, description = "It has begun."),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
    ))]
async fn run_workflow(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    headers: HeaderMap,
    Json(request): Json<RunRequest>,
) -> Result<(StatusCode, axum::Json<RunAnswer>), Problem> {
    caller.needs(Scope::Chat)?;
    let occasion = caller.occasion(&Asserted::of(&headers)?, &app.config())?;
    // Ours, whatever a client would call it: one that exists is somebody's run.
    let run: RunId =
        app.surroundings.id("run").map_err(|bad| Problem::bad_request("bad_id", bad.to_string()))?;
    let settings = ConversationSettings {
        session_instructions: request.session_instructions,
        cwd: request.cwd,
        context: request.context,
    };
    if !settings.is_empty() {
        may_set(&caller, &app.config())?;
        app.agent
            .check_settings(settings.clone().into(), occasion.agent.as_deref())
            .map_err(|error| refused(error, &app, &caller))?;
    }
    let start = StartWorkflow {
        settings,
        parameters: request.parameters,
        run: Some(run.clone()),
        ..StartWorkflow::new(name, occasion)
    };
    let admitted = app.limits.begin_turn(caller.api_token(), &app.config().server.limits)?;
    let agent = app.agent.clone();
    let task = turn_in_hand::keep_run(&app, admitted, &run, async move { agent.run_workflow(start).await });
    begin(&app, &run, task, request.wait, caller.trust(&app.config())).await
}

impl WorkflowBody {
    fn of(workflow: &Workflow, trust: Trust) -> Self {
        let owner = trust.permits(Trust::Full);
        Self {
            name: workflow.name.clone(),
            description: workflow.description.clone(),
            trust: workflow.trust.map(|trust| trust.as_str()),
            parameters: workflow.parameters.iter().map(Into::into).collect(),
            path: owner.then(|| workflow.path.clone()),
            steps: owner.then(|| workflow.steps.iter().map(Into::into).collect()),
            output: workflow.output.clone().filter(|_| owner),
        }
    }
}

impl From<&WorkflowParameter> for ParameterBody {
    fn from(one: &WorkflowParameter) -> Self {
        Self {
            name: one.name.clone(),
            kind: one.kind.as_str(),
            description: one.description.clone(),
            required: one.required,
            default: one.default.clone(),
        }
    }
}

impl From<&WorkflowStep> for StepBody {
    fn from(step: &WorkflowStep) -> Self {
        let name = step.name.clone();
        match &step.action {
            StepAction::Prompt(text) => {
                Self { name, prompt: Some(text.clone()), tool: None, arguments: None }
            }
            StepAction::Tool { name: tool, arguments } => {
                Self { name, prompt: None, tool: Some(tool.clone()), arguments: Some(arguments.clone()) }
            }
        }
    }
}
