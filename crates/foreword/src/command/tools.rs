//! `foreword tools`: all tools, including those of MCP servers. The servers are started for this command and stopped
//! afterwards.

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
use crate::mcp_servers::{self, McpStartup};
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, GREEN, Output, YELLOW, counted, styled};
use crate::process_context::ProcessContext;
use crate::workspace_store::runtime;

pub(crate) fn run(args: &ToolsArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let found = ToolList::read(process)?;
    match &args.command {
        None | Some(ToolsCommand::List) => found.list(output)?,
        Some(ToolsCommand::Servers) => return found.servers(output),
        Some(ToolsCommand::Show { name }) => found.show(name, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

struct ToolList {
    config: Arc<Config>,
    outside: Arc<OutsideTools>,
    reports: Vec<ServerReport>,
}

impl ToolList {
    fn read(process: &ProcessContext) -> Result<Self, Failure> {
        let workspace = process.open()?;
        let config = Arc::clone(&workspace.snapshot().config);
        let runtime = runtime()?;
        let (outside, reports) = runtime.block_on(async {
            let servers: Arc<Servers> = mcp_servers::start(&workspace, McpStartup::Start, Arc::new(|_| ()));
            servers.settled().await;
            let found = (servers.now(), servers.reports());
            servers.stop().await;
            found
        });
        Ok(Self { config, outside, reports })
    }

    /// All tools, built-in ones first.
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
            output.warn(&format!("the tools of `{}` are missing: {state}", report.name));
        }
        for name in self.unmatched_names() {
            output
                .warn(&format!("the configuration has a rule for `{name}`, but its server has no such tool"));
        }
        Ok(())
    }

    /// Tool names in any agent's configuration that match no tool of a running server: a misspelt name would disable
    /// nothing.
    fn unmatched_names(&self) -> BTreeSet<&ToolName> {
        let is_there = |name: &ToolName| {
            let server = name.as_str().split_once(SEPARATOR).map(|(server, _)| server);
            self.reports
                .iter()
                .any(|report| Some(&*report.name) == server && report.state == ServerState::Ready)
        };
        let all = self.config.all_agents().flat_map(|config| config.tool_rules.names());
        all.filter(|name| is_there(name) && !self.outside.specs.iter().any(|tool| name.covers(&tool.name)))
            .collect()
    }

    fn show(&self, name: &str, output: &Output) -> Result<(), Failure> {
        let all = self.all();
        let Some(tool) = all.iter().find(|tool| tool.name == name) else {
            let near = did_you_mean(name, all.iter().map(|tool| tool.name.as_str()));
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "see `foreword tools` for all tools, and `foreword tools servers` for the servers"
                    .to_owned(),
            };
            return Err(Failure::failed(format!("unknown tool `{}`", name.escape_debug()), hint));
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

    /// Fails if a server fails, so that scripts can check the exit code.
    fn servers(&self, output: &Output) -> Result<ExitCode, Failure> {
        let all_ready = self.reports.iter().all(|report| report.state == ServerState::Ready);
        let code = if all_ready { ExitCode::SUCCESS } else { ExitCode::from(1) };
        if output.wants_json() {
            output.json(&self.reports)?;
            return Ok(code);
        }
        if self.reports.is_empty() {
            output.print_stderr(&styled(DIM, "No servers are configured; see `tools.mcp` in docs/mcp.md."));
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
        ServerState::Starting => "starting".to_owned(),
        ServerState::Ready => "ready".to_owned(),
        ServerState::Failing { why, .. } => why.clone(),
        ServerState::Stopped => "ended".to_owned(),
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
