//! Handles the requests of a WebSocket client.

use std::sync::Arc;

use foreword_agent::conversation::inbound::{Inbound, TurnOrigin};
use foreword_core::api_token::Scope;
use foreword_core::event::{Event, EventType};
use foreword_core::id::{CallId, ConversationId, NodeId};
use foreword_core::turn::OwnerAnswer;
use foreword_core::turn_journal::TurnState;
use foreword_prompt::occasion;
use foreword_store::conversation_settings::{ConversationSettings, SettingsUpdate};
use foreword_store::messages::IdempotencyKey;
use serde_json::json;
use tokio::sync::Notify;

use super::hub::Channel;
use super::repair_turn_end;
use super::reply::Reply;
use super::request::{MAX_KEY_LENGTH, Request};
use super::stop_turn::stop_turn;
use super::subscription::{ReadItem, Subscription};
use crate::api::{change, refused};
use crate::app::App;
use crate::auth::{Asserted, Caller, Reader, find_visible, find_visible_as, may_set, turn_metering};
use crate::middleware::request_id::RequestId;
use crate::operations::nodes;
use crate::problem::Problem;

/// The maximum number of subscriptions of a client.
const MAX_SUBSCRIPTIONS: usize = 64;

/// A client with its subscriptions.
pub(super) struct Client {
    app: App,
    caller: Caller,
    connection: Connection,
    subscriptions: Vec<Subscription>,
    /// Notified of new events.
    pub(super) more: Arc<Notify>,
}

/// The ids of a connection in the log.
pub(super) struct Connection {
    /// The connection's own id (`clientId`).
    pub(super) id: String,
    /// The id of the request that opened it, which all its messages are logged with.
    pub(super) request: RequestId,
}

impl Client {
    pub(super) fn new(app: App, caller: Caller, connection: Connection) -> Self {
        Self { app, caller, connection, subscriptions: Vec::new(), more: Arc::default() }
    }

    /// Handles a request.
    pub(super) async fn serve(&mut self, request: Request) -> Result<Reply, Problem> {
        if !matches!(request, Request::Ping {}) {
            // All requests but pings count against the rate limit.
            self.app.limits.count_request(self.caller.api_token(), &self.app.config().server.limits)?;
        }
        match request {
            Request::Message {
                session_id,
                text,
                key,
                user,
                channel,
                situation,
                session_instructions,
                cwd,
                context,
            } => {
                check_key(key.as_deref())?;
                let settings = ConversationSettings { session_instructions, cwd, context };
                self.check_new_settings(&settings, session_id.as_deref())?;
                let asserted = Asserted {
                    user: user.map(Into::into),
                    channel: channel.as_deref().map(occasion::Channel::new),
                    situation: situation.map(Into::into),
                };
                self.send_message(session_id, text, settings, key, asserted).await
            }
            Request::Update { session_id, session_instructions, cwd, context } => {
                let update = SettingsUpdate {
                    session_instructions: change(session_instructions),
                    cwd: change(cwd),
                    context: change(context),
                };
                self.update(&session_id, update).await
            }
            Request::Cancel { session_id } => self.cancel(&session_id).await,
            Request::Subscribe { session_id, after } => self.subscribe(&session_id, after).await,
            Request::Unsubscribe { session_id } => {
                let session_id = conversation(&session_id)?;
                self.subscriptions.retain(|subscription| *subscription.conversation() != session_id);
                Ok(Reply::Unsubscribed { session_id })
            }
            Request::Answer { session_id, call_id, answer } => {
                self.answer(&session_id, &call_id, answer).await
            }
            Request::Ping {} => Ok(Reply::Pong),
        }
    }

    async fn send_message(
        &mut self,
        session_id: Option<String>,
        text: String,
        settings: ConversationSettings,
        key: Option<String>,
        asserted: Asserted,
    ) -> Result<Reply, Problem> {
        let config = self.app.config();
        let mut occasion = self.caller.occasion(&asserted, &config)?;
        let reader = self.reader(&occasion, &asserted);
        let trust = reader.trust();
        let conversation = match session_id {
            Some(id) => {
                let id = conversation(&id)?;
                let seen = find_visible_as(&self.app, &reader, &id).await?;
                // A message to a group conversation is read by the group, whichever way it came.
                occasion.speaker.situation.get_or_insert_with(|| seen.conversation.situation.as_str().into());
                let (channel, last) = self.app.live.hub.join(&self.app.store, &id).await?;
                self.add_subscription(channel, reader, None, last)?;
                id
            }
            None => {
                let id = self.new_conversation_id(key.as_deref(), &asserted)?;
                let channel = if self.app.store.conversation(&id).await?.is_some() {
                    find_visible_as(&self.app, &reader, &id).await?;
                    self.app.live.hub.join(&self.app.store, &id).await?.0
                } else {
                    self.app.live.hub.channel(&id)
                };
                self.add_subscription(channel, reader, None, 0)?;
                if !settings.is_empty() {
                    let set = self.app.agent.set_settings(&id, &occasion, settings.into()).await;
                    set.map_err(|error| refused(error, &self.app, &self.caller))?;
                }
                id
            }
        };
        let key = key.map(|key| self.key(key));
        let inbound = Inbound { conversation: conversation.clone(), origin: occasion, text, key };
        let admitted = self.app.limits.begin_turn(self.caller.api_token(), &config.server.limits)?;
        let receipt = Box::pin(self.app.agent.send_for(inbound, Some(&self.connection.request.0))).await;
        let receipt = receipt.map_err(|error| Problem::of_agent(error, trust))?;
        turn_metering::meter_message(&self.app, admitted, &receipt);
        let message_id = receipt.message.message.id.clone();
        Ok(Reply::Accepted { session_id: conversation, message_id, before: receipt.before })
    }

