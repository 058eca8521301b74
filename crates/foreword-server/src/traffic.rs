//! What goes through the server, counted: requests by route, those under way, clients that look on, requests through the
//! drop-in endpoints. Labels are routes as they are written in the code, methods and statuses: never a path, an address or a
//! name that came from outside.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use foreword_core::api_token::ProxyMode;
use foreword_core::provider::WireDialect;
use foreword_observe::metrics::text::{Kind, Page};
use http::{Method, StatusCode};

use crate::app::App;

/// The methods that are told apart.
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "other"];
/// The statuses that are.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// What is called so that leads nowhere, or is let in nowhere.
const NOWHERE: &str = "none";

/// What goes through the server.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    routes: Mutex<BTreeMap<Box<str>, [[u64; CLASSES.len()]; METHODS.len()]>>,
    proxied: Mutex<BTreeMap<(&'static str, &'static str, &'static str), u64>>,
    under_way: Arc<AtomicI64>,
    watching: Arc<AtomicI64>,
}

/// One more of something that is under way, for as long as this is held.
#[derive(Debug)]
pub(crate) struct OneMore(Arc<AtomicI64>);

impl OneMore {
    fn of(count: &Arc<AtomicI64>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for OneMore {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Traffic {
    /// A request that is under way until what this gives is dropped, with the last of its answer.
    pub(crate) fn request(&self) -> OneMore {
        OneMore::of(&self.under_way)
    }

    /// A WebSocket client that looks on until what this gives is dropped.
    pub(crate) fn watcher(&self) -> OneMore {
        OneMore::of(&self.watching)
    }

    /// How many requests are under way.
    pub(crate) fn under_way(&self) -> i64 {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Counts a request through a drop-in endpoint, by what its client was answered. One that was refused before anybody knew
    /// what to do with it has no mode.
    pub(crate) fn proxied(&self, dialect: WireDialect, mode: Option<ProxyMode>, status: StatusCode) {
        let dialect = match dialect {
            WireDialect::Anthropic => "anthropic",
            WireDialect::OpenAi => "openai",
        };
        let mut proxied = self.proxied.lock().unwrap_or_else(PoisonError::into_inner);
        *proxied
            .entry((dialect, mode.map_or(NOWHERE, ProxyMode::as_str), CLASSES[class(status)]))
            .or_default() += 1;
    }

    fn answered(&self, route: &str, method: &Method, status: StatusCode) {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let (method, class) = (column(method), class(status));
        match routes.get_mut(route) {
            Some(counts) => counts[method][class] += 1,
            None => routes.entry(route.into()).or_default()[method][class] += 1,
        }
    }

    pub(crate) fn write(&self, page: &mut Page) {
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        page.family("foreword_http_requests_total", Kind::Counter, "Requests by route, method and status.");
        for (route, methods) in &routes {
            for (method, classes) in METHODS.iter().zip(methods) {
                for (class, count) in CLASSES.iter().zip(classes).filter(|(_, count)| **count > 0) {
                    page.sample(&[("route", route), ("method", method), ("status", class)], count);
                }
            }
        }
        let under_way = self.under_way().max(0);
        page.single("foreword_http_requests_running", Kind::Gauge, "Requests under way.", under_way);
        let watching = self.watching.load(Ordering::Relaxed).max(0);
        page.single("foreword_websocket_clients", Kind::Gauge, "Connected WebSocket clients.", watching);
        let proxied = self.proxied.lock().unwrap_or_else(PoisonError::into_inner).clone();
        page.family("foreword_proxy_requests_total", Kind::Counter, "Requests through drop-in endpoints.");
        for ((dialect, mode, class), count) in &proxied {
            page.sample(&[("dialect", dialect), ("mode", mode), ("status", class)], count);
        }
    }
}

/// Counts each request by the route it took.
pub(crate) async fn counted(State(app): State<App>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let response = next.run(request).await;
    let route = route.as_ref().map_or(NOWHERE, MatchedPath::as_str);
    app.traffic.answered(route, &method, response.status());
    response
}

fn column(method: &Method) -> usize {
    METHODS.iter().position(|known| *known == method.as_str()).unwrap_or(METHODS.len() - 1)
}

fn class(status: StatusCode) -> usize {
    usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1
}
