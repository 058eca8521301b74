//! The WebSocket: taken from a page that may and with a token, kept alive, and let go of in order. A client that does not
//! read holds up nobody but itself, and is let go of after a while.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::extract::{Extension, State};
use axum::response::Response;
use foreword_core::api_token::Scope;
use foreword_core::event::{Event, EventType};
use foreword_core::timestamp::Timestamp;
use futures_util::{Sink, StreamExt as _};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, MissedTickBehavior};

use super::outgoing::{Outgoing, TooMuch};
use super::reply::Reply;
use super::request::Said;
use super::serve::{Client, Connection};
use super::subscription::Read;
use crate::app::App;
use crate::auth::credential::Credential;
use crate::auth::limits::largest_body;
use crate::auth::{Caller, bearer, from_allowed_page, from_cookie, known, no_token};
use crate::problem::Problem;
use crate::request_id::RequestId;

/// What both sides speak.
const PROTOCOL: &str = "foreword.v1";
/// What a token begins with among the protocols a client offers.
const TOKEN: &str = "bearer.";
/// The largest thing a client may send: the longest message there is, with every character escaped.
const LARGEST: usize = 2 * 1024 * 1024;
/// What is set aside for each client to read from; thousands may do nothing.
const READ_AT_ONCE: usize = 4 * 1024;
/// Of how many pings one must be heard of.
const SILENCES: u32 = 3;
/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_secs(1);
/// The codes a connection is closed with.
const RESTARTING: u16 = 1012;
const REFUSED: u16 = 1008;
const TOO_SLOW: u16 = 1013;

/// The WebSocket
///
/// The token comes in the header `Authorization` or, from a browser, as the protocol `bearer.<token>` beside `foreword.v1`, or in
/// the cookie of this server's page; never in the address. Each text is one JSON object: the client sends `ClientMessage`, the
/// server sends `ServerMessage` (both among the schemas).
#[utoipa::path(
    get,
    path = "/ws",
    tag = "conversations",
    extensions(("x-websocket" = json!({
        "client": { "$ref": "#/components/schemas/ClientMessage" },
        "server": { "$ref": "#/components/schemas/ServerMessage" },
    }))),
    responses(
        (status = 101, description = "The connection is a WebSocket now."),
        (status = 401, description = "No token, or one that opens nothing", body = Problem),
        (status = 403, description = "A foreign page, or a token without `chat`", body = Problem),
        (status = 426, description = "This is no WebSocket", body = Problem),
        (status = 429, description = "The token asks too often", body = Problem),
    ),
)]
pub(crate) async fn open(
    State(app): State<App>,
    head: (HeaderMap, Extension<RequestId>),
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let (headers, Extension(request)) = head;
    if !from_allowed_page(&headers, &app.config().server) {
        return Err(Problem::forbidden("foreign_origin", "this page may not talk to this server")
            .help("name it in `server.origins` of foreword.yaml, if it is yours"));
    }
    let credential = bearer(&headers).or_else(|| offered(&headers));
    let credential = match credential {
        None => from_cookie(&headers, true, &app.config())?,
        shown => shown,
    };
    let credential = credential.ok_or_else(no_token)?;
    let caller = known(&app, &credential).await?;
    caller.needs(Scope::Chat)?;
    app.limits.count_request(caller.api_token(), &app.config().server.limits)?;
    let upgrade = upgrade.map_err(|rejection| {
        Problem::new(StatusCode::UPGRADE_REQUIRED, "not_a_websocket", rejection.body_text())
    })?;
    if app.is_stopping() {
        return Err(Problem::unavailable("stopping", "the server is about to stop").retry_after(1));
    }
    let Some(place) = app.live.place() else {
        return Err(Problem::unavailable("too_many_clients", "all places are taken").retry_after(5));
    };
    let largest = largest_body(caller.api_token(), &app.config().server.limits).min(LARGEST);
    let upgrade = upgrade
        .protocols([PROTOCOL])
        .read_buffer_size(READ_AT_ONCE)
        .write_buffer_size(0)
        .max_message_size(largest)
        .max_frame_size(largest);
    Ok(upgrade.on_upgrade(move |socket| Box::pin(attend(app, socket, (caller, credential, request), place))))
}

