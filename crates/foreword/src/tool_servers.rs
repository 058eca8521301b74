//! Starts the servers of tools that the configuration names, with what they may see of this process.

use std::sync::Arc;

use foreword_agent::mcp::{McpWorld, Servers, usual_backoff};
use foreword_agent::surroundings::Machine;
use foreword_agent::tools::bash::BashSettings;
use foreword_core::event::Event;
use foreword_workspace::workspace::Workspace;

/// The servers of `workspace`, started. Needs a runtime around it.
pub(crate) fn start(workspace: &Workspace, log: Arc<dyn Fn(Event) + Send + Sync>) -> Arc<Servers> {
    let world = McpWorld {
        directory: workspace.directory().to_owned(),
        environment: BashSettings::default().with_environment(std::env::vars()).environment,
        variable: Arc::new(|name| std::env::var(name).ok()),
        log,
        surroundings: Arc::new(Machine),
        backoff: usual_backoff(),
    };
    Servers::start(world, &workspace.snapshot().config.mcp)
}
