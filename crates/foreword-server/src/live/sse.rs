//! The same as server-sent events: of one conversation, until the client leaves, or until a message is answered.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use foreword_core::api_token::Scope;
use foreword_core::id::{ConversationId, MessageId};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;
use tokio::sync::{Notify, watch};
use utoipa::IntoParams;

use super::happening::Happening;
use super::mend;
use super::serve::check_after;
use super::subscription::{Read, Subscription};
use crate::api::extract::{Path, Query};
use crate::app::App;
use crate::auth::credential::Credential;
use crate::auth::{Caller, Onlooker, Seen, bearer, known, may_see};
use crate::problem::Problem;

/// Where to begin.
#[derive(Debug, Deserialize, IntoParams)]
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
        (status = 200, content_type = "text/event-stream", body = Happening),
        (status = 400, description = "A number that was never given", body = Problem),
        (status = 404, description = "No such conversation", body = Problem),
    ),
)]
pub(super) async fn stream(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<After>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.needs(Scope::Chat)?;
    let id = ConversationId::new(&id).map_err(|_| Problem::not_found("conversation", &id))?;
    let seen = may_see(&app, &caller, &id).await?;
    let after = match last_event_id(&headers)? {
        Some(after) => Some(after),
        None => query.after,
    };
    Ok(listen(&app, &caller, (&seen, after)).await?.open_ended(bearer(&headers)))
}

/// The number of the last item that a client has read, as it says it when it connects again.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| Problem::bad_request("bad_last_event_id", "`Last-Event-ID` is no number"))
}

/// Begins to look on at a conversation: behind number `after`, or from now on. Whoever wants to see the answer to a message
/// begins before it is sent.
pub(crate) async fn listen(
    app: &App,
    caller: &Caller,
    (seen, after): (&Seen, Option<u64>),
) -> Result<Listening, Problem> {
    let id = &seen.conversation.id;
    let (channel, last) = app.live.hub.join(&app.store, id).await?;
    check_after(after, last)?;
    mend::look_at(app, id);
    let (more, who) = (Arc::new(Notify::new()), Onlooker::caller(caller, &app.config()));
    let subscription = Subscription::new(channel, who, after.unwrap_or(last), &more);
    Ok(Listening { app: app.clone(), subscription, more })
}

/// Somebody who looks on, and is not answered yet.
pub(crate) struct Listening {
    app: App,
    subscription: Subscription,
    more: Arc<Notify>,
}

impl Listening {
    /// Shows what happens until the client leaves, its token opens nothing any more, or the server stops.
    pub(crate) fn open_ended(self, credential: Option<Credential>) -> Response {
        self.respond(Until::Left(credential))
    }

    /// Shows what happens until the turn that answers `message` has ended. Of one that was sent `before`, which may be
    /// answered already, everything that is kept is shown.
    pub(crate) fn until_answered(mut self, message: MessageId, before: bool) -> Response {
        if before {
            self.subscription.move_to(0);
        }
        self.respond(Until::Answered { message, turn: None })
    }

