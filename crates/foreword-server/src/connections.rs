//! Accepts and serves connections: a connection limit, TLS, read and write timeouts, and graceful shutdown.
//!
//! Connections live on the threads of [`ConnectionWorkers`], and so do requests to drop-in endpoints. All other requests
//! run on the server's runtime, where a long one delays no connection.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse as _;
use foreword_core::provider::WireDialect;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutWriter;
use tower::ServiceExt as _;

use crate::app::App;
use crate::body_timeout::{EndOfBody, TimeoutBody};
use crate::connection_workers::{Accepted, ConnectionWorkers, ServeConnection};
use crate::counted_body::CountedBody;
use crate::cross_origin::AllowedOrigin;
use crate::lingering_close::LingeringClose;
use crate::operations::health;
use crate::page;
use crate::problem::Problem;
use crate::proxy::{self, Upstreams};
use crate::router::DROP_IN_ROUTES;
use crate::tls::Certificate;

/// The connection limit while the server drains.
const MAX_CONNECTIONS_WHILE_DRAINING: usize = 64;
/// The delay before `accept` is retried when the process is out of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
const MAX_HEADERS: usize = 100;
/// The maximum size of the request head. Larger ones get 431.
const MAX_HEADER_BYTES: usize = 128 * 1024;
/// The write timeout, as a multiple of the read timeout.
const WRITE_TIMEOUT_FACTOR: u32 = 10;

/// A bound listener and what it serves.
pub(crate) struct HttpListener {
    pub(crate) listener: TcpListener,
    pub(crate) router: Router,
    /// Serves TLS if set.
    pub(crate) certificate: Option<Certificate>,
}

/// Serves connections.
#[derive(Clone)]
struct Service {
    http: http1::Builder,
    router: Router,
    app: App,
    certificate: Option<Certificate>,
    /// The connections to providers, of this thread only.
    upstreams: Arc<Upstreams>,
    /// The timeout of the request head, and between two frames of a body.
    read_timeout: Duration,
    /// Whether the server is draining.
    is_draining: bool,
}

impl HttpListener {
    /// Starts the threads that will serve the accepted connections.
    pub(crate) fn start_workers(&self, app: &App) -> io::Result<ConnectionWorkers> {
        ConnectionWorkers::start(|| self.service(app))
    }

    fn service(&self, app: &App) -> Service {
        let limits = app.config().server.limits;
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(limits.header)
            .max_headers(MAX_HEADERS)
            .max_header_size(MAX_HEADER_BYTES);
        Service {
            http,
            router: self.router.clone(),
            app: app.clone(),
            certificate: self.certificate.clone(),
            upstreams: Arc::default(),
            read_timeout: limits.header,
            is_draining: false,
        }
    }
}

