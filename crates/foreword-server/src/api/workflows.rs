//! Workflows: list, read and run. Their runs are in `workflow_runs`.

use axum::extract::State;
use foreword_agent::background::workflows::StartWorkflow;
use foreword_core::api_token::Scope;
use foreword_core::id::RunId;
use foreword_core::template_context::TemplateContext;
use foreword_prompt::trust::Trust;
use foreword_store::conversation_settings::ConversationSettings;
use foreword_workspace::workflows::{StepAction, Workflow, WorkflowParameter, WorkflowStep};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::conversations::refused;
use super::extract::{Json, Path, Query};
use super::pagination::PageQuery;
use super::workflow_runs::{self, RunAnswer, begin};
use crate::app::App;
use crate::auth::{Asserted, Caller, may_set, turn_metering};
use crate::problem::Problem;

/// The workflows.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Workflows {
    /// By name.
    workflows: Vec<WorkflowBody>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A workflow. Only the owner sees its steps.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Workflow)]
pub(crate) struct WorkflowBody {
    /// Its name.
    name: String,
    /// A description of one line.
    description: String,
    /// The minimum trust to see and run it, if its file sets one.
    trust: Option<&'static str>,
    /// Its parameters.
    parameters: Vec<ParameterBody>,
    /// Its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Its steps, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepBody>>,
    /// The template of its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

/// A parameter of a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowParameter)]
pub(crate) struct ParameterBody {
    /// Its name.
    name: String,
    /// `string`, `number`, `integer` or `boolean`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// A description.
    description: String,
    /// Whether it is required.
    required: bool,
    /// The default value.
    default: Option<Value>,
}

/// A step of a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowStep)]
pub(crate) struct StepBody {
    /// Its name.
    name: String,
    /// The prompt, if it calls the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// The tool, if it calls one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The arguments of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    arguments: Option<Map<String, Value>>,
}

/// The parameters of a run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunRequest {
    /// The parameters, by name.
    #[serde(default)]
    #[schema(value_type = Object)]
    parameters: Map<String, Value>,
    /// Whether to wait for the end. Otherwise the response is 202 when it has started.
    #[serde(default = "waits")]
    #[schema(default = true)]
    wait: bool,
    /// Instructions for the run's conversation only; only for the owner, or with the scope `assert`.
    session_instructions: Option<String>,
    /// The working directory of the run's conversation; only for the owner, or with the scope `assert`.
    cwd: Option<String>,
    /// Values for templates in the run's conversation; only for the owner, or with the scope `assert`.
    #[schema(value_type = Option<Object>)]
    context: Option<TemplateContext>,
}

fn waits() -> bool {
    true
}

/// Lists the workflows available to you
#[utoipa::path(get, path = "/api/v1/workflows", tag = "workflows", security(("bearer" = ["chat"])), params(PageQuery),
    responses(
        (status = 200, body = Workflows),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn list_workflows(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Workflows>, Problem> {
    caller.require(Scope::Chat)?;
    let trust = caller.trust(&app.config());
    let snapshot = app.workspace.snapshot();
    let open = snapshot.workflows().items.iter();
    let open = open.filter(|workflow| workflow.is_for(&snapshot, Some(caller.user()), trust));
    let open = open.map(|workflow| WorkflowBody::of(workflow, trust)).collect();
    let (workflows, next) = page.cut(open, |workflow| &workflow.name)?;
    Ok(axum::Json(Workflows { workflows, next }))
}

/// Returns a workflow
#[utoipa::path(get, path = "/api/v1/workflows/{name}", tag = "workflows", security(("bearer" = ["chat"])),
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 200, body = WorkflowBody),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn get_workflow(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<WorkflowBody>, Problem> {
    caller.require(Scope::Chat)?;
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
/// It counts as one of the token's turns, and continues if the client disconnects; `GET /api/v1/workflows/runs/{id}`
/// returns its progress.
#[utoipa::path(post, path = "/api/v1/workflows/{name}/run", tag = "workflows", security(("bearer" = ["chat"])),
    params(("name" = String, Path, description = "Its name.")), request_body = RunRequest,
    responses(
        (status = 200, body = workflow_runs::RunEndBody, description = "It has ended, successfully or not."),
        (status = 202, body = workflow_runs::RunBegun, description = "It has started."),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn run_workflow(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    headers: HeaderMap,
    Json(request): Json<RunRequest>,
) -> Result<(StatusCode, axum::Json<RunAnswer>), Problem> {
    caller.require(Scope::Chat)?;
    let occasion = caller.occasion(&Asserted::of(&headers)?, &app.config())?;
    // Always generated, since an existing id belongs to another run.
    let run: RunId =
        app.clock_and_rng.id("run").map_err(|bad| Problem::bad_request("invalid_id", bad.to_string()))?;
    let settings = ConversationSettings {
        session_instructions: request.session_instructions,
        cwd: request.cwd,
        context: request.context,
    };
    if !settings.is_empty() {
        may_set(&caller, &app.config())?;
        app.agent
            .check_settings(settings.clone().into(), occasion.speaker.agent.as_deref())
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
    let task = turn_metering::meter_run(&app, admitted, &run, async move { agent.run_workflow(start).await });
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
