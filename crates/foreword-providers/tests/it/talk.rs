//! Helpers: one request to a fake provider, and its result.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::message::ContentBlock;
use foreword_core::model::{
    CachePlan, Model, ModelError, ModelEvent, ModelRequest, RequestMessage, RequestRole, StopReason,
};
use foreword_core::provider::{Provider, Secret, Timeouts, WireDialect};
use foreword_core::tools::builtin_tools;
use foreword_providers::HttpModel;
use foreword_testkit::{FakeProvider, Script};
use futures_util::StreamExt;

pub(crate) const BOTH: [WireDialect; 2] = [WireDialect::Anthropic, WireDialect::OpenAi];
pub(crate) const KEY: &str = "swordfish-0123456789";

/// The timeout of one test, so that a hang is reported as a failure.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn start(script: impl Into<Script>) -> FakeProvider {
    FakeProvider::start(script).unwrap()
}

pub(crate) fn model(fake: &FakeProvider, dialect: WireDialect) -> HttpModel {
    model_of(fake.provider(dialect))
}

pub(crate) fn model_of(provider: Provider) -> HttpModel {
    let now = "2026-11-16T02:47:00Z".parse().unwrap();
    HttpModel::new(provider, Some(Secret::new(KEY)), Arc::new(move || now)).unwrap()
}

/// The same client with short timeouts.
pub(crate) fn impatient(fake: &FakeProvider, dialect: WireDialect) -> HttpModel {
    let mut provider = fake.provider(dialect);
    let little = Duration::from_millis(500);
    provider.timeouts = Timeouts { connect: little, first_byte: little, idle: little };
    model_of(provider)
}

pub(crate) fn question(text: &str) -> Arc<ModelRequest> {
    let content = vec![ContentBlock::text(text)];
    Arc::new(ModelRequest {
        model: "fake/model-1".parse().unwrap(),
        tools: builtin_tools().into(),
        system: vec![],
        messages: vec![RequestMessage { role: RequestRole::User, content }],
        max_output: Some(1_000),
        cache: CachePlan::NONE,
    })
}

/// All items.
pub(crate) async fn ask(model: &HttpModel, text: &str) -> Vec<Result<ModelEvent, ModelError>> {
    let answer = model.call(question(text)).collect();
    tokio::time::timeout(TEST_TIMEOUT, answer).await.expect("an answer, or an error, in time")
}

/// The text, and the stop reason or the error.
pub(crate) async fn answer_text(model: &HttpModel, text: &str) -> (String, Result<StopReason, ModelError>) {
    let mut said = String::new();
    for event in ask(model, text).await {
        match event {
            Ok(ModelEvent::Text(words)) => said.push_str(&words),
            Ok(ModelEvent::Stopped(reason)) => return (said, Ok(reason)),
            Ok(ModelEvent::Block(_) | ModelEvent::Usage(_) | ModelEvent::Note(_)) => {}
            Err(error) => return (said, Err(error)),
        }
    }
    panic!("the stream ended without an end: {said}")
}

/// The final error.
pub(crate) async fn failure(model: &HttpModel, text: &str) -> ModelError {
    let events = ask(model, text).await;
    match events.into_iter().next_back() {
        Some(Err(error)) => error,
        other => panic!("expected an error, got {other:?}"),
    }
}
