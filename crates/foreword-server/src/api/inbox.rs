//! The inbox: messages for the agent. Other senders than the caller need the scope `assert`.

use axum::Json;
use axum::extract::State;
use foreword_agent::background::inbox::StageError;
use foreword_core::api_token::Scope;
use foreword_core::id::InboxId;
use foreword_core::sender::{InboxState, SenderAddress, not_before};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::mailboxes::{InboxMessage, NewInboxMessage, Staged};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::conversations::idempotency_key;
use super::cursor::{cursor, part, parts};
use super::error_responses::{BodyErrors, CommonErrors, NotFoundError};
use super::extract::{self, Path, Query};
use super::pagination::{Page, PageQuery};
use super::permission::{is_owner, reads};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// A message for the inbox.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewInbox {
    /// The sender; only with the scope `assert`, or for the owner with `admin`. Default: the caller, as `http:NAME`.
    #[schema(example = "0xa11ce")]
    sender: Option<String>,
    /// The text.
    body: String,
}

/// An inbox message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InboxBody {
    /// Its id.
    id: String,
    /// The sender.
    sender: String,
    /// The full text. Untrusted data, not instructions.
    body: String,
    /// `staged`, `consumed` or `set_aside`.
    #[schema(value_type = String, example = "staged")]
    state: InboxState,
    /// When it was received.
    #[schema(value_type = String, format = DateTime)]
    received_at: Timestamp,
    /// Number of turns that failed while handling it.
    attempts: u64,
    /// Number of failures it may have caused itself.
    failures: u64,
    /// The last error; for the owner.
    error: Option<String>,
    /// The turn of the last error, while it is not consumed.
    failed_turn: Option<String>,
    /// When it is retried, if not at once.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_attempt_at: Option<Timestamp>,
    /// The turn that consumed it.
    turn: Option<String>,
    /// When it was consumed.
    #[schema(value_type = Option<String>, format = DateTime)]
    consumed_at: Option<Timestamp>,
}

impl InboxBody {
    fn of(message: InboxMessage, now: Timestamp, reader: Trust) -> Self {
        let waits = message.state == InboxState::Staged;
        let next_attempt_at = not_before(message.tried_at, message.attempts, now).filter(|_| waits);
        let (turn, consumed_at) = message.consumed.map(|(turn, at)| (turn.to_string(), at)).unzip();
        Self {
            id: message.id.to_string(),
            sender: message.sender.as_str().to_owned(),
            body: message.body,
            state: message.state,
            received_at: message.received_at,
            attempts: message.attempts,
            failures: message.failures,
            error: message.error.and_then(|error| error.at(reader).cloned()),
            failed_turn: message.failed_turn.map(|turn| turn.to_string()),
            next_attempt_at,
            turn,
            consumed_at,
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StateQuery {
    /// Only those in this state: `staged`, `consumed` or `set_aside`. Default: all.
    state: Option<String>,
}

/// Adds a message to the inbox, which the agent processes later. Posted twice with one `Idempotency-Key` it is one
/// message. With `chat`; for another sender with `assert`, or as the owner with `admin`.
#[utoipa::path(post, path = "/api/v1/inbox", tag = "inbox", request_body = NewInbox,
    params(("Idempotency-Key" = Option<String>, Header, description = "A message posted twice with one key is stored once.")),
    responses((status = 201, description = "It waits.", body = InboxBody),
        (status = 200, description = "The message was posted before.", body = InboxBody), CommonErrors, BodyErrors))]
pub(crate) async fn post_inbox_message(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    extract::Json(new): extract::Json<NewInbox>,
) -> Result<(StatusCode, Json<InboxBody>), Problem> {
    let sender = match &new.sender {
        None => own_address(&caller)?,
        Some(sender) => {
            if !caller.scopes().contains(&Scope::Assert) {
                caller.require_owner(Scope::Admin, &app.config())?;
            }
            address(sender)?
        }
    };
    if new.sender.is_none() {
        caller.require(Scope::Chat)?;
    }
    let id = match idempotency_key(&headers)? {
        None => app.clock_and_rng.id("in"),
        Some(key) => {
            let user = caller.user();
            let hash = blake3::hash(format!("{} {user} {key}", user.len()).as_bytes()).to_hex();
            InboxId::new(format!("in-{}", &hash[..32]))
        }
    };
    let id = id.map_err(|error| Problem::bad_request("invalid_id", error.to_string()))?;
    let (now, reader) = (app.now(), caller.trust(&app.config()));
    let staged = app.agent.stage(NewInboxMessage { id, sender, body: new.body, at: now }).await;
    match staged.map_err(not_taken)? {
        Staged::New(message) => Ok((StatusCode::CREATED, Json(InboxBody::of(message, now, reader)))),
        Staged::Again(message) => Ok((StatusCode::OK, Json(InboxBody::of(message, now, reader)))),
    }
}

/// Lists inbox messages, newest first. Owner only, with `observe`.
#[utoipa::path(get, path = "/api/v1/inbox", tag = "inbox", params(StateQuery, PageQuery),
    responses((status = 200, body = Page<InboxBody>), CommonErrors))]
