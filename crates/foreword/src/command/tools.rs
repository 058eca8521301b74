//! `foreword tools`: the tools there are, those of servers included. The servers are started for the answer, and ended with it.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::mcp::{ServerReport, ServerState, Servers};
use foreword_agent::tool::{OutsideTools, ToolSource as _};
use foreword_core::tools::outside::SEPARATOR;
use foreword_core::tools::{ToolName, parameters_schema};
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::Config;
use serde_json::{Value, json};

use crate::cli::tools::{ToolsArgs, ToolsCommand};
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, GREEN, Output, YELLOW, counted, styled};
use crate::stored::runtime;
use crate::tool_servers::{self, ToolServers};
use crate::world::World;

pub(crate) fn run(args: &ToolsArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let found = Found::look(world)?;
    match &args.command {
        None | Some(ToolsCommand::List) => found.list(output)?,
        Some(ToolsCommand::Servers) => return found.servers(output),
        Some(ToolsCommand::Show { name }) => found.show(name, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What there is.
struct Found {
    config: Arc<Config>,
    outside: Arc<OutsideTools>,
    reports: Vec<ServerReport>,
}

impl Found {
    fn look(world: &World) -> Result<Self, Failure> {
        let workspace = world.open()?;
        let config = Arc::clone(&workspace.snapshot().config);
        let runtime = runtime()?;
        let (outside, reports) = runtime.block_on(async {
            let servers: Arc<Servers> =
                tool_servers::start(&workspace, ToolServers::Started, Arc::new(|_| ()));
            servers.settled().await;
            let found = (servers.now(), servers.reports());
            servers.stop().await;
            found
        });
        Ok(Self { config, outside, reports })
    }

    /// All tools, those of the program first.
    fn all(&self) -> Vec<ToolSpec> {
        self.config.tools_at(Trust::Full, &self.outside.specs)
    }

    fn is_sensitive(&self, name: &str) -> bool {
        self.config.tool_rules.is_sensitive(name) || self.outside.sensitive.contains(name)
    }

    fn json(&self, tool: &ToolSpec) -> Value {
        json!({
            "name": tool.name,
            "trust": tool.trust,
            "source": source(tool),
            "sensitive": self.is_sensitive(&tool.name),
            "description": tool.description,
            "schema": parameters_schema(tool),
        })
    }

    fn list(&self, output: &Output) -> Result<(), Failure> {
        if output.wants_json() {
            return output.json(&self.all().iter().map(|tool| self.json(tool)).collect::<Vec<_>>());
        }
        let left = Align::Left;
        let mut table = Table::new(&[("tool", left), ("trust", left), ("from", left), ("sensitive", left)]);
        for tool in self.all() {
            let sensitive = if self.is_sensitive(&tool.name) { "yes" } else { "" };
            table.row(vec![
                tool.signature(),
                tool.trust.to_string(),
                source(&tool).to_owned(),
                sensitive.to_owned(),
            ]);
        }
        output.print(&table.render())?;
        for report in self.reports.iter().filter(|report| report.state != ServerState::Ready) {
            let state = state(&report.state);
            output.warn(&format!("the tools of `{}` are not among them: {state}", report.name));
        }
        for name in self.named_in_vain() {
            output
                .warn(&format!("the configuration has a rule for `{name}`, which its server does not offer"));
        }
        Ok(())
    }

    /// Names in the configuration, of whichever agent, that stand for no tool of a server that is there: a typing mistake there
    /// would switch nothing off.
    fn named_in_vain(&self) -> BTreeSet<&ToolName> {
        let is_there = |name: &ToolName| {
            let server = name.as_str().split_once(SEPARATOR).map(|(server, _)| server);
            self.reports
                .iter()
                .any(|report| Some(&*report.name) == server && report.state == ServerState::Ready)
        };
        let all = self.config.everybody().flat_map(|config| config.tool_rules.names());
        all.filter(|name| is_there(name) && !self.outside.specs.iter().any(|tool| name.covers(&tool.name)))
            .collect()
    }

    fn show(&self, name: &str, output: &Output) -> Result<(), Failure> {
        let all = self.all();
        let Some(tool) = all.iter().find(|tool| tool.name == name) else {
            let near = did_you_mean(name, all.iter().map(|tool| tool.name.as_str()));
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`foreword tools` lists all there are, `foreword tools servers` what is wrong with a server".to_owned(),
            };
            return Err(Failure::failed(format!("there is no tool `{}`", name.escape_debug()), hint));
        };
        if output.wants_json() {
            return output.json(&self.json(tool));
        }
        let sensitive = if self.is_sensitive(name) { ", sensitive" } else { "" };
        let head = format!(
            "{}  {}",
            styled(BOLD, tool.signature()),
            styled(DIM, format!("{}{sensitive}", tool.trust))
        );
        let schema = serde_json::to_string_pretty(&parameters_schema(tool)).unwrap_or_default();
        output.print(&format!("{head}\n\n{}\n\n{schema}", tool.description))
    }

    /// Fails if one of the servers does, so that a script can ask.
    fn servers(&self, output: &Output) -> Result<ExitCode, Failure> {
        let all_ready = self.reports.iter().all(|report| report.state == ServerState::Ready);
        let code = if all_ready { ExitCode::SUCCESS } else { ExitCode::from(1) };
        if output.wants_json() {
            output.json(&self.reports)?;
            return Ok(code);
        }
        if self.reports.is_empty() {
            output.say(&styled(DIM, "No servers are configured; see `tools.mcp` in docs/mcp.md."));
        } else {
            let parts: Vec<String> = self.reports.iter().map(described).collect();
            output.print(&parts.join("\n\n"))?;
        }
        Ok(code)
    }
}

fn source(tool: &ToolSpec) -> &str {
    tool.name.split_once(SEPARATOR).map_or("built in", |(server, _)| server)
}

fn state(state: &ServerState) -> String {
    match state {
        ServerState::Starting => "it is being started".to_owned(),
        ServerState::Ready => "ready".to_owned(),
        ServerState::Failing { why, .. } => why.clone(),
        ServerState::Stopped => "it has ended".to_owned(),
    }
}

fn described(report: &ServerReport) -> String {
    let ready = report.state == ServerState::Ready;
    let mark = if ready { styled(GREEN, "ready") } else { styled(YELLOW, "failing") };
    let version =
        report.version.as_deref().map(|version| format!("  {}", styled(DIM, version))).unwrap_or_default();
    let mut lines = vec![format!("{}  {mark}{version}", styled(BOLD, &report.name))];
    if ready {
        let count = u64::try_from(report.tools.len()).unwrap_or(u64::MAX);
        let names =
            if report.tools.is_empty() { String::new() } else { format!(": {}", report.tools.join(", ")) };
        lines.push(format!("  {}{names}", counted(count, "tool")));
    } else {
        lines.push(format!("  {}", state(&report.state)));
    }
    lines.extend(report.warnings.iter().map(|warning| format!("  {} {warning}", styled(YELLOW, "warning:"))));
    lines.extend(report.last_words.iter().map(|line| styled(DIM, format!("  | {line}"))));
    lines.join("\n")
}
