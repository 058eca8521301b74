//! A connection to a server, from its first word to its last: how it is opened, what is asked through it, how it ends.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::tools::outside::Offer;
use foreword_prompt::untrusted::single_line;
use foreword_workspace::config::mcp::{McpReach, McpServer};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, Implementation, PaginatedRequestParams, PingRequest,
    ProtocolVersion, Tool,
};
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, NotificationContext, Peer, QuitReason, RoleClient,
    RunningService, RunningServiceCancellationToken, ServiceError, serve_client,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::McpWorld;
use super::bounded_lines::{Flooded, LONGEST_MESSAGE};
use super::http;
use super::last_words::LastWords;
use super::program::{self, Program};

/// How many pages of tools are read, and how many tools in all.
const MOST_PAGES: usize = 100;
const MOST_OFFERS: usize = 2_000;
/// How long a server may take to say that it is there.
const PING_TIME: Duration = Duration::from_secs(10);
/// How long the SDK may take to let go of a connection.
const CLOSING_TIME: Duration = Duration::from_secs(1);
/// How much of an error is repeated.
const ERROR_CHARS: usize = 300;

/// What we are to a server: somebody who calls its tools. What it asks of us (to call a model, to ask a person, to show it
/// files) is declined by the SDK's defaults, and we say beforehand that we do none of it.
struct Caller {
    changed: Arc<Notify>,
}

impl ClientHandler for Caller {
    fn get_info(&self) -> ClientConfig {
        let ourselves = Implementation::new("foreword", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), ourselves)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

/// A connection that is open.
pub(super) struct Connection {
    pub(super) peer: Peer<RoleClient>,
    /// Told when the server offers something else than before.
    pub(super) changed: Arc<Notify>,
    /// What the server says it is.
    pub(super) version: Option<String>,
    token: RunningServiceCancellationToken,
    /// Ends when the connection does; nothing once it has.
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    program: Option<Program>,
    flooded: Option<Flooded>,
}

impl Connection {
    /// Starts the server, if it is a program, and greets it.
    pub(super) async fn open(
        server: &McpServer,
        world: &McpWorld,
        words: &LastWords,
    ) -> Result<Self, String> {
        let changed = Arc::new(Notify::new());
        let caller = Caller { changed: Arc::clone(&changed) };
        match &server.reach {
            McpReach::Program(config) => {
                let started = program::start(config, world, words).map_err(|error| {
                    format!("`{}` can't be started: {error}", single_line(&config.command, 80))
                })?;
                let transport = AsyncRwTransport::new(started.reader, started.writer)
                    .with_max_line_length(LONGEST_MESSAGE.saturating_add(1));
                let service = match serve_client(caller, transport).await {
                    Ok(service) => service,
                    Err(error) => return Err(not_greeted(&error, started.program, &started.flooded).await),
                };
                Ok(Self::of(service, changed, Some((started.program, started.flooded))).await)
            }
            McpReach::Address(address) => {
                let transport = http::transport(address, world, server.start_timeout)?;
                let service =
                    serve_client(caller, transport).await.map_err(|error| greeting_error(&error))?;
                Ok(Self::of(service, changed, None).await)
            }
        }
    }

    async fn of(
        service: RunningService<RoleClient, Caller>,
        changed: Arc<Notify>,
        program: Option<(Program, Flooded)>,
    ) -> Self {
        let peer = service.peer().clone();
        // What was true a while ago is no help where it has changed since.
        peer.set_response_cache_config(ClientCacheConfig::disabled()).await;
        let version = peer.peer_info().and_then(|info| info.server_info.clone());
        let version = version.map(|info| single_line(&format!("{} {}", info.name, info.version), 80));
        let token = service.cancellation_token();
        let waiting: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            // However it ended: it has.
            let _: Result<QuitReason, _> = service.waiting().await;
        });
        let (program, flooded) = program.unzip();
        Self { peer, changed, version, token, waiting: Some(waiting), program, flooded }
    }

    /// Waits until it is closed by the other side.
    pub(super) async fn closed(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.await;
        }
        self.waiting = None;
    }

    /// Everything the server offers, page by page.
    pub(super) async fn offers(&mut self) -> Result<Vec<Offer>, String> {
        let mut offers = Vec::new();
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.peer.list_tools(Some(params)).await;
            let page =
                page.map_err(|error| format!("it says not what it offers: {}", service_error(&error)))?;
            offers.extend(page.tools.into_iter().map(offer));
            cursor = page.next_cursor;
            if cursor.is_none() || offers.len() >= MOST_OFFERS {
                break;
            }
        }
        offers.truncate(MOST_OFFERS);
        Ok(offers)
    }

    /// Whether the server says that it is there.
    pub(super) async fn answers(&mut self) -> bool {
        let asked = self.peer.send_request(ClientRequest::PingRequest(PingRequest::default()));
        match timeout(PING_TIME, asked).await {
            // One that does not know the question is there all the same.
            Ok(answer) => matches!(answer, Ok(_) | Err(ServiceError::McpError(_))),
            Err(_) => false,
        }
    }

    /// Lets go of it, and ends the server if it is a program. Says how that ended by itself, if it did.
    pub(super) async fn end(self) -> Option<String> {
        let Self { token, waiting, program, flooded, .. } = self;
        token.cancel();
        if let Some(waiting) = waiting {
            // What takes longer is dropped.
            let _ = timeout(CLOSING_TIME, waiting).await;
        }
        let ended = match program {
            Some(program) => program.end().await,
            None => None,
        };
        if flooded.is_some_and(|flooded| flooded.is_set()) { Some(flood()) } else { ended }
    }
}

fn offer(tool: Tool) -> Offer {
    Offer {
        name: tool.name.into_owned(),
        description: tool.description.map(std::borrow::Cow::into_owned),
        schema: Value::Object(Arc::unwrap_or_clone(tool.input_schema)),
    }
}

fn flood() -> String {
    "it sent more than can be read: a line without an end, or too many lines at once".to_owned()
}

/// Why a program could not be greeted: what became of it says more than what became of the greeting.
async fn not_greeted(error: &ClientInitializeError, program: Program, flooded: &Flooded) -> String {
    let ended = program.end().await;
    match ended {
        _ if flooded.is_set() => flood(),
        Some(ended) => format!("it did not answer the greeting: {ended}"),
        None => greeting_error(error),
    }
}

fn greeting_error(error: &ClientInitializeError) -> String {
    format!("it did not answer the greeting: {}", single_line(&error.to_string(), ERROR_CHARS))
}

/// An error of the SDK in words of our own, with the server's on one line.
pub(super) fn service_error(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(said) => single_line(&said.message, ERROR_CHARS),
        ServiceError::TransportClosed => "the connection is closed".to_owned(),
        ServiceError::UnexpectedResponse => "its answer is to another question".to_owned(),
        other => single_line(&other.to_string(), ERROR_CHARS),
    }
}
