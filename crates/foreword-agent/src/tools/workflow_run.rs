//! `workflow_run(name, parameters)`: runs a workflow for whoever the turn is for, never with more trust than the turn has.
//! What a run has read from outside stays from outside for the turn that started it.

use foreword_core::turn_journal::Outcome;
use foreword_prompt::trust::Trust;
use serde_json::{Map, Value};

use super::given::Given;
use crate::error::AgentError;
use crate::inbound::{Occasion, Purpose};
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};
use crate::workflows::{OnDrop, RunEnd, StartWorkflow};
use foreword_core::message::Provenance;

/// Runs workflows.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkflowRun;

impl Tool for WorkflowRun {
    fn name(&self) -> &'static str {
        "workflow_run"
    }

    fn has_side_effects(&self) -> bool {
        true
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        Box::pin(async move {
            match start(arguments, &call) {
                Ok(start) => run(start, call).await,
                Err(output) => output,
            }
        })
    }
}

fn start(arguments: Map<String, Value>, call: &ToolCall) -> Result<StartWorkflow, ToolOutput> {
    let parameters = parameters(arguments.get("parameters"))?;
    let name = Given::new(arguments).text("name")?.to_owned();
    let within = match &call.occasion.purpose {
        Purpose::Workflow { within, .. } => within.clone(),
        _ => Vec::new(),
    };
    let tainted = call.tainted || call.provenance == Provenance::Outside;
    let purpose = Purpose::Workflow { within: within.clone(), tainted, ceiling: Some(call.trust) };
    let occasion = Occasion { purpose, ..call.occasion.clone() };
    Ok(StartWorkflow { parameters, within, ..StartWorkflow::new(name, occasion) })
}

/// The parameters, as an object or as the text of one: models write either.
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
        Ok(end) => told(&end, call.trust),
        Err(error @ AgentError::Workflow(_)) => ToolOutput::failed(error.to_string()),
        Err(error) => ToolOutput::failed(format!("the workflow could not be run: {error}")),
    }
}

fn told(end: &RunEnd, trust: Trust) -> ToolOutput {
    let (text, is_error) = match (end.outcome, end.failure_at(trust)) {
        (Outcome::Done, _) => (end.output.clone(), false),
        (_, error) => (failure(end, error.as_deref().unwrap_or("it was stopped")), true),
    };
    ToolOutput { is_error, from_outside: end.tainted, ..ToolOutput::ours(text) }
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
