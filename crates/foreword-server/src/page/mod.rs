//! Serves the files of the web page, with a Content-Security-Policy that only allows these. They need no token; the
//! requests of the page do.

mod files;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};

pub(crate) use self::files::PageFiles;
use self::files::{Encoding, PageFile};
use crate::api::extract::Path;
use crate::app::App;
use crate::problem::Problem;

/// Scripts, styles and requests only from and to this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
    font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// File names contain a hash of the content.
const CACHE_FOREVER: &str = "public, max-age=31536000, immutable";
const REVALIDATE: &str = "no-cache";
/// Shown if the page was not built.
const NOT_BUILT: &str = include_str!("not_built.html");

/// Whether a path is a file of the page.
pub(crate) fn is_page_path(path: &str) -> bool {
    path == "/" || path == "/icon.svg" || path.starts_with("/assets/")
}

/// The web page
#[utoipa::path(get, path = "/", tag = "page", security(()),
    responses((status = 200, body = String, content_type = "text/html"), (status = 304, description = "Not modified.")))]
pub(crate) async fn get_index(State(app): State<App>, headers: HeaderMap) -> Response {
    match app.page.find("index.html", encoding(&headers)) {
        Some(file) => serve_file(&file, "text/html; charset=utf-8", REVALIDATE, &headers),
        None => with_policy((StatusCode::OK, NOT_BUILT).into_response(), "text/html; charset=utf-8"),
    }
}

/// The icon of the web page
#[utoipa::path(get, path = "/icon.svg", tag = "page", security(()),
    responses((status = 200, body = String, content_type = "image/svg+xml"),
        (status = 304, description = "Not modified."), (status = 404, body = Problem)))]
pub(crate) async fn get_icon(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    let file = app.page.find("icon.svg", encoding(&headers)).ok_or_else(|| missing("icon.svg"))?;
    Ok(serve_file(&file, "image/svg+xml", REVALIDATE, &headers))
}

/// The scripts and styles of the web page
#[utoipa::path(get, path = "/assets/{file}", tag = "page", security(()),
    params(("file" = String, Path, description = "The name of a file of the page.")),
    responses((status = 200, description = "The file.", body = String, content_type = "text/javascript"),
        (status = 304, description = "Not modified."),
        (status = 400, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn get_asset(
    State(app): State<App>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let content_type = content_type(&name).ok_or_else(|| missing(&name))?;
    let path = format!("assets/{name}");
    let file = app.page.find(&path, encoding(&headers)).ok_or_else(|| missing(&name))?;
    Ok(serve_file(&file, content_type, CACHE_FOREVER, &headers))
}

fn missing(name: &str) -> Problem {
    Problem::not_found("file of the page", name).help("reload the page: the server may have been updated")
}

fn content_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "woff2" => "font/woff2",
        "png" => "image/png",
        _ => return None,
    })
}

/// The best encoding that the client accepts.
fn encoding(headers: &HeaderMap) -> Encoding {
    let accepted =
        headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let takes = |name: &str| {
        accepted.split(',').any(|part| {
            let (coding, quality) = part.split_once(';').unwrap_or((part, ""));
            coding.trim() == name && !matches!(quality.trim(), "q=0" | "q=0.0")
        })
    };
    if takes("br") {
        Encoding::Brotli
    } else if takes("gzip") {
        Encoding::Gzip
    } else {
        Encoding::Plain
    }
}

fn serve_file(
    file: &PageFile,
    content_type: &'static str,
    cache_control: &'static str,
    request_headers: &HeaderMap,
) -> Response {
    let tag = file.tag();
    let has_it = request_headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok())
        == Some(tag.as_str());
    let mut response =
        if has_it { StatusCode::NOT_MODIFIED.into_response() } else { file.bytes().into_response() };
    let headers = response.headers_mut();
    if let Some(name) = file.encoding.name() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache_control));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    with_policy(response, content_type)
}

fn with_policy(mut response: Response, content_type: &'static str) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_accepted_encoding_is_chosen() {
        let chosen = |accepted: &'static str| {
            let value = HeaderValue::from_static(accepted);
            encoding(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, value)]))
        };
        assert_eq!(chosen("gzip, deflate, br, zstd"), Encoding::Brotli);
        assert_eq!(chosen("gzip;q=1.0, br;q=0"), Encoding::Gzip);
        assert_eq!(chosen("identity"), Encoding::Plain);
        assert_eq!(encoding(&HeaderMap::new()), Encoding::Plain);
    }
}
