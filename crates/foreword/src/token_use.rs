//! How to use a token, as lines to copy: printed by `foreword token create` and on the first start of a server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use foreword_core::api_token::Scope;
use foreword_store::tokens::ApiToken;
use foreword_workspace::config::{Config, ServerConfig};

use crate::output::{BOLD, DIM, styled, when};

/// The URL of a server that listens at `address`.
pub(crate) fn url(address: SocketAddr, config: &ServerConfig) -> String {
    if let Some(public) = &config.public_url {
        return public.as_str().trim_end_matches('/').to_owned();
    }
    // A wildcard address is reachable on localhost.
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{}", SocketAddr::new(host, address.port()))
}

/// Describes a token's scopes, user, trust, mode and expiry.
pub(crate) fn access_text(token: &ApiToken, config: &Config) -> String {
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    let trust = config.user(&token.user).map(|user| format!(", trust {}", user.trust)).unwrap_or_default();
    let until = token.validity.expires_at.map(|at| format!(", until {}", when(at))).unwrap_or_default();
    let mode = token.mode.map(|mode| format!(", drop-in mode {mode}")).unwrap_or_default();
    format!("Scopes {}, user {}{trust}{mode}{until}.", scopes.join(", "), styled(BOLD, &token.user))
}

/// Examples to copy.
pub(crate) fn examples(token: &ApiToken, url: &str) -> String {
    let mut lines = Vec::new();
    let line = |about: &str, line: String| format!("  {}\n    {line}", styled(DIM, about));
    if token.scopes.contains(&Scope::Observe) {
        let curl = format!("curl -H \"Authorization: Bearer $FOREWORD_TOKEN\" {url}/api/v1/status");
        lines.push(line("status", curl));
    }
    if token.scopes.contains(&Scope::Chat) {
        let with_key = "api_key=os.environ[\"FOREWORD_TOKEN\"]";
        let anthropic = format!("client = anthropic.Anthropic(base_url=\"{url}/anthropic\", {with_key})");
        lines.push(line("a program that uses an Anthropic SDK", anthropic));
        let openai = format!("client = openai.OpenAI(base_url=\"{url}/openai/v1\", {with_key})");
        lines.push(line("a program that uses an OpenAI SDK", openai));
        let claude = format!(
            "claude mcp add --transport http foreword {url}/mcp --header \"Authorization: Bearer $FOREWORD_TOKEN\""
        );
        lines.push(line("memory and prompts for another agent, over MCP", claude));
    }
    lines.join("\n")
}