    fn respond(self, until: Until) -> Response {
        let (stop, recheck) = (self.app.live.stop.subscribe(), self.app.live.recheck.subscribe());
        let pouring = Pouring { listening: self, until, stop, recheck, ready: VecDeque::new(), over: false };
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
}

/// When a stream ends.
enum Until {
    Left(Option<Credential>),
    Answered { message: MessageId, turn: Option<String> },
}

impl Until {
    /// Whether this is the last.
    fn is_over(&mut self, text: &str) -> bool {
        let Self::Answered { message, turn } = self else { return false };
        let Ok(item) = serde_json::from_str::<serde_json::Value>(text) else { return false };
        let named = item["turnId"].as_str();
        match item["type"].as_str() {
            Some("turn_start") => {
                let answers = item["messages"].as_array().is_some_and(|messages| {
                    messages.iter().any(|answered| answered.as_str() == Some(message.as_str()))
                });
                if answers {
                    *turn = named.map(str::to_owned);
                }
                false
            }
            Some("turn_end") => turn.is_some() && turn.as_deref() == named,
            _ => false,
        }
    }
}

/// A stream at work.
struct Pouring {
    listening: Listening,
    until: Until,
    stop: watch::Receiver<bool>,
    recheck: watch::Receiver<u64>,
    ready: VecDeque<Bytes>,
    over: bool,
}

impl Pouring {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            if self.over {
                return None;
            }
            let Listening { app, subscription, more } = &mut self.listening;
            let read = match subscription.read(&app.store).await {
                Ok(read) => read,
                Err(foreword_store::error::StoreError::NotFound { .. }) => return None,
                // A database that is away is asked again.
                Err(_) => Vec::new(),
            };
            let more_to_read = !read.is_empty() || subscription.has_more();
            let more = Arc::clone(more);
            self.take(read);
            if more_to_read && !self.ready.is_empty() {
                continue;
            }
            self.wait(&more).await;
        }
    }

    /// Waits until there is more, or a reason to say something else.
    async fn wait(&mut self, more: &Notify) {
        enum Next {
            More,
            Stop,
            Recheck,
            Silence,
        }
        let every = self.listening.app.config().server.ping;
        let leaves = matches!(self.until, Until::Left(_));
        let next = tokio::select! {
            () = more.notified() => Next::More,
            _ = self.stop.wait_for(|stop| *stop), if leaves => Next::Stop,
            _ = self.recheck.changed(), if leaves => Next::Recheck,
            () = tokio::time::sleep(every) => Next::Silence,
        };
        match next {
            Next::More => {}
            Next::Stop => {
                self.over = true;
                self.ready
                    .push_back(status("The server is restarting. Connect again, and nothing is missed."));
            }
            Next::Recheck => self.over = !self.is_still_open().await,
            Next::Silence => self.ready.push_back(Bytes::from_static(b": here\n\n")),
        }
    }

    /// Whether the token still opens this; a database that is away can't say otherwise.
    async fn is_still_open(&mut self) -> bool {
        let Until::Left(credential) = &self.until else { return true };
        let app = &self.listening.app;
        let refused = known(app, credential.as_ref())
            .await
            .is_err_and(|problem| problem.status() == StatusCode::UNAUTHORIZED);
        self.listening.subscription.who.look_again(&app.config());
        !refused
    }

    fn take(&mut self, read: Vec<Read>) {
        for read in read {
            let text = match read {
                Read::Item(shown) => {
                    self.over = self.until.is_over(&shown.text);
                    format!("id: {}\nevent: {}\ndata: {}\n\n", shown.seq, kind(&shown.text), shown.text)
                }
                Read::Missed(missed) => format!("event: missed\ndata: {}\n\n", missed.to_json()),
            };
            self.ready.push_back(text.into());
            if self.over {
                return;
            }
        }
    }
}

fn status(text: &str) -> Bytes {
    let status = super::reply::Reply::Status { text: text.to_owned() };
    format!("event: status\ndata: {}\n\n", status.to_wire(None)).into()
}

/// The type of an item, which is the first of its own fields.
fn kind(text: &str) -> &str {
    let behind = text.split_once("\"type\":\"").map_or("", |(_, behind)| behind);
    behind.split('"').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_waits_for_an_answer_ends_with_the_turn_that_gives_it() {
        let message = MessageId::new("m-2").unwrap();
        let mut until = Until::Answered { message, turn: None };
        let items = [
            (r#"{"type":"turn_start","turnId":"t-1","messages":["m-1"]}"#, false),
            (r#"{"type":"turn_end","turnId":"t-1"}"#, false),
            (r#"{"type":"turn_start","turnId":"t-2","messages":["m-0","m-2"]}"#, false),
            (r#"{"type":"error","turnId":"t-2","kind":"turn_left"}"#, false),
            (r#"{"type":"turn_start","turnId":"t-2","messages":["m-0","m-2"],"resumed":true}"#, false),
            (r#"{"type":"text_delta","turnId":"t-2","text":"\"type\":\"turn_end\""}"#, false),
            (r#"{"type":"turn_end","turnId":"t-2"}"#, true),
        ];
        for (item, over) in items {
            assert_eq!(until.is_over(item), over, "{item}");
        }
    }

    #[test]
    fn the_type_of_an_item_is_read_out_of_it() {
        let item = super::super::shown::Heading::of(&ConversationId::new("c-\"type\":\"x").unwrap());
        let shown =
            item.show(7, foreword_prompt::trust::Trust::Full, r#"{"type":"status","text":"\"type\":\"y\""}"#);
        assert_eq!(kind(&shown.text), "status");
    }
}
