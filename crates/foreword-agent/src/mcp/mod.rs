//! Servers of tools that speak the Model Context Protocol: each in a task of its own, which starts it, asks what it offers,
//! notices when it is gone and starts it again. A server that never comes up, hangs or floods costs nobody else anything.
//! What it says is somebody else's words: `foreword_core::tools::outside` makes of it what a model may read.

mod answer;
mod bounded_lines;
mod call;
mod connection;
mod http;
mod keeping;
mod last_words;
mod offered;
mod program;
mod state;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreword_core::event::Event;
use foreword_core::retry::RetryPolicy;
use foreword_workspace::config::McpServers;
use foreword_workspace::workspace::Workspace;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;

use self::keeping::Server;
use self::offered::Offered;
pub use self::state::{ServerReport, ServerState};
use crate::surroundings::Surroundings;
use crate::tool::{OutsideTools, Settled, ToolSource};
use crate::watching::Reloaded;

/// How long a server may take to end before nobody waits for it any more.
const LAST_CALL: Duration = Duration::from_secs(6);

/// Finds a variable of the environment by its name.
pub type Variable = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What servers are started in.
pub struct McpWorld {
    /// The workspace's folder.
    pub directory: PathBuf,
    /// What every program sees of the environment.
    pub environment: Vec<(String, String)>,
    /// Finds a variable that the configuration asks for by name.
    pub variable: Variable,
    /// Where events go.
    pub log: Arc<dyn Fn(Event) + Send + Sync>,
    /// The time and chance.
    pub surroundings: Arc<dyn Surroundings>,
    /// How soon a server that has ended is started again.
    pub backoff: RetryPolicy,
}

/// The delays between two starts, unless somebody says otherwise.
#[must_use]
pub fn usual_backoff() -> RetryPolicy {
    RetryPolicy { max_delay: Duration::from_secs(60), ..RetryPolicy::default() }
}

/// All servers of an agent. When this goes, they end.
pub struct Servers {
    world: Arc<McpWorld>,
    offered: Arc<Offered>,
    kept: Mutex<BTreeMap<Arc<str>, Kept>>,
    /// Those that are about to end.
    ending: Mutex<Vec<JoinHandle<()>>>,
}

/// A server and the task that keeps it.
struct Kept {
    server: Arc<Server>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Servers {
    /// Starts the servers of `config`, and waits for none of them. Needs a runtime around it.
    #[must_use]
    pub fn start(world: McpWorld, config: &McpServers) -> Arc<Self> {
        let servers = Self {
            world: Arc::new(world),
            offered: Arc::new(Offered::default()),
            kept: Mutex::default(),
            ending: Mutex::default(),
        };
        servers.apply(config);
        Arc::new(servers)
    }

    /// Starts what is new in `config`, ends what is not in it any more, and starts again what is different.
    pub fn apply(&self, config: &McpServers) {
        let mut kept = unpoisoned(&self.kept);
        let gone: Vec<Arc<str>> = kept
            .iter()
            .filter(|(name, kept)| config.get(*name) != Some(&kept.server.config))
            .map(|(name, _)| Arc::clone(name))
            .collect();
        for name in gone {
            if let Some(Kept { server, stop, task }) = kept.remove(&name) {
                // First of all, so that it offers nothing again once that was taken away.
                server.dismiss();
                // A task that is gone needs no word.
                let _ = stop.send(true);
                // What it offered is not offered under the new rules.
                self.offered.withdraw(&name);
                let mut ending = unpoisoned(&self.ending);
                ending.retain(|task| !task.is_finished());
                ending.push(task);
            }
        }
        for (name, server) in config {
            if !kept.contains_key(name) {
                let server = Arc::new(Server::new(Arc::clone(name), server.clone(), Arc::clone(&self.world)));
                let (stop, stopped) = watch::channel(false);
                let task =
                    tokio::spawn(keeping::keep(Arc::clone(&server), Arc::clone(&self.offered), stopped));
                kept.insert(Arc::clone(name), Kept { server, stop, task });
            }
        }
    }

    /// Takes over what a reload of the configuration changes, from now on and for as long as these servers are there.
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

    /// How each of them is, by name.
    #[must_use]
    pub fn reports(&self) -> Vec<ServerReport> {
        let servers: Vec<Arc<Server>> =
            unpoisoned(&self.kept).values().map(|kept| Arc::clone(&kept.server)).collect();
        servers.iter().map(|server| server.report(&self.offered)).collect()
    }

    /// Ends them all, with everything they have started.
    pub async fn stop(&self) {
        let kept = std::mem::take(&mut *unpoisoned(&self.kept));
        let mut tasks = std::mem::take(&mut *unpoisoned(&self.ending));
        for Kept { stop, task, .. } in kept.into_values() {
            let _ = stop.send(true);
            tasks.push(task);
        }
        let all = async {
            for task in &mut tasks {
                // One that has failed has ended too.
                let _ = task.await;
            }
        };
        let in_time = tokio::time::timeout(LAST_CALL, all).await;
        if in_time.is_err() {
            // What is dropped is killed.
            tasks.iter().for_each(JoinHandle::abort);
        }
    }
}

impl ToolSource for Servers {
    fn now(&self) -> Arc<OutsideTools> {
        self.offered.now()
    }

    fn settled(&self) -> Settled {
        let states: Vec<_> =
            unpoisoned(&self.kept).values().map(|kept| kept.server.state.subscribe()).collect();
        Box::pin(async move {
            for mut state in states {
                // One that is gone is not waited for.
                let _ = state.wait_for(|state| *state != ServerState::Starting).await;
            }
        })
    }
}

fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing can fail while it is locked.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
