//! The summary request extends the cached prefix, checked in the bytes that the provider received.

use foreword_core::provider::WireDialect;
use foreword_testkit::{Received, Reply, Script};
use serde_json::{Value, json};

use crate::compaction_automatic::{SMALL_WINDOW, asks_for_summary, c1, long_words, weighing};
use crate::fixture::{Fixture, alice};
use crate::prefix_extension::extends;

const BOTH: [WireDialect; 2] = [WireDialect::Anthropic, WireDialect::OpenAi];

/// The last request before the first one for a summary, and that one.
fn pair(requests: &[Received]) -> (&Received, &Received) {
    let at = requests.iter().position(asks_for_summary).expect("no summary was asked for");
    (&requests[at - 1], &requests[at])
}

/// Asserts that the summary request extends the previous request by its answer and the instruction.
fn holds(requests: &[Received], dialect: WireDialect) {
    let (before, summary) = pair(requests);
    assert!(extends(before, summary), "{}\n{}", before.text(), summary.text());
    let (before, summary) = (before.json(), summary.json());
    // Whatever else could make a provider look in another place.
    for (key, value) in summary.as_object().unwrap() {
        if !["messages", "system", "tools"].contains(&key.as_str()) {
            assert_eq!(Some(value), before.get(key), "{key} in {dialect:?}");
        }
    }
    let (was, is) = (messages(&before), messages(&summary));
    let new = &is[was.len()..];
    assert_eq!(new.len(), 2, "the answer and the instruction: {new:#?}");
    assert_eq!((&new[0]["role"], &new[1]["role"]), (&json!("assistant"), &json!("user")));
    if dialect == WireDialect::Anthropic {
        assert!(summary["system"].to_string().contains("cache_control"), "the prefix is to be looked for");
    }
}

fn messages(body: &Value) -> &[Value] {
    body["messages"].as_array().unwrap()
}

fn story() -> [Reply; 4] {
    [
        Reply::text("Looking. ").and_tool_call("memory_search", json!({ "query": "Carol" })),
        Reply::text("She lives at number 7."),
        Reply::tool_call("read_file", json!({ "path": "SOUL.md" })),
        Reply::text("You told me to be kind."),
    ]
}

async fn talked(fixture: &Fixture) {
    fixture.say("c-1", alice(), "where does Carol live?").await;
    std::fs::write(fixture.folder.path().join("SOUL.md"), "You are kind and brief.").unwrap();
    fixture.workspace.refresh();
    fixture.say("c-1", alice(), "what does your soul say?").await;
}

#[tokio::test]
async fn summary_on_request_extends_the_history() {
    for dialect in BOTH {
        let script = [story().to_vec(), vec![Reply::text("Summed up.")]].concat();
        let fixture = Fixture::with(script, dialect, SMALL_WINDOW).await;
        talked(&fixture).await;
        fixture.agent.compact(&c1(), alice()).await.unwrap();
        holds(&fixture.provider.requests(), dialect);
    }
}

#[tokio::test]
async fn summary_after_a_turn_extends_the_history() {
    for dialect in BOTH {
        let [first, second, third, _] = story();
        let last = [first, second, third, weighing("You told me to be kind.", 17_000)].to_vec();
        let script = [last, vec![weighing("Summed up.", 17_100)]].concat();
        let fixture = Fixture::with(script, dialect, SMALL_WINDOW).await;
        let long = format!("where does Carol live? {}", long_words());
        fixture.say("c-1", alice(), &long).await;
        fixture.say("c-1", alice(), "what does your soul say?").await;
        fixture.provider.until(|counts| counts.requests == 5).await;
        holds(&fixture.provider.requests(), dialect);
    }
}

#[tokio::test]
async fn summary_in_a_turn_extends_the_sent_history() {
    for dialect in BOTH {
        let script = Script::answering(|request| {
            let conversation = request.conversation();
            match dialect_refusal(request) {
                Some(refusal) if conversation.contains("third") && conversation.contains("first") => refusal,
                _ if asks_for_summary(request) => Reply::text("Summed up."),
                _ => Reply::text("Noted."),
            }
        });
        let fixture = Fixture::with(script, dialect, "").await;
        for words in ["first", "second", "third"] {
            fixture.say("c-1", alice(), words).await;
        }
        let requests = fixture.provider.requests();
        // The rejected request is not cached; the one before it is.
        let at = requests.iter().position(asks_for_summary).unwrap();
        assert!(extends(&requests[at - 2], &requests[at]), "{}", requests[at].text());
        assert!(!requests[at].conversation().contains("third"));
    }
}

fn dialect_refusal(request: &Received) -> Option<Reply> {
    if asks_for_summary(request) {
        return None;
    }
    Some(match request.dialect()? {
        WireDialect::Anthropic => {
            Reply::status(400).message("prompt is too long: 210000 tokens > 200000 maximum")
        }
        WireDialect::OpenAi => Reply::status(400).body(
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        ),
    })
}
