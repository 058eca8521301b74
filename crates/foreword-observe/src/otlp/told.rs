//! What of an event leaves the machine. Only what stands here does: names of agents, models and tools, numbers, and words out
//! of small vocabularies. Texts of errors, questions, reasons and messages never do, whoever has written them.

use std::collections::BTreeSet;

use foreword_core::event::{Event, EventType};
use foreword_core::model::ErrorKind;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use serde::Deserialize as _;
use serde_json::Value;

use super::span::{Attribute, Attributes, SpanEvent};

/// The most numbers that are taken from what belongs to an event.
const MOST_NUMBERS: usize = 16;
/// The most names of tools that are remembered.
const MOST_TOOLS: usize = 256;
/// What an error is called of which nothing is known.
const OTHER_ERROR: &str = "_OTHER";
/// How turns and runs end.
const OUTCOMES: [&str; 4] = ["done", "failed", "cancelled", "interrupted"];

/// The text of that name in what belongs to the event.
pub(super) fn text<'e>(event: &'e Event, key: &str) -> Option<&'e str> {
    event.metadata.as_ref()?.get(key)?.as_str()
}

/// Whose it is: conversation, agent, turn, and the family of the channel; never the user or the address.
pub(super) fn whose(event: &Event) -> Attributes {
    let mut out = Attributes::default();
    out.add_some("gen_ai.conversation.id", event.session_id.as_ref().map(|id| id.as_str()));
    out.add_some("gen_ai.agent.name", event.agent_id.as_deref());
    out.add_some("foreword.turn.id", event.turn_id.as_ref().map(|id| id.as_str()));
    let channel = event.channel.as_deref().map(Channel::new);
    out.add_some("foreword.channel.family", channel.as_ref().and_then(Channel::family));
    out
}

/// Which model, by the names that the conventions have for who provides it.
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

/// What was read, written and paid. The conventions count what came from a cache as input too, and so do events.
pub(super) fn usage(event: &Event, out: &mut Attributes) {
    out.add_some("gen_ai.usage.input_tokens", event.tokens_in);
    out.add_some("gen_ai.usage.output_tokens", event.tokens_out);
    out.add_some("gen_ai.usage.cache_read.input_tokens", event.cache_read_tokens);
    out.add_some("gen_ai.usage.cache_creation.input_tokens", event.cache_write_tokens);
    out.add_some("foreword.cost_usd", event.cost_usd.filter(|cost| cost.is_finite()).map(Attribute::Amount));
}

/// What sort of error a call failed with: the status, or a word for what happened instead of an answer.
pub(super) fn error_type(event: &Event) -> String {
    let status = event.metadata.as_ref().and_then(|all| all.get("statusCode")).and_then(Value::as_u64);
    let kind = event.metadata.as_ref().and_then(|all| all.get("kind"));
    let known = kind.filter(|kind| ErrorKind::deserialize(*kind).is_ok()).and_then(Value::as_str);
    status.map(|status| status.to_string()).unwrap_or_else(|| known.unwrap_or(OTHER_ERROR).to_owned())
}

/// How it ended, if it says so in a word that is known.
pub(super) fn outcome(event: &Event) -> Option<&'static str> {
    let word = text(event, "outcome")?;
    OUTCOMES.into_iter().find(|known| *known == word)
}

/// Trust and epoch, where an event tells of them.
pub(super) fn standing(event: &Event, out: &mut Attributes) {
    let key = if event.event_type == EventType::TrustResolved { "effective" } else { "trust" };
    let trust = text(event, key).and_then(|word| word.parse::<Trust>().ok());
    out.add_some("foreword.trust", trust.map(|trust| trust.as_str()));
    let epoch = event.metadata.as_ref().and_then(|all| all.get("epoch")).and_then(Value::as_u64);
    out.add_some("foreword.epoch", epoch);
}

/// The tools that have run. A model may ask for one that it has made up, and a made-up name may say anything.
#[derive(Debug, Default)]
pub(super) struct Tools(BTreeSet<String>);

impl Tools {
    pub(super) fn ran(&mut self, name: &str) {
        if self.0.len() < MOST_TOOLS && !self.0.contains(name) {
            self.0.insert(name.to_owned());
        }
    }

    /// The event as something that happened within a span.
    pub(super) fn span_event(&self, event: &Event) -> SpanEvent {
        let mut attributes = Attributes::default();
        standing(event, &mut attributes);
        attributes.add_some("gen_ai.tool.name", text(event, "tool").filter(|name| self.0.contains(*name)));
        attributes.add_some("foreword.duration_ms", event.duration_ms);
        attributes.add_some("foreword.outcome", outcome(event));
        let all = event.metadata.as_ref().and_then(Value::as_object);
        for (key, value) in all.into_iter().flatten().filter(|(key, _)| is_key(key)).take(MOST_NUMBERS) {
            let value = match value {
                Value::Bool(truth) => Attribute::Truth(*truth),
                Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                    (Some(whole), _) => Attribute::Whole(whole),
                    (None, Some(amount)) => Attribute::Amount(amount),
                    (None, None) => continue,
                },
                // Our own code chooses it out of a few.
                Value::String(word) if key == "cause" && is_word(word) => word.as_str().into(),
                _ => continue,
            };
            attributes.add(format!("foreword.{}", snake_case(key)), value);
        }
        // A type that this program does not know may come from anywhere.
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
