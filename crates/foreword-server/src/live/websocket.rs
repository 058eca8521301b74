//! The WebSocket endpoint: authentication, keep-alive and graceful close. A client that does not read delays no one
//! else and is disconnected after a while.

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

use super::reply::Reply;
use super::request::ClientMessage;
use super::send_queue::{Outgoing, QueueFull};
use super::subscription::ReadItem;
use super::websocket_requests::{Client, Connection};
use crate::app::App;
use crate::auth::credential::Credential;
use crate::auth::limits::max_body_bytes;
use crate::auth::{Caller, bearer, find_caller, from_allowed_page, from_cookie, missing_token};
use crate::middleware::request_id::RequestId;
use crate::problem::Problem;

/// The WebSocket subprotocol.
const PROTOCOL: &str = "foreword.v1";
/// The prefix of a token among the offered subprotocols.
const TOKEN_PREFIX: &str = "bearer.";
/// The maximum message size: the longest message with every character escaped.
const MAX_MESSAGE_BYTES: usize = 2 * 1024 * 1024;
/// Small, since thousands of clients may be idle.
const READ_BUFFER_BYTES: usize = 4 * 1024;
/// The number of unanswered pings after which a client is disconnected.
const MAX_MISSED_PINGS: u32 = 3;
/// How long closing may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The close codes.
const CLOSE_RESTARTING: u16 = 1012;
const CLOSE_POLICY: u16 = 1008;
const CLOSE_TRY_LATER: u16 = 1013;

/// The WebSocket
///
/// The token is sent in the header `Authorization` or, from a browser, as the subprotocol `bearer.<token>` besides
/// `foreword.v1`, or in the cookie of this server's page; never in the URL. Each text frame is one JSON object: the
/// client sends `ClientMessage`, the server sends `ServerMessage` (see the schemas).
#[utoipa::path(
    get,
    path = "/ws",
    tag = "conversations",
    extensions(("x-websocket" = json!({
        "client": { "$ref": "#/components/schemas/ClientMessage" },
        "server": { "$ref": "#/components/schemas/ServerMessage" },
    }))),
    responses(
        (status = 101, description = "Switched to a WebSocket."),
        (status = 401, description = "Missing, invalid, expired or revoked token", body = Problem),
        (status = 403, description = "A foreign origin, or a token without `chat`", body = Problem),
        (status = 426, description = "Not a WebSocket request", body = Problem),
        (status = 429, description = "The token's rate limit is exceeded", body = Problem),
    ),
)]
pub(crate) async fn open_websocket(
    State(app): State<App>,
    headers: HeaderMap,
    Extension(request): Extension<RequestId>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    if !from_allowed_page(&headers, &app.config().server) {
        return Err(Problem::forbidden("foreign_origin", "the origin of this page is not allowed")
            .help("add it to `server.origins` in foreword.yaml, if it is yours"));
    }
    let credential = bearer(&headers).or_else(|| token_in_protocols(&headers));
    let credential = match credential {
        None => from_cookie(&headers, true, &app.config())?,
        shown => shown,
    };
    let credential = credential.ok_or_else(missing_token)?;
    let caller = find_caller(&app, &credential).await?;
    caller.require(Scope::Chat)?;
    app.limits.count_request(caller.api_token(), &app.config().server.limits)?;
    let upgrade = upgrade.map_err(|rejection| {
        Problem::new(StatusCode::UPGRADE_REQUIRED, "not_a_websocket", rejection.body_text())
    })?;
    if app.is_stopping() {
        return Err(Problem::unavailable("stopping", "the server is stopping").retry_after(1));
    }
    let Some(permit) = app.live.acquire_permit() else {
        return Err(
            Problem::unavailable("too_many_clients", "there are too many WebSocket clients").retry_after(5)
        );
    };
    let largest = max_body_bytes(caller.api_token(), &app.config().server.limits).min(MAX_MESSAGE_BYTES);
    let upgrade = upgrade
        .protocols([PROTOCOL])
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(largest)
        .max_frame_size(largest);
    Ok(upgrade
        .on_upgrade(move |socket| Box::pin(run_connection(app, socket, caller, credential, request, permit))))
}

