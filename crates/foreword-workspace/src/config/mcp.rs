//! The servers of tools an agent uses, by name: how each is reached, and what holds for what it offers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::provider::Secret;
use foreword_core::tools::outside::OfferRules;

/// The servers, by name.
pub type McpServers = BTreeMap<Arc<str>, McpServer>;

/// A server of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// How it is reached.
    pub reach: McpReach,
    /// How long a call may take.
    pub timeout: Duration,
    /// How long it may take until it has said what it offers.
    pub start_timeout: Duration,
    /// Who may use its tools, and which.
    pub rules: OfferRules,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpReach {
    /// By starting a program and talking to it over its standard input and output.
    Program(McpProgram),
    /// By HTTP.
    Address(McpAddress),
}

/// A program that is a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpProgram {
    /// What to start.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it gets besides the few that every one does. Their values may be secret.
    pub env: BTreeMap<String, Secret>,
    /// Variables of our own environment that it gets.
    pub env_from: Vec<String>,
    /// The folder it starts in, below the workspace; the workspace itself if there is none.
    pub cwd: Option<String>,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpAddress {
    /// The address of its endpoint.
    pub url: String,
    /// Headers to send; their values may be secret.
    pub headers: Vec<(String, Secret)>,
    /// The variable of our environment that holds its token.
    pub bearer_env: Option<String>,
}
