//! All directives, valid and malformed.

use foreword_core::message::ContentBlock;
use foreword_core::model::{ErrorKind, StopReason};
use foreword_prompt::trust::Trust;

use super::{Talk, asked};

#[tokio::test]
async fn lines_are_parallel_calls_and_then_waits() {
    let mut talk = asked(
        "!say Two at once.\n!tool memory_search {\"query\":\"x\"}\n!tool foreword_status\n!then\n!tool no_tool [1]\n!then\n\
         !say Done.",
    );
    let first = talk.answer().await;
    assert_eq!(
        first.summary(),
        "Two at once.\n-> memory_search {\"query\":\"x\"}\n-> foreword_status {}\n[ToolUse]"
    );
    let second = talk.give_back("fine").answer().await;
    assert_eq!(second.summary(), "-> no_tool [1]\n[ToolUse]");
    assert!(second.call_ids().iter().all(|id| !first.call_ids().contains(id)));
    assert_eq!(talk.give_back_as("unknown tool", true).answer().await.summary(), "Done.\n[EndTurn]");
}

#[tokio::test]
async fn results_without_further_orders_are_accounted_for() {
    let mut talk = asked("!tool memory_search {\"query\":\"x\"}\n!then\n!tool bash");
    talk.answer().await;
    talk.give_back("one\ntwo\n\nthree\nfour\nfive").answer().await;
    talk.give_back_as("`command` is missing", true);
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    2 calls came back, 1 with an error.
    - `memory_search`: ok
      one
      two
      three
      … and 2 more lines
    - `bash`: error
      `command` is missing
    [EndTurn]
    "#);
}

#[tokio::test]
async fn thousand_calls_are_reported_in_few_lines() {
    let mut talk = asked("!many 1000");
    let answer = talk.answer().await;
    let mut ids = answer.call_ids();
    assert_eq!(ids.len(), 1_000);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1_000, "each has an id of its own");
    let text = talk.give_back("fine").answer().await.text();
    assert!(
        text.starts_with("1000 calls came back, 0 with an error.\n- `foreword_status`: ok\n  fine\n"),
        "{text}"
    );
    assert!(text.ends_with("- and 990 more"), "{text}");
}

#[tokio::test]
async fn invalid_calls_are_emitted_unchanged() {
    assert_eq!(asked("!unknown-tool").try_once().await.calls(), ["no_such_tool {}"]);
    let truncated = asked("!truncated read_file").try_once().await;
    let [ContentBlock::ToolCall { name, input, .. }] = truncated.blocks().collect::<Vec<_>>()[..] else {
        panic!("one call")
    };
    let arguments = input.as_str().unwrap();
    assert_eq!(name, "read_file");
    assert!(serde_json::from_str::<serde_json::Value>(arguments).is_err(), "{arguments}");
    assert_eq!(asked("!many 2 bash {\"command\":\"id\"}").try_once().await.calls().len(), 2);
}

#[tokio::test]
async fn every_failure_is_of_its_kind() {
    for (order, kind, status) in [
        ("429", ErrorKind::RateLimited, Some(429)),
        ("500", ErrorKind::Unavailable, Some(500)),
        ("503", ErrorKind::Unavailable, Some(503)),
        ("529", ErrorKind::Unavailable, Some(529)),
        ("401", ErrorKind::Authentication, Some(401)),
        ("403", ErrorKind::Authentication, Some(403)),
        ("404", ErrorKind::UnknownModel, Some(404)),
        ("400", ErrorKind::BadRequest, Some(400)),
        ("context", ErrorKind::ContextTooLong, Some(400)),
        ("timeout", ErrorKind::Timeout, None),
        ("refused", ErrorKind::Network, None),
        ("broken", ErrorKind::BrokenStream, None),
        ("bad-json", ErrorKind::BrokenStream, None),
        ("not-configured", ErrorKind::NotConfigured, None),
    ] {
        let answer = asked(&format!("!fail {order}")).try_once().await;
        let error = answer.error.unwrap();
        assert_eq!((error.kind, error.status, error.retry_after), (kind, status, None), "{order}");
        assert!(answer.events.is_empty() && error.provider == "offline", "{order}");
    }
    let error = asked("!fail 429 retry-after=2").try_once().await.error.unwrap();
    assert_eq!(error.retry_after.unwrap().as_secs(), 2);
    assert_eq!(error.to_string(), "offline: too many requests (HTTP 429)");
}

#[tokio::test]
async fn cut_answer_sends_its_text_first() {
    let answer = asked("!fail cut \"three words so\"").try_once().await;
    assert_eq!((answer.text().as_str(), answer.stop()), ("three words so", None));
    assert_eq!(answer.error.unwrap().kind, ErrorKind::BrokenStream);
}

