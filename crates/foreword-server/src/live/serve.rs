//! Does what a client of the WebSocket asks for.

use std::sync::Arc;

use foreword_agent::inbound::{Inbound, Occasion};
use foreword_core::api_token::Scope;
use foreword_core::event::{Event, EventType};
use foreword_core::id::{CallId, ConversationId, NodeId};
use foreword_core::turn::Asked;
use foreword_core::turn_journal::TurnState;
use foreword_prompt::occasion;
use foreword_store::conversation_settings::{ConversationSettings, SettingsUpdate};
use foreword_store::messages::IdempotencyKey;
use serde_json::json;
use tokio::sync::Notify;

use super::hub::Channel;
use super::mend;
use super::reply::Reply;
use super::request::{LONGEST_KEY, Request};
use super::stopping::stop_turn;
use super::subscription::{Read, Subscription};
use crate::api::{change, refused};
use crate::app::App;
use crate::auth::{Asserted, Caller, Onlooker, may_see, may_see_as, may_set, turn_in_hand};
use crate::nodes;
use crate::problem::Problem;
use crate::request_id::RequestId;

/// How many conversations one client may look on at.
const MOST: usize = 64;

/// A client: who it is, and what it looks on at.
pub(super) struct Client {
    app: App,
    caller: Caller,
    connection: Connection,
    subscriptions: Vec<Subscription>,
    /// Told when there is more to read.
    pub(super) more: Arc<Notify>,
}

/// The names of a connection in the log.
pub(super) struct Connection {
    /// Its own (`clientId`), which no other connection has.
    pub(super) id: String,
    /// That of the request that opened it, which everything said over it is logged with.
    pub(super) request: RequestId,
}

impl Client {
    pub(super) fn new(app: App, caller: Caller, connection: Connection) -> Self {
        Self { app, caller, connection, subscriptions: Vec::new(), more: Arc::default() }
    }

