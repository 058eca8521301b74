//! Connections: taken up to a limit, each with a time for its head, and let go of in order.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt as _;

use crate::app::App;
use crate::proxy;

/// How long to wait when the machine has no more sockets to give.
const OUT_OF_SOCKETS: Duration = Duration::from_millis(50);
/// The most headers of a request.
const MOST_HEADERS: usize = 100;

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Takes connections until it is told to stop, then lets those there are come to an end.
pub(crate) async fn serve(listener: TcpListener, router: Router, app: App, stop: watch::Receiver<bool>) {
    let limits = app.config().server.limits;
    let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header).max_headers(MOST_HEADERS);
    let mut told = stop.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = told_to_stop(&mut told) => break,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(OUT_OF_SOCKETS).await;
            continue;
        };
        // Who comes when all places are taken is let go at once, which a client can tell from a server that hangs.
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        // A streamed answer is many small pieces: none of them waits for the one before to be acknowledged.
        let _ = stream.set_nodelay(true);
        let (http, stop) = (http.clone(), stop.clone());
        let (router, app) = (router.clone(), app.clone());
        tokio::spawn(async move {
            connection(&http, stream, (router, app, peer), stop).await;
            drop(place);
        });
    }
    drop(listener);
    let drain = app.config().server.drain;
    // Every place free again is every connection ended.
    let _ = tokio::time::timeout(drain, places.acquire_many(all)).await;
}

/// Serves one connection: to its end, or to the end of the request it is at when the server stops.
async fn connection(
    http: &http1::Builder,
    stream: TcpStream,
    (router, app, peer): (Router, App, SocketAddr),
    mut stop: watch::Receiver<bool>,
) {
    let service = service_fn(move |mut request: http::Request<Incoming>| {
        // What only passes goes the short way.
        let passes = proxy::endpoint(request.uri().path());
        let (router, app) = (router.clone(), app.clone());
        async move {
            let Some(dialect) = passes else {
                request.extensions_mut().insert(Peer(peer));
                return Ok::<_, Infallible>(answer(router, request).await);
            };
            Ok(proxy::answer(&app, dialect, peer, request).await)
        }
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
    tokio::select! {
        // A client that breaks off is no news.
        _ = connection.as_mut() => {}
        () = told_to_stop(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

async fn told_to_stop(stop: &mut watch::Receiver<bool>) {
    // An error is a server that is gone, which comes to the same.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn answer(router: Router, request: http::Request<Incoming>) -> axum::response::Response {
    match router.oneshot(request.map(Body::new)).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
