//! Starts the server and shuts it down gracefully.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use foreword_core::event::{Event, EventType};
use foreword_store::changes::StoreChange;
use serde_json::json;

pub use crate::app::{Secrets, ServerParts};

use crate::api::channels::send_answers;
use crate::app::App;
use crate::auth::LINK_TOKEN_NAME;
use crate::auth::token_spec::{TokenSpec, random_bytes};
use crate::connection_workers::ConnectionWorkers;
use crate::connections::{self, HttpListener};
use crate::error::ServerError;
use crate::operations::nodes;
use crate::tls::Certificate;
use crate::{live, router};

/// How often the last-used times of tokens are stored.
const TOKEN_USES_INTERVAL: Duration = Duration::from_secs(5);

pub struct Server {
    app: App,
    address: SocketAddr,
    is_encrypted: bool,
    serving: JoinHandle<()>,
    workers: Arc<ConnectionWorkers>,
    background: Vec<JoinHandle<()>>,
}

impl Server {
    /// Binds `address` and starts to serve; port 0 picks a free one. The server reports itself ready after
    /// [`ready`](Self::ready).
    ///
    /// # Errors
    /// If the address can't be bound, the certificate can't be used, or the store can't be read.
    pub async fn start(parts: ServerParts, address: SocketAddr) -> Result<Self, ServerError> {
        let refused = |reason| ServerError::Listen { address, reason };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let app = App::new(parts, address);
        let tls = app.config().server.tls.clone();
        let certificate =
            tls.map(|files| Certificate::open(&files, app.workspace.directory())).transpose()?;
        app.agent.spending().tokens().load().await?;
        nodes::send_heartbeat(&app).await?;
        app.store.backfill_turn_owners().await?;
        let (router, _) = router::build(&app);
        let certificate_task =
            certificate.clone().map(|certificate| tokio::spawn(follow_certificate(app.clone(), certificate)));
        let is_encrypted = certificate.is_some();
        let http = HttpListener { listener, router, certificate };
        let workers = Arc::new(http.start_workers(&app).map_err(refused)?);
        let serving = tokio::spawn(connections::serve(http, Arc::clone(&workers), app.clone()));
        let mut background = vec![
            tokio::spawn(invalidate_caches(app.clone())),
            tokio::spawn(write_uses(app.clone())),
            tokio::spawn(live::follow(app.clone())),
            tokio::spawn(live::prune_streams_periodically(app.clone())),
            tokio::spawn(live::repair_turn_ends(app.clone())),
            tokio::spawn(send_answers(app.clone())),
            tokio::spawn(nodes::send_heartbeats(app.clone())),
        ];
        background.extend(certificate_task);
        app.recorder.record(Event {
            metadata: Some(json!({
                "host": address.ip().to_string(),
                "port": address.port(),
                "version": env!("CARGO_PKG_VERSION"),
                "node": app.node.as_str(),
            })),
            ..Event::new(EventType::ServerStart, app.now())
        });
        Ok(Self { app, address, is_encrypted, serving, workers, background })
    }

    /// The bound address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL for a client on this machine.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", if self.is_encrypted { "https" } else { "http" }, self.address)
    }

    /// A one-time link to the page, which signs in with a token made by `spec`.
    #[must_use]
    pub fn page_link(&self, url: &str, spec: TokenSpec) -> String {
        let spec = TokenSpec { name: Some(LINK_TOKEN_NAME.to_owned()), ..spec };
        let code = self.app.page_links.add(random_bytes(&self.app.clock_and_rng), spec, self.app.now());
        format!("{url}/#/welcome/{code}")
    }

    /// Marks the server as ready, after interrupted work was resumed.
    pub fn ready(&self) {
        self.app.ready();
    }

    /// Starts to drain: running work continues, new requests are refused.
    pub fn start_draining(&self) {
        self.app.start_draining();
    }

    /// Shuts the server down: drains running requests and turns for at most the configured time. Another node or the next
    /// start resumes turns that take longer.
    pub async fn shut_down(self) {
        let (app, drain) = (&self.app, self.app.config().server.drain);
        let until = tokio::time::Instant::now() + drain;
        app.start_draining();
        let _ = self.serving.await;
        app.live.wait_until_closed().await;
        let _ = tokio::time::timeout_at(until, app.agent.until_idle()).await;
        self.background.iter().for_each(JoinHandle::abort);
        // The accept loop has ended, so this is the last reference.
        if let Some(workers) = Arc::into_inner(self.workers) {
            workers.stop().await;
        }
        // Prices the last exchanges, which `share` then stores.
        app.recording.stop().await;
        app.tokens.write_uses().await;
        let _ = app.agent.spending().tokens().share().await;
        let _ = app.store.unregister_node(&app.node).await;
    }
}

/// Reloads a renewed certificate, and logs one that can't be used.
async fn follow_certificate(app: App, certificate: Certificate) {
    let report = |error: &ServerError| {
        app.recorder.record(Event {
            error: Some(error.to_string()),
            ..Event::new(EventType::ChannelError, app.now())
        });
    };
    certificate.follow(report).await;
}

async fn invalidate_caches(app: App) {
    let mut changes = app.store.changes();
    loop {
        match changes.recv().await {
            Ok(StoreChange::Settings(_)) => app.prompt_cache.clear(),
            Ok(StoreChange::Tokens) => app.tokens.clear(),
            Ok(StoreChange::Anything) | Err(RecvError::Lagged(_)) => {
                app.tokens.clear();
                app.prompt_cache.clear();
            }
            Ok(_) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

async fn write_uses(app: App) {
    loop {
        tokio::time::sleep(TOKEN_USES_INTERVAL).await;
        app.tokens.write_uses().await;
        // A failed write is repeated at the next interval.
        let _ = app.agent.spending().tokens().share().await;
    }
}
