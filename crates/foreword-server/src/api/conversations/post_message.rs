//! Posting a message: it is stored before the response, and answered once per idempotency key.

use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, State};
use axum::response::{IntoResponse as _, Response};
use foreword_agent::agent::Receipt;
use foreword_agent::conversation::inbound::{Inbound, TurnOrigin};
use foreword_agent::conversation::wait_for_answer::{EndedTurn, PendingMessage, WaitLimits, WaitOutcome};
use foreword_core::api_token::Scope;
use foreword_core::money::Price;
use foreword_core::turn_journal::TurnState;
use foreword_prompt::trust::Trust;
use foreword_store::messages::IdempotencyKey;
use http::{HeaderMap, StatusCode, header};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};
use utoipa::{IntoParams, ToSchema};

use super::body::UsageBody;
use crate::api::error_responses::{BodyErrors, CommonErrors, NotFoundError};
use crate::api::extract::{self, Path, Query};
use crate::api::permission::conversation_id;
use crate::app::App;
use crate::auth::credential::Credential;
use crate::auth::{Asserted, Caller, Reader, VisibleConversation, find_visible_as, turn_metering};
use crate::live::{MAX_KEY_LENGTH, WAITING_FOR_APPROVAL, listen};
use crate::middleware::request_id::RequestId;
use crate::problem::Problem;

/// How long a request waits for the answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);
/// How long before the end of a drain the response is sent.
const DRAIN_MARGIN: Duration = Duration::from_millis(250);

/// A message to post.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMessage {
    /// The text.
    #[schema(example = "What is for dinner?")]
    text: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PostMessageQuery {
    /// Whether to wait for the answer. Default: true.
    wait: Option<bool>,
}

/// The state of a posted message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PostedMessage {
    /// The conversation's id.
    conversation: String,
    /// The message's id.
    message: String,
    /// Whether it was posted before, with the same key.
    before: bool,
    /// The turn that answers it, if started.
    turn: Option<String>,
    /// `done`, `failed`, `cancelled` or `interrupted`; `null` while it is not answered. `waiting_for_approval` while
    /// the turn waits for the owner: post the message again with the same `Idempotency-Key` to keep waiting, or follow
    /// the conversation's stream.
    #[schema(example = "done")]
    outcome: Option<&'static str>,
    /// The id of the approval question, with `waiting_for_approval`; an `answer` names it as `callId`.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    /// The text of the answer.
    text: Option<String>,
    /// The code of the failure, as in the stream's `error`.
    #[schema(example = "config_error")]
    error_code: Option<&'static str>,
    /// The error message: the cause for the owner, a general message for other users.
    error: Option<String>,
    /// The token usage; `null` if another process answered.
    usage: Option<UsageBody>,
    /// The cost in US dollars; `null` if unknown.
    #[schema(value_type = Option<f64>)]
    cost: Option<Price>,
}

/// Posts a message. Waits for the answer, or with `wait=false` only until the message is stored. With `Accept:
/// text/event-stream` the events up to the answer are streamed. If the turn waits for the owner's approval, the
/// response ends with the outcome `waiting_for_approval` and the question's id. With `chat`.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/messages", tag = "conversations", request_body = NewMessage,
    params(("id" = String, Path, description = "The conversation."), PostMessageQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "A message sent twice with one key is answered once."),
        ("x-foreword-user" = Option<String>, Header, description = "The user; only with the scope `assert`."),
        ("x-foreword-channel" = Option<String>, Header, description = "The channel; only with the scope `assert`."),
        ("x-foreword-situation" = Option<String>, Header, description = "The situation; only with the scope `assert`.")),
    responses((status = 200, description = "The answer, or with `Accept: text/event-stream` the events up to it.",
            content((PostedMessage = "application/json"), (String = "text/event-stream"))),
        (status = 202, description = "The message is stored and will be answered, possibly after the owner's approval.",
            body = PostedMessage),
        CommonErrors, NotFoundError, BodyErrors))]
#[expect(clippy::too_many_arguments, reason = "a handler has one argument per extractor")]
pub(crate) async fn post_message(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<PostMessageQuery>,
    headers: HeaderMap,
    Extension(request): Extension<RequestId>,
    Extension(credential): Extension<Credential>,
    extract::Json(new): extract::Json<NewMessage>,
) -> Result<Response, Problem> {
    caller.require(Scope::Chat)?;
    let MessageContext { seen, reader, occasion } = MessageContext::of(&app, &caller, &id, &headers).await?;
    let (key, trust) = (key(&caller, &headers)?, reader.trust());
    // Subscribes before the message is sent, so that no event is missed.
    let stream = if wants_stream(&headers) { Some(listen(&app, reader, &seen, None).await?) } else { None };
    let inbound =
        Inbound { conversation: seen.conversation.id.clone(), origin: occasion, text: new.text, key };
    let permit = app.limits.begin_turn(caller.api_token(), &app.config().server.limits)?;
    let receipt = Box::pin(app.agent.send_for(inbound, Some(&request.0))).await;
    let receipt = receipt.map_err(|error| Problem::of_agent(error, trust))?;
    turn_metering::meter_message(&app, permit, &receipt);
    if let Some(stream) = stream {
        let message = receipt.message.message.id.clone();
        return Ok(stream.until_answered(message, receipt.before, credential));
    }
    let wait = query.wait.unwrap_or(true);
    let timeout = if wait { ANSWER_TIMEOUT } else { Duration::ZERO };
    let posted = posted(&receipt, wait_for_answer(&app, &receipt, timeout).await?, trust);
    let is_over = posted.outcome.is_some() && posted.question.is_none();
    let status = if is_over && wait { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(posted)).into_response())
}

