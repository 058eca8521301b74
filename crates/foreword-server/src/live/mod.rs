//! What happens in conversations, for whoever looks on: numbered, kept for a while, the same on every node; over WebSocket and
//! as server-sent events.
//!
//! The agent tells [`log`] of everything; it is put on record, numbered, and then shown by [`hub`] to those who look on here,
//! while other nodes hear of it from the database ([`follow`]). Each reader is a [`subscription`]: a number, up to which it has
//! read. One who comes back with that number misses nothing, wherever it comes back to.

mod document;
mod follow;
mod happening;
mod hub;
mod log;
mod mend;
mod open_question;
mod outgoing;
mod pouring;
mod reply;
mod request;
mod serve;
mod shown;
mod socket;
mod sse;
mod stopping;
mod subscription;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use foreword_agent::agent::Agent;
use foreword_agent::surroundings::Surroundings;
use foreword_store::store::Store;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use self::document::{event_stream, schemas};
pub(crate) use self::follow::{follow, let_go_of_old, mend_ends};
pub(crate) use self::open_question::{OpenQuestion, WAITING_FOR_APPROVAL, open_question};
pub(crate) use self::request::LONGEST_KEY;
pub(crate) use self::sse::listen;
pub(crate) use self::stopping::stop_turn;

use self::hub::Hub;
use self::log::StreamLog;
use crate::app::App;

/// How long clients may take to leave when the server stops.
const FAREWELL: Duration = Duration::from_secs(5);

/// What is needed to show what happens.
pub(crate) struct Live {
    hub: Hub,
    log: StreamLog,
    stop: watch::Sender<bool>,
    /// Counts how often tokens may have changed.
    recheck: watch::Sender<u64>,
    rechecking: AtomicBool,
    places: Arc<Semaphore>,
    most: usize,
}

impl Live {
    /// Looks on at `agent` from now on, for at most `most` clients.
    pub(crate) fn new(
        agent: &Agent,
        store: &Store,
        surroundings: &Arc<dyn Surroundings>,
        most: usize,
    ) -> Self {
        let hub = Hub::default();
        let log = StreamLog::new(store.clone(), hub.clone(), Arc::clone(surroundings));
        // An agent has one server.
        let _ = agent.tell_all(Arc::new(log.clone()));
        let places = Arc::new(Semaphore::new(most));
        let (stop, recheck, rechecking) =
            (watch::Sender::new(false), watch::Sender::new(0), AtomicBool::new(false));
        Self { hub, log, stop, recheck, rechecking, places, most }
    }

    /// A place for a client, if there is one.
    fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Tells clients that the server stops.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until all clients of the WebSocket have left, but not for ever.
    pub(crate) async fn closed(&self) {
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(FAREWELL, self.places.acquire_many(all)).await;
    }
}

/// What needs a token in the head of the request.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(sse::stream))
}

/// The WebSocket, which finds out itself who comes: a browser can't put a token into the head of its request.
pub(crate) fn socket_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(socket::open))
}
