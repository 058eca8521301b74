//! Server-sent events of one conversation, until the client leaves or a message is answered.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::response::Response;
use foreword_core::api_token::Scope;
use foreword_core::id::{ConversationId, MessageId};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use tokio::sync::Notify;
use utoipa::IntoParams;

use super::event_stream::{EventStream, StreamUntil};
use super::repair_turn_end;
use super::subscription::Subscription;
use super::websocket_requests::check_after;
use crate::api::extract::{Path, Query};
use crate::app::App;
use crate::auth::credential::Credential;
use crate::auth::{Caller, Reader, VisibleConversation, find_visible};
use crate::problem::Problem;

/// Where to start.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct After {
    /// The number of the last event that was read, like the header `Last-Event-ID`. Default: only new events.
    after: Option<u64>,
}

/// Streams the events of a conversation. Each has its number as `id`, its type as `event` and its JSON as `data`.
#[utoipa::path(
    get,
    path = "/api/v1/conversations/{id}/stream",
    tag = "conversations",
    params(("id" = String, Path), After),
    responses(
        (status = 200, content_type = "text/event-stream", body = String,
            description = "Events, until the client disconnects or the server stops."),
        (status = 400, description = "A number beyond the last event", body = Problem),
        (status = 404, description = "No such conversation", body = Problem),
    ),
)]
pub(crate) async fn stream_conversation(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<After>,
    Extension(credential): Extension<Credential>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.require(Scope::Chat)?;
    let id = ConversationId::new(&id).map_err(|_| Problem::not_found("conversation", &id))?;
    let seen = find_visible(&app, &caller, &id).await?;
    let after = match last_event_id(&headers)? {
        Some(after) => Some(after),
        None => query.after,
    };
    let reader = Reader::caller(&caller, &app.config());
    Ok(listen(&app, reader, &seen, after).await?.open_ended(credential))
}

/// The number of the last event read, sent by a client that reconnects.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number
        .map(Some)
        .ok_or_else(|| Problem::bad_request("bad_last_event_id", "`Last-Event-ID` is not a number"))
}

/// Subscribes to a conversation, after number `after` or from now on. To stream the answer to a message, subscribe
/// before it is sent.
pub(crate) async fn listen(
    app: &App,
    reader: Reader,
    seen: &VisibleConversation,
    after: Option<u64>,
) -> Result<PendingStream, Problem> {
    let id = &seen.conversation.id;
    let (channel, last) = app.live.hub.join(&app.store, id).await?;
    check_after(after, last)?;
    repair_turn_end::spawn_repair(app, id);
    let more = Arc::new(Notify::new());
    let subscription = Subscription::new(channel, reader, after.unwrap_or(last), &more);
    Ok(PendingStream { app: app.clone(), subscription, more })
}

/// A subscription whose response is not started yet.
pub(crate) struct PendingStream {
    pub(super) app: App,
    pub(super) subscription: Subscription,
    pub(super) more: Arc<Notify>,
}

impl PendingStream {
    /// Streams until the client leaves, its token becomes invalid, or the server stops.
    pub(crate) fn open_ended(self, credential: Credential) -> Response {
        respond(EventStream::new(self, StreamUntil::ClientLeaves, credential))
    }

    /// Streams until the turn that answers `message` has ended or waits for the owner's approval, or as in
    /// `open_ended`. Sends the message's id first. If it was sent `before`, sends the stored events of its turn.
    pub(crate) fn until_answered(
        mut self,
        message: MessageId,
        before: bool,
        credential: Credential,
    ) -> Response {
        if before {
            self.subscription.move_to(0);
        }
        let conversation = self.subscription.conversation().clone();
        let mut events =
            EventStream::new(self, StreamUntil::Answered { message, turn: None, before }, credential);
        events.accepted(conversation);
        // The turn may have ended, or the message may be queued behind a turn that waits for the owner.
        events.request_end_check();
        respond(events)
    }
}

fn respond(events: EventStream) -> Response {
    let body = stream::unfold(Box::new(events), |mut events| async move {
        let next = events.next().await?;
        Some((Ok::<_, Infallible>(next), events))
    });
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Disables response buffering in reverse proxies.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
