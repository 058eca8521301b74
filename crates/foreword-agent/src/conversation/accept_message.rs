//! Accepts messages: resolves the sender, stores the message and begins its turn in one transaction, then acknowledges
//! it.

use std::sync::Arc;

use foreword_core::event::{Event, EventType};
use foreword_core::id::MessageId;
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Role};
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::health::StoreFault;
use foreword_store::messages::AcceptOutcome;
use foreword_store::turns::{AcceptAndBegin, BeginOutcome, TakeMessages};
use foreword_workspace::request::TERMINAL;
use foreword_workspace::speaker::Principal;
use serde_json::json;

use crate::agent::Agent;
use crate::conversation::agent_routing;
use crate::conversation::create::create_if_missing;
use crate::conversation::feed::Feed;
use crate::conversation::inbound::{Inbound, is_shared, provenance};
use crate::conversation::mailbox::{BegunTurn, Command, begin_turn};
use crate::error::AgentError;
use crate::prompt::workspace_reload;
use crate::shared::Shared;
use crate::turn::payload_log;
use crate::turn::saved_state::SavedOrigin;
use crate::turn::scope::TurnScope;
use crate::turn::turn_log::{root, trace_of};

/// The maximum size of a message.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// An accepted message. It is durable and will be answered.
pub struct Receipt {
    /// The message as stored.
    pub message: Message,
    /// Whether an earlier request with the same idempotency key was accepted.
    pub before: bool,
    /// The progress feed of the conversation.
    pub feed: Feed,
    /// The position in the feed before this message.
    pub from: u64,
}

impl Agent {
    /// Reloads changed workspace files before a request that is not part of a conversation, as [`Agent::send`] does.
    pub async fn refresh_workspace(&self) {
        workspace_reload::refresh_before_message(self.shared()).await;
    }

    /// Accepts a message. On return it is durable; the answer follows in the feed.
    ///
    /// # Errors
    /// If the message is empty or too long, can't be stored, or the workspace is unavailable.
    pub async fn send(&self, inbound: Inbound) -> Result<Receipt, AgentError> {
        Box::pin(self.send_for(inbound, None)).await
    }

    /// As [`Agent::send`], with a request id for the log.
    ///
    /// # Errors
    /// As [`Agent::send`].
    pub async fn send_for(&self, inbound: Inbound, request_id: Option<&str>) -> Result<Receipt, AgentError> {
        let shared = &self.shared();
        check(&inbound.text)?;
        workspace_reload::refresh_before_message(shared).await;
        check_answerable(shared)?;
        agent_routing::check(shared, &inbound).await?;
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let mut speaker = inbound.origin.limited_speaker();
        // Everyone who has written in a shared conversation can read the answer, so their trust limits it.
        if is_shared(inbound.origin.situation()) {
            let heard = shared.store.audience(&inbound.conversation).await?;
            let lower = |one: Trust, other: Option<Trust>| other.map_or(one, |other| one.meet(other));
            speaker.audience = heard.map(|heard| lower(heard, speaker.audience)).or(speaker.audience);
        }
        let who = speaker.resolve(&config, None, &shared.clock_and_rng.now());
        let scope = TurnScope {
            conversation: inbound.conversation.clone(),
            origin: inbound.origin.clone(),
            accepted_at: who.trust.effective(),
        };
        let message = self.message(&inbound, &who)?;
        // Register the origin before the message is visible: a running turn may take it up immediately.
        let handle = self.handle(&inbound.conversation);
        let from = handle.feed.next();
        handle.origins.insert(message.id.clone(), inbound.origin.clone());
        let id = message.id.clone();
        let begin = begin_turn(shared, &scope, TakeMessages::Nothing)?;
        // Read the inputs of the turn while the message is being written.
        let ahead = shared.prefetched.take(&shared.store, &inbound.conversation);
        let accepted = self.accept(AcceptAndBegin { message, key: inbound.key, begin }, &who).await;
        if !matches!(accepted, Ok((AcceptOutcome::New(_), _))) {
            handle.origins.remove(&id);
        }
        let (accepted, begun) = accepted?;
        let before = matches!(accepted, AcceptOutcome::Before(_));
        let message = accepted.message().clone();
        if !before && !inbound.origin.purpose.is_self_initiated() {
            self.log_received(&message, &who, request_id);
        }
        let command = match begun {
            Some(BeginOutcome::Begun(begun)) => Command::Run(Box::new(BegunTurn { begun, scope, ahead })),
            _ => Command::AnswerPending,
        };
        let (feed, later) = self.post(&inbound.conversation, command);
        // If the conversation's task has just ended, the new task has a new feed.
        let from = if feed.is(&handle.feed) { from } else { later };
        Ok(Receipt { message, before, feed, from })
    }

