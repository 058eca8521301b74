//! Failing answers.

use std::time::Duration;

use foreword_core::message::ContentBlock;
use foreword_core::model::{ErrorKind, ModelEvent, StopReason};
use foreword_core::provider::WireDialect;
use foreword_providers::HttpModel;
use foreword_testkit::Reply;
use serde_json::{Value, json};

use crate::talk::{BOTH, answer_text, ask, failure, impatient, model, model_of, start};

#[tokio::test]
async fn cut_stream_yields_text_and_then_an_error() {
    for dialect in BOTH {
        let fake = start([Reply::cut_after("three words so"), Reply::text("and again")]);
        let model = model(&fake, dialect);
        let (said, end) = answer_text(&model, "hi").await;
        assert_eq!((said.as_str(), end.unwrap_err().kind), ("three words so", ErrorKind::BrokenStream));
        assert_eq!(answer_text(&model, "hi").await.0, "and again");
    }
}

#[tokio::test]
async fn clean_end_without_stop_reason_is_broken() {
    for (dialect, body) in [
        (
            WireDialect::Anthropic,
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n",
        ),
        (WireDialect::OpenAi, "data: {\"choices\":[{\"delta\":{\"content\":\"so\"}}]}\n\n"),
    ] {
        for body in [body, "", ": only a comment\n\n"] {
            let fake = start([Reply::raw(body)]);
            assert_eq!(failure(&model(&fake, dialect), "hi").await.kind, ErrorKind::BrokenStream, "{body:?}");
        }
    }
}

#[tokio::test]
async fn broken_events_are_a_broken_stream() {
    for (dialect, body) in [
        (WireDialect::Anthropic, "event: content_block_delta\ndata: {\"type\":\"content_block_de\n\n"),
        (WireDialect::OpenAi, "data: {\"choices\":[{\"delta\":\n\n"),
        (WireDialect::Anthropic, "{\"type\":\"message\",\"content\":[{\"type\":\"te"),
        (WireDialect::OpenAi, "{\"choices\":[{\"message\":{\"conte"),
    ] {
        let fake = start([Reply::raw(body)]);
        assert_eq!(failure(&model(&fake, dialect), "hi").await.kind, ErrorKind::BrokenStream, "{body}");
    }
}

#[tokio::test]
async fn html_answer_is_reported_as_wrong_address() {
    let fake = start([Reply::raw("<!doctype html><title>Welcome</title>")]);
    let error = failure(&model(&fake, WireDialect::OpenAi), "hi").await;
    assert!(error.kind == ErrorKind::BadRequest && error.message.contains("`base_url`"), "{error}");
}

#[tokio::test]
async fn stream_error_follows_the_text_before_it() {
    for dialect in BOTH {
        let fake = start([Reply::text("half of").then_error("overloaded_error", "Overloaded")]);
        let (said, end) = answer_text(&model(&fake, dialect), "hi").await;
        let error = end.unwrap_err();
        assert_eq!((said.as_str(), error.kind), ("half of", ErrorKind::Unavailable));
        assert_eq!(error.message, "Overloaded");
    }
}

#[tokio::test]
async fn silence_times_out_before_and_after_the_first_token() {
    for dialect in BOTH {
        let fake = start([Reply::silence(), Reply::text("one moment").then_silence()]);
        let model = impatient(&fake, dialect);
        assert_eq!(failure(&model, "hi").await.kind, ErrorKind::Timeout);
        let (said, end) = answer_text(&model, "hi").await;
        assert_eq!((said.as_str(), end.unwrap_err().kind), ("one moment", ErrorKind::Timeout));
        // A timeout also closes the connection.
        fake.until(|counts| counts.abandoned == 2).await;
    }
}

#[tokio::test]
async fn first_byte_timeout_includes_connecting() {
    for dialect in BOTH {
        let fake = start([Reply::silence()]);
        let mut provider = fake.provider(dialect);
        // In addition to the first-byte timeout, this would exceed the timeout of the test.
        provider.timeouts.connect = Duration::from_secs(3_600);
        provider.timeouts.first_byte = Duration::from_millis(200);
        let error = failure(&model_of(provider), "hi").await;
        assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
        assert!(error.message.contains("200ms"), "{error}");
    }
}

