//! Provider faults: what the user sees, what the log contains, and that the conversation stays usable.

use std::time::Duration;

use foreword_core::provider::WireDialect;
use foreword_core::turn_journal::Outcome;
use foreword_testkit::{FakeProvider, Reply, until};
use serde_json::json;

use crate::fixture::{Fixture, Seen, Setting, alice};
use crate::snapshot_text::{feed_text, logged};
use crate::well_formed::all_well_formed;

const BOTH: [(WireDialect, &str); 2] =
    [(WireDialect::Anthropic, "anthropic"), (WireDialect::OpenAi, "openai")];

/// The fault, and additional configuration.
struct Fault {
    replies: Vec<Reply>,
    more: &'static str,
    timeout: Duration,
}

fn fault(replies: impl Into<Vec<Reply>>) -> Fault {
    Fault { replies: replies.into(), more: "", timeout: Duration::from_secs(20) }
}

/// Alice meets the fault, in both dialects, and then asks something else: that works, and every request is one a
/// provider takes. What she saw and what the log says is a snapshot; it is the same in both unless it says otherwise.
async fn check(name: &str, fault: &Fault) {
    let mut tellings = Vec::new();
    for (dialect, dialect_name) in BOTH {
        let setting = Setting { dialect, timeout: fault.timeout, ..Setting::default() };
        let fixture = Fixture::set(fault.replies.clone(), setting, fault.more).await;
        let seen = fixture.say("c-1", alice(), "when is Carol's birthday?").await;
        let left = fault.replies.len() - fixture.provider.requests().len().min(fault.replies.len());
        assert_eq!(left, 0, "{name}: {left} replies of the script were never asked for");
        tellings.push((dialect_name, telling(&fixture, &seen).await));
        assert_conversation_usable(&fixture).await;
    }
    let [(_, first), (_, second)] = &tellings[..] else { panic!("two dialects") };
    if first == second {
        insta::assert_snapshot!(name, first);
    } else {
        tellings
            .iter()
            .for_each(|(dialect, text)| insta::assert_snapshot!(format!("{name}_{dialect}"), text));
    }
}

async fn telling(fixture: &Fixture, seen: &Seen) -> String {
    let address = fixture.provider.base_url();
    let text = format!("{}\n{}", feed_text(seen), logged(&fixture.log().await));
    text.replace(address.trim_start_matches("http://"), "[provider]").trim_end().to_owned()
}

/// Asserts that another message is answered and every request is well-formed.
async fn assert_conversation_usable(fixture: &Fixture) {
    fixture.provider.push(Reply::text("All is well."));
    let seen = fixture.say("c-1", alice(), "are you there?").await;
    assert_eq!((seen.text().as_str(), seen.ending()), ("All is well.", (Outcome::Done, None)));
    let requests = fixture.provider.requests();
    all_well_formed(&requests);
    let said = requests.last().unwrap().conversation();
    assert!(said.contains("when is Carol's birthday?") && said.contains("are you there?"), "{said}");
}

fn answer() -> Reply {
    Reply::text("On 14 March.")
}

#[tokio::test]
async fn busy_provider_is_retried() {
    check("429", &fault([Reply::status(429), answer()])).await;
    check("500", &fault([Reply::status(500), answer()])).await;
    check("529", &fault([Reply::status(529), answer()])).await;
}

#[tokio::test]
async fn gateway_timeout_is_transient() {
    check("504", &fault([Reply::status(504), answer()])).await;
    check("504_for_good", &fault(vec![Reply::status(504); 4])).await;
}

#[tokio::test]
async fn endless_answer_is_cut_off() {
    for (dialect, _) in BOTH {
        // Five times the output limit, then silence: the turn ends only if the call is cut off.
        let flood = Reply::text(format!("{} ", "x".repeat(499)).repeat(6_000)).then_silence();
        let fixture = Fixture::with([flood], dialect, "").await;
        let seen = fixture.say("c-1", alice(), "when is Carol's birthday?").await;
        assert_eq!(seen.ending(), (Outcome::Done, None));
        let asked = fixture.provider.requests()[0].json()["max_tokens"].as_u64().unwrap();
        let shown = seen.text().len() as u64;
        assert!(shown > asked && shown <= asked * 32, "{shown} bytes for {asked} tokens");
        // The connection is closed.
        fixture.provider.until(|counts| counts.abandoned == 1).await;
        assert_conversation_usable(&fixture).await;
        let sent = fixture.provider.requests()[1].text();
        assert!((sent.len() as u64) < asked * 33 + 100_000, "{} bytes were sent again", sent.len());
        let log = fixture.log().await;
        let cut =
            log.iter().filter(|event| event.event.error.as_deref().is_some_and(|e| e.contains("requested")));
        assert_eq!(cut.count(), 1);
    }
}

#[tokio::test]
async fn retries_of_a_busy_provider_are_limited() {
    check("429_for_good", &fault(vec![Reply::status(429); 4])).await;
}

