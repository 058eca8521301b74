//! A name for each request, so that what a client saw can be found in the log.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;

use crate::app::App;

/// The header it travels in, both ways.
pub(crate) const HEADER: &str = "x-request-id";
/// The longest name a client may give.
const LONGEST: usize = 128;

/// The name of a request: the client's own if that is a word, else a fresh one.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// Names each request, and says the name with the answer.
pub(crate) async fn named(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let given =
        request.headers().get(HEADER).and_then(|given| given.to_str().ok()).filter(|given| is_word(given));
    let id = given.map_or_else(|| fresh(&app), str::to_owned);
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

/// A fresh name. The machine is asked for chance once, and not on the way of every request; from one name nobody learns another.
pub(crate) fn fresh(app: &App) -> String {
    static SECRET: OnceLock<[u8; 32]> = OnceLock::new();
    static GIVEN: AtomicU64 = AtomicU64::new(0);
    let secret = SECRET.get_or_init(|| {
        let mut secret = [0; 32];
        for half in secret.chunks_exact_mut(16) {
            half.copy_from_slice(&app.surroundings.random().to_le_bytes());
        }
        secret
    });
    name(secret, GIVEN.fetch_add(1, Ordering::Relaxed))
}

fn name(secret: &[u8; 32], number: u64) -> String {
    let hash = blake3::keyed_hash(secret, &number.to_le_bytes());
    let half = hash.as_bytes().first_chunk().copied().map_or(0, u128::from_be_bytes);
    format!("req-{half:032x}")
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_by_their_number_and_by_whoever_gives_them() {
        let names: std::collections::BTreeSet<String> =
            (0..2_u8).flat_map(|secret| (0..1_000).map(move |number| name(&[secret; 32], number))).collect();
        assert_eq!(names.len(), 2_000);
        assert!(names.iter().all(|name| name.len() == 36 && is_word(name)), "{names:?}");
    }
}
