//! Starts the servers of tools that the configuration names, with what they may see of this process.

use std::sync::Arc;

use foreword_agent::mcp::{McpWorld, Servers, usual_backoff};
use foreword_agent::surroundings::Machine;
use foreword_agent::tools::bash::BashSettings;
use foreword_core::event::Event;
use foreword_workspace::config::McpServers;
use foreword_workspace::workspace::Workspace;

/// Whether there are to be any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolServers {
    Started,
    LeftOut,
}

/// The servers of `workspace`, started if they are to be. Needs a runtime around it.
pub(crate) fn start(
    workspace: &Workspace,
    wanted: ToolServers,
    log: Arc<dyn Fn(Event) + Send + Sync>,
) -> Arc<Servers> {
    let world = McpWorld {
        directory: workspace.directory().to_owned(),
        environment: BashSettings::default().with_environment(std::env::vars()).environment,
        variable: Arc::new(|name| std::env::var(name).ok()),
        log,
        surroundings: Arc::new(Machine),
        backoff: usual_backoff(),
    };
    match wanted {
        ToolServers::Started => Servers::start(world, &workspace.snapshot().config.mcp),
        ToolServers::LeftOut => Servers::start(world, &McpServers::default()),
    }
}
