//! The events of conversations, over WebSocket and as server-sent events. They are numbered, stored for an hour, and
//! the same on every node.
//!
//! The agent reports progress to [`log`], which stores and numbers the events. [`hub`] publishes them to the
//! subscribers of this node; other nodes follow the store ([`follow`]). A [`subscription`] is the number of the last
//! event read: a client that reconnects with it to any node misses nothing.

mod document;
mod event_stream;
mod follow;
mod hub;
mod log;
mod open_question;
mod repair_turn_end;
mod reply;
mod request;
mod send_queue;
pub(crate) mod sse;
mod stop_turn;
mod stream_event;
mod subscription;
pub(crate) mod websocket;
mod websocket_requests;
mod wire_event;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use foreword_agent::agent::Agent;
use foreword_agent::clock_and_rng::ClockAndRng;
use foreword_store::store::Store;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

pub(crate) use self::document::{event_stream_schema, schemas};
pub(crate) use self::follow::{follow, prune_streams_periodically, repair_turn_ends};
pub(crate) use self::open_question::WAITING_FOR_APPROVAL;
pub(crate) use self::request::MAX_KEY_LENGTH;
pub(crate) use self::sse::listen;
pub(crate) use self::stop_turn::stop_turn;

use self::hub::Hub;
use self::log::StreamLog;

/// How long clients may take to disconnect when the server stops.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The state of all streams.
pub(crate) struct Live {
    hub: Hub,
    log: StreamLog,
    stop: watch::Sender<bool>,
    /// Incremented when tokens may have changed.
    recheck: watch::Sender<u64>,
    rechecking: AtomicBool,
    permits: Arc<Semaphore>,
    max_clients: usize,
}

impl Live {
    /// Observes `agent`, for at most `max_clients` clients.
    pub(crate) fn new(
        agent: &Agent,
        store: &Store,
        clock_and_rng: &Arc<dyn ClockAndRng>,
        max_clients: usize,
    ) -> Self {
        let hub = Hub::default();
        let log = StreamLog::new(store.clone(), hub.clone(), Arc::clone(clock_and_rng));
        // An agent has one server.
        let _ = agent.set_observer(Arc::new(log.clone()));
        let permits = Arc::new(Semaphore::new(max_clients));
        let (stop, recheck, rechecking) =
            (watch::Sender::new(false), watch::Sender::new(0), AtomicBool::new(false));
        Self { hub, log, stop, recheck, rechecking, permits, max_clients }
    }

    /// A permit for a client; `None` over the limit.
    fn acquire_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().ok()
    }

    /// Notifies clients that the server stops.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until all WebSocket clients have disconnected, with a timeout.
    pub(crate) async fn wait_until_closed(&self) {
        let all = u32::try_from(self.max_clients).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.permits.acquire_many(all)).await;
    }
}
