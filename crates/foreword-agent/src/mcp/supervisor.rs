//! Supervises one MCP server: starts it, lists its tools, detects failures, and restarts it with increasing delays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::tools::outside::accept_tools;
use foreword_workspace::config::mcp::McpServer;
use parking_lot::Mutex;
use rmcp::service::{Peer, RoleClient};
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::McpEnvironment;
use super::connection::Connection;
use super::offered_tools::Offered;
use super::state::{ServerReport, ServerState};
use super::stderr_tail::StderrTail;

/// The interval of pings while the server is idle.
const PING_INTERVAL: Duration = Duration::from_secs(60);
/// The minimum interval between two listings of its tools.
const MIN_LIST_INTERVAL: Duration = Duration::from_secs(1);

/// A server as its callers see it.
pub(super) struct Server {
    pub(super) name: Arc<str>,
    pub(super) config: McpServer,
    pub(super) state: watch::Sender<ServerState>,
    environment: Arc<McpEnvironment>,
    peer: Mutex<Option<Peer<RoleClient>>>,
    words: StderrTail,
    /// The number of running calls.
    calls: AtomicUsize,
    /// Notified when a call fails in a way that suggests the server is gone.
    check_requested: Notify,
    /// Whether it is being stopped.
    stopped: AtomicBool,
}

