//! The MCP client: connects to configured MCP (Model Context Protocol) servers. Each server has a supervisor task that
//! starts it, lists its tools, detects failures and restarts it. A server that never starts, hangs or floods does not
//! affect the others. Its text is from outside: `foreword_core::tools::outside` prepares it for the model.

mod answer;
mod bounded_lines;
mod call;
mod connection;
mod http;
mod offered_tools;
mod program;
mod state;
mod stderr_tail;
mod supervisor;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::backoff::Backoff;
use foreword_core::event::Event;
use foreword_workspace::config::McpServers;
use foreword_workspace::workspace::Workspace;
use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;

use self::offered_tools::Offered;
pub use self::state::{ServerReport, ServerState};
use self::supervisor::Server;
use crate::clock_and_rng::ClockAndRng;
use crate::prompt::workspace_reload::Reloaded;
use crate::tool::{OutsideTools, Settled, ToolSource};

/// The timeout for stopping a server.
const STOP_TIMEOUT: Duration = Duration::from_secs(6);

/// Looks up an environment variable.
pub type Variable = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The environment of servers.
pub struct McpEnvironment {
    /// The workspace's folder.
    pub directory: PathBuf,
    /// Environment variables of every program.
    pub environment: Vec<(String, String)>,
    /// Looks up a variable that the configuration names.
    pub variable: Variable,
    pub log: Arc<dyn Fn(Event) + Send + Sync>,
    /// Clock and random numbers.
    pub clock_and_rng: Arc<dyn ClockAndRng>,
    /// The backoff between restarts.
    pub backoff: Backoff,
}

/// The default backoff between restarts.
pub const RESTART_BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), max: Duration::from_secs(60) };

/// All MCP servers of an agent. Dropping it stops them.
pub struct Servers {
    environment: Arc<McpEnvironment>,
    offered: Arc<Offered>,
    kept: Mutex<BTreeMap<Arc<str>, SupervisedServer>>,
    /// Servers that are being stopped.
    ending: Mutex<Vec<JoinHandle<()>>>,
}

/// A server and its supervisor task.
struct SupervisedServer {
    server: Arc<Server>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Servers {
    /// Starts the servers of `config` without waiting for them. Needs a Tokio runtime.
    #[must_use]
    pub fn start(environment: McpEnvironment, config: &McpServers) -> Arc<Self> {
        let servers = Self {
            environment: Arc::new(environment),
            offered: Arc::new(Offered::default()),
            kept: Mutex::default(),
            ending: Mutex::default(),
        };
        servers.apply(config);
        Arc::new(servers)
    }

    /// Starts new servers of `config`, stops removed ones, and restarts changed ones.
    pub fn apply(&self, config: &McpServers) {
        let mut kept = self.kept.lock();
        let gone: Vec<Arc<str>> = kept
            .iter()
            .filter(|(name, kept)| config.get(*name) != Some(&kept.server.config))
            .map(|(name, _)| Arc::clone(name))
            .collect();
        for name in gone {
            if let Some(SupervisedServer { server, stop, task }) = kept.remove(&name) {
                // First, so that it publishes no tools after they were withdrawn.
                server.mark_stopped();
                // The task may have ended.
                let _ = stop.send(true);
                // Its tools are not available under the new rules.
                self.offered.withdraw(&name);
                let mut ending = self.ending.lock();
                ending.retain(|task| !task.is_finished());
                ending.push(task);
            }
        }
        for (name, server) in config {
            if !kept.contains_key(name) {
                let server =
                    Arc::new(Server::new(Arc::clone(name), server.clone(), Arc::clone(&self.environment)));
                let (stop, stopped) = watch::channel(false);
                let task = tokio::spawn(supervisor::supervise(
                    Arc::clone(&server),
                    Arc::clone(&self.offered),
                    stopped,
                ));
                kept.insert(Arc::clone(name), SupervisedServer { server, stop, task });
            }
        }
    }

    /// Applies configuration reloads as long as these servers exist.
    pub fn follow(self: &Arc<Self>, workspace: Arc<Workspace>, mut reloads: broadcast::Receiver<Reloaded>) {
        let servers = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                let changed = match reloads.recv().await {
                    Ok(Reloaded::Changed(sections)) => sections.contains(&"tools"),
                    Ok(Reloaded::Refused(_)) => false,
                    Err(broadcast::error::RecvError::Lagged(_)) => true,
                    Err(broadcast::error::RecvError::Closed) => return,
                };
                let Some(servers) = servers.upgrade() else { return };
                if changed {
                    servers.apply(&workspace.snapshot().config.mcp);
                }
            }
        });
    }

    /// The status of each server, by name.
    #[must_use]
    pub fn reports(&self) -> Vec<ServerReport> {
        let servers: Vec<Arc<Server>> =
            self.kept.lock().values().map(|kept| Arc::clone(&kept.server)).collect();
        servers.iter().map(|server| server.report(&self.offered)).collect()
    }

    /// Stops all servers and their child processes.
    pub async fn stop(&self) {
        let kept = std::mem::take(&mut *self.kept.lock());
        let mut tasks = std::mem::take(&mut *self.ending.lock());
        for SupervisedServer { stop, task, .. } in kept.into_values() {
            let _ = stop.send(true);
            tasks.push(task);
        }
        let all = async {
            for task in &mut tasks {
                // A failed task has ended too.
                let _ = task.await;
            }
        };
        let in_time = tokio::time::timeout(STOP_TIMEOUT, all).await;
        if in_time.is_err() {
            // Dropping a server kills it.
            tasks.iter().for_each(JoinHandle::abort);
        }
    }
}

impl ToolSource for Servers {
    fn now(&self) -> Arc<OutsideTools> {
        self.offered.now()
    }

    fn settled(&self) -> Settled {
        let states: Vec<_> = self.kept.lock().values().map(|kept| kept.server.state.subscribe()).collect();
        Box::pin(async move {
            for mut state in states {
                // A task that has ended is not awaited.
                let _ = state.wait_for(|state| *state != ServerState::Starting).await;
            }
        })
    }
}
