//! Filters headers between client and provider. Removes hop-by-hop headers, those addressed to this server, and
//! credentials. A token of this server is never forwarded, neither in a header nor in the query.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::key_mask::ProviderKeys;
use super::percent_encoding;
use crate::auth::credential::Credential;

fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
}

/// Whether a request header is not forwarded: this server's own headers, credentials, those added by a reverse proxy,
/// and browser state. `accept-encoding` is removed because a compressed response could not be inspected. Length and
/// host are set anew.
fn is_for_gateway(name: &HeaderName) -> bool {
    let name = name.as_str();
    matches!(
        name,
        "host"
            | "content-length"
            | "expect"
            | "accept-encoding"
            | "authorization"
            | "x-api-key"
            | "api-key"
            | "x-goog-api-key"
            | "cookie"
            | "forwarded"
            | "x-real-ip"
    ) || name.starts_with("x-foreword-")
        || name.starts_with("x-forwarded-")
        || name.starts_with("sec-websocket-")
}

/// The request headers for the provider, in order.
pub(crate) fn to_provider(headers: &HeaderMap) -> HeaderMap {
    filtered(headers, |name, value| is_for_gateway(name) || has_token(value.as_bytes()))
}

/// The response headers for the client, in order.
pub(crate) fn to_client(headers: &HeaderMap, keys: &ProviderKeys) -> HeaderMap {
    filtered(headers, |name, value| is_about_provider_origin(name) || keys.occur_in(value.as_bytes()))
}

/// The query without parameters that contain a token; `None` if it is empty then.
pub(crate) fn without_tokens(query: Option<&str>) -> Option<String> {
    let kept: Vec<&str> = query?.split('&').filter(|parameter| !has_token(parameter.as_bytes())).collect();
    (!kept.is_empty()).then(|| kept.join("&"))
}

/// Whether the text contains a token, plain or percent-encoded.
fn has_token(text: &[u8]) -> bool {
    Credential::is_in(&percent_encoding::decode(text))
}

/// Whether a response header applies to the provider's origin rather than to the response. Sent from this server's
/// origin, it would take effect here. Includes headers with this server's prefix.
fn is_about_provider_origin(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "set-cookie"
            | "clear-site-data"
            | "refresh"
            | "strict-transport-security"
            | "alt-svc"
            | "nel"
            | "report-to"
    ) || name.as_str().starts_with("access-control-")
        || name.as_str().starts_with("x-foreword-")
}

/// The list of beta features to enable.
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// Sets a header of the owner's configuration. It replaces the client's; beta lists are merged.
pub(crate) fn set_owner_header(headers: &mut HeaderMap, name: &HeaderName, value: &HeaderValue) {
    if *name == BETA && headers.contains_key(name) {
        let all: Vec<&[u8]> =
            headers.get_all(name).iter().chain([value]).map(HeaderValue::as_bytes).collect();
        if let Ok(joined) = HeaderValue::from_bytes(&all.join(&b","[..])) {
            headers.insert(name.clone(), joined);
            return;
        }
    }
    headers.insert(name.clone(), value.clone());
}

fn filtered(headers: &HeaderMap, is_dropped: impl Fn(&HeaderName, &HeaderValue) -> bool) -> HeaderMap {
    let named: Vec<&str> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|name| !name.eq_ignore_ascii_case("keep-alive") && !name.eq_ignore_ascii_case("close"))
        .collect();
    let mut passed = HeaderMap::with_capacity(headers.keys_len() + 4);
    for (name, value) in headers {
        let of_connection = named.iter().any(|named| named.eq_ignore_ascii_case(name.as_str()));
        if !of_connection && !is_hop_by_hop(name) && !is_dropped(name, value) {
            passed.append(name.clone(), value.clone());
        }
    }
    passed
}