/// Counts a running call until it is dropped.
pub(super) struct CallGuard(Arc<Server>);

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Server {
    pub(super) fn new(name: Arc<str>, config: McpServer, environment: Arc<McpEnvironment>) -> Self {
        Self {
            name,
            config,
            state: watch::Sender::new(ServerState::Starting),
            environment,
            peer: Mutex::default(),
            words: StderrTail::default(),
            calls: AtomicUsize::new(0),
            check_requested: Notify::new(),
            stopped: AtomicBool::new(false),
        }
    }

    /// The connection's peer, if the server is ready.
    pub(super) fn peer(&self) -> Option<Peer<RoleClient>> {
        self.peer.lock().clone().filter(|peer| !peer.is_transport_closed())
    }

    pub(super) fn call_guard(self: &Arc<Self>) -> CallGuard {
        self.calls.fetch_add(1, Ordering::Relaxed);
        CallGuard(Arc::clone(self))
    }

    /// Marks the server as stopped; its tools are no longer published.
    pub(super) fn mark_stopped(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Requests a health check.
    pub(super) fn request_health_check(&self) {
        self.check_requested.notify_one();
    }

    pub(super) fn report(&self, offered: &Offered) -> ServerReport {
        let (version, tools, warnings) = offered.listed(&self.name);
        ServerReport {
            name: self.name.to_string(),
            state: self.state.borrow().clone(),
            version,
            tools,
            warnings,
            last_words: self.words.lines(),
        }
    }

    fn log(&self, level: Level, error: Option<String>, metadata: serde_json::Value) {
        let now = self.environment.clock_and_rng.timestamp();
        (self.environment.log)(Event {
            level,
            error,
            metadata: Some(metadata),
            ..Event::new(EventType::ToolServer, now)
        });
    }
}

/// Why a run of the server ended.
enum ServerRunEnd {
    Stopped,
    Failed(String),
}

/// Supervises `server` until it is stopped.
pub(super) async fn supervise(server: Arc<Server>, offered: Arc<Offered>, mut stop: watch::Receiver<bool>) {
    let mut failures = 0_u32;
    loop {
        let began = Instant::now();
        let ended = run_once(&server, &offered, &mut stop).await;
        *server.peer.lock() = None;
        let ServerRunEnd::Failed(why) = ended else { break };
        // After a stable run the backoff starts again.
        failures = if began.elapsed() > server.environment.backoff.max * 2 { 0 } else { failures };
        let clock_and_rng = &server.environment.clock_and_rng;
        failures = failures.saturating_add(1);
        let delay = server.environment.backoff.jittered_delay(failures, clock_and_rng.chance());
        let now = clock_and_rng.timestamp();
        let since = match &*server.state.borrow() {
            ServerState::Failing { since, .. } => *since,
            _ => now,
        };
        let metadata = json!({ "server": &*server.name, "state": "failing", "retryMs": millis(delay) });
        server.log(Level::Warn, Some(why.clone()), metadata);
        server.state.send_replace(ServerState::Failing { why, since, next_try: now.plus(delay) });
        tokio::select! {
            () = sleep(delay) => {}
            _ = stop.changed() => break,
        }
    }
    server.state.send_replace(ServerState::Stopped);
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// One run of a server, from its start to its end.
async fn run_once(server: &Arc<Server>, offered: &Offered, stop: &mut watch::Receiver<bool>) -> ServerRunEnd {
    let opening = timeout(
        server.config.start_timeout,
        Connection::open(&server.config, &server.environment, &server.words),
    );
    let mut connection = tokio::select! {
        biased;
        _ = stop.changed() => return ServerRunEnd::Stopped,
        opened = opening => match opened {
            Ok(Ok(connection)) => connection,
            Ok(Err(why)) => return ServerRunEnd::Failed(why),
            Err(_) => return ServerRunEnd::Failed(too_slow(server)),
        },
    };
    let ended = tokio::select! {
        biased;
        _ = stop.changed() => ServerRunEnd::Stopped,
        why = monitor(server, offered, &mut connection) => ServerRunEnd::Failed(why),
    };
    *server.peer.lock() = None;
    let by_itself = connection.end().await;
    match (ended, by_itself) {
        (ServerRunEnd::Failed(_), Some(why)) => ServerRunEnd::Failed(why),
        (ended, _) => ended,
    }
}

fn too_slow(server: &Server) -> String {
    format!("it did not start within {} seconds", server.config.start_timeout.as_secs_f64())
}

/// Monitors a connection until it fails; returns the reason.
async fn monitor(server: &Arc<Server>, offered: &Offered, connection: &mut Connection) -> String {
    if let Err(why) = list(server, offered, connection).await {
        return why;
    }
    *server.peer.lock() = Some(connection.peer.clone());
    server.state.send_replace(ServerState::Ready);
    let changed = Arc::clone(&connection.changed);
    let mut listed = Instant::now();
    loop {
        let ping_at = Instant::now() + PING_INTERVAL;
        tokio::select! {
            () = connection.closed() => return "it has closed the connection".to_owned(),
            () = changed.notified() => {
                sleep_until(listed + MIN_LIST_INTERVAL).await;
                if let Err(why) = list(server, offered, connection).await {
                    return why;
                }
                listed = Instant::now();
            }
            () = server.check_requested.notified() => {
                if !connection.answers().await {
                    return "it does not answer any more".to_owned();
                }
            }
            // A busy server may be too slow for a ping, and its calls have timeouts of their own.
            () = sleep_until(ping_at) => {
                if server.calls.load(Ordering::Relaxed) == 0 && !connection.answers().await {
                    return "it does not answer any more".to_owned();
                }
            }
        }
    }
}

/// Lists the server's tools and publishes them.
async fn list(server: &Arc<Server>, offered: &Offered, connection: &mut Connection) -> Result<(), String> {
    let offers = timeout(server.config.start_timeout, connection.offers()).await;
    let offers = offers.map_err(|_| too_slow(server))??;
    let taken = accept_tools(&server.name, &offers, &server.config.rules);
    let metadata = json!({
        "server": &*server.name, "state": "ready", "version": connection.version,
        "tools": taken.tools.len(), "warnings": taken.warnings,
    });
    // A repeated listing without a change is not logged.
    let is_back = *server.state.borrow() != ServerState::Ready;
    let level = if taken.warnings.is_empty() { Level::Info } else { Level::Warn };
    if offered.publish(server, connection.version.clone(), taken) || is_back {
        server.log(level, None, metadata);
    }
    Ok(())
}
