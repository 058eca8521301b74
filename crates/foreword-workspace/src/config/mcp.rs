//! Section `tools.mcp`: MCP servers with their transport, timeouts and tool rules. Values of headers and environment
//! variables are [`Secret`]s from the start, and messages never repeat them or a URL.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::provider::{BaseUrl, Secret, is_header_name, is_header_value, is_key_variable};
use foreword_core::tools::outside::{OfferRule, OfferRules, is_server_name};
use foreword_prompt::file_rules::plain_path;
use foreword_prompt::trust::Trust;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use super::parse::ConfigParser;
use super::raw::Named;

/// An MCP (Model Context Protocol) server: a program to start (`command`), or an HTTP endpoint (`url`).
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawMcpServer {
    /// The program to start. It communicates over standard input and output.
    #[schemars(with = "Option<String>")]
    pub command: Option<Spanned<String>>,
    /// The program's arguments.
    pub args: Option<Vec<String>>,
    /// Environment variables of the program by name, besides `PATH`, `HOME`, `LANG` and similar ones. For secrets use
    /// `env_from`.
    #[schemars(with = "BTreeMap<String, String>")]
    pub env: Named<Spanned<Secret>>,
    /// Environment variables passed on from Foreword's own environment.
    #[schemars(with = "Vec<String>")]
    pub env_from: Vec<Spanned<String>>,
    /// The program's working directory, below the workspace. Default: the workspace.
    #[schemars(with = "Option<String>")]
    pub cwd: Option<Spanned<String>>,
    /// The URL of a running server, such as `http://127.0.0.1:9000/mcp`.
    #[schemars(with = "Option<String>")]
    pub url: Option<Spanned<String>>,
    /// HTTP headers by name. For a token use `bearer_env`.
    #[schemars(with = "BTreeMap<String, String>")]
    pub headers: Named<Spanned<Secret>>,
    /// The environment variable with the bearer token.
    #[schemars(with = "Option<String>")]
    pub bearer_env: Option<Spanned<Secret>>,
    /// The minimum trust for its tools. Default: `full`.
    pub trust: Option<Trust>,
    /// The timeout of a call in milliseconds. Default: 30,000.
    #[schemars(with = "Option<u64>")]
    pub timeout_ms: Option<Spanned<u64>>,
    /// The timeout for starting the server and listing its tools, in milliseconds. Default: 10,000.
    #[schemars(with = "Option<u64>")]
    pub start_timeout_ms: Option<Spanned<u64>>,
    /// The maximum number of its tools, in the order of their names. Default: 64.
    #[schemars(with = "Option<usize>")]
    pub max_tools: Option<Spanned<usize>>,
    /// Rules for single tools, by the name the server gives them.
    #[schemars(with = "BTreeMap<String, RawMcpTool>")]
    pub tools: Named<RawMcpTool>,
    /// Whether the server is used. Default: true.
    pub enabled: Option<bool>,
}

/// Rules for one tool of a server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawMcpTool {
    /// The minimum trust, higher or lower than the server's.
    pub trust: Option<Trust>,
    /// Whether the tool is disabled.
    pub disabled: bool,
    /// Whether a call needs the owner's confirmation in a turn that has read text from outside.
    pub sensitive: bool,
}

/// MCP servers by name.
pub type McpServers = BTreeMap<Arc<str>, McpServer>;

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// How to connect to it.
    pub transport: McpTransport,
    /// The timeout of a call.
    pub timeout: Duration,
    /// The timeout for starting the server and listing its tools.
    pub start_timeout: Duration,
    /// Which of its tools may be used, and the trust they need.
    pub rules: OfferRules,
}

/// How to connect to an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A child process that communicates over standard input and output.
    Stdio(McpProgram),
    /// A server that is reached over HTTP.
    Http(McpEndpoint),
}

/// A child process that is an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpProgram {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Additional environment variables. Their values may be secret.
    pub env: BTreeMap<String, Secret>,
    /// Environment variables passed on from Foreword's own environment.
    pub env_from: Vec<String>,
    /// The working directory, below the workspace. Default: the workspace.
    pub cwd: Option<String>,
}

/// An MCP server's HTTP endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpEndpoint {
    /// The URL.
    pub url: String,
    /// Request headers. Their values may be secret.
    pub headers: Vec<(String, Secret)>,
    /// The environment variable with the bearer token.
    pub bearer_env: Option<String>,
}

