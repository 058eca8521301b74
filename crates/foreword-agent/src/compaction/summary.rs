//! The call that makes a summary: on the prompt and the history the provider has in its cache, with what is wanted behind
//! them.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::allowance::Payer;
use foreword_core::event::{Event, EventType};
use foreword_core::history::History;
use foreword_core::message::{ContentBlock, Usage};
use foreword_core::model::{
    ErrorKind, ModelError, ModelEvent, ModelRequest, RequestMessage, RequestRole, StopReason,
};
use foreword_core::retry::RetryDecision;
use foreword_core::transcript::transcript;
use foreword_observe::names::TurnNames;
use foreword_prompt::blueprint::builtin;
use foreword_prompt::untrusted::display_line;
use serde_json::json;
use tokio::time::Instant;

use crate::cache_watch::Answered;
use crate::calling::{self, Call, cost};
use crate::prepare::{Placed, Prepared};
use crate::shared::Shared;

/// What the model is asked for, behind the history; how to do it stands in the built-in text.
const ASKED: &str = "Summarise the conversation up to here.";
/// The built-in text.
const INSTRUCTIONS: &str = "compaction";

/// The longest text from outside in an event.
const SHOWN: usize = 500;

/// The model's summary of a history.
pub(super) async fn summarise(
    shared: &Shared,
    (placed, prepared): (&Placed, &Prepared),
    history: &History,
) -> Result<(String, Usage), ModelError> {
    let mut messages = transcript(&history.messages, None);
    let asked = format!("{ASKED}\n\n{}", builtin::text(INSTRUCTIONS).unwrap_or_default().trim_end());
    messages.push(RequestMessage { role: RequestRole::User, content: vec![ContentBlock::text(asked)] });
    let retry = &prepared.rules.retry;
    let mut attempt = 0;
    loop {
        let request = calling::request(prepared, messages.clone());
        let began = Instant::now();
        let error = match collect(shared, prepared, request).await {
            Ok((summary, usage)) => {
                log_call(shared, placed, prepared, (usage, began.elapsed()));
                return Ok((summary, usage));
            }
            Err(error) => error,
        };
        log_failure(shared, placed, prepared, (&error, attempt));
        let RetryDecision::Again { delay, .. } = retry.decide(&error, attempt, shared.surroundings.chance())
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
) -> Result<(String, Usage), ModelError> {
    let mut call = Call::start(shared, prepared, request)?;
    let (mut summary, mut wants_tool) = (String::new(), false);
    loop {
        match call.next().await? {
            ModelEvent::Text(words) => summary.push_str(&words),
            ModelEvent::Block(block) => wants_tool |= matches!(block, ContentBlock::ToolCall { .. }),
            ModelEvent::Usage(_) | ModelEvent::Note(_) => {}
            ModelEvent::Stopped(reason) => {
                let summary = summary.trim().to_owned();
                return match no_summary(&reason, summary.is_empty(), wants_tool) {
                    // The same limit would cut it off at the same place, and be paid for once more.
                    Some(why) if reason == StopReason::MaxTokens => {
                        Err(ModelError { kind: ErrorKind::BadRequest, ..call.broken(&why) })
                    }
                    Some(why) => Err(call.broken(&why)),
                    None => {
                        watch(shared, prepared, &call);
                        Ok((summary, call.usage.unwrap_or_default()))
                    }
                };
            }
        }
    }
}

/// Why an answer that stopped for `reason` is no summary, if it is none. It would be all that is left of the history.
fn no_summary(reason: &StopReason, wordless: bool, wants_tool: bool) -> Option<String> {
    let what = match reason {
        StopReason::Refusal => "the model declined".to_owned(),
        StopReason::MaxTokens => {
            "the summary was cut off at the most tokens an answer may have; raise the model's `max_output`, or \
             use another model"
                .to_owned()
        }
        StopReason::Other(reason) => format!(
            "the model stopped before the summary was complete, with `{}`; try again, or use another model",
            display_line(reason, SHOWN)
        ),
        _ if wants_tool || *reason == StopReason::ToolUse => {
            "the model asked for a tool instead of giving a summary; try again, or use another model".to_owned()
        }
        _ if wordless => "the model gave no summary".to_owned(),
        StopReason::EndTurn | StopReason::ToolUse => return None,
    };
    Some(what)
}

/// Has somebody look whether the summary was made on what the provider had in its cache.
fn watch(shared: &Shared, prepared: &Prepared, call: &Call) {
    if let Some(names) = TurnNames::current() {
        shared.cache_watch.look_at(Answered::new(call, prepared, names), shared);
    }
}

fn log_call(shared: &Shared, placed: &Placed, prepared: &Prepared, (usage, took): (Usage, Duration)) {
    let (model, occasion) = (&prepared.model, &prepared.built.occasion);
    let price = cost(prepared.facts(), Some(usage));
    shared.log(Event {
        session_id: Some(placed.conversation.clone()),
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
    let session = placed.conversation.as_str();
    shared.purse.pay(&Payer { user: occasion.user.as_deref(), session, agent: &occasion.agent }, price);
}

fn log_failure(shared: &Shared, placed: &Placed, prepared: &Prepared, (error, attempt): (&ModelError, u32)) {
    let metadata = json!({
        "provider": error.provider, "statusCode": error.status, "kind": error.kind, "retryAttempt": attempt,
        "for": "summary", "model": prepared.model.as_str(),
    });
    shared.log(Event {
        session_id: Some(placed.conversation.clone()),
        error: Some(display_line(&error.to_string(), SHOWN)),
        metadata: Some(metadata),
        ..Event::new(EventType::ApiError, shared.now())
    });
}
