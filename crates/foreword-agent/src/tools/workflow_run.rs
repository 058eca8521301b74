//! `workflow_run(name, parameters)`: runs a workflow for the turn's user, with at most the turn's trust. If a run has
//! read text from outside, so has the turn that started it.

use foreword_core::turn_journal::Outcome;
use foreword_prompt::trust::Trust;
use serde_json::{Map, Value};

use super::arguments::Arguments;
use super::builtin_tool::BuiltinTool;
use crate::background::workflows::{OnDrop, RunEnd, StartWorkflow};
use crate::conversation::inbound::{Purpose, TurnOrigin};
use crate::error::AgentError;
use crate::tool::{ToolCall, ToolOutput};
use foreword_core::message::Provenance;

/// The tool `workflow_run`.
pub(super) fn tool() -> BuiltinTool {
    BuiltinTool::new("workflow_run", start_and_run).with_side_effects()
}

async fn start_and_run(arguments: Arguments, call: ToolCall) -> Result<ToolOutput, ToolOutput> {
    let start = start(&arguments, &call)?;
    Ok(run(start, call).await)
}

fn start(arguments: &Arguments, call: &ToolCall) -> Result<StartWorkflow, ToolOutput> {
    let parameters = parameters(arguments.value("parameters"))?;
    let name = arguments.text("name")?.to_owned();
    let within = match &call.origin.purpose {
        Purpose::Workflow { within, .. } => within.clone(),
        _ => Vec::new(),
    };
    let tainted = call.tainted || call.provenance == Provenance::Outside;
    let purpose = Purpose::Workflow { within: within.clone(), tainted, ceiling: Some(call.trust) };
    let occasion = TurnOrigin { purpose, ..call.origin.clone() };
    Ok(StartWorkflow { parameters, within, ..StartWorkflow::new(name, occasion) })
}

/// The parameters, as an object or as JSON text: models send either.
fn parameters(given: Option<&Value>) -> Result<Map<String, Value>, ToolOutput> {
    match given {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(parameters)) => Ok(parameters.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        Some(Value::String(text)) => serde_json::from_str(text).map_err(|error| {
            ToolOutput::failed(format!("`parameters` is no JSON object: {error}. Send it as one object."))
        }),
        Some(_) => Err(ToolOutput::failed("`parameters` must be one JSON object, by name.")),
    }
}

async fn run(start: StartWorkflow, call: ToolCall) -> ToolOutput {
    let Some(agent) = call.host.upgrade() else {
        return ToolOutput::failed("not run: the agent is being shut down");
    };
    match agent.run_workflow_in(start, Some(call.conversation), OnDrop::Stop).await {
        Ok(end) => output(&end, call.trust),
        Err(error @ AgentError::Workflow(_)) => ToolOutput::failed(error.to_string()),
        Err(error) => ToolOutput::failed(format!("the workflow could not be run: {error}")),
    }
}

fn output(end: &RunEnd, trust: Trust) -> ToolOutput {
    let (text, is_error) = match (end.outcome, end.failure_at(trust)) {
        (Outcome::Done, _) => (end.output.clone(), false),
        (_, error) => (failure(end, error.as_deref().unwrap_or("it was stopped")), true),
    };
    ToolOutput { is_error, from_outside: end.tainted, ..ToolOutput::trusted(text) }
}

fn failure(end: &RunEnd, error: &str) -> String {
    let done: Vec<String> =
        end.steps.iter().filter(|step| step.done).map(|step| format!("`{}`", step.name)).collect();
    let done = if done.is_empty() { "nothing".to_owned() } else { done.join(", ") };
    format!(
        "the workflow `{}` failed at {error}\nDone before that: {done}. Run id: {}.",
        end.workflow, end.run
    )
}