/// The token among the protocols that a client offers.
fn offered(headers: &HeaderMap) -> Option<Credential> {
    let all = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let mut words = all.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    words.find_map(|word| Credential::read(word.trim().strip_prefix(TOKEN)?))
}

async fn attend(
    app: App,
    socket: WebSocket,
    (caller, credential, request): (Caller, Credential, RequestId),
    place: OwnedSemaphorePermit,
) {
    let event = |event_type, metadata| Event {
        user_id: Some(caller.user().into()),
        metadata: Some(metadata),
        ..Event::new(event_type, app.now())
    };
    let (token, watcher) = (caller.token().as_str(), app.traffic.watcher());
    let client_id = format!("ws-{:032x}", app.surroundings.random());
    // Which conversation it is about is known once the client joins one: then this is recorded again with that.
    let opened = json!({ "clientId": client_id, "sessionId": null, "token": token, "requestId": &request.0 });
    app.recorder.record(event(EventType::WsConnect, opened));
    let client = Client::new(app.clone(), caller.clone(), Connection { id: client_id.clone(), request });
    let mut line = Line::new(app.clone(), socket, client);
    let why = Box::pin(line.attend(credential)).await;
    let closed = json!({ "clientId": client_id, "token": token, "reason": why.word() });
    app.recorder.record(event(EventType::WsDisconnect, closed));
    line.part(why).await;
    drop((place, watcher));
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Left,
    Stopping,
    Revoked,
    Silent,
    Greedy,
}

impl Why {
    fn word(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Stopping => "server_stopping",
            Self::Revoked => "token_revoked",
            Self::Silent => "silent",
            Self::Greedy => "does_not_read",
        }
    }
}

/// The connection of a client.
struct Line {
    app: App,
    socket: WebSocket,
    client: Client,
    /// What is to be sent, in order.
    outgoing: Outgoing,
    ping: bool,
    /// When something was last heard of the client, or taken by it.
    alive: Instant,
}

/// What happens on a line.
enum Next {
    Heard(Option<Result<Message, axum::Error>>),
    Sent(Result<(), axum::Error>),
    More,
    Tick,
    Recheck,
    Stop,
}

impl Line {
    fn new(app: App, socket: WebSocket, client: Client) -> Self {
        Self { app, socket, client, outgoing: Outgoing::default(), ping: false, alive: Instant::now() }
    }

    async fn attend(&mut self, credential: Credential) -> Why {
        let (mut stop, mut recheck) = (self.app.live.stop.subscribe(), self.app.live.recheck.subscribe());
        let every = self.app.config().server.ping;
        let mut ticks = tokio::time::interval_at(Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let more = std::sync::Arc::clone(&self.client.more);
        loop {
            if self.outgoing.is_empty() {
                self.fill().await;
            }
            let busy = self.ping || !self.outgoing.is_empty();
            let Self { socket, outgoing, ping, alive, .. } = self;
            let next = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => Next::Stop,
                _ = recheck.changed() => Next::Recheck,
                next = exchange(socket, (outgoing, ping), (alive, busy)) => next,
                _ = ticks.tick() => Next::Tick,
                () = more.notified(), if !busy => Next::More,
            };
            let end = match next {
                Next::Stop => Some(Why::Stopping),
                Next::Heard(Some(Ok(message))) => self.heard(message).await,
                Next::Heard(Some(Err(_)) | None) | Next::Sent(Err(_)) => Some(Why::Left),
                Next::Sent(Ok(())) | Next::More => None,
                Next::Recheck => self.recheck(&credential).await,
                Next::Tick if self.alive.elapsed() >= every * SILENCES => Some(Why::Silent),
                Next::Tick => {
                    self.ping = true;
                    self.recheck(&credential).await
                }
            };
            if let Some(why) = end {
                return why;
            }
        }
    }

    /// Takes some of what has happened.
    async fn fill(&mut self) {
        for read in self.client.read().await {
            let text = match read {
                Read::Item(shown) => Utf8Bytes::from(&*shown.text),
                Read::Missed(missed) => missed.to_json().into(),
            };
            self.app.recorder.payload(|| frame("out", &text, self.app.now()));
            self.outgoing.tell(text);
        }
    }

