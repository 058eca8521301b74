//! Reads the state of a self-supporting agent out of a request's context: `state`, `inbox`, `history`, `memory`,
//! `calls_left`. Everything in it that others wrote becomes untrusted text here.

use foreword_prompt::dynamic::{Exchange, SenderHistory, SituationReport};
use foreword_prompt::occasion::Moment;
use foreword_prompt::untrusted::{Origin, OutsideName, Untrusted};
use serde_json::{Map, Value};

/// The keys of a context that have a meaning of their own; every other plain value is a line of the state.
const LISTS: [&str; 5] = ["state", "inbox", "history", "memory", "calls_left"];

/// The report for a turn at `now`.
pub(crate) fn situation_report(
    context: &Map<String, Value>,
    now: &Moment,
    tools: Vec<String>,
) -> SituationReport {
    let state = context.get("state").and_then(Value::as_object);
    let plain = context.iter().filter(|(name, _)| !LISTS.contains(&name.as_str()));
    let mut lines: Vec<(String, String)> =
        state.into_iter().flatten().chain(plain).map(|(name, value)| (name.clone(), words(value))).collect();
    lines.push(("timestamp".to_owned(), now.timestamp.to_string()));
    let history = list(context, "history").filter_map(history_of).collect::<Vec<_>>();
    let obligations: Vec<Untrusted> = list(context, "inbox").filter_map(message_of).collect();
    SituationReport {
        state: lines,
        // History is shown for the senders of this batch only.
        history: history
            .into_iter()
            .filter(|one| obligations.iter().any(|m| m.origin().name() == &one.sender))
            .collect(),
        obligations,
        memory: list(context, "memory")
            .map(|fact| Untrusted::new(Origin::memory("notes"), words(fact)))
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

fn message_of(value: &Value) -> Option<Untrusted> {
    Some(Untrusted::new(Origin::inbox(value.get("sender")?.as_str()?), value.get("text")?.as_str()?))
}

fn history_of(value: &Value) -> Option<SenderHistory> {
    let sender = value.get("sender")?.as_str()?;
    let exchange = |value: &Value| {
        let message = Untrusted::new(Origin::inbox(sender), value.get("message")?.as_str()?);
        // The agent's own words come back from a store that others' words went into: they are framed like those.
        let reply = Untrusted::new(Origin::memory("your reply"), value.get("reply")?.as_str()?);
        Some(Exchange { message, reply })
    };
    let exchanges = value.get("exchanges")?.as_array()?.iter().filter_map(exchange).collect();
    Some(SenderHistory { sender: OutsideName::new(sender), exchanges })
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
