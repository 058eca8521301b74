//! A server of tools as people write it. Header values and values of variables are [`Secret`]s from the first moment.

use std::collections::BTreeMap;

use foreword_core::provider::Secret;
use foreword_prompt::trust::Trust;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::Named;

/// A server of tools that speaks the Model Context Protocol: a program that is started (`command`), or an address (`url`).
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawMcpServer {
    /// The program to start; it is spoken to over its standard input and output.
    #[schemars(with = "Option<String>")]
    pub command: Option<Spanned<String>>,
    /// The program's arguments.
    pub args: Option<Vec<String>>,
    /// Variables the program gets besides `PATH`, `HOME`, `LANG` and their like, by name. For secrets use `env_from`.
    #[schemars(with = "BTreeMap<String, String>")]
    pub env: Named<Spanned<Secret>>,
    /// Variables of Foreword's own environment that the program gets.
    #[schemars(with = "Vec<String>")]
    pub env_from: Vec<Spanned<String>>,
    /// The folder the program starts in, below the workspace. Default: the workspace.
    #[schemars(with = "Option<String>")]
    pub cwd: Option<Spanned<String>>,
    /// The address of a server that is running already, such as `http://127.0.0.1:9000/mcp`.
    #[schemars(with = "Option<String>")]
    pub url: Option<Spanned<String>>,
    /// Headers to send to the address, by name. For a token use `bearer_env`.
    #[schemars(with = "BTreeMap<String, String>")]
    pub headers: Named<Spanned<Secret>>,
    /// The environment variable with the token for the address.
    #[schemars(with = "Option<String>")]
    pub bearer_env: Option<Spanned<Secret>>,
    /// The least trust for its tools. Default: `full`.
    pub trust: Option<Trust>,
    /// How many milliseconds a call may take. Default: 30,000.
    #[schemars(with = "Option<u64>")]
    pub timeout_ms: Option<Spanned<u64>>,
    /// How many milliseconds it may take to start and say what it offers. Default: 10,000.
    #[schemars(with = "Option<u64>")]
    pub start_timeout_ms: Option<Spanned<u64>>,
    /// How many of its tools are used at most, in the order of their names. Default: 64.
    #[schemars(with = "Option<usize>")]
    pub max_tools: Option<Spanned<usize>>,
    /// What is different for single tools, by the names the server gives them.
    #[schemars(with = "BTreeMap<String, RawMcpTool>")]
    pub tools: Named<RawMcpTool>,
    /// Whether it is used. Default: true.
    pub enabled: Option<bool>,
}

/// What is different for one tool of a server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawMcpTool {
    /// Another least trust, higher or lower than the server's.
    pub trust: Option<Trust>,
    /// Whether it is left out.
    pub disabled: bool,
    /// Whether a turn that has read text from outside may only call it once the owner has agreed.
    pub sensitive: bool,
}
