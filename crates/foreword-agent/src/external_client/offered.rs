//! The tools of external clients: some of the agent's own, as far as configuration and trust permit them, and tools for
//! clients only.

use std::collections::BTreeSet;

use foreword_core::api_token::Scope;
use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
use foreword_prompt::trust::Trust;

use super::ResolvedClient;

/// A tool as listed for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientTool {
    /// Name, description and parameters.
    pub spec: ToolSpec,
    /// Whether a call has side effects.
    pub changes: bool,
}

/// An available tool with its handler.
pub(super) struct Offered {
    pub(super) tool: ClientTool,
    pub(super) runs: Handler,
}

/// The implementation of a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Handler {
    /// The agent's tool of the same name.
    AgentTool,
    MemoryIndex,
    PromptBuild,
    PromptExplain,
    Cache,
}

/// The agent's tools that are available to clients, with the required scope and the description for clients.
const AGENT_TOOLS: [(&str, Scope, &str); 7] = [
    (
        "memory_search",
        Scope::Chat,
        "Searches the agent's memory. Returns the best snippets with their path, lines and token \
         cost; memory_get reads more.",
    ),
    (
        "memory_get",
        Scope::Chat,
        "Reads a note of the memory, or part of it, by a path that memory_index or memory_search has shown. Returns the \
         lines asked for, and how many there are in all.",
    ),
    (
        "memory_write",
        Scope::Chat,
        "Stores a note for later: one fact or decision, with enough context to be understood alone. It is marked as text \
         from another agent. Returns the path it was written to.",
    ),
    (
        "foreword_status",
        Scope::Observe,
        "Returns the agent's current status: its channels, conversations, memory and latest errors, as far as \
         you may see them.",
    ),
    (
        "foreword_logs",
        Scope::Observe,
        "Searches the event log of the agent here, to find out why something failed, was late or was expensive. Returns \
         the newest matching events. Users other than the owner must give one of their own conversations.",
    ),
    (
        "foreword_trace",
        Scope::Observe,
        "Shows one turn of the agent here step by step: every model call and tool call with its time, retries, tokens and \
         cost. Takes the id of a turn, of a message or of a proxied request. foreword_logs shows which turns there are.",
    ),
    (
        "foreword_cost",
        Scope::Observe,
        "Returns the usage and cost of the agent's model calls: in all, on average per turn, and by conversation, user, \
         model, agent or day. For the owner.",
    ),
];

/// The tools that are available to a client, sorted by name.
pub(super) fn to(client: &ResolvedClient, scopes: &BTreeSet<Scope>) -> Vec<Offered> {
    let permitted = client.snapshot.config.tools_at(client.trust, &[]);
    let own = AGENT_TOOLS.iter().filter(|(_, scope, _)| scopes.contains(scope));
    let mut offered: Vec<Offered> = own
        .filter_map(|(name, _, description)| {
            let spec = permitted.iter().find(|spec| spec.name == *name)?;
            let spec = ToolSpec { description: (*description).to_owned(), ..spec.clone() };
            Some(Offered {
                tool: ClientTool { spec, changes: *name == "memory_write" },
                runs: Handler::AgentTool,
            })
        })
        .collect();
    let reads_memory = permitted.iter().any(|spec| spec.name == "memory_get");
    let more = [
        (memory_index(), Scope::Chat, Handler::MemoryIndex),
        (prompt_build(client.trust), Scope::Chat, Handler::PromptBuild),
        (prompt_explain(), Scope::Observe, Handler::PromptExplain),
        (cache(), Scope::Observe, Handler::Cache),
    ];
    for (spec, scope, runs) in more {
        let sensible = runs != Handler::MemoryIndex || reads_memory;
        if sensible && scopes.contains(&scope) && client.trust.permits(spec.trust) {
            offered.push(Offered { tool: ClientTool { spec, changes: false }, runs });
        }
    }
    offered.sort_by(|one, other| one.tool.spec.name.cmp(&other.tool.spec.name));
    offered
}

fn memory_index() -> ToolSpec {
    ToolSpec::new(
        "memory_index",
        "Lists the notes of the memory with what each is about and how many tokens reading it costs. Use it before \
         memory_get.",
        Trust::Familiar,
    )
}

/// Only the owner may request the prompt of another occasion.
fn prompt_build(trust: Trust) -> ToolSpec {
    let build = if trust.permits(Trust::Full) {
        let description = "Builds the system prompt that the agent here would run on, for you or for an occasion you \
             describe: layered, gated by trust and within its budget. Returns it as text, or with its layers, tokens and \
             fingerprint as JSON.";
        occasion(ToolSpec::new("prompt_build", description, Trust::Familiar)).with(Parameter::optional(
            "context",
            ParameterKind::Any,
            "Values for templates, as one JSON object.",
        ))
    } else {
        let description = "Builds the system prompt that the agent here would run on when it talks to you: layered, gated by \
             trust and within its budget. Returns it as text, or with its layers, tokens and fingerprint as JSON.";
        ToolSpec::new("prompt_build", description, Trust::Familiar)
    };
    build.with(Parameter::optional(
        "format",
        ParameterKind::choice(["text", "json"]),
        "Output format; default `text`.",
    ))
}

fn prompt_explain() -> ToolSpec {
    let description = "Explains the system prompt of an occasion: every layer with its weight, trust and source, what was \
         withheld, cut or is absent and why, and where a provider's cache can break. Returns JSON.";
    occasion(ToolSpec::new("prompt_explain", description, Trust::Full))
}

/// Adds the parameters that describe an occasion.
fn occasion(spec: ToolSpec) -> ToolSpec {
    let text = |name: &str, description: &str| Parameter::optional(name, ParameterKind::String, description);
    spec.with(text("user", "For whom; you if left out."))
        .with(text("channel", "Where they write from, such as `signal:bob`."))
        .with(text("situation", "In what kind of place, such as `group`; `dm` if left out."))
        .with(text("agent", "Another agent of the workspace than the first."))
        .with(text("model", "For which model, such as `anthropic/claude-sonnet-4-6`."))
}

fn cache() -> ToolSpec {
    let text = |name: &str, description: &str| Parameter::optional(name, ParameterKind::String, description);
    ToolSpec::new(
        "foreword_cache",
        "Returns what was read from the provider's prompt cache and why the rest was not: where each prefix diverged, the \
         cause, and the money. Returns JSON.",
        Trust::Familiar,
    )
    .with(text("session_id", "Only this conversation. Users other than the owner must give one of their own."))
    .with(text("since", "How far back: `1h`, `12h`, `7d`, `today`, or a date and time; 30 days if left out."))
}
