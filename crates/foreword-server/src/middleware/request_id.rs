//! An id for each request, to find it in the log.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;

use crate::app::App;

/// The header of requests and responses.
pub(crate) const HEADER: &str = "x-request-id";
/// The maximum length of an id sent by a client.
const MAX_LENGTH: usize = 128;

/// The id of a request: the client's if valid, else a generated one.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// Middleware: assigns an id to each request and returns it with the response.
pub(crate) async fn assign_request_id(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let given =
        request.headers().get(HEADER).and_then(|given| given.to_str().ok()).filter(|given| is_valid(given));
    let id = given.map_or_else(|| generate(&app), str::to_owned);
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

/// Generates an id. Uses a keyed hash of a counter, so that the system's random number generator is only called once
/// and ids can't be guessed from each other.
pub(crate) fn generate(app: &App) -> String {
    static SECRET: OnceLock<[u8; 32]> = OnceLock::new();
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let secret = SECRET.get_or_init(|| {
        let mut secret = [0; 32];
        for half in secret.chunks_exact_mut(16) {
            half.copy_from_slice(&app.clock_and_rng.random().to_le_bytes());
        }
        secret
    });
    format_id(secret, COUNTER.fetch_add(1, Ordering::Relaxed))
}

fn format_id(secret: &[u8; 32], number: u64) -> String {
    let hash = blake3::keyed_hash(secret, &number.to_le_bytes());
    let half = hash.as_bytes().first_chunk().copied().map_or(0, u128::from_be_bytes);
    format!("req-{half:032x}")
}

fn is_valid(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_LENGTH && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_by_number_and_by_secret() {
        let names: std::collections::BTreeSet<String> = (0..2_u8)
            .flat_map(|secret| (0..1_000).map(move |number| format_id(&[secret; 32], number)))
            .collect();
        assert_eq!(names.len(), 2_000);
        assert!(names.iter().all(|name| name.len() == 36 && is_valid(name)), "{names:?}");
    }
}
