//! `foreword agents`: lists the agents of a workspace and hands a conversation over.

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::conversation::hand_over::RequestedHandOver;
use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::id::ConversationId;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::display_line;
use foreword_workspace::config::{AgentEntry, Config};
use foreword_workspace::snapshot::Snapshot;
use serde_json::{Value, json};

use crate::cli::agents::{AgentsArgs, AgentsCommand, HandOverArgs};
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, GREEN, Output, styled};
use crate::process_context::ProcessContext;
use crate::running_agent::RunningAgent;

const MAX_DESCRIPTION_CHARS: usize = 300;

pub(crate) fn run(args: &AgentsArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    match &args.command {
        None | Some(AgentsCommand::List) => {
            let config = Arc::clone(&process.open()?.snapshot().config);
            if output.wants_json() {
                output.json(&json!({ "agents": listed(&config) }))?;
            } else {
                output.print(&table(&config))?;
                if !config.roster.has_several() {
                    output.print_stderr(&styled(DIM, "Add more in `agents` in foreword.yaml."));
                }
            }
        }
        Some(AgentsCommand::Show { name }) => {
            let snapshot = process.open()?.snapshot();
            let view = find_agent(&snapshot, name)?;
            show(&view, output)?;
        }
        Some(AgentsCommand::HandOver(args)) => hand_over(args, process, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The workspace as the agent `name` sees it.
fn find_agent(snapshot: &Arc<Snapshot>, name: &str) -> Result<Arc<Snapshot>, Failure> {
    let roster = &snapshot.config.roster;
    if roster.find(name).is_none() {
        let message = format!("unknown agent `{}`", display_line(name, 80));
        let near = did_you_mean(name, roster.members().iter().map(|member| &*member.name));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        return Err(Failure::failed(
            message,
            format!("{near}known agents: {}; see `foreword agents`", roster.names()),
        ));
    }
    Ok(snapshot.of_agent(Some(name))?)
}

/// All agents, as JSON.
pub(crate) fn listed(config: &Config) -> Vec<Value> {
    let is_first = |member: &AgentEntry| member.name == config.roster.members()[0].name;
    config.roster.members().iter().map(|member| member_json(member, is_first(member))).collect()
}

fn member_json(member: &AgentEntry, first: bool) -> Value {
    json!({
        "name": member.name, "description": member.description, "blueprint": member.blueprint,
        "model": member.model, "files": member.files, "first": first,
    })
}

/// All agents, as a table.
pub(crate) fn table(config: &Config) -> String {
    let left = Align::Left;
    let columns =
        [("agent", left), ("blueprint", left), ("model", left), ("files", left), ("description", left)];
    let mut table = Table::new(&columns);
    for member in config.roster.members() {
        table.row(vec![
            styled(BOLD, display_line(&member.name, MAX_DESCRIPTION_CHARS)),
            display_line(&member.blueprint, MAX_DESCRIPTION_CHARS),
            display_line(&member.model, MAX_DESCRIPTION_CHARS),
            member.files.as_deref().map_or_else(|| "the workspace".to_owned(), |files| format!("{files}/")),
            display_line(&member.description, MAX_DESCRIPTION_CHARS),
        ]);
    }
    table.render()
}

fn show(view: &Snapshot, output: &Output) -> Result<(), Failure> {
    let config = &view.config;
    let Some(member) = config.roster.find(&config.agent.name) else { return Ok(()) };
    let tools: Vec<Value> =
        config.tools.iter().map(|tool| json!({ "name": tool.name, "trust": tool.trust })).collect();
    if output.wants_json() {
        let mut out = member_json(member, member.files.is_none());
        out["tools"] = json!(tools);
        out["budget"] = json!(config.prompt.budget);
        out["layers"] = json!(config.blueprint.name);
        return output.json(&out);
    }
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]).without_header();
    let mut row = |what: &str, words: String| table.row(vec![styled(DIM, what), words]);
    row("agent", styled(BOLD, display_line(&member.name, MAX_DESCRIPTION_CHARS)));
    row("description", display_line(&member.description, MAX_DESCRIPTION_CHARS));
    row("blueprint", display_line(&member.blueprint, MAX_DESCRIPTION_CHARS));
    row("model", display_line(&member.model, MAX_DESCRIPTION_CHARS));
    let files = member.files.as_deref();
    row(
        "files",
        files.map_or_else(|| "the workspace".to_owned(), |own| format!("{own}/, then the workspace")),
    );
    let tools: Vec<String> =
        config.tools.iter().map(|tool| format!("{} ({})", tool.name, tool.trust)).collect();
    row("tools", tools.join(", "));
    output.print(&table.render())
}

fn hand_over(args: &HandOverArgs, process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    let conversation = ConversationId::new(&args.conversation)
        .map_err(|error| Failure::usage(error.to_string(), "see `foreword status`"))?;
    let running = RunningAgent::start(process)?;
    let (to, by, reason) = (args.name.as_str().into(), TurnOrigin::default(), args.reason.clone());
    let handed = running.wait(running.agent.hand_over(&conversation, RequestedHandOver { to, by, reason }));
    running.stop();
    let handed = handed?;
    if output.wants_json() {
        return output.json(&json!({
            "conversation": conversation, "from": handed.from, "to": handed.to, "by": handed.wish.user,
            "reason": handed.wish.reason, "number": handed.number,
        }));
    }
    output.print(&format!(
        "{} `{}` from `{}` to `{}`, which answers the next message.",
        styled(GREEN, "Handed over"),
        conversation,
        handed.from,
        handed.to
    ))
}
