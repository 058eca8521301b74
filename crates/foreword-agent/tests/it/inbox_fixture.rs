//! A sovereign agent whose model answers every message that waits, and ways to look at what it was sent.

use foreword_agent::background::inbox::TickOutcome;
use foreword_core::id::InboxId;
use foreword_core::provider::WireDialect;
use foreword_core::sender::SenderAddress;
use foreword_store::mailboxes::{NewInboxMessage, Staged};
use foreword_store::store::Store;
use foreword_testkit::{Received, Reply, Script};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// The configuration of a sovereign agent.
pub(crate) const SOVEREIGN: &str =
    "agent: { name: Ada, blueprint: sovereign, model: anthropic/claude-haiku-4-5 }\n";

/// A sovereign agent, with more lines for its `foreword.yaml`.
pub(crate) async fn sovereign(script: impl Into<Script>, more: &str) -> Fixture {
    Fixture::with(script, WireDialect::Anthropic, &format!("{SOVEREIGN}{more}")).await
}

/// A model that answers each message that waits with `to <id>`, and then says that it is done.
pub(crate) fn answers_all() -> Script {
    Script::answering(|request| {
        if has_results(request) {
            return Reply::text("All answered.");
        }
        let answers =
            waiting(request).into_iter().map(|id| json!({ "message": id, "text": format!("to {id}") }));
        answers.fold(Reply::text("Let me see."), |reply, input| reply.and_tool_call("inbox_reply", input))
    })
}

/// Whether a request brings results of tools.
pub(crate) fn has_results(request: &Received) -> bool {
    let text = request.text();
    text.contains("tool_result") || text.contains("\"role\":\"tool\"")
}

/// Everything a model reads in a request, as plain text.
pub(crate) fn read(request: &Received) -> String {
    fn texts(value: &Value, out: &mut String) {
        match value {
            Value::String(text) => {
                out.push_str(text);
                out.push('\n');
            }
            Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
            Value::Object(fields) => fields.values().for_each(|field| texts(field, out)),
            _ => {}
        }
    }
    let mut out = String::new();
    texts(&request.json(), &mut out);
    out
}

/// The ids of the messages that wait, as a model reads them.
pub(crate) fn waiting(request: &Received) -> Vec<String> {
    let text = read(request);
    let named = |line: &str| Some(line.strip_prefix("Message `")?.strip_suffix("`:")?.to_owned());
    text.lines().filter_map(named).collect()
}

pub(crate) fn inbox_id(text: &str) -> InboxId {
    InboxId::new(text).unwrap()
}

pub(crate) fn message(id: &str, sender: &str, body: &str) -> NewInboxMessage {
    let at = "2026-11-16T08:00:00Z".parse().unwrap();
    NewInboxMessage {
        id: inbox_id(id),
        sender: SenderAddress::new(sender).unwrap(),
        body: body.to_owned(),
        at,
    }
}

/// Leaves a message for the agent.
pub(crate) async fn leave(fixture: &Fixture, id: &str, sender: &str, body: &str) {
    let staged = fixture.agent.stage(message(id, sender, body)).await.unwrap();
    assert!(matches!(staged, Staged::New(_)), "{staged:?}");
}

/// What a beat that answered messages came to: which, and what went out to whom.
pub(crate) fn answered(ticked: &TickOutcome) -> (Vec<&str>, Vec<(&str, &str)>) {
    let TickOutcome::Inbox { messages, replies, error: None, .. } = ticked else { panic!("{ticked:?}") };
    let sent = replies.iter().map(|reply| (reply.recipient.as_str(), reply.body.as_str())).collect();
    (messages.iter().map(InboxId::as_str).collect(), sent)
}

/// Everything in the outbox, the oldest first: to whom, and what.
pub(crate) async fn outbox(store: &Store) -> Vec<(String, String)> {
    let mut all = store.outbox_messages(10_000).await.unwrap();
    all.reverse();
    all.into_iter().map(|reply| (reply.recipient.to_string(), reply.body)).collect()
}