/// The trimmed text of a header.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    fn check(passed: &HeaderMap, expected: &[(&str, &str)]) {
        let passed: Vec<_> =
            passed.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(passed, expected);
    }

    #[test]
    fn request_headers_are_filtered_in_order() {
        let from_client = headers(&[
            ("host", "127.0.0.1:7777"),
            ("anthropic-version", "2023-06-01"),
            ("authorization", "Bearer fwd_x"),
            ("x-api-key", "fwd_x"),
            ("api-key", "x"),
            ("x-goog-api-key", "x"),
            ("sec-websocket-protocol", "foreword.v1"),
            ("x-stainless-lang", "python"),
            ("x-foreword-user", "alice"),
            ("x-forwarded-for", "10.0.0.1"),
            ("accept-encoding", "gzip"),
            ("connection", "keep-alive, x-hop"),
            ("x-hop", "1"),
            ("anthropic-beta", "a"),
            ("te", "trailers"),
            ("user-agent", "Anthropic/Python"),
        ]);
        check(
            &to_provider(&from_client),
            &[
                ("anthropic-version", "2023-06-01"),
                ("x-stainless-lang", "python"),
                ("anthropic-beta", "a"),
                ("user-agent", "Anthropic/Python"),
            ],
        );
    }

    #[test]
    fn tokens_are_removed_from_headers_and_query() {
        let token = format!("fwd_{}", "a".repeat(32));
        let encoded = token.replace('_', "%5f");
        let mut from_client =
            headers(&[("referer", "http://127.0.0.1:7777/docs"), ("x-client", "fwd_short")]);
        for (name, value) in [
            ("referer", format!("http://127.0.0.1/?t={token}")),
            ("x-trace", format!("a,{encoded}")),
            ("user-agent", format!("probe {token}/1")),
        ] {
            from_client.append(name, value.parse().unwrap());
        }
        check(
            &to_provider(&from_client),
            &[("referer", "http://127.0.0.1:7777/docs"), ("x-client", "fwd_short")],
        );
        let query = format!("beta=true&key={token}&a=b%20c&x={encoded}&{token}");
        assert_eq!(without_tokens(Some(&query)).as_deref(), Some("beta=true&a=b%20c"));
        assert_eq!(without_tokens(Some(&format!("key={token}"))), None);
        assert_eq!(without_tokens(None), None);
    }

    #[test]
    fn owner_beta_list_is_joined_other_headers_replace() {
        let mut outgoing = headers(&[("anthropic-beta", "a,b"), ("x-owner", "client")]);
        for (name, value) in &headers(&[("anthropic-beta", "c"), ("x-owner", "yes")]) {
            set_owner_header(&mut outgoing, name, value);
        }
        check(&outgoing, &[("anthropic-beta", "a,b,c"), ("x-owner", "yes")]);
        let mut outgoing = HeaderMap::new();
        set_owner_header(&mut outgoing, &BETA, &HeaderValue::from_static("c"));
        check(&outgoing, &[("anthropic-beta", "c")]);
    }

    #[test]
    fn response_headers_about_the_answer_reach_the_client() {
        let from_provider = headers(&[
            ("content-type", "text/event-stream"),
            ("transfer-encoding", "chunked"),
            ("connection", "close"),
            ("retry-after", "3"),
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("request-id", "req_1"),
            ("set-cookie", "__cf_bm=1"),
            ("strict-transport-security", "max-age=31536000"),
            ("alt-svc", "h3=\":443\""),
            ("nel", "{}"),
            ("report-to", "{}"),
            ("clear-site-data", "\"*\""),
            ("refresh", "0; url=https://example.com"),
            ("x-foreword-error", "forged"),
            ("x-foreword-conversation", "c-forged"),
        ]);
        check(
            &to_client(&from_provider, &ProviderKeys::default()),
            &[
                ("content-type", "text/event-stream"),
                ("retry-after", "3"),
                ("anthropic-ratelimit-requests-remaining", "0"),
                ("request-id", "req_1"),
            ],
        );
    }
}