    /// Refuses settings if the caller may not set them or the conversation exists.
    fn check_new_settings(
        &self,
        settings: &ConversationSettings,
        session_id: Option<&str>,
    ) -> Result<(), Problem> {
        if settings.is_empty() {
            return Ok(());
        }
        may_set(&self.caller, &self.app.config())?;
        if session_id.is_none() {
            return Ok(());
        }
        let detail =
            "a message may set `sessionInstructions`, `cwd` and `context` only in a new conversation";
        Err(Problem::bad_request("settings_of_existing", detail)
            .help("omit `sessionId`, or change them with `update`"))
    }

    async fn update(&self, session_id: &str, update: SettingsUpdate) -> Result<Reply, Problem> {
        may_set(&self.caller, &self.app.config())?;
        let session_id = conversation(session_id)?;
        find_visible(&self.app, &self.caller, &session_id).await?;
        let updated = self.app.agent.update_settings(&session_id, update).await;
        updated.map_err(|error| refused(error, &self.app, &self.caller))?;
        self.app.prompt_cache.clear();
        Ok(Reply::Updated { session_id })
    }

    /// The reader: the caller, or the asserted user.
    fn reader(&self, occasion: &TurnOrigin, asserted: &Asserted) -> Reader {
        let config = self.app.config();
        if asserted.is_empty() {
            Reader::caller(&self.caller, &config)
        } else {
            Reader::speaker(occasion, &config)
        }
    }

    /// The id of a new conversation. It depends on the key, so that a retried message gets the same one; each asserted
    /// user has their own.
    fn new_conversation_id(&self, key: Option<&str>, asserted: &Asserted) -> Result<ConversationId, Problem> {
        let made = match key {
            None => self.app.clock_and_rng.id("c"),
            Some(key) => {
                let channel = asserted.channel.as_ref().map(occasion::Channel::as_str);
                let of = json!([self.caller.user(), asserted.user.as_deref(), channel, key]).to_string();
                let hash = blake3::hash(of.as_bytes()).to_hex();
                ConversationId::new(format!("c-{}", &hash[..32]))
            }
        };
        made.map_err(|error| Problem::bad_request("invalid_id", error.to_string()))
    }

    fn key(&self, key: String) -> IdempotencyKey {
        IdempotencyKey { scope: format!("http:{}", self.caller.user()), key }
    }

    async fn cancel(&self, session_id: &str) -> Result<Reply, Problem> {
        let session_id = conversation(session_id)?;
        let seen = find_visible(&self.app, &self.caller, &session_id).await?;
        stop_turn(&self.app, &seen).await?;
        Ok(Reply::Cancelling { session_id })
    }

    async fn answer(&self, session_id: &str, call: &str, answer: OwnerAnswer) -> Result<Reply, Problem> {
        self.caller.require_owner(Scope::Chat, &self.app.config())?;
        let session_id = conversation(session_id)?;
        find_visible(&self.app, &self.caller, &session_id).await?;
        let call =
            CallId::new(call).map_err(|error| Problem::bad_request("invalid_id", error.to_string()))?;
        let newest = self.app.store.turns(&session_id, None, 1).await?;
        let Some(turn) = newest.first().filter(|turn| turn.state == TurnState::Running) else {
            return Err(Problem::conflict("nothing_asked", "no turn is running in this conversation"));
        };
        if turn.holder != self.app.node {
            if !is_reachable(&self.app, &turn.holder).await? {
                let detail = "the turn runs in another process, which can't be reached from here";
                return Err(Problem::conflict("other_node", detail).help("answer in that process"));
            }
            // `require_owner` was checked above.
            self.app.store.send_answer(&session_id, call, answer).await?;
            return Ok(Reply::Answered { session_id });
        }
        let by = self.caller.occasion(&Asserted::default(), &self.app.config())?;
        if !self.app.agent.answer(&session_id, &by, call, answer) {
            return Err(Problem::forbidden("owner_only", "only the owner may answer questions"));
        }
        Ok(Reply::Answered { session_id })
    }

