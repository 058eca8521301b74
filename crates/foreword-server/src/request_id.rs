//! A name for each request, so that what a client saw can be found in the log.

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

pub(crate) fn fresh(app: &App) -> String {
    format!("req-{:032x}", app.surroundings.random())
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_graphic())
}
