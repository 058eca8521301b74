//! Parses the state of a self-supporting agent from a request's context: `state`, `inbox`, `history`, `memory`,
//! `calls_left`. Text from outside becomes untrusted text here.

use foreword_core::id::MAX_ID_BYTES;
use foreword_prompt::dynamic::{Exchange, Obligation, SenderHistory, SituationReport, situation_message};
use foreword_prompt::occasion::FormattedTime;
use foreword_prompt::untrusted::{Marker, Origin, OutsideName, Untrusted};
use serde_json::{Map, Value};

/// The context keys with a defined shape; every other plain value becomes a line of the state.
const LISTS: [&str; 5] = ["state", "inbox", "history", "memory", "calls_left"];

const STATE_SHAPE: &str = r#"state={"balance":"5"}"#;
const INBOX_SHAPE: &str = r#"inbox=[{"sender":"0xA","text":"hello"}]"#;
const HISTORY_SHAPE: &str =
    r#"history=[{"sender":"0xA","exchanges":[{"message":"hello","reply":"good day"}]}]"#;
const MEMORY_SHAPE: &str = r#"memory=["the rent is due on the first"]"#;
const CALLS_SHAPE: &str = "calls_left=3";

/// A context value with an unexpected shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextProblem {
    /// What is wrong, and where.
    pub message: String,
    /// The expected shape.
    pub shape: &'static str,
}

/// The first value in `context` that [`situation_report`] would ignore.
pub(crate) fn situation_problem(context: &Map<String, Value>) -> Option<ContextProblem> {
    let misfit = |key: &str, shape: &'static str, problem: fn(&str, &Value) -> Option<String>| {
        let message = context.get(key).and_then(|value| problem(key, value))?;
        Some(ContextProblem { message, shape })
    };
    let is_count = |value: &Value| value.as_u64().is_some_and(|count| usize::try_from(count).is_ok());
    let calls = context.get("calls_left").filter(|value| !is_count(value));
    misfit("state", STATE_SHAPE, |at, value| (!value.is_object()).then(|| format!("`{at}` is not a mapping")))
        .or_else(|| misfit("inbox", INBOX_SHAPE, |at, value| misfit_in_list(at, value, message_misfit)))
        .or_else(|| misfit("history", HISTORY_SHAPE, |at, value| misfit_in_list(at, value, history_misfit)))
        .or_else(|| misfit("memory", MEMORY_SHAPE, |at, value| misfit_in_list(at, value, |_, _| None)))
        .or_else(|| {
            let message = "`calls_left` is not a whole number".to_owned();
            calls.map(|_| ContextProblem { message, shape: CALLS_SHAPE })
        })
}

type Misfit = fn(&str, &Value) -> Option<String>;

fn misfit_in_list(at: &str, value: &Value, of_item: Misfit) -> Option<String> {
    let Some(items) = value.as_array() else { return Some(format!("`{at}` is not a list")) };
    items.iter().enumerate().find_map(|(index, item)| of_item(&format!("{at}[{index}]"), item))
}

fn message_misfit(at: &str, value: &Value) -> Option<String> {
    let id = || value.get("id").and_then(|_| text_misfit(at, value, "id"));
    text_misfit(at, value, "sender").or_else(|| text_misfit(at, value, "text")).or_else(id)
}

fn history_misfit(at: &str, value: &Value) -> Option<String> {
    let exchanges = || match value.get("exchanges") {
        None => Some(format!("`{at}` has no `exchanges`")),
        Some(exchanges) => misfit_in_list(&format!("{at}.exchanges"), exchanges, exchange_misfit),
    };
    text_misfit(at, value, "sender").or_else(exchanges)
}

fn exchange_misfit(at: &str, value: &Value) -> Option<String> {
    text_misfit(at, value, "message").or_else(|| text_misfit(at, value, "reply"))
}

fn text_misfit(at: &str, value: &Value, key: &str) -> Option<String> {
    if !value.is_object() {
        return Some(format!("`{at}` is not a mapping"));
    }
    match value.get(key) {
        Some(Value::String(_)) => None,
        Some(_) => Some(format!("`{at}.{key}` is not text")),
        None => Some(format!("`{at}` has no `{key}`")),
    }
}

/// The situation layer's text, for a prompt without that layer: it goes into the message.
#[must_use]
pub fn situation_text(context: &Map<String, Value>, now: &FormattedTime, marker: [u8; 16]) -> String {
    let report = situation_report(context, now, Vec::new());
    situation_message(&report, &Marker::from_random_bytes(marker))
}

/// The report for a turn at `now`.
pub(crate) fn situation_report(
    context: &Map<String, Value>,
    now: &FormattedTime,
    tools: Vec<String>,
) -> SituationReport {
    let state = context.get("state").and_then(Value::as_object);
    let plain = context.iter().filter(|(name, _)| !LISTS.contains(&name.as_str()));
    let mut lines: Vec<(String, String)> =
        state.into_iter().flatten().chain(plain).map(|(name, value)| (name.clone(), text(value))).collect();
    lines.push(("timestamp".to_owned(), now.timestamp.to_string()));
    let history = list(context, "history").filter_map(history_of).collect::<Vec<_>>();
    let obligations: Vec<Obligation> = list(context, "inbox").filter_map(message_of).collect();
    SituationReport {
        state: lines,
        // Only for the senders of this batch.
        history: history
            .into_iter()
            .filter(|one| obligations.iter().any(|m| m.message.origin().name() == &one.sender))
            .collect(),
        obligations,
        memory: list(context, "memory")
            .map(|fact| Untrusted::new(Origin::memory("notes"), text(fact)))
            .collect(),
        tools,
        calls_left: context
            .get("calls_left")
            .and_then(Value::as_u64)
            .and_then(|left| usize::try_from(left).ok()),
    }
}

fn list<'a>(context: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    context.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn message_of(value: &Value) -> Option<Obligation> {
    let message = Untrusted::new(Origin::inbox(value.get("sender")?.as_str()?), value.get("text")?.as_str()?);
    Some(Obligation { id: value.get("id").and_then(Value::as_str).map(id_as_shown), message })
}

/// Not shortened: the model has to repeat the id.
fn id_as_shown(id: &str) -> OutsideName {
    OutsideName::with_limit(id, MAX_ID_BYTES)
}

fn history_of(value: &Value) -> Option<SenderHistory> {
    let sender = value.get("sender")?.as_str()?;
    let exchange = |value: &Value| {
        let message = Untrusted::new(Origin::inbox(sender), value.get("message")?.as_str()?);
        // The agent's own replies come from a store that also holds text from outside, so they are delimited like such
        // text.
        let reply = Untrusted::new(Origin::memory("your reply"), value.get("reply")?.as_str()?);
        Some(Exchange { message, reply })
    };
    let exchanges = value.get("exchanges")?.as_array()?.iter().filter_map(exchange).collect();
    Some(SenderHistory { sender: OutsideName::new(sender), exchanges })
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