    /// Does what is asked for.
    pub(super) async fn serve(&mut self, request: Request) -> Result<Reply, Problem> {
        if !matches!(request, Request::Ping {}) {
            // What is asked for counts, whichever way it came; a sign of life is none of it.
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
                self.may_begin_with(&settings, session_id.as_deref())?;
                let asserted = Asserted {
                    user: user.map(Into::into),
                    channel: channel.as_deref().map(occasion::Channel::new),
                    situation: situation.map(Into::into),
                };
                self.say(session_id, (text, settings), (key, asserted)).await
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
                self.answer(&session_id, (&call_id, answer)).await
            }
            Request::Ping {} => Ok(Reply::Pong),
        }
    }

    async fn say(
        &mut self,
        session_id: Option<String>,
        (text, settings): (String, ConversationSettings),
        (key, asserted): (Option<String>, Asserted),
    ) -> Result<Reply, Problem> {
        let config = self.app.config();
        let mut occasion = self.caller.occasion(&asserted, &config)?;
        let who = self.onlooker(&occasion, &asserted);
        let reader = who.trust();
        let conversation = match session_id {
            Some(id) => {
                let id = conversation(&id)?;
                let seen = may_see_as(&self.app, &who, &id).await?;
                // What is said in a group is heard by the group, whichever way it came.
                occasion.situation.get_or_insert_with(|| seen.conversation.situation.as_str().into());
                let (channel, last) = self.app.live.hub.join(&self.app.store, &id).await?;
                self.look_on(channel, who, (None, last))?;
                id
            }
            None => {
                let id = self.fresh(key.as_deref(), &asserted)?;
                let channel = if self.app.store.conversation(&id).await?.is_some() {
                    may_see_as(&self.app, &who, &id).await?;
                    self.app.live.hub.join(&self.app.store, &id).await?.0
                } else {
                    self.app.live.hub.channel(&id)
                };
                self.look_on(channel, who, (None, 0))?;
                if !settings.is_empty() {
                    let set = self.app.agent.set_settings(&id, &occasion, settings.into()).await;
                    set.map_err(|error| refused(error, &self.app, &self.caller))?;
                }
                id
            }
        };
        let key = key.map(|key| self.key(key));
        let inbound = Inbound { conversation: conversation.clone(), occasion, text, key };
        let admitted = self.app.limits.begin_turn(self.caller.api_token(), &config.server.limits)?;
        let receipt = Box::pin(self.app.agent.send_for(inbound, Some(&self.connection.request.0))).await;
        let receipt = receipt.map_err(|error| Problem::told(error, reader))?;
        turn_in_hand::keep(&self.app, admitted, &receipt);
        let message_id = receipt.message.message.id.clone();
        Ok(Reply::Accepted { session_id: conversation, message_id, before: receipt.before })
    }

    /// Refuses settings from a caller who may not set them, and for a conversation that exists already.
    fn may_begin_with(
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
        let detail = "a message sets `sessionInstructions`, `cwd` and `context` only in a new conversation";
        Err(Problem::bad_request("settings_of_existing", detail)
            .help("leave `sessionId` out, or change them with `update`"))
    }

    async fn update(&self, session_id: &str, update: SettingsUpdate) -> Result<Reply, Problem> {
        may_set(&self.caller, &self.app.config())?;
        let session_id = conversation(session_id)?;
        may_see(&self.app, &self.caller, &session_id).await?;
        let updated = self.app.agent.update_settings(&session_id, update).await;
        updated.map_err(|error| refused(error, &self.app, &self.caller))?;
        self.app.kept_words.forget();
        Ok(Reply::Updated { session_id })
    }

    /// Who looks on where somebody speaks: they themselves, or whom they speak for.
    fn onlooker(&self, occasion: &Occasion, asserted: &Asserted) -> Onlooker {
        let config = self.app.config();
        if asserted.is_empty() {
            Onlooker::caller(&self.caller, &config)
        } else {
            Onlooker::speaker(occasion, &config)
        }
    }

    /// A conversation that is not there yet. The same key leads to the same one, so that a client that did not hear the answer
    /// can ask again; of those whom it speaks for each has their own.
    fn fresh(&self, key: Option<&str>, asserted: &Asserted) -> Result<ConversationId, Problem> {
        let made = match key {
            None => self.app.surroundings.id("c"),
            Some(key) => {
                let channel = asserted.channel.as_ref().map(occasion::Channel::as_str);
                let of = json!([self.caller.user(), asserted.user.as_deref(), channel, key]).to_string();
                let hash = blake3::hash(of.as_bytes()).to_hex();
                ConversationId::new(format!("c-{}", &hash[..32]))
            }
        };
        made.map_err(|error| Problem::bad_request("bad_id", error.to_string()))
    }

    fn key(&self, key: String) -> IdempotencyKey {
        IdempotencyKey { scope: format!("http:{}", self.caller.user()), key }
    }

    async fn cancel(&self, session_id: &str) -> Result<Reply, Problem> {
        let session_id = conversation(session_id)?;
        let seen = may_see(&self.app, &self.caller, &session_id).await?;
        stop_turn(&self.app, &seen).await?;
        Ok(Reply::Cancelling { session_id })
    }

    async fn answer(&self, session_id: &str, (call, answer): (&str, Asked)) -> Result<Reply, Problem> {
        self.caller.needs_owner(Scope::Chat, &self.app.config())?;
        let session_id = conversation(session_id)?;
        may_see(&self.app, &self.caller, &session_id).await?;
        let call = CallId::new(call).map_err(|error| Problem::bad_request("bad_id", error.to_string()))?;
        let newest = self.app.store.turns(&session_id, None, 1).await?;
        let Some(turn) = newest.first().filter(|turn| turn.state == TurnState::Running) else {
            return Err(Problem::conflict("nothing_asked", "no turn runs there that could have asked"));
        };
        if turn.holder != self.app.node {
            if !hears_other_nodes(&self.app, &turn.holder).await? {
                let detail = "the turn that asked runs in another program, which can't be reached from here";
                return Err(Problem::conflict("other_node", detail).help("answer where it was asked"));
            }
            // That it is the owner was seen above.
            self.app.store.pass_on_answer(&session_id, (call, answer)).await?;
            return Ok(Reply::Answered { session_id });
        }
        let by = self.caller.occasion(&Asserted::default(), &self.app.config())?;
        if !self.app.agent.answer(&session_id, &by, (call, answer)) {
            return Err(Problem::forbidden("owner_only", "only the owner answers questions"));
        }
        Ok(Reply::Answered { session_id })
    }

    async fn subscribe(&mut self, session_id: &str, after: Option<u64>) -> Result<Reply, Problem> {
        let session_id = conversation(session_id)?;
        may_see(&self.app, &self.caller, &session_id).await?;
        let (channel, last) = self.app.live.hub.join(&self.app.store, &session_id).await?;
        check_after(after, last)?;
        let who = Onlooker::caller(&self.caller, &self.app.config());
        self.look_on(channel, who, (after, last))?;
        mend::look_at(&self.app, &session_id);
        Ok(Reply::Subscribed { session_id, after: after.unwrap_or(last), last })
    }

    /// Looks on at a conversation. With a number, from behind that on, whatever was shown before; without, one that is looked
    /// on at already goes on as it was.
    fn look_on(
        &mut self,
        channel: Arc<Channel>,
        who: Onlooker,
        (after, last): (Option<u64>, u64),
    ) -> Result<(), Problem> {
        let known = self.subscriptions.iter().position(|other| *other.conversation() == channel.conversation);
        if known.is_none() && self.subscriptions.len() >= MOST {
            let detail = format!("one client looks on at {MOST} conversations at most");
            return Err(Problem::conflict("too_many_subscriptions", detail).help("unsubscribe from one"));
        }
        match known.and_then(|place| self.subscriptions.get_mut(place)) {
            Some(known) => {
                known.who = who;
                if let Some(after) = after {
                    known.move_to(after);
                }
            }
            None => {
                self.app.recorder.record(self.joined(&channel.conversation));
                let new = Subscription::new(channel, who, after.unwrap_or(last), &self.more);
                self.subscriptions.push(new);
            }
        }
        self.more.notify_one();
        Ok(())
    }

    /// The event that this client has joined a conversation.
    fn joined(&self, conversation: &ConversationId) -> Event {
        Event {
            session_id: Some(conversation.clone()),
            user_id: Some(self.caller.user().into()),
            metadata: Some(json!({ "clientId": self.connection.id })),
            ..Event::new(EventType::WsConnect, self.app.now())
        }
    }

    /// Some of what has happened where the client looks on; nothing if there is nothing.
    pub(super) async fn read(&mut self) -> Vec<Read> {
        let mut place = 0;
        while let Some(subscription) = self.subscriptions.get_mut(place) {
            match subscription.read(&self.app.store).await {
                Ok(read) if read.is_empty() && !subscription.has_more() => place += 1,
                Ok(read) if read.is_empty() => {}
                Ok(read) => {
                    // The others have their turn first next time.
                    self.subscriptions.rotate_left(place + 1);
                    return read;
                }
                Err(foreword_store::error::StoreError::NotFound { .. }) => {
                    self.subscriptions.swap_remove(place);
                }
                // A database that is away is asked again when there is more, or with the next sign of life.
                Err(_) => place += 1,
            }
        }
        Vec::new()
    }

    /// Looks again who this is and what they may see: tokens are revoked and trust is taken back while somebody looks on.
    /// Gives what they may not look on at any more.
    pub(super) async fn recheck(&mut self, caller: Caller) -> Vec<ConversationId> {
        self.caller = caller;
        let (mut place, mut lost) = (0, Vec::new());
        while let Some(subscription) = self.subscriptions.get_mut(place) {
            if subscription.is_still_seen(&self.app).await {
                place += 1;
            } else {
                lost.push(self.subscriptions.swap_remove(place).conversation().clone());
            }
        }
        lost
    }
}