    async fn heard(&mut self, message: Message) -> Option<Why> {
        self.alive = Instant::now();
        let text = match message {
            Message::Text(text) => text,
            Message::Binary(_) => {
                let problem = Problem::bad_request("not_text", "send texts: this is binary");
                return self.reply(&problem.into(), None);
            }
            Message::Close(_) => return Some(Why::Left),
            Message::Ping(_) | Message::Pong(_) => return None,
        };
        self.app.recorder.payload(|| frame("in", &text, self.app.now()));
        match Said::read(&text) {
            Ok(Said { id, request }) => {
                let reply = self.client.serve(request).await.unwrap_or_else(Reply::from);
                self.reply(&reply, id.as_deref())
            }
            Err(problem) => self.reply(&problem.into(), Said::id_in(&text).as_deref()),
        }
    }

    fn reply(&mut self, reply: &Reply, in_reply_to: Option<&str>) -> Option<Why> {
        let text = reply.to_wire(in_reply_to);
        self.app.recorder.payload(|| frame("out", &text, self.app.now()));
        self.outgoing.answer(text).err().map(|TooMuch| Why::Greedy)
    }

    /// Looks whether the token still opens this.
    async fn recheck(&mut self, credential: &Credential) -> Option<Why> {
        match known(&self.app, credential).await {
            Ok(caller) if caller.needs(Scope::Chat).is_ok() => {
                let lost = self.client.recheck(caller).await;
                let told = lost.into_iter().map(|session_id| Reply::Unsubscribed { session_id });
                told.fold(None, |end, reply| end.or(self.reply(&reply, None)))
            }
            Ok(_) => Some(Why::Revoked),
            Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => Some(Why::Revoked),
            // The database is away, and can't say otherwise.
            Err(_) => None,
        }
    }

    /// Says why, and closes.
    async fn part(mut self, why: Why) {
        let (code, text) = match why {
            Why::Left => return,
            Why::Stopping => (RESTARTING, "The server is restarting. Connect again, and nothing is missed."),
            Why::Revoked => (REFUSED, "The token opens nothing any more."),
            Why::Silent | Why::Greedy => (TOO_SLOW, "Nothing was heard of the client."),
        };
        let farewell = async {
            if why == Why::Stopping {
                let status = Reply::Status { session_id: None, message: text.to_owned() };
                let _ = self.socket.send(Message::Text(status.to_wire(None))).await;
            }
            let _ = self.socket.send(Message::Close(Some(CloseFrame { code, reason: text.into() }))).await;
            // Its own word of farewell is the last; what else it says is not heard any more.
            while let Some(Ok(_)) = self.socket.next().await {}
        };
        // A client that is gone hears nothing.
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
    }
}

/// A frame, for a log at level `debug`.
fn frame(direction: &'static str, text: &str, at: Timestamp) -> Event {
    // As JSON the fields that hold secrets are known by their names.
    let payload = serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
    let metadata = Some(json!({ "direction": direction, "payload": payload }));
    Event { metadata, ..Event::new("ws_frame".into(), at) }
}

/// Waits until the client says something, or has taken what is to be sent.
async fn exchange(
    socket: &mut WebSocket,
    (outgoing, ping): (&mut Outgoing, &mut bool),
    (alive, busy): (&mut Instant, bool),
) -> Next {
    let mut waited = false;
    poll_fn(|context| {
        if let Poll::Ready(heard) = socket.poll_next_unpin(context) {
            return Poll::Ready(Next::Heard(heard));
        }
        if !busy {
            return Poll::Pending;
        }
        loop {
            let mut sink = Pin::new(&mut *socket);
            match sink.as_mut().poll_ready(context) {
                Poll::Pending => {
                    waited = true;
                    return Poll::Pending;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Next::Sent(Err(error))),
                // A client that takes what it was slow to take is there.
                Poll::Ready(Ok(())) if std::mem::take(&mut waited) => *alive = Instant::now(),
                Poll::Ready(Ok(())) => {}
            }
            let message = if std::mem::take(ping) {
                Message::Ping(bytes::Bytes::new())
            } else if let Some(text) = outgoing.take() {
                Message::Text(text)
            } else {
                return sink.poll_flush(context).map(Next::Sent);
            };
            if let Err(error) = sink.start_send(message) {
                return Poll::Ready(Next::Sent(Err(error)));
            }
        }
    })
    .await
}
