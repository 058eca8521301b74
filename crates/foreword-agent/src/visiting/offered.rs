//! Which tools a visitor is told of: those of the agent that make sense from outside, as far as the configuration and trust
//! permit them, and those that are for visitors alone.

use std::collections::BTreeSet;

use foreword_core::api_token::Scope;
use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
use foreword_prompt::trust::Trust;

use super::Known;

/// A tool as a visitor hears of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisitorTool {
    /// What it is, and what it takes.
    pub spec: ToolSpec,
    /// Whether a call changes something.
    pub changes: bool,
}

/// A tool that is open to somebody, and what runs it.
pub(super) struct Offered {
    pub(super) tool: VisitorTool,
    pub(super) runs: Runs,
}

/// What runs a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// The agent's own tool of that name.
    AgentsOwn,
    MemoryIndex,
    PromptBuild,
    PromptExplain,
    Cache,
}

/// The agent's own tools that visitors get, what opens them, and what they are to somebody who is not the agent.
const AGENTS_OWN: [(&str, Scope, &str); 7] = [
    (
        "memory_search",
        Scope::Chat,
        "Finds notes in the memory that this household keeps. Returns the best snippets with their path, lines and token \
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
        "Keeps something worth knowing later: one fact or decision, with enough context to be understood alone. It is kept \
         as another agent's words, and shown as such. Returns the path it was written to.",
    ),
    (
        "foreword_status",
        Scope::Observe,
        "Tells how the agent here is running right now: its channels, conversations, memory and latest errors, as far as \
         you may see them.",
    ),
    (
        "foreword_logs",
        Scope::Observe,
        "Searches the event log of the agent here, to find out why something failed, was late or was expensive. Returns \
         the newest matching events. Whoever is not the owner names a conversation of their own.",
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
        "Tells what the agent's calls to models used and cost: in all, on average per turn, and by conversation, user, \
         model, agent or day. For the owner.",
    ),
];

/// What is open to a visitor, by name.
pub(super) fn to(known: &Known, scopes: &BTreeSet<Scope>) -> Vec<Offered> {
    let permitted = known.snapshot.config.tools_at(known.trust, &[]);
    let own = AGENTS_OWN.iter().filter(|(_, scope, _)| scopes.contains(scope));
    let mut offered: Vec<Offered> = own
        .filter_map(|(name, _, description)| {
            let spec = permitted.iter().find(|spec| spec.name == *name)?;
            let spec = ToolSpec { description: (*description).to_owned(), ..spec.clone() };
            Some(Offered {
                tool: VisitorTool { spec, changes: *name == "memory_write" },
                runs: Runs::AgentsOwn,
            })
        })
        .collect();
    let reads_memory = permitted.iter().any(|spec| spec.name == "memory_get");
    let more = [
        (memory_index(), Scope::Chat, Runs::MemoryIndex),
        (prompt_build(known.trust), Scope::Chat, Runs::PromptBuild),
        (prompt_explain(), Scope::Observe, Runs::PromptExplain),
        (cache(), Scope::Observe, Runs::Cache),
    ];
    for (spec, scope, runs) in more {
        let sensible = runs != Runs::MemoryIndex || reads_memory;
        if sensible && scopes.contains(&scope) && known.trust.permits(spec.trust) {
            offered.push(Offered { tool: VisitorTool { spec, changes: false }, runs });
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

/// Somebody who is not the owner gets their own prompt, and can ask for no other.
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
        "How it comes back; text if left out.",
    ))
}

fn prompt_explain() -> ToolSpec {
    let description = "Explains the system prompt of an occasion: every layer with its weight, trust and source, what was \
         withheld, cut or is absent and why, and where a provider's cache can break. Returns JSON.";
    occasion(ToolSpec::new("prompt_explain", description, Trust::Full))
}

/// The same with what describes an occasion.
fn occasion(spec: ToolSpec) -> ToolSpec {
    let text = |name: &str, description: &str| Parameter::optional(name, ParameterKind::String, description);
    spec.with(text("user", "For whom; you if left out."))
        .with(text("channel", "Where they write from, such as `signal:bob`."))
        .with(text("situation", "In what kind of place, such as `group`; `dm` if left out."))
        .with(text("agent", "Another agent of the workspace than the first."))
        .with(text("model", "For which model, such as `anthropic/claude-sonnet-4-5`."))
}

fn cache() -> ToolSpec {
    let text = |name: &str, description: &str| Parameter::optional(name, ParameterKind::String, description);
    ToolSpec::new(
        "foreword_cache",
        "Tells what was read from the provider's prompt cache and why the rest was not: where each prefix diverged, the \
         cause, and the money. Returns JSON.",
        Trust::Familiar,
    )
    .with(text("session_id", "Only this conversation. Whoever is not the owner names one of their own."))
    .with(text("since", "How far back: `1h`, `12h`, `7d`, `today`, or a date and time; 30 days if left out."))
}