const TIMEOUT: Duration = Duration::from_secs(30);
const START_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_TOOLS: usize = 64;
/// Headers reserved by the protocol.
const PROTOCOL_HEADERS: [&str; 5] =
    ["accept", "mcp-session-id", "mcp-protocol-version", "last-event-id", "content-type"];

impl ConfigParser<'_> {
    pub(super) fn mcp(&mut self, raw: &Named<RawMcpServer>) -> McpServers {
        let mut servers = McpServers::new();
        for (name, written) in &raw.0 {
            if !is_server_name(&name.value) {
                let message = format!("`{}` is not a valid server name", name.value.escape_debug());
                let help = "use up to twenty characters of `a` to `z`, `0` to `9` and `-`; the name prefixes its tools";
                self.refuse(name.defined, message, help.to_owned());
                continue;
            }
            let server = self.mcp_server(name, written);
            if let Some(server) = server.filter(|_| written.enabled.unwrap_or(true)) {
                servers.insert(name.value.as_str().into(), server);
            }
        }
        servers
    }

    fn mcp_server(&mut self, name: &Spanned<String>, raw: &RawMcpServer) -> Option<McpServer> {
        let key = format!("tools.mcp.{}", name.value);
        let transport = match (&raw.command, &raw.url) {
            (Some(command), None) => self.program(&key, command, raw),
            (None, Some(url)) => self.mcp_address(&key, url, raw),
            (Some(_), Some(url)) => {
                let message = format!("`{key}` has both `command` and `url`");
                self.refuse(url.defined, message, "keep one: a program to start, or a URL".to_owned());
                None
            }
            (None, None) => {
                let help =
                    "add `command: …` for a program to start, or `url: http://…` for one that runs already";
                self.refuse(
                    name.defined,
                    format!("`{key}` has neither `command` nor `url`"),
                    help.to_owned(),
                );
                None
            }
        };
        let timeout = self.milliseconds(raw.timeout_ms.as_ref(), &format!("{key}.timeout_ms"), TIMEOUT);
        let start_timeout = self.milliseconds(
            raw.start_timeout_ms.as_ref(),
            &format!("{key}.start_timeout_ms"),
            START_TIMEOUT,
        );
        let max_tools =
            self.within(raw.max_tools.as_ref(), &format!("{key}.max_tools"), 1..=1_000, MAX_TOOLS);
        let rules =
            OfferRules { trust: raw.trust.unwrap_or(Trust::Full), max_tools, tools: rules(&raw.tools) };
        Some(McpServer { transport: transport?, timeout, start_timeout, rules })
    }

    fn program(&mut self, key: &str, command: &Spanned<String>, raw: &RawMcpServer) -> Option<McpTransport> {
        let misplaced = [
            (raw.headers.0.first().map(|(name, _)| name.defined), "headers"),
            (raw.bearer_env.as_ref().map(|name| name.defined), "bearer_env"),
        ];
        self.only_with(key, "url", misplaced);
        if command.value.trim().is_empty() || command.value.contains('\0') {
            let help = "name a program, such as `uvx`, and put what follows it into `args`";
            self.refuse(command.defined, format!("`{key}.command` is not a program name"), help.to_owned());
            return None;
        }
        let args = raw.args.clone().unwrap_or_default();
        if args.iter().any(|arg| arg.contains('\0')) {
            let message = format!("`{key}.args` has a NUL character in it");
            self.refuse(command.defined, message, "remove it: a command line cannot contain NUL".to_owned());
        }
        Some(McpTransport::Stdio(McpProgram {
            command: command.value.clone(),
            args,
            env: self.variables(key, &raw.env),
            env_from: self.variables_from(key, &raw.env_from),
            cwd: self.mcp_folder(key, raw.cwd.as_ref()),
        }))
    }

    fn mcp_folder(&mut self, key: &str, written: Option<&Spanned<String>>) -> Option<String> {
        let written = written?;
        match plain_path(&written.value) {
            Ok(path) => Some(path),
            Err(reason) => {
                let message = format!("`{key}.cwd`: {reason}");
                self.refuse(written.defined, message, "name a folder below the workspace".to_owned());
                None
            }
        }
    }

    fn variables(&mut self, key: &str, raw: &Named<Spanned<Secret>>) -> BTreeMap<String, Secret> {
        let mut variables = BTreeMap::new();
        for (name, value) in &raw.0 {
            if !is_variable(&name.value) {
                self.no_variable(name.defined, &format!("{key}.env"));
            } else if value.value.reveal().contains('\0') {
                let message = format!("`{key}.env`: the value of `{}` has a NUL character", name.value);
                self.refuse(value.defined, message, "leave it out".to_owned());
            } else {
                variables.insert(name.value.clone(), value.value.clone());
            }
        }
        variables
    }

    fn variables_from(&mut self, key: &str, raw: &[Spanned<String>]) -> Vec<String> {
        for name in raw.iter().filter(|name| !is_variable(&name.value)) {
            self.no_variable(name.defined, &format!("{key}.env_from"));
        }
        raw.iter().map(|name| name.value.clone()).collect()
    }

    fn no_variable(&mut self, at: Location, key: &str) {
        let help = "use letters, digits and `_`, with no digit first";
        self.refuse(at, format!("`{key}`: not a valid environment variable name"), help.to_owned());
    }

    fn mcp_address(&mut self, key: &str, url: &Spanned<String>, raw: &RawMcpServer) -> Option<McpTransport> {
        let misplaced = [
            (raw.args.as_ref().map(|_| url.defined), "args"),
            (raw.env.0.first().map(|(name, _)| name.defined), "env"),
            (raw.env_from.first().map(|name| name.defined), "env_from"),
            (raw.cwd.as_ref().map(|cwd| cwd.defined), "cwd"),
        ];
        self.only_with(key, "command", misplaced);
        let headers = self.mcp_headers(key, &raw.headers);
        let bearer_env = raw.bearer_env.as_ref().and_then(|name| {
            if is_key_variable(name.value.reveal()) {
                return Some(name.value.reveal().to_owned());
            }
            let message = format!("`{key}.bearer_env` is not a valid environment variable name");
            let help = "write the variable's name in capitals, such as `FILES_TOKEN`, and not the token";
            self.refuse(name.defined, message, help.to_owned());
            None
        });
        match BaseUrl::parse(&url.value) {
            Ok(parsed) => {
                if parsed.is_readable_on_the_way() && (bearer_env.is_some() || !headers.is_empty()) {
                    let message = format!("the token and the headers of `{key}` are sent without encryption");
                    self.note(url.defined, message, "use `https://`, or a server on this machine".to_owned());
                }
                // Unchanged: a trailing slash may be significant.
                Some(McpTransport::Http(McpEndpoint {
                    url: url.value.trim().to_owned(),
                    headers,
                    bearer_env,
                }))
            }
            Err(bad) => {
                let help = "write it as `http://127.0.0.1:9000/mcp`; what else is to be sent can go into `headers` and `bearer_env`";
                self.refuse(url.defined, format!("`{key}.url` can't be used: {bad}"), help.to_owned());
                None
            }
        }
    }

    fn mcp_headers(&mut self, key: &str, raw: &Named<Spanned<Secret>>) -> Vec<(String, Secret)> {
        let mut headers: Vec<(String, Secret)> = Vec::new();
        for (name, value) in &raw.0 {
            let problem = if !is_header_name(&name.value) {
                "invalid header name".to_owned()
            } else if PROTOCOL_HEADERS.iter().any(|ours| name.value.eq_ignore_ascii_case(ours)) {
                format!("`{}` belongs to the protocol", name.value)
            } else if !is_header_value(value.value.reveal()) {
                format!("the value of `{}` can't be sent", name.value)
            } else if headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name.value)) {
                format!("`{}` occurs twice", name.value)
            } else {
                headers.push((name.value.clone(), value.value.clone()));
                continue;
            };
            let help = "write `Name: value`, on one line, each name once; put a token into `bearer_env`";
            self.refuse(name.defined, format!("`{key}.headers`: {problem}"), help.to_owned());
        }
        headers
    }

    /// Refuses settings that only apply to the other transport.
    fn only_with<const N: usize>(&mut self, key: &str, other: &str, written: [(Option<Location>, &str); N]) {
        for (at, name) in written {
            if let Some(at) = at {
                let message = format!("`{key}.{name}` requires `{other}`");
                self.refuse(at, message, "remove it".to_owned());
            }
        }
    }
}

fn rules(raw: &Named<RawMcpTool>) -> BTreeMap<Arc<str>, OfferRule> {
    let rule =
        |raw: &RawMcpTool| OfferRule { trust: raw.trust, disabled: raw.disabled, sensitive: raw.sensitive };
    raw.0.iter().map(|(name, raw)| (name.value.as_str().into(), rule(raw))).collect()
}

fn is_variable(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(plain)
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
        && name.len() <= 128
}