/// The token among the offered subprotocols.
fn token_in_protocols(headers: &HeaderMap) -> Option<Credential> {
    let all = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let mut words = all.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    words.find_map(|word| Credential::read(word.trim().strip_prefix(TOKEN_PREFIX)?))
}

async fn run_connection(
    app: App,
    socket: WebSocket,
    caller: Caller,
    credential: Credential,
    request: RequestId,
    permit: OwnedSemaphorePermit,
) {
    let event = |event_type, metadata| Event {
        user_id: Some(caller.user().into()),
        metadata: Some(metadata),
        ..Event::new(event_type, app.now())
    };
    let (token, gauge) = (caller.token().as_str(), app.traffic.websocket_client());
    let client_id = format!("ws-{:032x}", app.clock_and_rng.random());
    // The conversation is known when the client joins one, which is logged then.
    let opened = json!({ "clientId": client_id, "sessionId": null, "token": token, "requestId": &request.0 });
    app.recorder.record(event(EventType::WsConnect, opened));
    let client = Client::new(app.clone(), caller.clone(), Connection { id: client_id.clone(), request });
    let mut task = SocketTask::new(app.clone(), socket, client);
    let reason = Box::pin(task.run(credential)).await;
    let closed = json!({ "clientId": client_id, "token": token, "reason": reason.as_str() });
    app.recorder.record(event(EventType::WsDisconnect, closed));
    task.close(reason).await;
    drop((permit, gauge));
}

/// Why a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CloseReason {
    Left,
    Stopping,
    Revoked,
    Silent,
    NotReading,
}

impl CloseReason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Stopping => "server_stopping",
            Self::Revoked => "token_revoked",
            Self::Silent => "silent",
            Self::NotReading => "does_not_read",
        }
    }
}

/// A client's connection.
struct SocketTask {
    app: App,
    socket: WebSocket,
    client: Client,
    /// The queue of messages to send.
    outgoing: Outgoing,
    ping: bool,
    /// When the client last sent or accepted something.
    alive: Instant,
}

/// What the connection task handles next.
enum Next {
    Received(Option<Result<Message, axum::Error>>),
    Sent(Result<(), axum::Error>),
    More,
    Tick,
    Recheck,
    Stop,
}

impl SocketTask {
    fn new(app: App, socket: WebSocket, client: Client) -> Self {
        Self { app, socket, client, outgoing: Outgoing::default(), ping: false, alive: Instant::now() }
    }

    async fn run(&mut self, credential: Credential) -> CloseReason {
        let (mut stop, mut recheck) = (self.app.live.stop.subscribe(), self.app.live.recheck.subscribe());
        let every = self.app.config().server.ping;
        let mut ticks = tokio::time::interval_at(Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let more = std::sync::Arc::clone(&self.client.more);
        loop {
            if self.outgoing.is_empty() {
                self.queue_events().await;
            }
            let busy = self.ping || !self.outgoing.is_empty();
            let Self { socket, outgoing, ping, alive, .. } = self;
            let next = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => Next::Stop,
                _ = recheck.changed() => Next::Recheck,
                next = exchange(socket, outgoing, ping, alive, busy) => next,
                _ = ticks.tick() => Next::Tick,
                () = more.notified(), if !busy => Next::More,
            };
            let end = match next {
                Next::Stop => Some(CloseReason::Stopping),
                Next::Received(Some(Ok(message))) => self.handle(message).await,
                Next::Received(Some(Err(_)) | None) | Next::Sent(Err(_)) => Some(CloseReason::Left),
                Next::Sent(Ok(())) | Next::More => None,
                Next::Recheck => self.recheck(&credential).await,
                Next::Tick if self.alive.elapsed() >= every * MAX_MISSED_PINGS => Some(CloseReason::Silent),
                Next::Tick => {
                    self.ping = true;
                    self.recheck(&credential).await
                }
            };
            if let Some(reason) = end {
                return reason;
            }
        }
    }

