//! Validates the base URLs of providers. Errors do not repeat the URL, because it may contain a password.

use std::net::IpAddr;

/// A provider's base URL: `http` or `https`, a host, an optional port and path, no trailing slash.
///
/// ```
/// use foreword_core::provider::BaseUrl;
/// assert_eq!(BaseUrl::parse("HTTPS://api.openai.com/v1/")?.as_str(), "https://api.openai.com/v1");
/// assert!(BaseUrl::parse("http://alice:s3cret@127.0.0.1").is_err());
/// # Ok::<(), foreword_core::provider::BadBaseUrl>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    text: String,
    host: String,
}

/// Why a base URL is invalid. Does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadBaseUrl {
    /// Neither `http` nor `https`.
    #[error("it does not begin with `http://` or `https://`")]
    Scheme,
    /// A user name or password before the host.
    #[error("it contains a user name or a password")]
    UserInfo,
    /// No host, or an invalid one.
    #[error("it names no host")]
    Host,
    /// An invalid port.
    #[error("its port is not a number from 1 to 65535")]
    Port,
    /// A `?` or a `#`.
    #[error("it has a `?` or a `#` in it")]
    Query,
    /// A space, a control character or a backslash.
    #[error("it contains a character that is not allowed in a URL")]
    Character,
    /// The URL of an endpoint instead of the base URL.
    #[error("it includes an endpoint path")]
    Endpoint,
}

impl BadBaseUrl {
    /// How to fix it.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::UserInfo => "keep a password out of the address: use `api_key_env`, or `headers`",
            Self::Query => "keep the address to host and path; what else is to be sent can go into `headers`",
            Self::Endpoint => "leave out the `/chat/completions` or `/v1/messages` at its end: it is added",
            Self::Scheme | Self::Host | Self::Port | Self::Character => {
                "write it as `https://host/path`, or `http://127.0.0.1:8080/v1` for a server on this machine"
            }
        }
    }
}

impl BaseUrl {
    /// Parses and normalises `text`.
    ///
    /// # Errors
    /// If it is not a valid base URL.
    pub fn parse(text: &str) -> Result<Self, BadBaseUrl> {
        let (scheme, rest) = text.split_once("://").ok_or(BadBaseUrl::Scheme)?;
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(&*scheme, "http" | "https") {
            return Err(BadBaseUrl::Scheme);
        }
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if rest.contains('@') {
            // An `@` is allowed in a path, but a password with a slash looks the same.
            return Err(BadBaseUrl::UserInfo);
        }
        if path.contains(['?', '#']) {
            return Err(BadBaseUrl::Query);
        }
        let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '\\' | '"' | '<' | '>' | '`' | '{' | '}');
        if !rest.chars().all(plain) {
            return Err(BadBaseUrl::Character);
        }
        let host = host(authority)?;
        let path = path.trim_end_matches('/');
        if ["/chat/completions", "/v1/messages"].iter().any(|endpoint| path.ends_with(endpoint)) {
            return Err(BadBaseUrl::Endpoint);
        }
        let text = format!("{scheme}://{}{path}", authority.to_ascii_lowercase());
        Ok(Self { text, host })
    }

    /// The normalised URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the host is the local machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let name = self.host.as_str();
        let by_number = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        by_number || name == "localhost" || name.ends_with(".localhost")
    }

    /// Whether requests travel unencrypted over a network.
    #[must_use]
    pub fn is_readable_on_the_way(&self) -> bool {
        self.text.starts_with("http://") && !self.is_loopback()
    }
}

/// The host of `host`, `host:port` or `[address]:port`.
fn host(authority: &str) -> Result<String, BadBaseUrl> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, port) = rest.split_once(']').ok_or(BadBaseUrl::Host)?;
        let address: IpAddr = address.parse().map_err(|_| BadBaseUrl::Host)?;
        match port.strip_prefix(':') {
            Some(port) => check_port(port)?,
            None if port.is_empty() => {}
            None => return Err(BadBaseUrl::Host),
        }
        return if address.is_ipv6() { Ok(address.to_string()) } else { Err(BadBaseUrl::Host) };
    }
    let (name, port) = authority.split_once(':').map_or((authority, None), |(name, port)| (name, Some(port)));
    if let Some(port) = port {
        check_port(port)?;
    }
    let part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let sound = name.strip_suffix('.').unwrap_or(name).split('.').all(part);
    if sound { Ok(name.to_ascii_lowercase()) } else { Err(BadBaseUrl::Host) }
}

