//! The server: started with an agent and a place to listen, and stopped in order.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use foreword_core::event::{Event, EventType};
use foreword_store::changes::Change;
use serde_json::json;

pub use crate::app::{Secrets, ServerParts};

use crate::app::App;
use crate::auth::LINKED;
use crate::auth::issuing::{TokenWish, unguessable};
use crate::channels::send_answers;
use crate::connections::{self, Entrance};
use crate::error::ServerError;
use crate::tls::Certificate;
use crate::{live, nodes, router};

/// How often it is written down when tokens were last used.
const WRITE_USES: Duration = Duration::from_secs(5);

/// A server at work.
pub struct Server {
    app: App,
    address: SocketAddr,
    is_encrypted: bool,
    serving: JoinHandle<()>,
    beside: Vec<JoinHandle<()>>,
}

impl Server {
    /// Listens at `address`; port 0 is any that is free. It answers at once, and is ready when [`ready`](Self::ready) was
    /// called.
    ///
    /// # Errors
    /// If nobody can listen there, its certificate can't be used, or the store can't be read.
    pub async fn start(parts: ServerParts, address: SocketAddr) -> Result<Self, ServerError> {
        let refused = |reason| ServerError::Listen { address, reason };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let app = App::new(parts, address);
        let tls = app.config().server.tls.clone();
        let certificate =
            tls.map(|files| Certificate::open(&files, app.workspace.directory())).transpose()?;
        app.limits.recall().await?;
        nodes::announce(&app).await?;
        app.store.name_owners_of_turns().await?;
        let (router, _) = router::routes(&app);
        let follows = certificate.clone().map(|certificate| tokio::spawn(follow(app.clone(), certificate)));
        let is_encrypted = certificate.is_some();
        let entrance = Entrance { listener, router, certificate };
        let serving = tokio::spawn(connections::serve(entrance, app.clone()));
        let mut beside = vec![
            tokio::spawn(follow_tokens(app.clone())),
            tokio::spawn(write_uses(app.clone())),
            tokio::spawn(live::follow(app.clone())),
            tokio::spawn(live::let_go_of_old(app.clone())),
            tokio::spawn(live::mend_ends(app.clone())),
            tokio::spawn(send_answers(app.clone())),
            tokio::spawn(nodes::stay_announced(app.clone())),
        ];
        beside.extend(follows);
        app.recorder.record(Event {
            metadata: Some(json!({
                "host": address.ip().to_string(),
                "port": address.port(),
                "version": env!("CARGO_PKG_VERSION"),
                "node": app.node.as_str(),
            })),
            ..Event::new(EventType::ServerStart, app.now())
        });
        Ok(Self { app, address, is_encrypted, serving, beside })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client on this machine types.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", if self.is_encrypted { "https" } else { "http" }, self.address)
    }

    /// A link that opens the page once, for a token as `wish` says.
    #[must_use]
    pub fn page_link(&self, url: &str, wish: TokenWish) -> String {
        let wish = TokenWish { name: Some(LINKED.to_owned()), ..wish };
        let code = self.app.page_links.add(unguessable(&self.app.surroundings), wish, self.app.now());
        format!("{url}/#/welcome/{code}")
    }

    /// Says that what others have left is taken up: from now on it is ready.
    pub fn ready(&self) {
        self.app.ready();
    }

    /// Takes nothing new from now on; what is under way goes on.
    pub fn begin_to_stop(&self) {
        self.app.stop();
    }

    /// Takes nothing new, and lets requests and turns that are under way come to an end within the time the configuration
    /// gives them. Turns that take longer are gone on with by whoever runs next.
    pub async fn stop(self) {
        let (app, drain) = (&self.app, self.app.config().server.drain);
        let until = tokio::time::Instant::now() + drain;
        app.stop();
        let _ = self.serving.await;
        app.live.closed().await;
        let _ = tokio::time::timeout_at(until, app.agent.until_idle()).await;
        self.beside.iter().for_each(JoinHandle::abort);
        // What passed is priced there, and then shared.
        app.recording.stop().await;
        app.tokens.write_uses().await;
        let _ = app.limits.share_spending().await;
        let _ = app.store.node_has_stopped(&app.node).await;
    }
}

/// Uses a certificate that was renewed, and says of one that can't be used.
async fn follow(app: App, certificate: Certificate) {
    let tell = |error: &ServerError| {
        app.recorder.record(Event {
            error: Some(error.to_string()),
            ..Event::new(EventType::ChannelError, app.now())
        });
    };
    certificate.follow(tell).await;
}

async fn follow_tokens(app: App) {
    let mut changes = app.store.changes();
    loop {
        match changes.recv().await {
            Ok(Change::Settings(_)) => app.kept_words.forget(),
            Ok(Change::Tokens) => app.tokens.forget(),
            Ok(Change::Anything) | Err(RecvError::Lagged(_)) => {
                app.tokens.forget();
                app.kept_words.forget();
            }
            Ok(_) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

async fn write_uses(app: App) {
    loop {
        tokio::time::sleep(WRITE_USES).await;
        app.tokens.write_uses().await;
        // A database that is away is told the next time.
        let _ = app.limits.share_spending().await;
    }
}