/// Accepts connections until the server stops, then drains them.
pub(crate) async fn serve(http: HttpListener, workers: Arc<ConnectionWorkers>, app: App) {
    let limits = app.config().server.limits;
    let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    let permits = Arc::new(Semaphore::new(limits.connections));
    loop {
        let accepted = tokio::select! {
            accepted = http.listener.accept() => accepted,
            () = app.until_stopping() => break,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        // Over the limit the connection is closed at once, so that clients don't mistake the server for one that hangs.
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else { continue };
        // Streamed answers are many small writes: Nagle's algorithm would delay them.
        let _ = stream.set_nodelay(true);
        // An upgraded WebSocket holds a permit of its own.
        if let Ok(stream) = stream.into_std() {
            workers.assign(Accepted { stream, peer, permit });
        }
    }
    let drain = app.config().server.drain;
    let ended = tokio::time::timeout(drain, async {
        // All permits are free when all connections have ended. Turns may still run without a client.
        let _ = permits.acquire_many(all).await;
        app.agent.until_idle().await;
    });
    let service = http.service(&app);
    tokio::select! {
        _ = ended => {}
        () = serve_while_draining(&http.listener, &service) => {}
    }
}

/// Answers new connections while the server drains: serves the page's files, so that an open page can load its parts
/// and show the state, and answers everything else with 503. Load balancers poll `/readyz` and treat an unreachable
/// server as failed.
async fn serve_while_draining(listener: &TcpListener, service: &Service) {
    let mut service = service.clone();
    service.http.keep_alive(false);
    service.is_draining = true;
    // Dropping the set aborts the connections.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) if connections.len() < MAX_CONNECTIONS_WHILE_DRAINING => {
                    connections.spawn(service.clone().serve_connection(stream, peer));
                }
                Ok(_) => {}
                Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

impl ServeConnection for Service {
    async fn serve_connection(self, stream: TcpStream, peer: SocketAddr) {
        let Some(certificate) = self.certificate.clone() else { return self.serve(stream, peer).await };
        // A client that does not finish the TLS handshake in time is dropped.
        let handshake = tokio::time::timeout(self.read_timeout, certificate.acceptor().accept(stream)).await;
        if let Ok(Ok(stream)) = handshake {
            Box::pin(self.serve(stream, peer)).await;
        }
    }
}

impl Service {
    /// Serves one connection to its end, or to the end of the current request when the server stops.
    async fn serve<I>(self, stream: I, peer: SocketAddr)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (http, app, read_timeout) = (self.http.clone(), self.app.clone(), self.read_timeout);
        let is_draining = self.is_draining;
        let shared = Arc::new(self);
        let service = service_fn(move |request: http::Request<Incoming>| {
            // Drop-in endpoints bypass the router.
            let dialect = proxy::endpoint(request.uri().path());
            let service = Arc::clone(&shared);
            async move {
                let path = request.uri().path();
                if service.is_draining && !(health::is_health_path(path) || page::is_page_path(path)) {
                    return Ok::<_, Infallible>(service.refuse());
                }
                let page = AllowedOrigin::of(request.headers(), &service.app);
                if let Some(preflight) = page.as_ref().and_then(|page| page.preflight(&request)) {
                    let in_flight = service.app.traffic.start_request();
                    return Ok(preflight.map(|body| CountedBody::new(body, in_flight)));
                }
                let mut response = match dialect {
                    Some(dialect) => service.proxy(dialect, peer, request).await,
                    None => service.route(request).await,
                };
                if let Some(page) = page {
                    page.add_headers(response.headers_mut());
                }
                Ok(response)
            }
        });
        let stream = LingeringClose::new(stream);
        let close_now = stream.close_now();
        let mut stream = TimeoutWriter::new(stream);
        stream.set_timeout(Some(read_timeout * WRITE_TIMEOUT_FACTOR));
        let stream = TokioIo::new(Box::pin(stream));
        let mut connection = pin!(http.serve_connection(stream, service).with_upgrades());
        tokio::select! {
            // A disconnect by the client is not an error.
            _ = connection.as_mut() => {}
            () = app.until_stopping(), if !is_draining => {
                close_now.trigger();
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }

    /// The answer to requests other than health checks and page files while the server drains.
    fn refuse(&self) -> http::Response<CountedBody<Body>> {
        let stopping = health::stopping().retry_after(1);
        stopping.into_response().map(|body| CountedBody::new(body, self.app.traffic.start_request()))
    }

    async fn proxy(
        &self,
        dialect: WireDialect,
        peer: SocketAddr,
        request: http::Request<Incoming>,
    ) -> http::Response<CountedBody<Body>> {
        let in_flight = self.app.traffic.start_request();
        let (request, unread) = self.with_timeout(request);
        let mut response =
            proxy::answer(&self.app, &self.upstreams, &DROP_IN_ROUTES, dialect, peer, request).await;
        unread.close_if_unread(response.headers_mut());
        response.map(|body| CountedBody::new(body, in_flight))
    }

    async fn route(&self, request: http::Request<Incoming>) -> http::Response<CountedBody<Body>> {
        let in_flight = self.app.traffic.start_request();
        let (request, unread) = self.with_timeout(request);
        let mut handler = JoinSet::new();
        // Dropping the set aborts the handler when the client disconnects.
        handler.spawn_on(self.router.clone().oneshot(request.map(Body::new)), &self.app.runtime);
        let mut response = match handler.join_next().await {
            Some(Ok(Ok(response))) => response,
            // The handler has panicked, or the runtime is shutting down.
            Some(Err(_)) | None => {
                let detail = "the request failed by a defect of the server";
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", detail).into_response()
            }
        };
        unread.close_if_unread(response.headers_mut());
        response.map(|body| CountedBody::new(body, in_flight))
    }

    fn with_timeout(
        &self,
        request: http::Request<Incoming>,
    ) -> (http::Request<TimeoutBody<Incoming>>, UnreadBody) {
        let has_body = !request.body().is_end_stream();
        let request = request.map(|body| TimeoutBody::new(body, self.read_timeout));
        let unread = UnreadBody(has_body.then(|| request.body().end_of_body()));
        (request, unread)
    }
}

/// Whether a request body was left unread.
struct UnreadBody(Option<EndOfBody>);

impl UnreadBody {
    /// Sends `Connection: close` if the body was not read to its end, since the connection can't be reused.
    fn close_if_unread(&self, headers: &mut HeaderMap) {
        if self.0.as_ref().is_some_and(|ended| !ended.is_reached()) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}
