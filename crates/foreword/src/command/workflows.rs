//! `foreword workflows`: lists, shows and runs workflows, and shows past runs. Names and outputs may be untrusted: they
//! are escaped, or printed without terminal control sequences.

mod history;
mod run;
mod watch;

use std::process::ExitCode;

use foreword_prompt::diagnostic::did_you_mean;
use foreword_workspace::workflows::{StepAction, Workflow, WorkflowParameter};
use foreword_workspace::workspace::Workspace;
use serde_json::{Value, json};

use crate::cli::workflows::{WorkflowsArgs, WorkflowsCommand};
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, Output, styled};
use crate::process_context::ProcessContext;

pub(crate) fn run(
    args: &WorkflowsArgs,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match &args.command {
        None | Some(WorkflowsCommand::List) => list(&process.open()?, output)?,
        Some(WorkflowsCommand::Show { name }) => show(&process.open()?, name, output)?,
        Some(WorkflowsCommand::Run(args)) => return run::run(args, process, output),
        Some(WorkflowsCommand::Resume(args)) => return run::resume(args, process, output),
        Some(WorkflowsCommand::Runs { name, limit }) => {
            history::runs(name.as_deref(), *limit, process, output)?;
        }
        Some(WorkflowsCommand::Status { run }) => history::status(run, process, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(workspace: &Workspace, output: &Output) -> Result<(), Failure> {
    let snapshot = workspace.snapshot();
    let loaded = snapshot.workflows();
    if output.wants_json() {
        let all: Vec<Value> = loaded.items.iter().map(workflow_json).collect();
        return output.json(&json!({ "workflows": all }));
    }
    if !loaded.problems.is_empty() {
        output.warn(&format!("{} can't be used: see `foreword check`", files(loaded.problems.len())));
    }
    if loaded.items.is_empty() {
        output.print_stderr("No workflows: add one as workflows/NAME.yaml.");
        return Ok(());
    }
    let left = Align::Left;
    let mut table = Table::new(&[("workflow", left), ("parameters", left), ("description", left)]);
    for workflow in &loaded.items {
        let parameters = match workflow.signature().join(", ") {
            none if none.is_empty() => styled(DIM, "none"),
            some => some,
        };
        table.row(vec![styled(BOLD, &workflow.name), parameters, workflow.description.clone()]);
    }
    output.print(&table.render())
}

fn files(count: usize) -> String {
    if count == 1 { "a file in workflows/".to_owned() } else { format!("{count} files in workflows/") }
}

fn show(workspace: &Workspace, name: &str, output: &Output) -> Result<(), Failure> {
    let snapshot = workspace.snapshot();
    let workflow = named(&snapshot.workflows().items, name)?;
    if output.wants_json() {
        return output.json(&workflow_json(workflow));
    }
    let mut out = format!(
        "{}: {}\n{}",
        styled(BOLD, &workflow.name),
        workflow.description,
        styled(DIM, &workflow.path)
    );
    if let Some(trust) = workflow.trust {
        out.push_str(&format!("\nneeds trust `{trust}`"));
    }
    for parameter in &workflow.parameters {
        out.push_str(&format!("\n  {}", parameter_line(parameter)));
    }
    for (number, step) in (1..).zip(&workflow.steps) {
        let (kind, says) = match &step.action {
            StepAction::Prompt(text) => ("prompt".to_owned(), text.trim_end().to_owned()),
            StepAction::Tool { name, arguments } => {
                (format!("tool {name}"), Value::Object(arguments.clone()).to_string())
            }
        };
        out.push_str(&format!("\n\n{number}. {} {}", styled(BOLD, &step.name), styled(DIM, kind)));
        says.lines().for_each(|line| out.push_str(&format!("\n   {line}")));
    }
    if let Some(template) = &workflow.output {
        out.push_str(&format!("\n\noutput: {}", template.trim_end()));
    }
    output.print(&out)
}

fn named<'a>(all: &'a [Workflow], name: &str) -> Result<&'a Workflow, Failure> {
    all.iter().find(|workflow| workflow.name == name).ok_or_else(|| {
        let near = did_you_mean(name, all.iter().map(|workflow| workflow.name.as_str()));
        let help = near
            .map_or_else(|| "see `foreword workflows`".to_owned(), |near| format!("did you mean `{near}`?"));
        Failure::failed(format!("unknown workflow `{}`", name.escape_debug()), help)
    })
}

fn parameter_line(parameter: &WorkflowParameter) -> String {
    let need = match (&parameter.default, parameter.required) {
        (_, true) => ", required".to_owned(),
        (Some(default), false) => format!(", {default} by default"),
        (None, false) => String::new(),
    };
    let about = if parameter.description.is_empty() { "" } else { ": " };
    format!("{} ({}{need}){about}{}", parameter.name, parameter.kind.as_str(), parameter.description)
}

fn workflow_json(workflow: &Workflow) -> Value {
    let parameter = |one: &WorkflowParameter| {
        json!({
            "name": one.name, "type": one.kind.as_str(), "description": one.description, "required": one.required,
            "default": one.default,
        })
    };
    let step = |step: &foreword_workspace::workflows::WorkflowStep| match &step.action {
        StepAction::Prompt(text) => json!({ "name": step.name, "prompt": text }),
        StepAction::Tool { name, arguments } => {
            json!({ "name": step.name, "tool": name, "arguments": arguments })
        }
    };
    json!({
        "name": workflow.name, "description": workflow.description, "path": workflow.path,
        "trust": workflow.trust.map(|trust| trust.as_str()),
        "parameters": workflow.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "steps": workflow.steps.iter().map(step).collect::<Vec<_>>(), "output": workflow.output,
    })
}
