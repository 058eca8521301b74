//! Starts the configured MCP servers with the permitted part of this process's environment.

use std::sync::Arc;

use foreword_agent::clock_and_rng::Machine;
use foreword_agent::mcp::{McpEnvironment, RESTART_BACKOFF, Servers};
use foreword_agent::tools::bash::BashSettings;
use foreword_core::event::Event;
use foreword_workspace::config::McpServers;
use foreword_workspace::workspace::Workspace;

/// Whether to start the MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum McpStartup {
    Start,
    Skip,
}

/// Starts the servers of `workspace`, unless they are to be skipped. Must be called within a runtime.
pub(crate) fn start(
    workspace: &Workspace,
    startup: McpStartup,
    log: Arc<dyn Fn(Event) + Send + Sync>,
) -> Arc<Servers> {
    let context = McpEnvironment {
        directory: workspace.directory().to_owned(),
        environment: BashSettings::default().with_environment(std::env::vars()).environment,
        variable: Arc::new(|name| std::env::var(name).ok()),
        log,
        clock_and_rng: Arc::new(Machine),
        backoff: RESTART_BACKOFF,
    };
    match startup {
        McpStartup::Start => Servers::start(context, &workspace.snapshot().config.mcp),
        McpStartup::Skip => Servers::start(context, &McpServers::default()),
    }
}
