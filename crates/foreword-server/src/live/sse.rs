//! The same as server-sent events: of one conversation, until the client leaves, or until a message is answered.

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

use super::mend;
use super::pouring::{Pouring, Until};
use super::serve::check_after;
use super::subscription::Subscription;
use crate::api::extract::{Path, Query};
use crate::app::App;
use crate::auth::credential::Credential;
use crate::auth::{Caller, Onlooker, Seen, may_see};
use crate::problem::Problem;

/// Where to begin.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct After {
    /// The number of the last item that was read; the header `Last-Event-ID` says the same. Default: begin now.
    after: Option<u64>,
}

/// What happens in a conversation, as it happens: each with its number as `id`, its type as `event` and itself as `data`.
#[utoipa::path(
    get,
    path = "/api/v1/conversations/{id}/stream",
    tag = "conversations",
    params(("id" = String, Path), After),
    responses(
        (status = 200, content_type = "text/event-stream", body = String,
            description = "Events, until the client leaves or the server stops."),
        (status = 400, description = "A number that was never given", body = Problem),
        (status = 404, description = "No such conversation", body = Problem),
    ),
)]
pub(super) async fn stream(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<After>,
    head: (Extension<Credential>, HeaderMap),
) -> Result<Response, Problem> {
    let (Extension(credential), headers) = head;
    caller.needs(Scope::Chat)?;
    let id = ConversationId::new(&id).map_err(|_| Problem::not_found("conversation", &id))?;
    let seen = may_see(&app, &caller, &id).await?;
    let after = match last_event_id(&headers)? {
        Some(after) => Some(after),
        None => query.after,
    };
    let who = Onlooker::caller(&caller, &app.config());
    Ok(listen(&app, who, (&seen, after)).await?.open_ended(credential))
}

/// The number of the last item that a client has read, as it says it when it connects again.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| Problem::bad_request("bad_last_event_id", "`Last-Event-ID` is no number"))
}

/// Begins to look on at a conversation, as somebody who may: behind number `after`, or from now on. Whoever wants to see the answer to a message
/// begins before it is sent.
pub(crate) async fn listen(
    app: &App,
    who: Onlooker,
    (seen, after): (&Seen, Option<u64>),
) -> Result<Listening, Problem> {
    let id = &seen.conversation.id;
    let (channel, last) = app.live.hub.join(&app.store, id).await?;
    check_after(after, last)?;
    mend::look_at(app, id);
    let more = Arc::new(Notify::new());
    let subscription = Subscription::new(channel, who, after.unwrap_or(last), &more);
    Ok(Listening { app: app.clone(), subscription, more })
}

/// Somebody who looks on, and is not answered yet.
pub(crate) struct Listening {
    pub(super) app: App,
    pub(super) subscription: Subscription,
    pub(super) more: Arc<Notify>,
}

impl Listening {
    /// Shows what happens until the client leaves, its token opens nothing any more, or the server stops.
    pub(crate) fn open_ended(self, credential: Credential) -> Response {
        respond(Pouring::new(self, Until::Left, credential))
    }

    /// Shows what happens until the turn that answers `message` has ended or waits for the owner's approval, or as above; first of all what the message is called.
    /// Of one that was sent `before`, which may be answered already, what is kept of its turn is shown.
    pub(crate) fn until_answered(
        mut self,
        (message, before): (MessageId, bool),
        credential: Credential,
    ) -> Response {
        if before {
            self.subscription.move_to(0);
        }
        let conversation = self.subscription.conversation().clone();
        let mut pouring = Pouring::new(self, Until::Answered { message, turn: None, before }, credential);
        pouring.accepted(conversation);
        // Of one that was sent before the turn may have ended; any may be queued behind a turn that waits for the owner.
        pouring.ask_for_the_end();
        respond(pouring)
    }
}

fn respond(pouring: Pouring) -> Response {
    let body = stream::unfold(Box::new(pouring), |mut pouring| async move {
        let next = pouring.next().await?;
        Some((Ok::<_, Infallible>(next), pouring))
    });
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // A reverse proxy that gathers what it passes on makes a stream of one piece.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
