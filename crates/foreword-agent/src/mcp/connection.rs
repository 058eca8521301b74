//! A connection to an MCP server: opening, requests, and closing.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::tools::outside::OfferedTool;
use foreword_prompt::untrusted::single_line;
use foreword_workspace::config::mcp::{McpServer, McpTransport};
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

use super::McpEnvironment;
use super::bounded_lines::{Flooded, MAX_MESSAGE_BYTES};
use super::http;
use super::program::{self, Program};
use super::stderr_tail::StderrTail;

/// The maximum number of pages of tools, and of tools in total.
const MAX_PAGES: usize = 100;
const MAX_OFFERS: usize = 2_000;
/// The timeout of a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout for closing a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The maximum length of an error that is repeated.
const ERROR_CHARS: usize = 300;

/// The client side of a connection, which only calls tools. The SDK's defaults decline the server's requests (sampling,
/// elicitation, roots), and the client announces no such capability.
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

/// An open connection.
pub(super) struct Connection {
    pub(super) peer: Peer<RoleClient>,
    /// Notified when the server's list of tools changes.
    pub(super) changed: Arc<Notify>,
    /// The server's name and version.
    pub(super) version: Option<String>,
    token: RunningServiceCancellationToken,
    /// Completes when the connection closes; `None` afterwards.
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    program: Option<Program>,
    flooded: Option<Flooded>,
}

impl Connection {
    /// Starts the server, if it is a program, and initialises the connection.
    pub(super) async fn open(
        server: &McpServer,
        environment: &McpEnvironment,
        words: &StderrTail,
    ) -> Result<Self, String> {
        let changed = Arc::new(Notify::new());
        let caller = Caller { changed: Arc::clone(&changed) };
        match &server.transport {
            McpTransport::Stdio(config) => {
                let started = program::start(config, environment, words).map_err(|error| {
                    format!("`{}` can't be started: {error}", single_line(&config.command, 80))
                })?;
                let transport = AsyncRwTransport::new(started.reader, started.writer)
                    .with_max_line_length(MAX_MESSAGE_BYTES.saturating_add(1));
                let service = match serve_client(caller, transport).await {
                    Ok(service) => service,
                    Err(error) => return Err(not_greeted(&error, started.program, &started.flooded).await),
                };
                Ok(Self::of(service, changed, Some((started.program, started.flooded))).await)
            }
            McpTransport::Http(address) => {
                let transport = http::transport(address, environment, server.start_timeout)?;
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
        // A cached response may be outdated.
        peer.set_response_cache_config(ClientCacheConfig::disabled()).await;
        let version = peer.peer_info().and_then(|info| info.server_info.clone());
        let version = version.map(|info| single_line(&format!("{} {}", info.name, info.version), 80));
        let token = service.cancellation_token();
        let waiting: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            // The reason is irrelevant.
            let _: Result<QuitReason, _> = service.waiting().await;
        });
        let (program, flooded) = program.unzip();
        Self { peer, changed, version, token, waiting: Some(waiting), program, flooded }
    }

    /// Waits until the other side closes the connection.
    pub(super) async fn closed(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.await;
        }
        self.waiting = None;
    }

    /// Everything the server offers, page by page.
    pub(super) async fn offers(&mut self) -> Result<Vec<OfferedTool>, String> {
        let mut offers = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.peer.list_tools(Some(params)).await;
            let page =
                page.map_err(|error| format!("it says not what it offers: {}", service_error(&error)))?;
            offers.extend(page.tools.into_iter().map(offer));
            cursor = page.next_cursor;
            if cursor.is_none() || offers.len() >= MAX_OFFERS {
                break;
            }
        }
        offers.truncate(MAX_OFFERS);
        Ok(offers)
    }

    /// Whether the server answers a ping.
    pub(super) async fn answers(&mut self) -> bool {
        let asked = self.peer.send_request(ClientRequest::PingRequest(PingRequest::default()));
        match timeout(PING_TIMEOUT, asked).await {
            // An error answer also shows that the server is running.
            Ok(answer) => matches!(answer, Ok(_) | Err(ServiceError::McpError(_))),
            Err(_) => false,
        }
    }

    /// Closes the connection, and terminates the server if it is a program. Returns its exit status if it exited by
    /// itself.
    pub(super) async fn end(self) -> Option<String> {
        let Self { token, waiting, program, flooded, .. } = self;
        token.cancel();
        if let Some(waiting) = waiting {
            // A connection that takes longer is dropped.
            let _ = timeout(CLOSE_TIMEOUT, waiting).await;
        }
        let ended = match program {
            Some(program) => program.end().await,
            None => None,
        };
        if flooded.is_some_and(|flooded| flooded.is_set()) { Some(flood()) } else { ended }
    }
}

fn offer(tool: Tool) -> OfferedTool {
    OfferedTool {
        name: tool.name.into_owned(),
        description: tool.description.map(std::borrow::Cow::into_owned),
        schema: Value::Object(Arc::unwrap_or_clone(tool.input_schema)),
    }
}

fn flood() -> String {
    "it sent more than can be read: a line without an end, or too many lines at once".to_owned()
}

/// Why a program failed to initialise. Its exit status is more useful than the connection error.
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

/// An error of the SDK as text, with the server's message on one line.
pub(super) fn service_error(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(said) => single_line(&said.message, ERROR_CHARS),
        ServiceError::TransportClosed => "the connection is closed".to_owned(),
        ServiceError::UnexpectedResponse => "its answer is to another question".to_owned(),
        other => single_line(&other.to_string(), ERROR_CHARS),
    }
}
