//! The client through a real LiteLLM gateway in front of a fake provider: `scripts/litellm.sh` starts both and sets
//! `FOREWORD_TEST_LITELLM` and `FOREWORD_TEST_LITELLM_KEY` to the gateway's address and key.

use std::sync::Arc;

use foreword_core::message::{ContentBlock, Usage};
use foreword_core::model::{
    ErrorKind, Model, ModelEvent, ModelRequest, RequestMessage, RequestRole, StopReason, SystemBlock,
};
use foreword_core::models::Breakpoints;
use foreword_core::provider::{KeySource, Provider, Secret, Timeouts, WireDialect};
use foreword_prompt::prompt::CacheClass;
use foreword_providers::HttpModel;
use futures_util::StreamExt;

use crate::talk::{BOTH, question};

/// The gateway as a provider.
fn gateway(dialect: WireDialect) -> HttpModel {
    let key = std::env::var("FOREWORD_TEST_LITELLM_KEY").expect("run `scripts/litellm.sh`");
    let base_url = std::env::var("FOREWORD_TEST_LITELLM").expect("run `scripts/litellm.sh`");
    let base_url = match dialect {
        WireDialect::Anthropic => base_url,
        WireDialect::OpenAi => format!("{base_url}/v1"),
    };
    let provider = Provider {
        name: "litellm".into(),
        dialect,
        base_url,
        key: KeySource::None,
        headers: vec![],
        timeouts: Timeouts::default(),
        cache_diagnostics: false,
    };
    let now = "2026-11-16T02:47:00Z".parse().unwrap();
    HttpModel::new(provider, Some(Secret::new(key)), Arc::new(move || now)).unwrap()
}

/// A request to a model that the gateway serves from a backend with the dialect `backend`.
fn to(backend: &str, messages: Vec<RequestMessage>) -> Arc<ModelRequest> {
    let model = format!("litellm/{backend}").parse().unwrap();
    Arc::new(ModelRequest { model, messages, ..ModelRequest::clone(&question("")) })
}

fn user(text: &str) -> RequestMessage {
    RequestMessage { role: RequestRole::User, content: vec![ContentBlock::text(text)] }
}

struct Answer {
    words: String,
    blocks: Vec<ContentBlock>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
}

async fn ask(dialect: WireDialect, request: Arc<ModelRequest>) -> Answer {
    let mut answer = Answer { words: String::new(), blocks: vec![], usage: None, stop: None };
    let events: Vec<_> = gateway(dialect).call(request).collect().await;
    for event in events {
        match event.unwrap() {
            ModelEvent::Text(words) => answer.words.push_str(&words),
            ModelEvent::Block(block) => answer.blocks.push(block),
            ModelEvent::Usage(usage) => answer.usage = Some(usage),
            ModelEvent::Note(_) => {}
            ModelEvent::Stopped(reason) => answer.stop = Some(reason),
        }
    }
    answer
}

#[tokio::test]
#[ignore = "needs the gateway: run `scripts/litellm.sh`"]
async fn text_and_usage_pass_through_a_gateway() {
    for dialect in BOTH {
        for backend in ["speaks-openai", "speaks-anthropic"] {
            let answer = ask(dialect, to(backend, vec![user("grüß dich")])).await;
            assert_eq!(answer.words, "You said: grüß dich", "{dialect:?} {backend}");
            assert_eq!(answer.stop, Some(StopReason::EndTurn), "{dialect:?} {backend}");
            let usage = answer.usage.expect("usage");
            assert_eq!((usage.input, usage.output, usage.cache_read), (21, 7, 100), "{dialect:?} {backend}");
        }
    }
}

#[tokio::test]
#[ignore = "needs the gateway: run `scripts/litellm.sh`"]
async fn tool_call_and_result_pass_through_a_gateway() {
    for dialect in BOTH {
        for backend in ["speaks-openai", "speaks-anthropic"] {
            let mut messages = vec![user("please use a tool")];
            let called = ask(dialect, to(backend, messages.clone())).await;
            assert_eq!((called.words.as_str(), called.stop), ("One moment.", Some(StopReason::ToolUse)));
            let [ContentBlock::ToolCall { id, name, input }] = &called.blocks[..] else {
                panic!("{dialect:?} {backend}: {:?}", called.blocks)
            };
            assert_eq!((name.as_str(), input["query"].as_str()), ("bash", Some("birthday")));
            let result = ContentBlock::ToolResult {
                call: id.clone(),
                content: "the third of May".to_owned(),
                is_error: false,
            };
            let words = [vec![ContentBlock::text(&*called.words)], called.blocks.clone()].concat();
            messages.push(RequestMessage { role: RequestRole::Assistant, content: words });
            messages.push(RequestMessage { role: RequestRole::Tool, content: vec![result] });
            let answer = ask(dialect, to(backend, messages)).await;
            assert_eq!(answer.words, "You said: the third of May", "{dialect:?} {backend}");
        }
    }
}

#[tokio::test]
#[ignore = "needs the gateway: run `scripts/litellm.sh`"]
async fn backend_error_is_classified_behind_a_gateway() {
    for dialect in BOTH {
        for backend in ["speaks-openai", "speaks-anthropic"] {
            for (status, kind) in [(429, ErrorKind::RateLimited), (400, ErrorKind::ContextTooLong)] {
                let asked = to(backend, vec![user(&format!("refuse with {status}"))]);
                let events: Vec<_> = gateway(dialect).call(asked).collect().await;
                let error = events.into_iter().next_back().unwrap().unwrap_err();
                assert_eq!(
                    (error.kind, error.status),
                    (kind, Some(status)),
                    "{dialect:?} {backend}: {error}"
                );
            }
        }
    }
}

#[tokio::test]
#[ignore = "needs the gateway: run `scripts/litellm.sh`"]
async fn breakpoints_reach_the_backend_of_a_gateway() {
    for dialect in BOTH {
        let mut request = ModelRequest::clone(&to("speaks-anthropic", vec![user("show me the marks")]));
        request.system =
            vec![SystemBlock { text: "Be brief.".into(), class: CacheClass::Agent, tokens: 5_000 }];
        request.cache.breakpoints = Breakpoints::Explicit;
        let answer = ask(dialect, Arc::new(request)).await;
        assert_eq!(answer.words, "You marked 2 places.", "{dialect:?}");
    }
}

#[tokio::test]
#[ignore = "needs the gateway: run `scripts/litellm.sh`"]
async fn model_missing_at_the_gateway_is_unknown() {
    for dialect in BOTH {
        let events: Vec<_> = gateway(dialect).call(to("nothing-here", vec![user("hi")])).collect().await;
        let error = events.into_iter().next_back().unwrap().unwrap_err();
        assert_eq!(error.kind, ErrorKind::UnknownModel, "{dialect:?}: {error}");
    }
}
