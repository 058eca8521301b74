//! `foreword agents`: who there is in a workspace, and giving a conversation from one to another.

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::hand_over::HandOver;
use foreword_agent::inbound::Occasion;
use foreword_core::id::ConversationId;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::display_line;
use foreword_workspace::config::{Config, Member};
use foreword_workspace::snapshot::Snapshot;
use serde_json::{Value, json};

use crate::cli::agents::{AgentsArgs, AgentsCommand, HandOverArgs};
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, GREEN, Output, styled};
use crate::running::Running;
use crate::world::World;

/// The most characters of a description on a line.
const LINE: usize = 300;

pub(crate) fn run(args: &AgentsArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    match &args.command {
        None | Some(AgentsCommand::List) => {
            let config = Arc::clone(&world.open()?.snapshot().config);
            if output.wants_json() {
                output.json(&json!({ "agents": listed(&config) }))?;
            } else {
                output.print(&table(&config))?;
                if !config.roster.has_company() {
                    output.say(&styled(DIM, "Write others down in `agents` in foreword.yaml."));
                }
            }
        }
        Some(AgentsCommand::Show { name }) => {
            let snapshot = world.open()?.snapshot();
            let view = known(&snapshot, name)?;
            show(&view, output)?;
        }
        Some(AgentsCommand::HandOver(args)) => hand_over(args, world, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The agent of that name, as it sees the workspace.
fn known(snapshot: &Arc<Snapshot>, name: &str) -> Result<Arc<Snapshot>, Failure> {
    let roster = &snapshot.config.roster;
    if roster.find(name).is_none() {
        let message = format!("there is no agent `{}`", display_line(name, 80));
        let near = did_you_mean(name, roster.members().iter().map(|member| &*member.name));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        return Err(Failure::failed(
            message,
            format!("{near}there are {}: see `foreword agents`", roster.names()),
        ));
    }
    Ok(snapshot.of_agent(Some(name))?)
}

/// All agents, for programs.
pub(crate) fn listed(config: &Config) -> Vec<Value> {
    let is_first = |member: &Member| member.name == config.roster.members()[0].name;
    config.roster.members().iter().map(|member| member_json(member, is_first(member))).collect()
}

fn member_json(member: &Member, first: bool) -> Value {
    json!({
        "name": member.name, "description": member.description, "blueprint": member.blueprint,
        "model": member.model, "files": member.files, "first": first,
    })
}

/// All agents, for people.
pub(crate) fn table(config: &Config) -> String {
    let left = Align::Left;
    let columns =
        [("agent", left), ("blueprint", left), ("model", left), ("files", left), ("what it is for", left)];
    let mut table = Table::new(&columns);
    for member in config.roster.members() {
        table.row(vec![
            styled(BOLD, display_line(&member.name, LINE)),
            display_line(&member.blueprint, LINE),
            display_line(&member.model, LINE),
            member.files.as_deref().map_or_else(|| "the workspace".to_owned(), |files| format!("{files}/")),
            display_line(&member.description, LINE),
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
    row("agent", styled(BOLD, display_line(&member.name, LINE)));
    row("what it is for", display_line(&member.description, LINE));
    row("blueprint", display_line(&member.blueprint, LINE));
    row("model", display_line(&member.model, LINE));
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

fn hand_over(args: &HandOverArgs, world: &World, output: &Output) -> Result<(), Failure> {
    let conversation = ConversationId::new(&args.conversation)
        .map_err(|error| Failure::usage(error.to_string(), "see `foreword status`"))?;
    let running = Running::start(world)?;
    let (to, by, reason) = (args.name.as_str().into(), Occasion::default(), args.reason.clone());
    let handed = running.wait(running.agent.hand_over(&conversation, HandOver { to, by, reason }));
    running.stop();
    let handed = handed?;
    if output.wants_json() {
        return output.json(&json!({
            "conversation": conversation, "from": handed.from, "to": handed.to, "by": handed.wish.user,
            "reason": handed.wish.reason, "number": handed.number,
        }));
    }
    output.print(&format!(
        "{} `{}` from `{}` to `{}`, who answers from the next message on.",
        styled(GREEN, "Handed over"),
        conversation,
        handed.from,
        handed.to
    ))
}
