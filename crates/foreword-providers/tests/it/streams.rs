//! Successful streams.

use std::time::Duration;

use foreword_core::id::CallId;
use foreword_core::message::{ContentBlock, Usage};
use foreword_core::model::{Model, ModelEvent, StopReason};
use foreword_core::provider::{Secret, WireDialect};
use foreword_testkit::{Reply, Script};
use futures_util::StreamExt;
use serde_json::json;

use crate::talk::{BOTH, KEY, TEST_TIMEOUT, answer_text, ask, impatient, model, model_of, question, start};

#[tokio::test]
async fn text_is_streamed_and_then_ends() {
    for dialect in BOTH {
        let fake = start([Reply::text("three short words")]);
        let events: Vec<_> =
            ask(&model(&fake, dialect), "hi").await.into_iter().map(Result::unwrap).collect();
        let words: Vec<_> = events.iter().filter(|event| matches!(event, ModelEvent::Text(_))).collect();
        assert_eq!(words.len(), 3, "{events:?}");
        assert_eq!(events.last(), Some(&ModelEvent::Stopped(StopReason::EndTurn)));
    }
}

#[tokio::test]
async fn answer_does_not_depend_on_chunking_or_streaming() {
    let reply = || {
        let usage = Usage {
            input: 9,
            output: 5,
            cache_read: 100,
            cache_write: 20,
            cache_write_1h: 0,
            cache_unknown: false,
        };
        Reply::text("Grüße, 世界 👩‍👩‍👧!")
            .and_tool_call("memory_search", json!({ "query": "Carol’s birthday 🎂" }))
            .and_tool_call("bash", json!({}))
            .usage(usage)
    };
    for dialect in BOTH {
        let mut seen = Vec::new();
        for reply in [reply(), reply().in_pieces_of(1), reply().in_pieces_of(7), reply().whole()] {
            let fake = start([reply]);
            let (mut said, mut rest, mut usage) = (String::new(), Vec::new(), None);
            for event in ask(&model(&fake, dialect), "hi").await {
                match event.unwrap() {
                    ModelEvent::Text(words) => said.push_str(&words),
                    ModelEvent::Usage(used) => usage = Some(used),
                    other => rest.push(other),
                }
            }
            seen.push((said, rest, usage));
        }
        assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:#?}");
        assert_eq!(seen[0].1.last(), Some(&ModelEvent::Stopped(StopReason::ToolUse)));
        assert_eq!(
            seen[0].2.map(|usage| (usage.input, usage.cache_read, usage.cache_write)),
            Some((9, 100, 20))
        );
    }
}

#[tokio::test]
async fn tool_call_has_name_and_arguments() {
    for dialect in BOTH {
        let fake = start([Reply::tool_call("memory_search", json!({ "query": "birthday" }))]);
        let events = ask(&model(&fake, dialect), "when?").await;
        let expected = ContentBlock::ToolCall {
            id: CallId::new("call_0_0").unwrap(),
            name: "memory_search".to_owned(),
            input: json!({ "query": "birthday" }),
        };
        assert!(events.contains(&Ok(ModelEvent::Block(expected))), "{events:?}");
    }
}

#[tokio::test]
async fn unknown_event_is_ignored() {
    for dialect in BOTH {
        let odd = json!({ "type": "moon_phase", "phase": [1, null], "choices": "none" });
        let fake = start([Reply::text("still ").and_event("moon_phase", odd).and_text("here")]);
        assert_eq!(
            answer_text(&model(&fake, dialect), "hi").await,
            ("still here".to_owned(), Ok(StopReason::EndTurn))
        );
    }
}

#[tokio::test]
async fn slow_stream_continues_within_the_idle_timeout() {
    for dialect in BOTH {
        // In total longer than any single timeout.
        let fake = start([Reply::text("one two three four five six").paced(Duration::from_millis(100))]);
        let (said, end) = answer_text(&impatient(&fake, dialect), "hi").await;
        assert_eq!((said.as_str(), end), ("one two three four five six", Ok(StopReason::EndTurn)));
    }
}

#[tokio::test]
async fn connection_is_reused_after_an_answer() {
    for dialect in BOTH {
        let fake = start(Reply::text("yes").paced(Duration::from_millis(5)));
        let model = model(&fake, dialect);
        for _ in 0..8 {
            assert_eq!(answer_text(&model, "hi").await.1, Ok(StopReason::EndTurn));
            // The body ends after the answer; the client drains it in the background.
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        let counts = fake.counts();
        assert_eq!((counts.requests, counts.abandoned), (8, 0));
        assert!(counts.connections < counts.requests, "{counts:?}");
    }
}

#[tokio::test]
async fn dropping_an_answer_ends_the_call() {
    for dialect in BOTH {
        let fake = start([Reply::text("one two three").then_silence()]);
        let model = model(&fake, dialect);
        let mut answer = model.call(question("hi"));
        while !matches!(answer.next().await, Some(Ok(ModelEvent::Text(_)))) {}
        drop(answer);
        let gone = fake.until(|counts| counts.abandoned == 1);
        tokio::time::timeout(TEST_TIMEOUT, gone).await.expect("the connection to be closed");
    }
}

#[tokio::test]
async fn request_is_sent_on_first_poll() {
    let fake = start(Reply::text("yes"));
    let model = model(&fake, WireDialect::OpenAi);
    drop(model.call(question("hi")));
    assert_eq!(answer_text(&model, "hello").await.0, "yes");
    assert_eq!(fake.counts().requests, 1);
}

#[tokio::test]
async fn requests_have_the_key_and_the_configured_headers() {
    for dialect in BOTH {
        let fake = start(Reply::text("yes"));
        let mut provider = fake.provider(dialect);
        provider.base_url.push('/');
        provider.headers = vec![
            ("anthropic-version".to_owned(), Secret::new("2099-01-01")),
            ("x-team".to_owned(), Secret::new("alpha")),
        ];
        answer_text(&model_of(provider), "hi").await.1.unwrap();
        let request = fake.requests().remove(0);
        let (path, header, value) = match dialect {
            WireDialect::Anthropic => ("/v1/messages", "x-api-key", KEY.to_owned()),
            WireDialect::OpenAi => ("/v1/chat/completions", "authorization", format!("Bearer {KEY}")),
        };
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", path));
        assert_eq!(request.header(header), Some(value.as_str()));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(
            (request.header("x-team"), request.header("anthropic-version")),
            (Some("alpha"), Some("2099-01-01"))
        );
        assert_eq!(request.headers.iter().filter(|(name, _)| name == "anthropic-version").count(), 1);
    }
}

#[tokio::test]
async fn concurrent_answers_are_not_mixed_up() {
    for dialect in BOTH {
        let fake = start(Script::answering(|request| {
            Reply::text(format!("you said {}", request.conversation())).paced(Duration::from_millis(5))
        }));
        let model = model(&fake, dialect);
        let asked = (0..60).map(|number| {
            let model = model.clone();
            async move { answer_text(&model, &format!("n{number}")).await.0 }
        });
        let said = futures_util::future::join_all(asked).await;
        let expected: Vec<String> = (0..60).map(|number| format!("you said n{number}")).collect();
        assert_eq!(said, expected);
    }
}