/// Refuses a number that was never given.
pub(super) fn check_after(after: Option<u64>, last: u64) -> Result<(), Problem> {
    match after {
        Some(after) if after > last => {
            let detail = format!("`after` is {after}, and the last number there is {last}");
            Err(Problem::bad_request("after_too_high", detail).help("leave it out to begin now"))
        }
        _ => Ok(()),
    }
}

/// The id that a client has written. One that can't be one is no conversation's.
fn conversation(text: &str) -> Result<ConversationId, Problem> {
    ConversationId::new(text).map_err(|_| Problem::not_found("conversation", text))
}

/// Refuses a name for a message that is none, or longer than any has to be.
fn check_key(key: Option<&str>) -> Result<(), Problem> {
    if key.is_none_or(|key| (1..=LONGEST_KEY).contains(&key.chars().count())) {
        return Ok(());
    }
    Err(Problem::bad_request("bad_key", format!("`key` has 1 to {LONGEST_KEY} characters")))
}

/// Whether a node hears what this one tells it: servers on one Postgres do; what goes on in one file, or in a chat at a terminal,
/// is heard there alone.
async fn hears_other_nodes(app: &App, node: &NodeId) -> Result<bool, Problem> {
    if app.store.location().path().is_some() {
        return Ok(false);
    }
    let all = nodes::all(app).await?;
    Ok(all.nodes.iter().any(|other| other.node == *node && !nodes::is_gone(other.seen_at, all.now)))
}