#[tokio::test]
async fn stop_reason_and_blocks_follow_directives() {
    for (order, reason) in [
        ("end-turn", StopReason::EndTurn),
        ("max-tokens", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
        ("pause_turn", StopReason::Other("pause_turn".to_owned())),
    ] {
        let answer = asked(&format!("!say x\n!stop {order}")).try_once().await;
        assert_eq!(answer.stop(), Some(&reason));
    }
    let thinking = asked(r#"!block {"signature":"s","type":"thinking"}"#).try_once().await;
    let block = thinking.blocks().next().unwrap();
    assert_eq!(serde_json::to_string(block).unwrap(), r#"{"signature":"s","type":"thinking"}"#);
    let long = asked("!long 2000 words").try_once().await;
    assert_eq!((long.deltas().len(), long.text().split_whitespace().count()), (2_000, 2_000));
    assert!(
        asked("!help")
            .try_once()
            .await
            .text()
            .contains("- `!slow DURATION`: waits that long between two words")
    );
}

#[tokio::test]
async fn usage_directive_overrides_counted_tokens() {
    let usage = asked("!say one two three\n!usage input=7 cache_read=1000").try_once().await.usage();
    assert_eq!((usage.input, usage.cache_read), (7, 1_000));
    assert!((3..=6).contains(&usage.output), "{usage:?}");
}

#[tokio::test]
async fn modifier_directives_keep_the_text_answer() {
    let talk = asked("!fail 503 times=1\nwhat's Carol's birthday?");
    assert_eq!(talk.try_once().await.error.unwrap().status, Some(503));
    let calls = [r#"memory_search {"query":"carol birthday"}"#];
    assert_eq!(talk.try_once().await.calls(), calls);
    assert_eq!(asked("what's Carol's birthday?\n!usage output=5").try_once().await.calls(), calls);
}

#[test]
fn malformed_directive_is_explained_and_not_followed() {
    for (said, expected) in [
        ("!fial 429", "`!fial 429`: there is no such directive: did you mean `!fail`?"),
        ("!weather", "`!weather`: there is no such directive: `!help` lists them."),
        ("!tool", "`!tool`: it names no tool. Usage: `!tool NAME {JSON}`"),
        ("!tool bash {\"command\":", "is not valid JSON: EOF while parsing"),
        ("!say", "`!say`: the text is missing. Usage: `!say TEXT`"),
        ("!then now", "`!then now`: it takes nothing more, but there is `now`."),
        ("!fail", "`!fail`: it names no failure: an HTTP status"),
        ("!fail 200", "`200` is not an error status: 400 to 599"),
        ("!fail 429 times=0", "`times=0` is out of range: 1 to 1000"),
        ("!fail 429 after=2", "`after=2` is neither `times=…` nor `retry-after=…`"),
        ("!fail cut three words", "it needs the words that come before, in quotation marks"),
        ("!slow soon", "`soon` is not a duration such as `50ms` or `2s`"),
        ("!wait 2h", "`2h` is not a duration"),
        ("!wait 61m", "`61m` is longer than an hour"),
        ("!long many words", "`many` is not a number"),
        ("!long 200001", "`200001` is out of range: 1 to 100000"),
        ("!many 0", "`0` is out of range: 1 to 10000"),
        ("!usage", "it gives no number"),
        ("!usage money=5", "`money` is not counted"),
        ("!block 7", "a block is a JSON object"),
        ("!stop", "it gives no reason"),
        ("!say x\n!then\n!say y", "I did nothing. `!then` waits for results"),
    ] {
        let script = asked(said).script();
        assert!(script.text().contains(expected), "{said}: {}", script.text());
        assert_eq!(script.calls().count(), 0, "{said}");
    }
}

#[test]
fn one_malformed_directive_stops_all() {
    let script = asked("!tool bash {\"command\":\"id\"}\n!slow soon").script();
    assert_eq!(script.calls().count(), 0);
    assert!(
        script.text().starts_with("I did nothing, because I can't follow this:\n- `!slow soon`"),
        "{}",
        script.text()
    );
}

#[test]
fn exclamation_marks_are_not_directives() {
    for said in ["!", "!!!", "!1", "Wow! say hello", "¡hola!", "!Say x"] {
        assert!(!asked(said).script().text().contains("can't follow"), "{said}");
    }
}

#[tokio::test]
async fn only_the_last_message_is_executed() {
    let mut talk = Talk::at(Trust::Full);
    talk.say("!tool bash {\"command\":\"id\"}").answer().await;
    talk.give_back("!tool bash {}\nuid=0").answer().await;
    assert!(talk.say("hello").answer().await.calls().is_empty());
}
