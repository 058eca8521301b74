//! Keeps one server at work: starts it, asks what it offers, notices when it is gone, and starts it again, later each time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::tools::outside::take_in;
use foreword_workspace::config::mcp::McpServer;
use rmcp::service::{Peer, RoleClient};
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::connection::Connection;
use super::last_words::LastWords;
use super::offered::Offered;
use super::state::{ServerReport, ServerState};
use super::{McpWorld, unpoisoned};

/// How often a server is asked whether it is there, while nobody calls it.
const PING_EVERY: Duration = Duration::from_secs(60);
/// How often it is asked what it offers, at most.
const LIST_EVERY: Duration = Duration::from_secs(1);

/// A server, as those see it who call it.
pub(super) struct Server {
    pub(super) name: Arc<str>,
    pub(super) config: McpServer,
    pub(super) state: watch::Sender<ServerState>,
    world: Arc<McpWorld>,
    peer: Mutex<Option<Peer<RoleClient>>>,
    words: LastWords,
    /// How many calls are under way.
    calls: AtomicUsize,
    /// Told when a call went wrong in a way that lets one doubt whether the server is there.
    doubt: Notify,
    /// Whether it has been told to end.
    dismissed: AtomicBool,
}

/// A call under way.
pub(super) struct Busy(Arc<Server>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Server {
    pub(super) fn new(name: Arc<str>, config: McpServer, world: Arc<McpWorld>) -> Self {
        Self {
            name,
            config,
            state: watch::Sender::new(ServerState::Starting),
            world,
            peer: Mutex::default(),
            words: LastWords::default(),
            calls: AtomicUsize::new(0),
            doubt: Notify::new(),
            dismissed: AtomicBool::new(false),
        }
    }

    /// The way to it, if it can be called now.
    pub(super) fn peer(&self) -> Option<Peer<RoleClient>> {
        unpoisoned(&self.peer).clone().filter(|peer| !peer.is_transport_closed())
    }

    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// From now on, nothing it offers counts.
    pub(super) fn dismiss(&self) {
        self.dismissed.store(true, Ordering::Release);
    }

    pub(super) fn is_dismissed(&self) -> bool {
        self.dismissed.load(Ordering::Acquire)
    }

    /// Has somebody look whether it is there.
    pub(super) fn doubt(&self) {
        self.doubt.notify_one();
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
        let now = self.world.surroundings.timestamp();
        (self.world.log)(Event {
            level,
            error,
            metadata: Some(metadata),
            ..Event::new(EventType::ToolServer, now)
        });
    }
}

/// How a server's time came to an end.
enum Ended {
    Stopped,
    Failed(String),
}

/// Keeps `server` at work until it is to stop.
pub(super) async fn keep(server: Arc<Server>, offered: Arc<Offered>, mut stop: watch::Receiver<bool>) {
    let mut failures = 0;
    loop {
        let began = Instant::now();
        let ended = serve(&server, &offered, &mut stop).await;
        *unpoisoned(&server.peer) = None;
        let Ended::Failed(why) = ended else { break };
        // One that did well for a while has earned a quick restart.
        failures = if began.elapsed() > server.world.backoff.max_delay * 2 { 0 } else { failures };
        let surroundings = &server.world.surroundings;
        let delay = server.world.backoff.delay(failures, surroundings.chance());
        failures = failures.saturating_add(1);
        let now = surroundings.timestamp();
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

/// One life of a server: from its start to its end.
async fn serve(server: &Arc<Server>, offered: &Offered, stop: &mut watch::Receiver<bool>) -> Ended {
    let opening =
        timeout(server.config.start_timeout, Connection::open(&server.config, &server.world, &server.words));
    let mut connection = tokio::select! {
        biased;
        _ = stop.changed() => return Ended::Stopped,
        opened = opening => match opened {
            Ok(Ok(connection)) => connection,
            Ok(Err(why)) => return Ended::Failed(why),
            Err(_) => return Ended::Failed(too_slow(server)),
        },
    };
    let ended = tokio::select! {
        biased;
        _ = stop.changed() => Ended::Stopped,
        why = attend(server, offered, &mut connection) => Ended::Failed(why),
    };
    *unpoisoned(&server.peer) = None;
    let by_itself = connection.end().await;
    match (ended, by_itself) {
        (Ended::Failed(_), Some(why)) => Ended::Failed(why),
        (ended, _) => ended,
    }
}

fn too_slow(server: &Server) -> String {
    format!("it did not start within {} seconds", server.config.start_timeout.as_secs_f64())
}

/// Looks after a connection until it is of no use any more; says why.
async fn attend(server: &Arc<Server>, offered: &Offered, connection: &mut Connection) -> String {
    if let Err(why) = list(server, offered, connection).await {
        return why;
    }
    *unpoisoned(&server.peer) = Some(connection.peer.clone());
    server.state.send_replace(ServerState::Ready);
    let changed = Arc::clone(&connection.changed);
    let mut listed = Instant::now();
    loop {
        let ping_at = Instant::now() + PING_EVERY;
        tokio::select! {
            () = connection.closed() => return "it has closed the connection".to_owned(),
            () = changed.notified() => {
                sleep_until(listed + LIST_EVERY).await;
                if let Err(why) = list(server, offered, connection).await {
                    return why;
                }
                listed = Instant::now();
            }
            () = server.doubt.notified() => {
                if !connection.answers().await {
                    return "it does not answer any more".to_owned();
                }
            }
            // One that is at work may be too busy to answer, and whoever calls it has a limit of time.
            () = sleep_until(ping_at) => {
                if server.calls.load(Ordering::Relaxed) == 0 && !connection.answers().await {
                    return "it does not answer any more".to_owned();
                }
            }
        }
    }
}

/// Asks what the server offers, and takes it in.
async fn list(server: &Arc<Server>, offered: &Offered, connection: &mut Connection) -> Result<(), String> {
    let offers = timeout(server.config.start_timeout, connection.offers()).await;
    let offers = offers.map_err(|_| too_slow(server))??;
    let taken = take_in(&server.name, &offers, &server.config.rules);
    let metadata = json!({
        "server": &*server.name, "state": "ready", "version": connection.version,
        "tools": taken.tools.len(), "warnings": taken.warnings,
    });
    // One that lists its tools over and over again has nothing to say by it.
    let is_back = *server.state.borrow() != ServerState::Ready;
    let level = if taken.warnings.is_empty() { Level::Info } else { Level::Warn };
    if offered.publish(server, connection.version.clone(), taken) || is_back {
        server.log(level, None, metadata);
    }
    Ok(())
}