    async fn subscribe(&mut self, session_id: &str, after: Option<u64>) -> Result<Reply, Problem> {
        let session_id = conversation(session_id)?;
        find_visible(&self.app, &self.caller, &session_id).await?;
        let (channel, last) = self.app.live.hub.join(&self.app.store, &session_id).await?;
        check_after(after, last)?;
        let reader = Reader::caller(&self.caller, &self.app.config());
        self.add_subscription(channel, reader, after, last)?;
        repair_turn_end::spawn_repair(&self.app, &session_id);
        Ok(Reply::Subscribed { session_id, after: after.unwrap_or(last), last })
    }

    /// Subscribes to a conversation. With `after`, an existing subscription moves there; without, it stays as it is.
    fn add_subscription(
        &mut self,
        channel: Arc<Channel>,
        reader: Reader,
        after: Option<u64>,
        last: u64,
    ) -> Result<(), Problem> {
        let known = self.subscriptions.iter().position(|other| *other.conversation() == channel.conversation);
        if known.is_none() && self.subscriptions.len() >= MAX_SUBSCRIPTIONS {
            let detail = format!("a client may have at most {MAX_SUBSCRIPTIONS} subscriptions");
            return Err(Problem::conflict("too_many_subscriptions", detail).help("unsubscribe from one"));
        }
        match known.and_then(|index| self.subscriptions.get_mut(index)) {
            Some(known) => {
                known.reader = reader;
                if let Some(after) = after {
                    known.move_to(after);
                }
            }
            None => {
                self.app.recorder.record(self.join_event(&channel.conversation));
                let new = Subscription::new(channel, reader, after.unwrap_or(last), &self.more);
                self.subscriptions.push(new);
            }
        }
        self.more.notify_one();
        Ok(())
    }

    /// The event that the client has joined a conversation.
    fn join_event(&self, conversation: &ConversationId) -> Event {
        Event {
            session_id: Some(conversation.clone()),
            user_id: Some(self.caller.user().into()),
            metadata: Some(json!({ "clientId": self.connection.id })),
            ..Event::new(EventType::WsConnect, self.app.now())
        }
    }

    /// The next events of the subscriptions; empty if there are none.
    pub(super) async fn read(&mut self) -> Vec<ReadItem> {
        let mut index = 0;
        while let Some(subscription) = self.subscriptions.get_mut(index) {
            match subscription.read(&self.app.store).await {
                Ok(read) if read.is_empty() && !subscription.has_more() => index += 1,
                Ok(read) if read.is_empty() => {}
                Ok(read) => {
                    // The other subscriptions are read first next time.
                    self.subscriptions.rotate_left(index + 1);
                    return read;
                }
                Err(foreword_store::error::StoreError::NotFound { .. }) => {
                    self.subscriptions.swap_remove(index);
                }
                // The store is asked again with the next event or ping.
                Err(_) => index += 1,
            }
        }
        Vec::new()
    }

    /// Checks the caller's access again, since tokens are revoked and trust changes. Returns the conversations that may
    /// no longer be read.
    pub(super) async fn recheck(&mut self, caller: Caller) -> Vec<ConversationId> {
        self.caller = caller;
        let (mut index, mut lost) = (0, Vec::new());
        while let Some(subscription) = self.subscriptions.get_mut(index) {
            if subscription.is_still_visible(&self.app).await {
                index += 1;
            } else {
                lost.push(self.subscriptions.swap_remove(index).conversation().clone());
            }
        }
        lost
    }
}

/// Refuses a number that does not exist yet.
pub(super) fn check_after(after: Option<u64>, last: u64) -> Result<(), Problem> {
    match after {
        Some(after) if after > last => {
            let detail = format!("`after` is {after}, but the last number is {last}");
            Err(Problem::bad_request("after_too_high", detail).help("omit it to receive new events only"))
        }
        _ => Ok(()),
    }
}

/// Parses an id. An invalid one is not found.
fn conversation(text: &str) -> Result<ConversationId, Problem> {
    ConversationId::new(text).map_err(|_| Problem::not_found("conversation", text))
}

/// Refuses an empty or long idempotency key.
fn check_key(key: Option<&str>) -> Result<(), Problem> {
    if key.is_none_or(|key| (1..=MAX_KEY_LENGTH).contains(&key.chars().count())) {
        return Ok(());
    }
    Err(Problem::bad_request("bad_key", format!("`key` must have 1 to {MAX_KEY_LENGTH} characters")))
}

/// Whether the node receives notifications of this one: servers on a shared Postgres do; processes on one SQLite file
/// and chats in a terminal don't.
async fn is_reachable(app: &App, node: &NodeId) -> Result<bool, Problem> {
    if app.store.location().path().is_some() {
        return Ok(false);
    }
    let all = nodes::list(app).await?;
    Ok(all.nodes.iter().any(|other| other.node == *node && !nodes::is_dead(other.seen_at, all.now)))
}
