//! The login cookie of the web page: `HttpOnly` and `SameSite=Strict`. A write with it must have the page's own
//! `Origin`.

use foreword_workspace::config::ServerConfig;
use http::{HeaderMap, header};

use super::credential::Credential;
use super::origin::from_allowed_page;

/// The lifetime: thirty days.
const MAX_AGE_SECONDS: u64 = 30 * 24 * 60 * 60;

/// The token in the cookies of a request.
pub(crate) fn token_in_cookie(headers: &HeaderMap, config: &ServerConfig) -> Option<Credential> {
    let name = name(headers, config);
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut carried = pairs.filter(|(named, _)| *named == name).map(|(_, value)| value);
    let value = carried.next()?;
    // With two cookies of that name, another site on this host may have set one.
    if carried.next().is_some() { None } else { Credential::read(value) }
}

/// Whether a write with a cookie comes from the server's own page. Browsers always send `Origin` with it.
pub(crate) fn from_own_page(headers: &HeaderMap, config: &ServerConfig) -> bool {
    headers.contains_key(header::ORIGIN) && from_allowed_page(headers, config)
}

/// Whether a read comes from the server's own page or from the address bar. Other ports of this machine are other
/// origins.
pub(crate) fn is_same_origin_read(headers: &HeaderMap) -> bool {
    match headers.get("sec-fetch-site").map(|site| site.as_bytes()) {
        None | Some(b"same-origin" | b"none") => true,
        Some(_) => false,
    }
}

/// The `Set-Cookie` header that signs in.
pub(crate) fn set_cookie(credential: &Credential, headers: &HeaderMap, config: &ServerConfig) -> String {
    cookie_header(headers, config, credential.reveal(), MAX_AGE_SECONDS)
}

/// The `Set-Cookie` header that signs out.
pub(crate) fn clear_cookie(headers: &HeaderMap, config: &ServerConfig) -> String {
    cookie_header(headers, config, "", 0)
}

fn cookie_header(headers: &HeaderMap, config: &ServerConfig, value: &str, seconds: u64) -> String {
    let secure = if is_encrypted(config) { "; Secure" } else { "" };
    let name = name(headers, config);
    format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

fn is_encrypted(config: &ServerConfig) -> bool {
    config.tls.is_some() || config.public_url.as_ref().is_some_and(|url| url.as_str().starts_with("https:"))
}

/// The name of the cookie. Browsers share cookies between the ports of a host, so it contains the port; with a public
/// URL, where nodes have different ports, it does not. With TLS, the prefix `__Host-` keeps sibling hosts from setting
/// it.
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
    fn cookie_is_read_by_the_same_server_only() {
        let (config, token) = (config(""), Credential::from_random([3; 32]));
        let here = headers(&[("host", "127.0.0.1:7777")]);
        let cookie = set_cookie(&token, &here, &config);
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict"), "{cookie}");
        let pair = format!("other=1; {}", cookie.split(';').next().unwrap());
        assert_eq!(
            token_in_cookie(&headers(&[("host", "127.0.0.1:7777"), ("cookie", &pair)]), &config),
            Some(token)
        );
        assert_eq!(
            token_in_cookie(&headers(&[("host", "127.0.0.1:7778"), ("cookie", &pair)]), &config),
            None
        );
        let twice = format!("{pair}; foreword_session_7777={}", Credential::from_random([4; 32]).reveal());
        assert_eq!(
            token_in_cookie(&headers(&[("host", "127.0.0.1:7777"), ("cookie", &twice)]), &config),
            None
        );
        assert_eq!(
            token_in_cookie(
                &headers(&[("host", "127.0.0.1:7777"), ("cookie", "foreword_session_7777=x")]),
                &config
            ),
            None
        );
    }

    #[test]
    fn public_url_makes_the_cookie_secure() {
        let config = config("server: { public_url: \"https://agent.example.org\" }");
        let cookie =
            set_cookie(&Credential::from_random([3; 32]), &headers(&[("host", "10.0.0.7:9000")]), &config);
        assert!(
            cookie.starts_with("__Host-foreword_session=fwd_") && cookie.ends_with("; Secure"),
            "{cookie}"
        );
        assert!(clear_cookie(&headers(&[]), &config).contains("Max-Age=0"));
    }

    #[test]
    fn writes_need_an_own_origin() {
        let config = config("");
        let host = ("host", "127.0.0.1:7777");
        assert!(from_own_page(&headers(&[host, ("origin", "http://127.0.0.1:7777")]), &config));
        assert!(!from_own_page(&headers(&[host]), &config));
        assert!(!from_own_page(&headers(&[host, ("origin", "http://127.0.0.1:3000")]), &config));
        assert!(is_same_origin_read(&headers(&[("sec-fetch-site", "same-origin")])));
        for site in ["same-site", "cross-site"] {
            assert!(!is_same_origin_read(&headers(&[("sec-fetch-site", site)])), "{site}");
        }
    }
}
