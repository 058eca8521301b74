//! The token in a browser: in a cookie that no script can read and no other site can send. With it, whatever changes
//! something must come from a page of ours, and must say so.

use foreword_workspace::config::ServerConfig;
use http::{HeaderMap, header};

use super::credential::Credential;
use super::origin::from_allowed_page;

/// How long a browser keeps it, in seconds: thirty days.
const KEPT: u64 = 30 * 24 * 60 * 60;

/// The token in a request's cookies.
pub(crate) fn carried(headers: &HeaderMap, config: &ServerConfig) -> Option<Credential> {
    let name = name(headers, config);
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut carried = pairs.filter(|(named, _)| *named == name).map(|(_, value)| value);
    let value = carried.next()?;
    // Of two nobody can tell which is ours: a site next door may have put one there.
    if carried.next().is_some() { None } else { Credential::read(value) }
}

/// Whether a request that is known by its cookie was made by a page of ours. A browser says where a page is from; whatever
/// does not say it has no business with a cookie.
pub(crate) fn from_own_page(headers: &HeaderMap, config: &ServerConfig) -> bool {
    headers.contains_key(header::ORIGIN) && from_allowed_page(headers, config)
}

/// Whether what only reads was asked for by a page of ours or by somebody who typed the address. Sites next door, on other
/// ports of this machine, are other sites to us.
pub(crate) fn asked_from_here(headers: &HeaderMap) -> bool {
    match headers.get("sec-fetch-site").map(|site| site.as_bytes()) {
        None | Some(b"same-origin" | b"none") => true,
        Some(_) => false,
    }
}

/// The header that gives a browser its cookie.
pub(crate) fn given(credential: &Credential, headers: &HeaderMap, config: &ServerConfig) -> String {
    written(headers, config, credential.reveal(), KEPT)
}

/// The header that takes it away.
pub(crate) fn taken(headers: &HeaderMap, config: &ServerConfig) -> String {
    written(headers, config, "", 0)
}

fn written(headers: &HeaderMap, config: &ServerConfig, value: &str, seconds: u64) -> String {
    let secure = if is_encrypted(config) { "; Secure" } else { "" };
    let name = name(headers, config);
    format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

fn is_encrypted(config: &ServerConfig) -> bool {
    config.tls.is_some() || config.public_url.as_ref().is_some_and(|url| url.as_str().starts_with("https:"))
}

/// What the cookie is called. Browsers share cookies among the ports of a machine, so that two servers there need two names;
/// behind a public name, where nodes listen on whatever port they like, there is one. Where it travels encrypted, its name keeps
/// hosts next door from setting it.
fn name(headers: &HeaderMap, config: &ServerConfig) -> String {
    let guard = if is_encrypted(config) { "__Host-" } else { "" };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port);
    match port.filter(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(port) if config.public_url.is_none() => format!("{guard}foreword_session_{port}"),
        _ => format!("{guard}foreword_session"),
    }
}

#[cfg(test)]
mod tests {
    use foreword_workspace::config::Config;
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    fn config(yaml: &str) -> ServerConfig {
        Config::parse("foreword.yaml", yaml).unwrap().server
    }

    #[test]
    fn what_was_given_is_carried_back_to_the_same_server_only() {
        let (config, token) = (config(""), Credential::from_random([3; 32]));
        let here = headers(&[("host", "127.0.0.1:7777")]);
        let cookie = given(&token, &here, &config);
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict"), "{cookie}");
        let pair = format!("other=1; {}", cookie.split(';').next().unwrap());
        assert_eq!(carried(&headers(&[("host", "127.0.0.1:7777"), ("cookie", &pair)]), &config), Some(token));
        assert_eq!(carried(&headers(&[("host", "127.0.0.1:7778"), ("cookie", &pair)]), &config), None);
        let twice = format!("{pair}; foreword_session_7777={}", Credential::from_random([4; 32]).reveal());
        assert_eq!(carried(&headers(&[("host", "127.0.0.1:7777"), ("cookie", &twice)]), &config), None);
        assert_eq!(
            carried(&headers(&[("host", "127.0.0.1:7777"), ("cookie", "foreword_session_7777=x")]), &config),
            None
        );
    }

    #[test]
    fn behind_a_public_name_it_has_one_name_and_travels_encrypted_only() {
        let config = config("server: { public_url: \"https://agent.example.org\" }");
        let cookie =
            given(&Credential::from_random([3; 32]), &headers(&[("host", "10.0.0.7:9000")]), &config);
        assert!(
            cookie.starts_with("__Host-foreword_session=fwd_") && cookie.ends_with("; Secure"),
            "{cookie}"
        );
        assert!(taken(&headers(&[]), &config).contains("Max-Age=0"));
    }

    #[test]
    fn what_changes_something_must_say_that_it_comes_from_our_page() {
        let config = config("");
        let host = ("host", "127.0.0.1:7777");
        assert!(from_own_page(&headers(&[host, ("origin", "http://127.0.0.1:7777")]), &config));
        assert!(!from_own_page(&headers(&[host]), &config));
        assert!(!from_own_page(&headers(&[host, ("origin", "http://127.0.0.1:3000")]), &config));
        assert!(asked_from_here(&headers(&[("sec-fetch-site", "same-origin")])));
        for site in ["same-site", "cross-site"] {
            assert!(!asked_from_here(&headers(&[("sec-fetch-site", site)])), "{site}");
        }
    }
}