    /// Stores the message. Creates the conversation if it does not exist.
    async fn accept(
        &self,
        both: AcceptAndBegin,
        who: &Principal,
    ) -> Result<(AcceptOutcome, Option<BeginOutcome>), AgentError> {
        let store = &self.shared().store;
        match store.accept_and_begin(both.clone()).await {
            Err(StoreError::NotFound { .. }) => {
                let NewMessage { conversation, at, .. } = &both.message;
                create_if_missing(self.shared(), conversation.clone(), &who.occasion, *at).await?;
                Ok(store.accept_and_begin(both).await?)
            }
            other => Ok(other?),
        }
    }

    fn message(&self, inbound: &Inbound, who: &Principal) -> Result<NewMessage, AgentError> {
        let shared = &self.shared();
        let purpose = &inbound.origin.purpose;
        let author = match &who.user {
            _ if purpose.is_self_initiated() => None,
            Some(user) => Some(user.name.to_string()),
            None => Some(stranger(inbound)),
        };
        Ok(NewMessage {
            id: shared.clock_and_rng.id::<MessageId>("m")?,
            conversation: inbound.conversation.clone(),
            role: Role::User,
            kind: Kind::Message,
            content: content(inbound),
            trust: who.trust.effective(),
            provenance: purpose.message_provenance(provenance(who)),
            author,
            turn: None,
            usage: None,
            at: shared.now(),
        })
    }

    fn log_received(&self, message: &Message, who: &Principal, request_id: Option<&str>) {
        let message = &message.message;
        let texts: Vec<&str> = message.content.iter().filter_map(ContentBlock::as_text).collect();
        let length: usize = texts.iter().map(|text| text.len()).sum();
        let trace = trace_of(&message.id);
        let mut metadata = json!({ "message": message.id.as_str(), "length": length });
        if let Some(request_id) = request_id {
            metadata["request_id"] = json!(request_id);
        }
        let names = |event: Event| Event {
            session_id: Some(message.conversation.clone()),
            agent_id: Some(Arc::clone(&who.occasion.agent)),
            user_id: who.occasion.user.clone(),
            trace_id: trace,
            span_id: root(trace),
            channel: who.occasion.channel.as_ref().map(|channel| channel.as_str().into()),
            ..event
        };
        let received = Event::new(EventType::MessageReceived, message.at);
        self.shared().log(names(Event { metadata: Some(metadata), ..received }));
        self.shared().recorder.payload(|| {
            let metadata = json!({ "message": message.id.as_str(), "text": texts });
            names(payload_log::payload(payload_log::MESSAGE, metadata, message.at))
        });
    }
}

/// The content to store: the text, and the origin for other processes.
fn content(inbound: &Inbound) -> Vec<ContentBlock> {
    let origin = SavedOrigin::from(&inbound.origin).block();
    [ContentBlock::text(inbound.text.clone())].into_iter().chain(origin).collect()
}

/// The author name of an unknown sender. It has a colon, so it never equals a user name.
fn stranger(inbound: &Inbound) -> String {
    let origin = &inbound.origin;
    match origin.speaker.sender.as_ref().or(origin.speaker.channel.as_ref()).map(|channel| channel.as_str()) {
        Some(channel) if channel.contains(':') => channel.to_owned(),
        Some(channel) => format!("{channel}:unknown"),
        None => TERMINAL.to_owned(),
    }
}

/// Rejects messages while the workspace is unavailable or the database is corrupt. A corrupt database is not written
/// to.
fn check_answerable(shared: &Shared) -> Result<(), AgentError> {
    shared.workspace.check_available()?;
    let damaged = shared.store.health().failures().into_iter().find(|one| one.fault == StoreFault::Corrupt);
    damaged.map_or(Ok(()), |damaged| Err(damaged.error.into()))
}

fn check(text: &str) -> Result<(), AgentError> {
    match text {
        text if text.trim().is_empty() => Err(AgentError::EmptyMessage),
        text if text.len() > MAX_MESSAGE_BYTES => {
            Err(AgentError::TooLong { size: text.len(), limit: MAX_MESSAGE_BYTES })
        }
        _ => Ok(()),
    }
}
