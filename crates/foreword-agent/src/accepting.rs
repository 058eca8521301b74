//! The way of a message into the agent: who says it is found out, it is stored with that for good, and its turn begins, all
//! before whoever sent it is told.

use std::sync::Arc;

use foreword_core::event::{Event, EventType};
use foreword_core::id::MessageId;
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role};
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::health::Fault;
use foreword_store::messages::Accepted;
use foreword_store::turns::{AcceptAndBegin, Begin, Take};
use foreword_workspace::request::{Identified, TERMINAL};
use serde_json::json;

use crate::agent::{Agent, request};
use crate::beginning::make;
use crate::conversation::{Command, begin_turn};
use crate::error::AgentError;
use crate::feed::Feed;
use crate::inbound::{Inbound, is_shared, provenance};
use crate::inbox;
use crate::payload_log;
use crate::prepare::Placed;
use crate::saved::SavedOccasion;
use crate::shared::Shared;
use crate::turn_log::{root, trace_of};
use crate::watching;
use crate::whose;

/// The longest message, in bytes.
const LONGEST: usize = 1024 * 1024;

/// A message that is taken in: durable, and going to be answered.
pub struct Receipt {
    /// The message.
    pub message: Message,
    /// Whether it had been taken in before: then its answer is there or on its way already.
    pub before: bool,
    /// What happens in the conversation.
    pub feed: Feed,
    /// Where in the feed to begin reading.
    pub from: u64,
}

impl Agent {
    /// Somebody is going to be answered who is no part of a conversation here. As with a message, files that have changed since
    /// anybody last was are looked at first, so that what they hold, and who may see it, is as it was written last.
    pub async fn attend(&self) {
        watching::somebody_speaks(self.shared()).await;
    }

    /// Takes a message in. When this returns it is durable; the answer follows in the feed.
    ///
    /// # Errors
    /// If there are no words, too many, it can't be stored, or the workspace is gone.
    pub async fn send(&self, inbound: Inbound) -> Result<Receipt, AgentError> {
        Box::pin(self.send_for(inbound, None)).await
    }

    /// The same for a request that has a name, which is in the log with the message.
    ///
    /// # Errors
    /// As [`Agent::send`].
    pub async fn send_for(&self, inbound: Inbound, request_id: Option<&str>) -> Result<Receipt, AgentError> {
        let shared = &self.shared();
        check(&inbound.text)?;
        watching::somebody_speaks(shared).await;
        check_answerable(shared)?;
        whose::check(shared, &inbound).await?;
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let mut request = request(shared, &inbound.occasion);
        // Whoever has spoken in a shared place hears what is said there.
        if is_shared(inbound.occasion.situation()) {
            let heard = shared.store.audience(&inbound.conversation).await?;
            let lower = |one: Trust, other: Option<Trust>| other.map_or(one, |other| one.meet(other));
            request.audience = heard.map(|heard| lower(heard, request.audience)).or(request.audience);
        }
        let who = request.identify(&config);
        let placed = Placed {
            conversation: inbound.conversation.clone(),
            occasion: inbound.occasion.clone(),
            accepted_at: who.trust.effective(),
        };
        let message = self.message(&inbound, &who)?;
        // Before it is accepted: the turn that runs may find it as soon as it is, and begin the next.
        let handle = self.handle(&inbound.conversation);
        let from = handle.feed.next();
        handle.occasions.keep(message.id.clone(), inbound.occasion.clone());
        let id = message.id.clone();
        let begin = begin_turn(shared, &placed, Take::Nothing)?;
        // The disk takes its time: meanwhile the turn can read what it will need.
        let ahead = handle.readiness.take(&shared.store, &inbound.conversation);
        let accepted = self.accept(AcceptAndBegin { message, key: inbound.key, begin }, &who).await;
        if !matches!(accepted, Ok((Accepted::New(_), _))) {
            handle.occasions.forget(&id);
        }
        let (accepted, begun) = accepted?;
        let before = matches!(accepted, Accepted::Before(_));
        let message = accepted.message().clone();
        if !before && !inbox::is_own_words(&inbound.occasion.purpose) {
            self.log_received(&message, &who, request_id);
        }
        let command = match begun {
            Some(Begin::Begun(begun)) => Command::Run(Box::new((begun, placed, ahead))),
            _ => Command::Look,
        };
        let (feed, later) = self.post(&inbound.conversation, command);
        // A conversation's task that has just come to an end takes its feed with it.
        let from = if feed.is(&handle.feed) { from } else { later };
        Ok(Receipt { message, before, feed, from })
    }