fn check_port(port: &str) -> Result<(), BadBaseUrl> {
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let in_range = port.parse::<u16>().is_ok_and(|port| port > 0);
    if digits && in_range { Ok(()) } else { Err(BadBaseUrl::Port) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn trailing_slashes_are_removed() {
        for (written, taken) in [
            ("https://api.anthropic.com", "https://api.anthropic.com"),
            ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
            ("http://127.0.0.1:4000///", "http://127.0.0.1:4000"),
            ("HTTP://LocalHost:8080/V1", "http://localhost:8080/V1"),
            ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
            ("https://my_host.example.org./a%20b", "https://my_host.example.org./a%20b"),
        ] {
            assert_eq!(BaseUrl::parse(written).map(|url| url.text), Ok(taken.to_owned()), "{written}");
        }
    }

    #[test]
    fn invalid_urls_are_rejected_with_a_reason() {
        for (written, reason) in [
            ("", BadBaseUrl::Scheme),
            ("api.openai.com/v1", BadBaseUrl::Scheme),
            ("ftp://host/v1", BadBaseUrl::Scheme),
            ("file:///etc/passwd", BadBaseUrl::Scheme),
            ("https://", BadBaseUrl::Host),
            ("https:///v1", BadBaseUrl::Host),
            ("https://.", BadBaseUrl::Host),
            ("https://a..b", BadBaseUrl::Host),
            ("https://a,b", BadBaseUrl::Host),
            ("https://[::1", BadBaseUrl::Host),
            ("https://[127.0.0.1]", BadBaseUrl::Host),
            ("https://[::1]x", BadBaseUrl::Host),
            ("https://::1", BadBaseUrl::Port),
            ("https://host:0", BadBaseUrl::Port),
            ("https://host:65536", BadBaseUrl::Port),
            ("https://host:+80", BadBaseUrl::Port),
            ("https://host:", BadBaseUrl::Port),
            ("https://alice@host", BadBaseUrl::UserInfo),
            ("https://alice:s3cr/et@host", BadBaseUrl::UserInfo),
            ("https://host/v1?key=s3cret", BadBaseUrl::Query),
            ("https://host#v1", BadBaseUrl::Query),
            ("https://host/v 1", BadBaseUrl::Character),
            ("https://host\\@other", BadBaseUrl::UserInfo),
            ("https://host\\other", BadBaseUrl::Character),
            ("https://hösť/v1", BadBaseUrl::Character),
            ("https://host/v1\n", BadBaseUrl::Character),
            ("https://host/v1/chat/completions/", BadBaseUrl::Endpoint),
            ("https://host/v1/messages", BadBaseUrl::Endpoint),
        ] {
            assert_eq!(BaseUrl::parse(written), Err(reason), "{written}");
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        let on_the_way = |url: &str| BaseUrl::parse(url).unwrap().is_readable_on_the_way();
        for here in ["http://127.0.0.1", "http://127.8.9.1:1", "http://[::1]", "http://localhost:1/v1"] {
            assert!(!on_the_way(here), "{here}");
        }
        for away in ["http://10.0.0.7", "http://localhost.example.org", "http://127.0.0.1.example.org"] {
            assert!(on_the_way(away), "{away}");
        }
        assert!(!on_the_way("https://example.org"));
    }

    proptest! {
        #[test]
        fn normalised_urls_are_stable(text in "(http|https|HTTP)://[a-z0-9.:@\\[\\]?#/ -]{0,24}") {
            if let Ok(url) = BaseUrl::parse(&text) {
                prop_assert_eq!(BaseUrl::parse(url.as_str()), Ok(url.clone()));
                prop_assert!(!url.as_str().contains(['@', '?', '#', ' ']) && !url.as_str().ends_with('/'));
            }
        }
    }
}