#[tokio::test]
async fn retry_after_is_honoured_up_to_a_limit() {
    let more = "retry: { base_delay_ms: 20, max_delay_ms: 100, max_retry_after_ms: 60 }\n";
    let mut fault = fault([Reply::status(429).header("retry-after", "3600"), answer()]);
    fault.more = more;
    check("429_retry_after_too_long", &fault).await;
}

#[tokio::test]
async fn permanent_errors_are_reported_immediately() {
    check("401", &fault([Reply::status(401).message("invalid x-api-key")])).await;
    check("web_page", &fault([Reply::raw("<html>502 Bad Gateway</html>")])).await;
    check("400", &fault([Reply::status(400).message("temperature: not allowed")])).await;
}

#[tokio::test]
async fn silent_provider_times_out() {
    let timeout = Duration::from_millis(400);
    check("silence", &Fault { timeout, ..fault([Reply::silence(), answer()]) }).await;
    check(
        "silence_after_words",
        &Fault { timeout, ..fault([Reply::text("On 14 ").then_silence(), Reply::text("March.")]) },
    )
    .await;
}

#[tokio::test]
async fn slow_stream_is_accepted() {
    let drip =
        Reply::text("On 14 March, as far as I know.").in_pieces_of(40).paced(Duration::from_millis(20));
    check("slow_drip", &fault([drip])).await;
}

#[tokio::test]
async fn invalid_response_is_retried() {
    check("broken_sse", &fault([Reply::raw("event: message_start\ndata: {\"type\": \n\n"), answer()])).await;
    check("hang_up", &fault([Reply::hang_up(), answer()])).await;
    check(
        "error_in_the_stream",
        &fault([Reply::empty().then_error("overloaded_error", "too much"), answer()]),
    )
    .await;
}

#[tokio::test]
async fn unknown_stream_events_are_ignored() {
    let odd =
        Reply::text("On ").and_event("wink", json!({ "type": "wink", "eye": "left" })).and_text("14 March.");
    check("unknown_event", &fault([odd])).await;
}

#[tokio::test]
async fn broken_stream_is_continued() {
    check("cut_after_three_words", &fault([Reply::cut_after("Carol's birthday is "), answer()])).await;
}

#[tokio::test]
async fn invalid_tool_call_is_returned_to_the_model() {
    let truncated = Reply::raw_tool_call("memory_search", r#"{"query": "Carol birth"#);
    check("truncated_arguments", &fault([truncated, answer()])).await;
    let unknown = Reply::tool_call("memory_serch", json!({ "query": "Carol" }));
    check("unknown_tool", &fault([unknown, answer()])).await;
    let hostile = Reply::tool_call("x\u{1b}[31m\nINJECTED", json!({}));
    check("tool_name_with_line_breaks", &fault([hostile, answer()])).await;
    let wrong = Reply::tool_call("memory_search", json!({ "words": 7 }));
    check("wrong_arguments", &fault([wrong, answer()])).await;
}

#[tokio::test]
async fn empty_answer_is_reported() {
    check("empty_answer", &fault([Reply::empty()])).await;
}

#[tokio::test]
async fn refused_connection_is_retried() {
    for (dialect, name) in BOTH {
        let mut fixture = Fixture::with(answer(), dialect, "").await;
        let port: u16 = fixture.provider.base_url().rsplit(':').next().unwrap().parse().unwrap();
        let gone = std::mem::replace(&mut fixture.provider, FakeProvider::start(answer()).unwrap());
        drop(gone);
        let connect = || std::net::TcpStream::connect(("127.0.0.1", port));
        until("the port is closed", async || connect().is_err()).await;
        let seen = fixture.say("c-1", alice(), "when is Carol's birthday?").await;
        let outcome = format!("{}\n{}", feed_text(&seen), logged(&fixture.log().await));
        let outcome = outcome.replace(&format!("127.0.0.1:{port}"), "[provider]");
        insta::assert_snapshot!(format!("connection_refused_{name}"), outcome.trim_end());
        fixture.provider = FakeProvider::start_on(port, Vec::new()).unwrap();
        assert_conversation_usable(&fixture).await;
    }
}

#[tokio::test]
async fn tool_calls_per_turn_are_limited() {
    let (most, more) =
        (20, "agent: { name: Ada, model: anthropic/claude-haiku-4-5, limits: { tool_calls: 20 } }\n");
    for (dialect, _) in BOTH {
        let mut thousand = Reply::text("Looking. ");
        for number in 0..1_000 {
            let path = format!("memory/social/{number}.md");
            thousand = thousand.and_tool_call("memory_get", json!({ "path": path }));
        }
        let fixture = Fixture::with([thousand, answer()], dialect, more).await;
        let seen = fixture.say("c-1", alice(), "when is Carol's birthday?").await;
        assert_eq!(seen.ending(), (Outcome::Done, None));
        let too_many = format!("{most} tools at most");
        let refused = seen.results().iter().filter(|(_, text, _)| text.contains(&too_many)).count();
        assert_eq!((seen.results().len(), refused), (1_000, 1_000 - most));
        assert!(fixture.event_names().await.contains(&"tool_blocked".to_owned()));
        assert_conversation_usable(&fixture).await;
    }
}
