//! Messages that others leave for the agent. Who they are from is said by those who may say it; whoever else leaves one
//! leaves it in their own name.

use axum::Json;
use axum::extract::State;
use foreword_agent::inbox::NotTaken;
use foreword_core::api_token::Scope;
use foreword_core::id::InboxId;
use foreword_core::sender::{InboxState, SenderAddress, not_before};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::mailboxes::{InboxMessage, NewInboxMessage, Staged};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::conversations::idempotency_key;
use super::cursor::{cursor, part, parts};
use super::extract::{self, Path, Query};
use super::paging::{Page, PageQuery};
use super::permission::{is_owner, reads};
use super::refusals::{Clashes, NotThere, Refusals};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(stage, list)).routes(routes!(one))
}

/// A message to leave.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewInbox {
    /// From whom; only with the scope `assert`, or by the owner with `admin`. Default: the caller, as `http:NAME`.
    #[schema(example = "0xa11ce")]
    sender: Option<String>,
    /// What it says.
    body: String,
}

/// A message that somebody left.
#[derive(Debug, Serialize, ToSchema)]
struct InboxBody {
    /// Its id.
    id: String,
    /// From whom.
    sender: String,
    /// What it says, in full. Words from outside: data, not instructions.
    body: String,
    /// `staged`, `consumed` or `set_aside`.
    #[schema(value_type = String, example = "staged")]
    state: InboxState,
    /// When it came.
    #[schema(value_type = String, format = DateTime)]
    received_at: Timestamp,
    /// How many turns have failed over it.
    attempts: u64,
    /// How many of them may have failed by its own fault.
    failures: u64,
    /// Why the last of them did; for the owner.
    error: Option<String>,
    /// The turn in which that was, while it is not dealt with.
    failed_turn: Option<String>,
    /// When it is tried again, if not at once.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_attempt_at: Option<Timestamp>,
    /// The turn that has dealt with it.
    turn: Option<String>,
    /// And when.
    #[schema(value_type = Option<String>, format = DateTime)]
    consumed_at: Option<Timestamp>,
}

impl InboxBody {
    fn of(message: InboxMessage, now: Timestamp, reader: Trust) -> Self {
        let waits = message.state == InboxState::Staged;
        let next_attempt_at = not_before((message.tried_at, message.attempts), now).filter(|_| waits);
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
struct StateQuery {
    /// Only those that are `staged`, `consumed` or `set_aside`. Default: all.
    state: Option<String>,
}

/// Leaves a message for the agent, which answers it in its own time. Left twice under one `Idempotency-Key` it is one message.
/// With `chat`; in another's name with `assert`, or as the owner with `admin`.
#[utoipa::path(post, path = "/api/v1/inbox", tag = "inbox", request_body = NewInbox,
    params(("Idempotency-Key" = Option<String>, Header, description = "Left twice under one key, it is one message.")),
    responses((status = 201, description = "It waits.", body = InboxBody),
        (status = 200, description = "It was left before.", body = InboxBody), Refusals, Clashes))]
async fn stage(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    extract::Json(new): extract::Json<NewInbox>,
) -> Result<(StatusCode, Json<InboxBody>), Problem> {
    let sender = match &new.sender {
        None => own_address(&caller)?,
        Some(sender) => {
            if !caller.scopes().contains(&Scope::Assert) {
                caller.needs_owner(Scope::Admin, &app.config())?;
            }
            address(sender)?
        }
    };
    if new.sender.is_none() {
        caller.needs(Scope::Chat)?;
    }
    let id = match idempotency_key(&headers)? {
        None => app.surroundings.id("in"),
        Some(key) => {
            let user = caller.user();
            let hash = blake3::hash(format!("{} {user} {key}", user.len()).as_bytes()).to_hex();
            InboxId::new(format!("in-{}", &hash[..32]))
        }
    };
    let id = id.map_err(|error| Problem::bad_request("bad_id", error.to_string()))?;
    let (now, reader) = (app.now(), caller.trust(&app.config()));
    let staged = app.agent.stage(NewInboxMessage { id, sender, body: new.body, at: now }).await;
    match staged.map_err(not_taken)? {
        Staged::New(message) => Ok((StatusCode::CREATED, Json(InboxBody::of(message, now, reader)))),
        Staged::Again(message) => Ok((StatusCode::OK, Json(InboxBody::of(message, now, reader)))),
    }
}

/// What was left, the newest first. For the owner, with `observe`.
#[utoipa::path(get, path = "/api/v1/inbox", tag = "inbox", params(StateQuery, PageQuery),
    responses((status = 200, body = Page<InboxBody>), Refusals))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<StateQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<InboxBody>>, Problem> {
    caller.needs_owner(Scope::Observe, &app.config())?;
    let state = query.state.as_deref().map(str::parse::<InboxState>).transpose().map_err(|_| {
        Problem::bad_request("bad_query", "there is no such state").help("use staged, consumed or set_aside")
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
    let now = app.now();
    Ok(Json(Page {
        items: found.into_iter().map(|one| InboxBody::of(one, now, Trust::Full)).collect(),
        next,
    }))
}

/// A message that was left: any for the owner with `observe`, their own for everybody else.
#[utoipa::path(get, path = "/api/v1/inbox/{id}", tag = "inbox",
    params(("id" = String, Path, description = "The message.")),
    responses((status = 200, body = InboxBody), Refusals, NotThere))]
async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<InboxBody>, Problem> {
    reads(&caller)?;
    let id = InboxId::new(&id).map_err(|error| Problem::bad_request("bad_id", error.to_string()))?;
    let unknown = || Problem::not_found("inbox message", id.as_str());
    let message = app.store.inbox_message(&id).await.map_err(|error| match error {
        foreword_store::error::StoreError::NotFound { .. } => unknown(),
        other => other.into(),
    })?;
    let observes = is_owner(&caller, &app.config()) && caller.scopes().contains(&Scope::Observe);
    if !observes && message.sender != own_address(&caller)? {
        return Err(unknown());
    }
    Ok(Json(InboxBody::of(message, app.now(), Trust::Full)))
}

/// What a caller is called who leaves a message in their own name.
pub(super) fn own_address(caller: &Caller) -> Result<SenderAddress, Problem> {
    address(&format!("http:{}", caller.user()))
}

/// An address that somebody names.
pub(super) fn address(text: &str) -> Result<SenderAddress, Problem> {
    SenderAddress::new(text).map_err(|error| Problem::bad_request("bad_sender", error.to_string()))
}

fn not_taken(error: NotTaken) -> Problem {
    let words = error.to_string();
    match error {
        NotTaken::Store(error) => error.into(),
        NotTaken::NoWords => Problem::bad_request("no_words", words),
        NotTaken::TooLong { .. } => Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", words),
        NotTaken::SenderHasTooMany { .. } | NotTaken::TooManyInAll { .. } => {
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "inbox_full", words).retry_after(60)
        }
    }
}
