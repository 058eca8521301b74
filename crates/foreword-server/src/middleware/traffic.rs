//! HTTP metrics: requests by route, requests in flight, WebSocket clients, proxied requests. Labels are route
//! templates, methods and status classes, never user input.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use foreword_core::api_token::ProxyMode;
use foreword_core::provider::WireDialect;
use foreword_observe::metrics::text::{Kind, Page};
use http::{Method, StatusCode};
use parking_lot::Mutex;

use crate::app::App;

/// The values of the label `method`.
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "other"];
/// The values of the label `status`.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// The label of requests without a route or mode.
const NO_ROUTE: &str = "none";
const DIALECTS: [&str; 2] = ["anthropic", "openai"];
/// The modes of proxied requests; the first is for requests that were refused before their mode was known.
const MODES: [&str; 4] = [NO_ROUTE, "observe", "prepend", "replace"];

/// The counters.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    routes: Mutex<BTreeMap<Box<str>, [[u64; CLASSES.len()]; METHODS.len()]>>,
    proxied: [[[AtomicU64; CLASSES.len()]; MODES.len()]; DIALECTS.len()],
    in_flight: Arc<AtomicI64>,
    websocket_clients: Arc<AtomicI64>,
}

/// Increments a gauge for as long as it is held.
#[derive(Debug)]
pub(crate) struct GaugeGuard(Arc<AtomicI64>);

impl GaugeGuard {
    fn of(count: &Arc<AtomicI64>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Traffic {
    /// A request in flight; drop the guard with the end of the response.
    pub(crate) fn start_request(&self) -> GaugeGuard {
        GaugeGuard::of(&self.in_flight)
    }

    /// A connected WebSocket client; drop the guard when it disconnects.
    pub(crate) fn websocket_client(&self) -> GaugeGuard {
        GaugeGuard::of(&self.websocket_clients)
    }

    /// The number of requests in flight.
    pub(crate) fn in_flight(&self) -> i64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Counts a proxied request by the status of its response. A request refused before its mode is known has none.
    pub(crate) fn proxied(&self, dialect: WireDialect, mode: Option<ProxyMode>, status: StatusCode) {
        let dialect = match dialect {
            WireDialect::Anthropic => 0,
            WireDialect::OpenAi => 1,
        };
        let mode = match mode {
            None => 0,
            Some(ProxyMode::Observe) => 1,
            Some(ProxyMode::Prepend) => 2,
            Some(ProxyMode::Replace) => 3,
        };
        self.proxied[dialect][mode][status_class(status)].fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self, route: &str, method: &Method, status: StatusCode) {
        let mut routes = self.routes.lock();
        let (method, class) = (method_index(method), status_class(status));
        match routes.get_mut(route) {
            Some(counts) => counts[method][class] += 1,
            None => routes.entry(route.into()).or_default()[method][class] += 1,
        }
    }

    pub(crate) fn write(&self, page: &mut Page) {
        let routes = self.routes.lock().clone();
        page.family("foreword_http_requests_total", Kind::Counter, "Requests by route, method and status.");
        for (route, methods) in &routes {
            for (method, classes) in METHODS.iter().zip(methods) {
                for (class, count) in CLASSES.iter().zip(classes).filter(|(_, count)| **count > 0) {
                    page.sample(&[("route", route), ("method", method), ("status", class)], count);
                }
            }
        }
        let in_flight = self.in_flight().max(0);
        page.single("foreword_http_requests_running", Kind::Gauge, "Requests in flight.", in_flight);
        let websocket_clients = self.websocket_clients.load(Ordering::Relaxed).max(0);
        page.single(
            "foreword_websocket_clients",
            Kind::Gauge,
            "Connected WebSocket clients.",
            websocket_clients,
        );
        page.family("foreword_proxy_requests_total", Kind::Counter, "Requests through drop-in endpoints.");
        for (dialect, modes) in DIALECTS.iter().zip(&self.proxied) {
            for (mode, classes) in MODES.iter().zip(modes) {
                for (class, count) in CLASSES.iter().zip(classes) {
                    let count = count.load(Ordering::Relaxed);
                    if count > 0 {
                        page.sample(&[("dialect", dialect), ("mode", mode), ("status", class)], count);
                    }
                }
            }
        }
    }
}

/// Middleware: counts requests by route.
pub(crate) async fn count_requests(State(app): State<App>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let response = next.run(request).await;
    let route = route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
    app.traffic.count(route, &method, response.status());
    response
}

fn method_index(method: &Method) -> usize {
    METHODS.iter().position(|known| *known == method.as_str()).unwrap_or(METHODS.len() - 1)
}

fn status_class(status: StatusCode) -> usize {
    usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1
}
