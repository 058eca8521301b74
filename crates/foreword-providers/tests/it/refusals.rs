//! Requests that the provider rejects.

use std::time::Duration;

use foreword_core::model::ErrorKind;
use foreword_core::provider::{Secret, WireDialect};
use foreword_providers::HttpModel;
use foreword_testkit::Reply;

use crate::talk::{BOTH, KEY, answer_text, failure, model, model_of, start};

#[tokio::test]
async fn error_response_is_classified_with_its_message() {
    for (status, kind) in [
        (400, ErrorKind::BadRequest),
        (401, ErrorKind::Authentication),
        (403, ErrorKind::Authentication),
        (413, ErrorKind::ContextTooLong),
        (429, ErrorKind::RateLimited),
        (500, ErrorKind::Unavailable),
        (502, ErrorKind::Unavailable),
        (503, ErrorKind::Unavailable),
        (529, ErrorKind::Unavailable),
    ] {
        for dialect in BOTH {
            let fake = start([Reply::status(status).message("not now").header("request-id", "req_7")]);
            let error = failure(&model(&fake, dialect), "hi").await;
            assert_eq!((error.kind, error.status, error.message.as_str()), (kind, Some(status), "not now"));
            assert_eq!((error.provider.as_str(), error.request_id.as_deref()), ("fake", Some("req_7")));
        }
    }
}

#[tokio::test]
async fn retry_after_is_reported_in_every_form() {
    for (header, value, expected) in [
        ("retry-after", "3", Some(Duration::from_secs(3))),
        ("retry-after", "Mon, 16 Nov 2026 02:47:05 GMT", Some(Duration::from_secs(5))),
        ("retry-after-ms", "250", Some(Duration::from_millis(250))),
        ("x-nothing", "1", None),
    ] {
        for dialect in BOTH {
            let fake = start([Reply::status(429).header(header, value)]);
            assert_eq!(
                failure(&model(&fake, dialect), "hi").await.retry_after,
                expected,
                "{header}: {value}"
            );
        }
    }
}

#[tokio::test]
async fn unknown_model_differs_from_unknown_path() {
    let fake =
        start([Reply::status(404).message("model: model-1"), Reply::status(404).body("404 page not found")]);
    let model = model(&fake, WireDialect::Anthropic);
    assert_eq!(failure(&model, "hi").await.kind, ErrorKind::UnknownModel);
    assert_eq!(failure(&model, "hi").await.kind, ErrorKind::BadRequest);
}

#[tokio::test]
async fn overlong_context_is_recognised() {
    for (dialect, words) in [
        (WireDialect::Anthropic, "prompt is too long: 210000 tokens > 200000 maximum"),
        (WireDialect::OpenAi, "This model's maximum context length is 4096 tokens."),
    ] {
        let fake = start([Reply::status(400).message(words)]);
        assert_eq!(failure(&model(&fake, dialect), "hi").await.kind, ErrorKind::ContextTooLong);
    }
}

#[tokio::test]
async fn errors_contain_neither_key_nor_secret_headers() {
    for dialect in BOTH {
        let echo = format!("bad key {KEY} and header hush-hush,\u{1b}[2J\nsee sk-live-abcdefgh12345678");
        let fake = start([Reply::status(401).message(echo)]);
        let mut provider = fake.provider(dialect);
        provider.headers = vec![("x-team".to_owned(), Secret::new("hush-hush"))];
        let error = failure(&model_of(provider), "hi").await;
        let shown = format!("{error} {error:?}");
        for secret in [KEY, "hush-hush", "sk-live", "\u{1b}", "\n"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert_eq!(error.message, "bad key [masked] and header [masked], [2J see [masked]");
    }
}

#[tokio::test]
async fn huge_error_response_is_read_partially() {
    let fake = start([Reply::status(500).body("word ".repeat(4 << 20)), Reply::text("back")]);
    let model = model(&fake, WireDialect::OpenAi);
    let error = failure(&model, "hi").await;
    assert!(error.message.chars().count() < 400, "{}", error.message);
    assert_eq!(answer_text(&model, "hi").await.0, "back");
}

#[tokio::test]
async fn redirect_is_not_followed_with_the_key() {
    let elsewhere = start(Reply::text("got you"));
    let to = format!("{}/v1/messages?token=hush", elsewhere.base_url());
    let fake = start([Reply::status(307).header("location", to)]);
    let error = failure(&model(&fake, WireDialect::Anthropic), "hi").await;
    assert!(error.message.contains(&elsewhere.base_url()) && error.message.contains("`base_url`"), "{error}");
    assert!(!error.message.contains("hush"), "{error}");
    assert_eq!(elsewhere.counts().connections, 0);
}

#[test]
fn invalid_url_or_header_is_rejected_on_creation() {
    let fake = start([]);
    let clock = || std::sync::Arc::new(|| "2026-11-16T02:47:00Z".parse().unwrap());
    for base_url in ["", "api.example.com", "ftp://user:hush@example.com", "http://", "not an address"] {
        let mut provider = fake.provider(WireDialect::OpenAi);
        provider.base_url = base_url.to_owned();
        let error = HttpModel::new(provider, None, clock()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotConfigured, "{base_url}");
        assert!(error.message.contains("`base_url`") && !error.message.contains("hush"), "{error}");
    }
    let mut provider = fake.provider(WireDialect::OpenAi);
    provider.headers = vec![("x team".to_owned(), Secret::new("hush"))];
    let error = HttpModel::new(provider, None, clock()).unwrap_err();
    assert_eq!(error.to_string(), "fake: the header `x team` can't be sent");
    let key = Some(Secret::new("two\nlines"));
    let error = HttpModel::new(fake.provider(WireDialect::OpenAi), key, clock()).unwrap_err();
    assert!(error.kind == ErrorKind::NotConfigured && !error.message.contains("lines"), "{error}");
}