    /// Stores the message, in a conversation that is made if it is not there.
    async fn accept(
        &self,
        both: AcceptAndBegin,
        who: &Identified<'_>,
    ) -> Result<(Accepted, Option<Begin>), AgentError> {
        let store = &self.shared().store;
        match store.accept_and_begin(both.clone()).await {
            Err(StoreError::NotFound { .. }) => {
                let NewMessage { conversation, at, .. } = &both.message;
                make(self.shared(), (conversation.clone(), None), &who.occasion, *at).await?;
                Ok(store.accept_and_begin(both).await?)
            }
            other => Ok(other?),
        }
    }

    fn message(&self, inbound: &Inbound, who: &Identified<'_>) -> Result<NewMessage, AgentError> {
        let shared = &self.shared();
        let own = inbox::is_own_words(&inbound.occasion.purpose);
        let author = match who.user {
            _ if own => None,
            Some(user) => Some(user.name.to_string()),
            None => Some(stranger(inbound)),
        };
        Ok(NewMessage {
            id: shared.surroundings.id::<MessageId>("m")?,
            conversation: inbound.conversation.clone(),
            role: Role::User,
            kind: Kind::Message,
            content: content(inbound),
            trust: who.trust.effective(),
            provenance: if own {
                Provenance::Agent
            } else if inbound.occasion.purpose.is_tainted() {
                Provenance::Outside
            } else {
                provenance(who.user)
            },
            author,
            turn: None,
            usage: None,
            at: shared.now(),
        })
    }

    fn log_received(&self, message: &Message, who: &Identified<'_>, request_id: Option<&str>) {
        let message = &message.message;
        let length: usize = message
            .content
            .iter()
            .map(|block| match block {
                ContentBlock::Text { text } => text.len(),
                _ => 0,
            })
            .sum();
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
            let text = message.content.iter().filter_map(|block| match block {
                ContentBlock::Text { text } => Some(text.as_str()),
                _ => None,
            });
            let metadata = json!({ "message": message.id.as_str(), "text": text.collect::<Vec<_>>() });
            names(payload_log::payload(payload_log::MESSAGE, metadata, message.at))
        });
    }
}

/// The words, and the occasion: whoever answers may be another process.
fn content(inbound: &Inbound) -> Vec<ContentBlock> {
    let occasion = SavedOccasion::from(&inbound.occasion).block();
    [ContentBlock::text(inbound.text.clone())].into_iter().chain(occasion).collect()
}

/// What somebody is called who is not known. Never a user's name: those have no colon.
fn stranger(inbound: &Inbound) -> String {
    let occasion = &inbound.occasion;
    match occasion.sender.as_ref().or(occasion.channel.as_ref()).map(|channel| channel.as_str()) {
        Some(channel) if channel.contains(':') => channel.to_owned(),
        Some(channel) => format!("{channel}:unknown"),
        None => TERMINAL.to_owned(),
    }
}

/// Refuses a message that could not be answered: the workspace is gone, or the database is damaged. What is damaged is not
/// written to any further.
fn check_answerable(shared: &Shared) -> Result<(), AgentError> {
    shared.workspace.check_available()?;
    let damaged = shared.store.health().failures().into_iter().find(|one| one.fault == Fault::Corrupt);
    damaged.map_or(Ok(()), |damaged| Err(damaged.error.into()))
}

fn check(text: &str) -> Result<(), AgentError> {
    match text {
        text if text.trim().is_empty() => Err(AgentError::NoWords),
        text if text.len() > LONGEST => Err(AgentError::TooLong { size: text.len(), limit: LONGEST }),
        _ => Ok(()),
    }
}
