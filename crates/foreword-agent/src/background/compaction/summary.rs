//! The model call that writes a summary. It extends the cached prompt and history, so that most of it is a cache read.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::event::{Event, EventType};
use foreword_core::history::History;
use foreword_core::message::{ContentBlock, Usage};
use foreword_core::model::{
    ErrorKind, ModelError, ModelEvent, ModelRequest, RequestMessage, RequestRole, StopReason,
};
use foreword_core::money::Price;
use foreword_core::retry::RetryDecision;
use foreword_core::transcript::transcript;
use foreword_observe::turn_fields::TurnFields;
use foreword_prompt::blueprint::builtin;
use foreword_prompt::untrusted::display_line;
use serde_json::json;
use tokio::time::Instant;

use crate::shared::Shared;
use crate::spending::CostSource;
use crate::turn::cache_diagnosis_worker::Answered;
use crate::turn::model_call::{self, Call};
use crate::turn::prepare::Prepared;
use crate::turn::scope::TurnScope;

/// The request, appended to the history and followed by the built-in instructions.
const REQUEST: &str = "Summarise the conversation up to here.";
/// Name of the built-in instructions.
const INSTRUCTIONS: &str = "compaction";

/// Maximum length of provider text in an event.
const MAX_REASON_CHARS: usize = 500;

/// A summary that a model wrote.
pub(super) struct WrittenSummary {
    pub(super) text: String,
    pub(super) usage: Usage,
    /// Cost of the call.
    pub(super) cost: Price,
}

/// Asks the model for a summary of `history`, with retries.
pub(super) async fn summarise(
    shared: &Shared,
    scope: &TurnScope,
    prepared: &Prepared,
    history: &History,
) -> Result<WrittenSummary, ModelError> {
    let mut messages = transcript(&history.messages, None);
    let asked = format!("{REQUEST}\n\n{}", builtin::text(INSTRUCTIONS).unwrap_or_default().trim_end());
    messages.push(RequestMessage { role: RequestRole::User, content: vec![ContentBlock::text(asked)] });
    let retry = &prepared.rules.retry;
    let mut attempt = 0;
    loop {
        let request = model_call::request(prepared, messages.clone());
        let began = Instant::now();
        let error = match collect(shared, prepared, request).await {
            Ok(summary) => {
                log_call(shared, scope, prepared, &summary, began.elapsed());
                return Ok(summary);
            }
            Err(error) => error,
        };
        log_failure(shared, scope, prepared, &error, attempt);
        let RetryDecision::Again { delay, .. } = retry.decide(&error, attempt, shared.clock_and_rng.chance())
        else {
            return Err(error);
        };
        attempt += 1;
        tokio::time::sleep(delay).await;
    }
}

async fn collect(
    shared: &Shared,
    prepared: &Prepared,
    request: ModelRequest,
) -> Result<WrittenSummary, ModelError> {
    let mut call = Call::start(shared, prepared, request)?;
    let (mut summary, mut wants_tool) = (String::new(), false);
    loop {
        match call.next().await? {
            ModelEvent::Text(words) => summary.push_str(&words),
            ModelEvent::Block(block) => wants_tool |= matches!(block, ContentBlock::ToolCall { .. }),
            ModelEvent::Usage(_) | ModelEvent::Note(_) => {}
            ModelEvent::Stopped(reason) => {
                let summary = summary.trim().to_owned();
                return match rejection(&reason, summary.is_empty(), wants_tool) {
                    // A retry would be cut off at the same limit and cost the same again.
                    Some(why) if reason == StopReason::MaxTokens => {
                        Err(ModelError { kind: ErrorKind::BadRequest, ..call.broken(&why) })
                    }
                    Some(why) => Err(call.broken(&why)),
                    None => {
                        watch(shared, prepared, &call);
                        let (usage, cost) = (call.usage.unwrap_or_default(), call.price(prepared.facts()));
                        Ok(WrittenSummary { text: summary, usage, cost })
                    }
                };
            }
        }
    }
}

/// Why an answer is not usable as a summary. An incomplete one would replace the whole history.
fn rejection(reason: &StopReason, is_empty: bool, wants_tool: bool) -> Option<String> {
    let what = match reason {
        StopReason::Refusal => "the model declined".to_owned(),
        StopReason::MaxTokens => {
            "the summary was cut off at the output token limit; raise the model's `max_output`, or \
             use another model"
                .to_owned()
        }
        StopReason::Other(reason) => format!(
            "the model stopped before the summary was complete, with `{}`; try again, or use another model",
            display_line(reason, MAX_REASON_CHARS)
        ),
        _ if wants_tool || *reason == StopReason::ToolUse => {
            "the model asked for a tool instead of giving a summary; try again, or use another model"
                .to_owned()
        }
        _ if is_empty => "the model gave no summary".to_owned(),
        StopReason::EndTurn | StopReason::ToolUse => return None,
    };
    Some(what)
}

/// Checks in the background whether the call hit the provider's cache.
fn watch(shared: &Shared, prepared: &Prepared, call: &Call) {
    if let Some(names) = TurnFields::current() {
        shared.cache_diagnosis_worker.submit(Answered::new(call, prepared, names), shared);
    }
}

fn log_call(
    shared: &Shared,
    scope: &TurnScope,
    prepared: &Prepared,
    summary: &WrittenSummary,
    took: Duration,
) {
    let (model, occasion) = (&prepared.model, &prepared.built.occasion);
    let (usage, price) = (summary.usage, summary.cost);
    shared.log(Event {
        session_id: Some(scope.conversation.clone()),
        agent_id: Some(Arc::clone(&occasion.agent)),
        user_id: occasion.user.clone(),
        duration_ms: u64::try_from(took.as_millis()).ok(),
        tokens_in: Some(usage.input + usage.cache_read + usage.cache_write),
        tokens_out: Some(usage.output),
        cache_read_tokens: (!usage.cache_unknown).then_some(usage.cache_read),
        cache_write_tokens: (!usage.cache_unknown).then_some(usage.cache_write),
        cost_usd: price.known().map(|cost| cost.dollars()),
        metadata: Some(json!({ "model": model.as_str(), "provider": model.provider(), "for": "summary" })),
        ..Event::new(EventType::ApiCall, shared.now())
    });
    shared.spending.record(&prepared.payer(scope), price, CostSource::Logged);
}

fn log_failure(shared: &Shared, scope: &TurnScope, prepared: &Prepared, error: &ModelError, attempt: u32) {
    let metadata = json!({
        "provider": error.provider, "statusCode": error.status, "kind": error.kind, "retryAttempt": attempt,
        "for": "summary", "model": prepared.model.as_str(),
    });
    shared.log(Event {
        session_id: Some(scope.conversation.clone()),
        error: Some(display_line(&error.to_string(), MAX_REASON_CHARS)),
        metadata: Some(metadata),
        ..Event::new(EventType::ApiError, shared.now())
    });
}