    /// Queues the next events.
    async fn queue_events(&mut self) {
        for read in self.client.read().await {
            let text = match read {
                ReadItem::Item(shown) => Utf8Bytes::from(&*shown.text),
                ReadItem::Missed(missed) => missed.to_json().into(),
            };
            self.app.recorder.payload(|| frame("out", &text, self.app.now()));
            self.outgoing.push_event(text);
        }
    }

    async fn handle(&mut self, message: Message) -> Option<CloseReason> {
        self.alive = Instant::now();
        let text = match message {
            Message::Text(text) => text,
            Message::Binary(_) => {
                let problem =
                    Problem::bad_request("not_text", "binary messages are not supported: send text");
                return self.reply(&problem.into(), None);
            }
            Message::Close(_) => return Some(CloseReason::Left),
            Message::Ping(_) | Message::Pong(_) => return None,
        };
        self.app.recorder.payload(|| frame("in", &text, self.app.now()));
        match ClientMessage::read(&text) {
            Ok(ClientMessage { id, request }) => {
                let reply = self.client.serve(request).await.unwrap_or_else(Reply::from);
                self.reply(&reply, id.as_deref())
            }
            Err(problem) => self.reply(&problem.into(), ClientMessage::id_in(&text).as_deref()),
        }
    }

    fn reply(&mut self, reply: &Reply, in_reply_to: Option<&str>) -> Option<CloseReason> {
        let text = reply.to_wire(in_reply_to);
        self.app.recorder.payload(|| frame("out", &text, self.app.now()));
        self.outgoing.push_reply(text).err().map(|QueueFull| CloseReason::NotReading)
    }

    /// Checks whether the token is still valid.
    async fn recheck(&mut self, credential: &Credential) -> Option<CloseReason> {
        match find_caller(&self.app, credential).await {
            Ok(caller) if caller.require(Scope::Chat).is_ok() => {
                let lost = self.client.recheck(caller).await;
                let replies = lost.into_iter().map(|session_id| Reply::Unsubscribed { session_id });
                replies.fold(None, |end, reply| end.or(self.reply(&reply, None)))
            }
            Ok(_) => Some(CloseReason::Revoked),
            Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => Some(CloseReason::Revoked),
            // If the store fails, nothing changes.
            Err(_) => None,
        }
    }

    /// Sends the reason, and closes.
    async fn close(mut self, reason: CloseReason) {
        let (code, text) = match reason {
            CloseReason::Left => return,
            CloseReason::Stopping => {
                (CLOSE_RESTARTING, "The server is restarting. Reconnect to continue; no events are lost.")
            }
            CloseReason::Revoked => (CLOSE_POLICY, "The token is no longer valid."),
            CloseReason::Silent | CloseReason::NotReading => {
                (CLOSE_TRY_LATER, "The client does not respond.")
            }
        };
        let goodbye = async {
            if reason == CloseReason::Stopping {
                let status = Reply::Status { session_id: None, message: text.to_owned() };
                let _ = self.socket.send(Message::Text(status.to_wire(None))).await;
            }
            let _ = self.socket.send(Message::Close(Some(CloseFrame { code, reason: text.into() }))).await;
            // Discards messages until the client's close frame.
            while let Some(Ok(_)) = self.socket.next().await {}
        };
        // The client may be gone.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, goodbye).await;
    }
}

/// A frame, for the log at level `debug`.
fn frame(direction: &'static str, text: &str, at: Timestamp) -> Event {
    // In JSON, fields with secrets are recognised by name.
    let payload = serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
    let metadata = Some(json!({ "direction": direction, "payload": payload }));
    Event { metadata, ..Event::new("ws_frame".into(), at) }
}

/// Waits until the client sends a message or accepts the queued ones.
async fn exchange(
    socket: &mut WebSocket,
    outgoing: &mut Outgoing,
    ping: &mut bool,
    alive: &mut Instant,
    busy: bool,
) -> Next {
    let mut waited = false;
    poll_fn(|context| {
        if let Poll::Ready(received) = socket.poll_next_unpin(context) {
            return Poll::Ready(Next::Received(received));
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
                // A slow client that accepts data is alive.
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