/// The conversation, reader and occasion of a message.
pub(super) struct MessageContext {
    pub(super) seen: VisibleConversation,
    /// The caller, or the asserted user.
    pub(super) reader: Reader,
    pub(super) occasion: TurnOrigin,
}

impl MessageContext {
    pub(super) async fn of(
        app: &App,
        caller: &Caller,
        id: &str,
        headers: &HeaderMap,
    ) -> Result<Self, Problem> {
        let (config, asserted) = (app.config(), Asserted::of(headers)?);
        let mut occasion = caller.occasion(&asserted, &config)?;
        let reader = if asserted.is_empty() {
            Reader::caller(caller, &config)
        } else {
            Reader::speaker(&occasion, &config)
        };
        let seen = find_visible_as(app, &reader, &conversation_id(id)?).await?;
        // A message to a group conversation is read by the group, whichever way it came.
        if occasion.speaker.situation.is_none() {
            occasion.speaker.situation = Some(seen.conversation.situation.as_str().into());
        }
        Ok(Self { seen, reader, occasion })
    }
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|one| {
        one.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
    })
}

/// The `Idempotency-Key` header.
pub(in crate::api) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().ok().filter(|key| (1..=MAX_KEY_LENGTH).contains(&key.len()));
    key.map(|key| Some(key.to_owned())).ok_or_else(|| {
        let detail = format!("`Idempotency-Key` must have 1 to {MAX_KEY_LENGTH} ASCII characters");
        Problem::bad_request("bad_header", detail)
    })
}

fn key(caller: &Caller, headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Problem> {
    let key = idempotency_key(headers)?;
    Ok(key.map(|key| IdempotencyKey { scope: format!("http:{}", caller.user()), key }))
}

/// Waits for the answer until the deadline. While the server drains, the turn may still end; after that, another node
/// resumes it. A turn that stops because the store fails is resumed later, and the client need not wait for that.
async fn wait_for_answer(app: &App, receipt: &Receipt, wait: Duration) -> Result<WaitOutcome, Problem> {
    // The owner may take minutes or never answer, so the client gets a response before.
    let limits = WaitLimits { deadline: Some(Instant::now() + wait), approval: true, moved: true };
    let message = PendingMessage::from(receipt);
    let answered = async {
        match app.agent.wait_for_answer(&message, limits).await? {
            WaitOutcome::Moved if !app.store.health().failures().is_empty() => {
                let detail = "the store is unavailable; the message is stored and is answered later";
                Err(Problem::unavailable("store_unavailable", detail).retry_after(1))
            }
            WaitOutcome::Moved => {
                Ok(app.agent.wait_for_answer(&message, WaitLimits { moved: false, ..limits }).await?)
            }
            outcome => Ok(outcome),
        }
    };
    let drained = async {
        app.until_stopping().await;
        sleep(app.config().server.drain.saturating_sub(DRAIN_MARGIN)).await;
    };
    tokio::select! {
        biased;
        outcome = answered => outcome,
        () = drained => Ok(WaitOutcome::TimedOut),
    }
}

fn posted(receipt: &Receipt, outcome: WaitOutcome, reader: Trust) -> PostedMessage {
    let message = &receipt.message.message;
    let unanswered = PostedMessage {
        conversation: message.conversation.to_string(),
        message: message.id.to_string(),
        before: receipt.before,
        turn: None,
        outcome: None,
        question: None,
        text: None,
        error_code: None,
        error: None,
        usage: None,
        cost: None,
    };
    let (name, EndedTurn { answer, usage, .. }) = match outcome {
        WaitOutcome::Moved | WaitOutcome::TimedOut => return unanswered,
        WaitOutcome::WaitingForApproval { turn, question } => {
            return PostedMessage {
                turn: turn.map(|turn| turn.to_string()),
                outcome: Some(WAITING_FOR_APPROVAL),
                question: Some(question.id),
                ..unanswered
            };
        }
        WaitOutcome::Answered(ended) => ("done", ended),
        WaitOutcome::Cancelled(ended) => ("cancelled", ended),
        WaitOutcome::Failed(ended) if ended.answer.turn.state == TurnState::Interrupted => {
            ("interrupted", ended)
        }
        WaitOutcome::Failed(ended) => ("failed", ended),
    };
    let failure = answer.turn.failure.as_ref();
    let failure = failure.map(|failure| failure.visible_at(reader, answer.turn.id.as_str()));
    PostedMessage {
        turn: Some(answer.turn.id.to_string()),
        outcome: Some(name),
        text: Some(answer.text),
        error_code: failure.as_ref().map(|failure| failure.code.as_str()),
        error: failure.map(|failure| failure.message),
        usage: usage.map(|usage| usage.usage.into()),
        cost: usage.map(|usage| usage.cost),
        ..unanswered
    }
}