#[tokio::test]
async fn gateway_timeout_is_reported() {
    for dialect in BOTH {
        let fake = start([Reply::status(504)]);
        let error = failure(&model(&fake, dialect), "hi").await;
        assert_eq!((error.kind, error.status), (ErrorKind::Timeout, Some(504)));
        assert!(!error.message.contains("refused"), "{error}");
    }
}

#[tokio::test]
async fn refused_connection_is_a_network_error() {
    for dialect in BOTH {
        let fake = start([]);
        let provider = fake.provider(dialect);
        let place = fake.base_url();
        drop(fake);
        // The port is free as soon as its thread has ended.
        while std::net::TcpStream::connect(place.trim_start_matches("http://")).is_ok() {
            tokio::task::yield_now().await;
        }
        let error = failure(&model_of(provider), "hi").await;
        assert_eq!((error.kind, error.status), (ErrorKind::Network, None));
        assert_eq!(error.message, format!("can't reach {place}: connection refused"));
    }
}

#[tokio::test]
async fn unknown_host_is_a_network_error() {
    let fake = start([]);
    let mut provider = fake.provider(WireDialect::OpenAi);
    provider.base_url = "http://user:hush@nowhere.invalid/v1".to_owned();
    let error = failure(&model_of(provider), "hi").await;
    assert_eq!(error.kind, ErrorKind::Network, "{error}");
    assert!(error.message.contains("http://nowhere.invalid") && !error.message.contains("hush"), "{error}");
}

#[tokio::test]
async fn server_without_tls_is_a_network_error() {
    let fake = start(Reply::text("in the clear"));
    let mut provider = fake.provider(WireDialect::OpenAi);
    provider.base_url = provider.base_url.replace("http://", "https://");
    let clock = std::sync::Arc::new(|| "2026-11-16T02:47:00Z".parse().unwrap());
    match HttpModel::new(provider, None, clock) {
        Ok(model) => assert_eq!(failure(&model, "hi").await.kind, ErrorKind::Network),
        // On a machine without root certificates.
        Err(error) => assert!(error.message.contains("certificates"), "{error}"),
    }
    assert!(fake.requests().iter().all(|request| request.body.is_empty()));
}

#[tokio::test]
async fn connection_closed_without_an_answer_is_a_network_error() {
    for dialect in BOTH {
        let fake = start([Reply::hang_up(), Reply::text("back")]);
        let model = model(&fake, dialect);
        assert_eq!(failure(&model, "hi").await.kind, ErrorKind::Network);
        assert_eq!(answer_text(&model, "hi").await.0, "back");
    }
}

#[tokio::test]
async fn invalid_json_arguments_arrive_as_text() {
    for dialect in BOTH {
        let fake = start([Reply::raw_tool_call("memory_search", "{\"query\": \"birth")]);
        let events = ask(&model(&fake, dialect), "when?").await;
        let input = events.iter().find_map(|event| match event {
            Ok(ModelEvent::Block(ContentBlock::ToolCall { input, .. })) => Some(input.clone()),
            _ => None,
        });
        assert_eq!(input, Some(Value::String("{\"query\": \"birth".to_owned())));
        assert_eq!(events.last(), Some(&Ok(ModelEvent::Stopped(StopReason::ToolUse))));
    }
}

#[tokio::test]
async fn truncated_tool_call_is_never_emitted() {
    for dialect in BOTH {
        let fake = start([Reply::text("Look: ").and_raw_tool_call("bash", "{\"command\":\"rm -r").cut()]);
        let events = ask(&model(&fake, dialect), "hi").await;
        assert!(!events.iter().any(|event| matches!(event, Ok(ModelEvent::Block(_)))), "{events:?}");
        assert!(
            matches!(events.last(), Some(Err(error)) if error.kind == ErrorKind::BrokenStream),
            "{events:?}"
        );
    }
}

#[tokio::test]
async fn thousand_tool_calls_are_received() {
    for dialect in BOTH {
        let calls = (0..1000).fold(Reply::empty(), |reply, n| reply.and_tool_call("bash", json!({ "n": n })));
        let fake = start([calls]);
        let events = ask(&model(&fake, dialect), "hi").await;
        let calls = events.iter().filter(|event| matches!(event, Ok(ModelEvent::Block(_))));
        assert_eq!(calls.count(), 1000);
    }
}
