//! The server: started with an agent and a place to listen, and stopped in order.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use foreword_core::event::{Event, EventType};
use foreword_store::changes::Change;
use serde_json::json;

pub use crate::app::{Secrets, ServerParts};

use crate::app::App;
use crate::error::ServerError;
use crate::{connections, live, router};

/// How often it is written down when tokens were last used.
const WRITE_USES: Duration = Duration::from_secs(5);

/// A server at work.
pub struct Server {
    app: App,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
    beside: Vec<JoinHandle<()>>,
}

impl Server {
    /// Listens at `address`; port 0 is any that is free.
    ///
    /// # Errors
    /// If nobody can listen there.
    pub async fn start(parts: ServerParts, address: SocketAddr) -> Result<Self, ServerError> {
        let refused = |reason| ServerError::Listen { address, reason };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let app = App::new(parts);
        let (router, _) = router::routes(&app);
        let (stop, told) = watch::channel(false);
        let serving = tokio::spawn(connections::serve(listener, router, app.clone(), told));
        let beside = vec![
            tokio::spawn(follow_tokens(app.clone())),
            tokio::spawn(write_uses(app.clone())),
            tokio::spawn(live::follow(app.clone())),
            tokio::spawn(live::let_go_of_old(app.clone())),
            tokio::spawn(live::mend_ends(app.clone())),
        ];
        app.recorder.record(Event {
            metadata: Some(json!({ "listen": address.to_string(), "node": app.node.as_str() })),
            ..Event::new(EventType::ServerStart, app.now())
        });
        Ok(Self { app, address, stop, serving, beside })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes nothing new, and lets what is under way come to an end within the time the configuration gives it.
    pub async fn stop(self) {
        self.app.stop();
        // An error is a server that is gone already.
        let _ = self.stop.send(true);
        let _ = self.serving.await;
        self.app.live.closed().await;
        self.beside.iter().for_each(JoinHandle::abort);
        self.app.tokens.write_uses().await;
    }
}

async fn follow_tokens(app: App) {
    let mut changes = app.store.changes();
    loop {
        match changes.recv().await {
            Ok(Change::Tokens | Change::Anything) | Err(RecvError::Lagged(_)) => app.tokens.forget(),
            Ok(_) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

async fn write_uses(app: App) {
    loop {
        tokio::time::sleep(WRITE_USES).await;
        app.tokens.write_uses().await;
    }
}
