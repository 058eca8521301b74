//! The allowed origins. Browsers send `Origin`; programs don't, and are only identified by their token.

use std::net::IpAddr;

use foreword_workspace::config::ServerConfig;
use http::{HeaderMap, header};

/// Whether a request has no `Origin`, the server's own, or a configured one.
pub(crate) fn from_allowed_page(headers: &HeaderMap, config: &ServerConfig) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = origins.next() else { return true };
    let (Ok(origin), None) = (origin.to_str(), origins.next()) else { return false };
    let origin = origin.to_ascii_lowercase();
    let named = config.origins.contains(&origin);
    let public = config.public_url.as_ref().is_some_and(|url| is_origin_of(&origin, url.as_str()));
    named || public || is_own(&origin, headers, config)
}

/// Whether it is the server's own origin, by an IP address or `localhost`. Other names would allow DNS rebinding.
fn is_own(origin: &str, headers: &HeaderMap, config: &ServerConfig) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let host = host.to_ascii_lowercase();
    origin.strip_prefix(scheme).and_then(|rest| rest.strip_prefix("://")) == Some(&host)
        && is_this_machine(&host)
}

/// Whether the `Host` header names the loopback interface.
pub(crate) fn names_loopback(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = without_port(host);
    name.eq_ignore_ascii_case("localhost") || address(name).is_some_and(|address| address.is_loopback())
}

fn is_this_machine(host: &str) -> bool {
    let name = without_port(host);
    name == "localhost" || address(name).is_some()
}

fn without_port(host: &str) -> &str {
    host.rsplit_once(':')
        .map_or(host, |(name, port)| if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host })
}

fn address(name: &str) -> Option<IpAddr> {
    name.trim_matches(['[', ']']).parse().ok()
}

fn is_origin_of(origin: &str, url: &str) -> bool {
    let url = url.to_ascii_lowercase();
    let end = url.find("://").and_then(|start| url[start + 3..].find('/').map(|slash| start + 3 + slash));
    &url[..end.unwrap_or(url.len())] == origin
}

#[cfg(test)]
mod tests {
    use foreword_workspace::config::Config;

    use super::*;

    fn check(yaml: &str, headers: &[(&'static str, &str)], expected: bool) {
        let config = Config::parse("foreword.yaml", yaml).unwrap();
        let headers = headers
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        assert_eq!(from_allowed_page(&headers, &config.server), expected, "{yaml} {headers:?}");
    }

    #[test]
    fn own_page_is_allowed_others_are_not() {
        let host = ("host", "127.0.0.1:7777");
        check("", &[host], true);
        check("", &[host, ("origin", "http://127.0.0.1:7777")], true);
        check("", &[("host", "LocalHost:7777"), ("origin", "http://localhost:7777")], true);
        check("", &[("host", "[::1]:7777"), ("origin", "http://[::1]:7777")], true);
        for other in [
            "http://127.0.0.1:7778",
            "https://127.0.0.1:7777",
            "http://evil.example",
            "null",
            "",
            "http://127.0.0.1:7777.evil.example",
        ] {
            check("", &[host, ("origin", other)], false);
        }
        check("", &[("origin", "http://127.0.0.1:7777")], false);
        check("", &[host, ("origin", "http://127.0.0.1:7777"), ("origin", "http://127.0.0.1:7777")], false);
    }

    #[test]
    fn dns_rebinding_is_refused() {
        check("", &[("host", "evil.example:7777"), ("origin", "http://evil.example:7777")], false);
    }

    #[test]
    fn only_loopback_hosts_are_loopback() {
        let leads_here = |host: &str| {
            names_loopback(&[(header::HOST, host.parse().unwrap())].into_iter().collect::<HeaderMap>())
        };
        for here in ["127.0.0.1:7777", "LocalHost:7777", "localhost", "[::1]:7777", "127.8.8.8"] {
            assert!(leads_here(here), "{here}");
        }
        for elsewhere in
            ["agent.example.org", "192.0.2.7:7777", "localhost.example.org:7777", "[2001:db8::1]", ""]
        {
            assert!(!leads_here(elsewhere), "{elsewhere}");
        }
        assert!(!names_loopback(&HeaderMap::new()));
    }

    #[test]
    fn configured_origins_are_allowed() {
        let yaml = "server: { public_url: \"https://agent.example.org/foreword\", origins: [\"https://desk.example.org\"] }";
        let host = ("host", "127.0.0.1:7777");
        check(yaml, &[host, ("origin", "https://agent.example.org")], true);
        check(yaml, &[host, ("origin", "https://desk.example.org")], true);
        check(yaml, &[host, ("origin", "http://agent.example.org")], false);
        check(yaml, &[host, ("origin", "https://agent.example.org.evil.example")], false);
    }
}
