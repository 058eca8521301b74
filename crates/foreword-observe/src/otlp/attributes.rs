//! Selects the attributes that may leave the machine: names of agents, models and tools, numbers, and words from fixed
//! vocabularies. Free text (errors, questions, reasons, messages) is never exported.

use std::collections::BTreeSet;

use foreword_core::event::{Event, EventType};
use foreword_core::model::ErrorKind;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use serde::Deserialize as _;
use serde_json::Value;

use super::span::{Attribute, Attributes, SpanEvent};

/// The maximum number of numeric attributes taken from an event's metadata.
const MAX_NUMBERS: usize = 16;
/// The maximum number of tool names.
const MAX_TOOLS: usize = 256;
/// The error type when none is known.
const OTHER_ERROR: &str = "_OTHER";
/// The outcomes of turns and runs.
const OUTCOMES: [&str; 4] = ["done", "failed", "cancelled", "interrupted"];

/// A string of the event's metadata.
pub(super) fn text<'e>(event: &'e Event, key: &str) -> Option<&'e str> {
    event.metadata.as_ref()?.get(key)?.as_str()
}

/// Conversation, agent, turn and channel family; never the user or the address.
pub(super) fn identity(event: &Event) -> Attributes {
    let mut out = Attributes::default();
    out.add_some("gen_ai.conversation.id", event.session_id.as_ref().map(|id| id.as_str()));
    out.add_some("gen_ai.agent.name", event.agent_id.as_deref());
    out.add_some("foreword.turn.id", event.turn_id.as_ref().map(|id| id.as_str()));
    let channel = event.channel.as_deref().map(Channel::new);
    out.add_some("foreword.channel.family", channel.as_ref().and_then(Channel::family));
    out
}

/// The model, with the provider names of the OpenTelemetry conventions.
pub(super) fn model(event: &Event, out: &mut Attributes) {
    let (provider, name) = match text(event, "model").and_then(|model| model.split_once('/')) {
        Some((provider, name)) => (Some(provider), Some(name)),
        None => (text(event, "provider"), None),
    };
    out.add_some("gen_ai.provider.name", provider.map(conventional));
    out.add_some("gen_ai.request.model", name);
}

fn conventional(provider: &str) -> &str {
    match provider {
        "google" | "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    }
}

/// Tokens and cost. The conventions count cached tokens as input tokens, and so do events.
pub(super) fn usage(event: &Event, out: &mut Attributes) {
    out.add_some("gen_ai.usage.input_tokens", event.tokens_in);
    out.add_some("gen_ai.usage.output_tokens", event.tokens_out);
    out.add_some("gen_ai.usage.cache_read.input_tokens", event.cache_read_tokens);
    out.add_some("gen_ai.usage.cache_creation.input_tokens", event.cache_write_tokens);
    out.add_some("foreword.cost_usd", event.cost_usd.filter(|cost| cost.is_finite()).map(Attribute::Amount));
}

/// The error type: the HTTP status, or the error kind.
pub(super) fn error_type(event: &Event) -> String {
    let status = event.metadata.as_ref().and_then(|all| all.get("statusCode")).and_then(Value::as_u64);
    let kind = event.metadata.as_ref().and_then(|all| all.get("kind"));
    let known = kind.filter(|kind| ErrorKind::deserialize(*kind).is_ok()).and_then(Value::as_str);
    status.map(|status| status.to_string()).unwrap_or_else(|| known.unwrap_or(OTHER_ERROR).to_owned())
}

/// The outcome, if it is a known one.
pub(super) fn outcome(event: &Event) -> Option<&'static str> {
    let word = text(event, "outcome")?;
    OUTCOMES.into_iter().find(|known| *known == word)
}

/// Trust and epoch, if the event contains them.
pub(super) fn trust_and_epoch(event: &Event, out: &mut Attributes) {
    let key = if event.event_type == EventType::TrustResolved { "effective" } else { "trust" };
    let trust = text(event, key).and_then(|word| word.parse::<Trust>().ok());
    out.add_some("foreword.trust", trust.map(|trust| trust.as_str()));
    let epoch = event.metadata.as_ref().and_then(|all| all.get("epoch")).and_then(Value::as_u64);
    out.add_some("foreword.epoch", epoch);
}

/// The tools that have run. A model may request a tool that does not exist, and such a name may contain anything.
#[derive(Debug, Default)]
pub(super) struct Tools(BTreeSet<String>);

impl Tools {
    pub(super) fn ran(&mut self, name: &str) {
        if self.0.len() < MAX_TOOLS && !self.0.contains(name) {
            self.0.insert(name.to_owned());
        }
    }

    /// The event as a span event.
    pub(super) fn span_event(&self, event: &Event) -> SpanEvent {
        let mut attributes = Attributes::default();
        trust_and_epoch(event, &mut attributes);
        attributes.add_some("gen_ai.tool.name", text(event, "tool").filter(|name| self.0.contains(*name)));
        attributes.add_some("foreword.duration_ms", event.duration_ms);
        attributes.add_some("foreword.outcome", outcome(event));
        let all = event.metadata.as_ref().and_then(Value::as_object);
        for (key, value) in all.into_iter().flatten().filter(|(key, _)| is_key(key)).take(MAX_NUMBERS) {
            let value = match value {
                Value::Bool(truth) => Attribute::Truth(*truth),
                Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                    (Some(whole), _) => Attribute::Whole(whole),
                    (None, Some(amount)) => Attribute::Amount(amount),
                    (None, None) => continue,
                },
                // Set by our own code, from a fixed list.
                Value::String(word) if key == "cause" && is_word(word) => word.as_str().into(),
                _ => continue,
            };
            attributes.add(format!("foreword.{}", snake_case(key)), value);
        }
        // The name of an unknown event type may contain anything.
        let known = !matches!(event.event_type, EventType::Other(_));
        let name = if known { event.event_type.as_str() } else { "other" };
        SpanEvent { at: event.timestamp, name: name.to_owned(), attributes }
    }
}

fn is_word(word: &str) -> bool {
    word.len() <= 40
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'0'..=b'9'))
}

fn is_key(key: &str) -> bool {
    (1..=40).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn snake_case(key: &str) -> String {
    let mut out = String::with_capacity(key.len() + 2);
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(character.to_ascii_lowercase());
    }
    out
}