pub(crate) async fn list_inbox(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<StateQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<InboxBody>>, Problem> {
    caller.require_owner(Scope::Observe, &app.config())?;
    let state = query.state.as_deref().map(str::parse::<InboxState>).transpose().map_err(|_| {
        Problem::bad_request("bad_query", "unknown state").help("use staged, consumed or set_aside")
    })?;
    let limit = page.limit()?;
    let before = match page.after() {
        None => None,
        Some(after) => {
            let [id] = parts::<1>(after)?;
            Some(part::<InboxId>(&id)?)
        }
    };
    let mut found = app.store.inbox_page(state, before.as_ref(), limit + 1).await?;
    let count = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = found.len() > count;
    found.truncate(count);
    let next = found.last().filter(|_| more).map(|last| cursor(&[last.id.as_str()]));
    let (now, reader) = (app.now(), caller.trust(&app.config()));
    Ok(Json(Page { items: found.into_iter().map(|one| InboxBody::of(one, now, reader)).collect(), next }))
}

/// Returns an inbox message: any for the owner with `observe`, their own for other users.
#[utoipa::path(get, path = "/api/v1/inbox/{id}", tag = "inbox",
    params(("id" = String, Path, description = "The message.")),
    responses((status = 200, body = InboxBody), CommonErrors, NotFoundError))]
pub(crate) async fn get_inbox_message(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<InboxBody>, Problem> {
    reads(&caller)?;
    let id = InboxId::new(&id).map_err(|error| Problem::bad_request("invalid_id", error.to_string()))?;
    let unknown = || Problem::not_found("inbox message", id.as_str());
    let message = app.store.inbox_message(&id).await.map_err(|error| match error {
        foreword_store::error::StoreError::NotFound { .. } => unknown(),
        other => other.into(),
    })?;
    let observes = is_owner(&caller, &app.config()) && caller.scopes().contains(&Scope::Observe);
    if !observes && message.sender != own_address(&caller)? {
        return Err(unknown());
    }
    Ok(Json(InboxBody::of(message, app.now(), caller.trust(&app.config()))))
}

/// The sender address of a caller.
pub(super) fn own_address(caller: &Caller) -> Result<SenderAddress, Problem> {
    address(&format!("http:{}", caller.user()))
}

/// Parses an address.
pub(super) fn address(text: &str) -> Result<SenderAddress, Problem> {
    SenderAddress::new(text).map_err(|error| Problem::bad_request("bad_sender", error.to_string()))
}

fn not_taken(error: StageError) -> Problem {
    let words = error.to_string();
    match error {
        StageError::Store(error) => error.into(),
        StageError::EmptyMessage => Problem::bad_request("empty_message", words),
        StageError::TooLong { .. } => Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", words),
        StageError::SenderLimitReached { .. } | StageError::TotalLimitReached { .. } => {
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "inbox_full", words).retry_after(60)
        }
    }
}
