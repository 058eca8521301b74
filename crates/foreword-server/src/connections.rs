//! Connections: taken up to a limit, encrypted if there is a certificate, each with a time for its head and its body, and let
//! go of in order.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse as _;
use foreword_core::provider::WireDialect;
use http::{HeaderMap, HeaderValue, header};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower::ServiceExt as _;

use crate::app::App;
use crate::body_clock::{Ended, Timed};
use crate::counted_body::Counted;
use crate::cross_origin::NamedPage;
use crate::gentle_close::GentleClose;
use crate::health;
use crate::page;
use crate::patient_writes::PatientWrites;
use crate::proxy;
use crate::tls::Certificate;

/// How many may ask a server that is stopping, at once.
const MOST_LATE: usize = 64;
/// How long to wait when the machine has no more sockets to give.
const OUT_OF_SOCKETS: Duration = Duration::from_millis(50);
/// The most headers of a request.
const MOST_HEADERS: usize = 100;
/// The longest head of a request, in bytes: what is longer is answered with 431.
const LONGEST_HEAD: usize = 128 * 1024;
/// How many times as long as a head may take a client may read nothing.
const READS_NOTHING: u32 = 10;

/// Where connections come in.
pub(crate) struct Entrance {
    pub(crate) listener: TcpListener,
    pub(crate) router: Router,
    /// If connections are to be encrypted.
    pub(crate) certificate: Option<Certificate>,
}

/// What every connection is given.
#[derive(Clone)]
struct Service {
    http: http1::Builder,
    router: Router,
    app: App,
    /// How long the head of a request may take, and the body between two pieces.
    patience: Duration,
    /// Whether they come to a server that is stopping.
    is_late: bool,
}

/// Takes connections until it is told to stop, then lets those there are come to an end.
pub(crate) async fn serve(entrance: Entrance, app: App) {
    let Entrance { listener, router, certificate } = entrance;
    let limits = app.config().server.limits;
    let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.header)
        .max_headers(MOST_HEADERS)
        .max_header_size(LONGEST_HEAD);
    let service = Service { http, router, app: app.clone(), patience: limits.header, is_late: false };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = app.until_stopping() => break,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(OUT_OF_SOCKETS).await;
            continue;
        };
        // Who comes when all places are taken is let go at once, which a client can tell from a server that hangs.
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        // A streamed answer is many small pieces: none of them waits for the one before to be acknowledged.
        let _ = stream.set_nodelay(true);
        let (service, certificate) = (service.clone(), certificate.clone());
        tokio::spawn(async move {
            service.welcome(stream, certificate, peer).await;
            // What goes on as a WebSocket has a place among those.
            drop(place);
        });
    }
    let drain = app.config().server.drain;
    let ended = tokio::time::timeout(drain, async {
        // Every place free again is every connection ended. Turns may go on that nobody waits for.
        let _ = places.acquire_many(all).await;
        app.agent.until_idle().await;
    });
    tokio::select! {
        _ = ended => {}
        () = late(&listener, &service, certificate.as_ref()) => {}
    }
}

/// Answers new connections while the server drains: the page's files are served, so that a page which is open can load its
/// parts and say what is going on, and everything else gets 503. `/readyz` is asked by those who send clients elsewhere, and they take
/// a server that they can't reach for one that has failed.
async fn late(listener: &TcpListener, service: &Service, certificate: Option<&Certificate>) {
    let mut service = service.clone();
    service.http.keep_alive(false);
    service.is_late = true;
    // They go when this does.
    let mut coming = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) if coming.len() < MOST_LATE => {
                    coming.spawn(service.clone().welcome(stream, certificate.cloned(), peer));
                }
                Ok(_) => {}
                Err(_) => tokio::time::sleep(OUT_OF_SOCKETS).await,
            },
            Some(_) = coming.join_next() => {}
        }
    }
}

impl Service {
    async fn welcome(self, stream: TcpStream, certificate: Option<Certificate>, peer: SocketAddr) {
        let Some(certificate) = certificate else { return self.connection(stream, peer).await };
        // Who does not know how to begin in time is no client.
        let greeted = tokio::time::timeout(self.patience, certificate.acceptor().accept(stream)).await;
        if let Ok(Ok(stream)) = greeted {
            Box::pin(self.connection(stream, peer)).await;
        }
    }

    /// Serves one connection: to its end, or to the end of the request it is at when the server stops.
    async fn connection<I>(self, stream: I, peer: SocketAddr)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (http, app, patience) = (self.http.clone(), self.app.clone(), self.patience);
        let is_late = self.is_late;
        let service = service_fn(move |request: http::Request<Incoming>| {
            // What only passes goes the short way.
            let passes = proxy::endpoint(request.uri().path());
            let service = self.clone();
            async move {
                let path = request.uri().path();
                if service.is_late && !(health::is_asked(path) || page::is_asked(path)) {
                    return Ok::<_, Infallible>(service.refuse());
                }
                let page = NamedPage::of(request.headers(), &service.app);
                if let Some(permission) = page.as_ref().and_then(|page| page.permission(&request)) {
                    let under_way = service.app.traffic.request();
                    return Ok(permission.map(|body| Counted::new(body, under_way)));
                }
                let mut response = match passes {
                    Some(dialect) => service.pass(dialect, peer, request).await,
                    None => service.answer(request).await,
                };
                if let Some(page) = page {
                    page.shown(response.headers_mut());
                }
                Ok(response)
            }
        });
        let stream = GentleClose::new(stream);
        let hurry = stream.hurry();
        let stream = TokioIo::new(PatientWrites::new(stream, patience * READS_NOTHING));
        let mut connection = pin!(http.serve_connection(stream, service).with_upgrades());
        tokio::select! {
            // A client that breaks off is no news.
            _ = connection.as_mut() => {}
            () = app.until_stopping(), if !is_late => {
                hurry.up();
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }

    /// Somebody who wants more than to know how it is.
    fn refuse(&self) -> http::Response<Counted<Body>> {
        let stopping = health::stopping().retry_after(1);
        stopping.into_response().map(|body| Counted::new(body, self.app.traffic.request()))
    }

    async fn pass(
        self,
        dialect: WireDialect,
        peer: SocketAddr,
        request: http::Request<Incoming>,
    ) -> http::Response<Counted<Body>> {
        let under_way = self.app.traffic.request();
        let (request, left) = self.timed(request);
        let mut response = proxy::answer(&self.app, dialect, peer, request).await;
        left.say_so(response.headers_mut());
        response.map(|body| Counted::new(body, under_way))
    }

    async fn answer(self, request: http::Request<Incoming>) -> http::Response<Counted<Body>> {
        let under_way = self.app.traffic.request();
        let (request, left) = self.timed(request);
        let Ok(mut response) = self.router.oneshot(request.map(Body::new)).await;
        left.say_so(response.headers_mut());
        response.map(|body| Counted::new(body, under_way))
    }

    fn timed(&self, request: http::Request<Incoming>) -> (http::Request<Timed<Incoming>>, Left) {
        let has_body = !request.body().is_end_stream();
        let request = request.map(|body| Timed::new(body, self.patience));
        let left = Left(has_body.then(|| request.body().ended()));
        (request, left)
    }
}

/// What an answer may leave of the body of its request.
struct Left(Option<Ended>);

impl Left {
    /// What is left of a body stands in the way of another request: the client is told not to send one.
    fn say_so(&self, headers: &mut HeaderMap) {
        if self.0.as_ref().is_some_and(|ended| !ended.is_reached()) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}
