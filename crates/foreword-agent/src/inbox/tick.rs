//! One beat of the agent's life: a batch of its inbox if something waits, else a turn of its own.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::id::{ConversationId, InboxId, TurnId};
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Role};
use foreword_core::sender::{ANSWER_THE_INBOX, Fault, InboxState, whose_fault};
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_prompt::untrusted::display_line;
use foreword_store::error::StoreError;
use foreword_store::mailboxes::OutboxMessage;
use foreword_store::turns::{Answer, Turn};
use foreword_workspace::config::Config;
use foreword_workspace::request::moment;
use foreword_workspace::situation_input::situation_text;

use super::context::{gather, has_place, messages_of};
use super::ending::reply_id;
use super::picking::{Picked, pick};
use crate::agent::{Agent, Receipt};
use crate::error::AgentError;
use crate::inbound::{Inbound, Occasion, Purpose};
use crate::prepare::Placed;
use crate::saved::SavedOccasion;

/// The longest reason that is noted with a message.
const REASON_CHARS: usize = 500;

/// A beat that has begun.
pub struct Tick {
    /// What begins its turn.
    pub receipt: Receipt,
    pub(super) what: Purpose,
}

impl Tick {
    /// The messages it answers; none in a turn of the agent's own.
    #[must_use]
    pub fn messages(&self) -> &[InboxId] {
        match &self.what {
            Purpose::Inbox { messages } => messages,
            _ => &[],
        }
    }

    /// The conversation it happens in.
    #[must_use]
    pub fn conversation(&self) -> &ConversationId {
        &self.receipt.message.message.conversation
    }
}

/// What a beat came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Ticked {
    /// A batch of the inbox.
    Inbox {
        /// The conversation it was answered in.
        conversation: ConversationId,
        /// The messages.
        messages: Vec<InboxId>,
        /// The turn, and how it ended.
        turn: TurnId,
        /// How it ended.
        state: TurnState,
        /// Why it failed, if it did: the messages wait for another turn.
        error: Option<String>,
        /// What was answered.
        replies: Vec<OutboxMessage>,
        /// Messages over which too many turns have failed by now.
        set_aside: Vec<InboxId>,
    },
    /// A turn of the agent's own.
    Alone {
        /// The conversation.
        conversation: ConversationId,
        /// The turn.
        turn: TurnId,
        /// How it ended.
        state: TurnState,
        /// Why it failed, if it did.
        error: Option<String>,
        /// Its last words.
        text: String,
    },
    /// A turn of the agent's own is under way already.
    Busy,
}

impl Ticked {
    /// Whether what was begun has ended well.
    #[must_use]
    pub fn is_well(&self) -> bool {
        match self {
            Self::Inbox { state, .. } | Self::Alone { state, .. } => {
                *state == TurnState::Ended(Outcome::Done)
            }
            Self::Busy => true,
        }
    }
}

impl Agent {
    /// Answers one batch of the inbox if something waits, else takes a turn of its own; and waits for its end.
    ///
    /// # Errors
    /// If it can't be begun, or the store can't be read. A turn that fails is no error: see [`Ticked`].
    pub async fn tick(&self) -> Result<Ticked, AgentError> {
        match self.begin_tick().await? {
            Some(tick) => self.end_tick(&tick).await,
            None => Ok(Ticked::Busy),
        }
    }

    /// Begins what [`Agent::tick`] does; its receipt shows what happens. `None` if there is nothing to begin.
    ///
    /// # Errors
    /// As [`Agent::tick`].
    pub async fn begin_tick(&self) -> Result<Option<Tick>, AgentError> {
        match self.begin_batch().await? {
            Some(tick) => Ok(Some(tick)),
            None => self.begin_alone().await,
        }
    }

    /// Begins to answer a batch of the inbox, though all of it may be waiting for another attempt. `None` if nothing waits.
    ///
    /// # Errors
    /// As [`Agent::tick`].
    pub async fn begin_batch(&self) -> Result<Option<Tick>, AgentError> {
        let shared = self.shared();
        let config = Arc::clone(&shared.workspace.snapshot().config);
        match pick(shared, &config).await? {
            Some(picked) => self.begin_picked(&config, picked).await,
            None => Ok(None),
        }
    }

    /// Begins to answer these messages, or joins whoever has begun. `None` if they are dealt with already.
    pub(super) async fn begin_picked(
        &self,
        config: &Config,
        picked: Picked,
    ) -> Result<Option<Tick>, AgentError> {
        let (shared, Picked { conversation, occasion, key }) = (self.shared(), picked);
        if let Some(tick) = self.begun_before(&conversation).await? {
            return Ok(Some(tick));
        }
        let what = occasion.purpose.clone();
        let placed = Placed::at(shared, conversation.clone(), occasion.clone());
        let text = self.words(config, &placed, ANSWER_THE_INBOX).await?;
        match self.send(Inbound { conversation: conversation.clone(), occasion, text, key: Some(key) }).await
        {
            Ok(receipt) => Ok(Some(Tick { receipt, what })),
            // Another node was faster, with a message more or less.
            Err(AgentError::Store(StoreError::UsedBefore { .. })) => self.begun_before(&conversation).await,
            Err(error) => Err(error),
        }
    }

    /// The batch that was begun in this conversation, here or elsewhere.
    async fn begun_before(&self, conversation: &ConversationId) -> Result<Option<Tick>, AgentError> {
        let store = &self.shared().store;
        if store.conversation(conversation).await?.is_none() {
            return Ok(None);
        }
        let history = store.history(conversation).await?;
        let begins =
            |message: &Message| message.message.role == Role::User && message.message.kind == Kind::Message;
        let Some(message) = history.messages.into_iter().find(begins) else { return Ok(None) };
        let saved = SavedOccasion::in_message(&message.message.content);
        let what = saved.map(|saved| Occasion::from(saved).purpose).unwrap_or_default();
        let feed = self.feed(conversation);
        let from = feed.next();
        Ok(Some(Tick { receipt: Receipt { message, before: true, feed, from }, what }))
    }

    /// The words a turn begins with. A prompt without a layer for what the agent has to know has it here.
    pub(super) async fn words(
        &self,
        config: &Config,
        placed: &Placed,
        own: &str,
    ) -> Result<String, AgentError> {
        if has_place(config) {
            return Ok(own.to_owned());
        }
        let shared = self.shared();
        let messages = messages_of(shared, placed).await?;
        let context = gather(shared, config, placed, (placed.trust(shared), &messages)).await?;
        let marker = shared.surroundings.random().to_be_bytes();
        let now = moment(&shared.surroundings.now());
        Ok(format!("{own}\n\n{}", situation_text(&context, &now, marker)))
    }

    /// Waits for the end of what was begun.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn end_tick(&self, tick: &Tick) -> Result<Ticked, AgentError> {
        let Answer { turn, text, .. } = self.end_of(tick).await?;
        let (conversation, state) = (turn.conversation.clone(), turn.state);
        let error = (state != TurnState::Ended(Outcome::Done)).then(|| {
            let why = turn.error.clone().unwrap_or_else(|| format!("the turn was {state}"));
            // Backticks stay: people read them, and here they quote nothing that could be broken out of.
            display_line(&why, REASON_CHARS)
        });
        let Purpose::Inbox { messages } = &tick.what else {
            return Ok(Ticked::Alone { conversation, turn: turn.id, state, error, text });
        };
        let store = &self.shared().store;
        let noted = match &error {
            Some(why) => store.attempt_failed(messages, &turn.id, self.fault_of(&turn).await?, why).await?,
            None => Vec::new(),
        };
        let aside = noted.into_iter().filter(|message| message.state == InboxState::SetAside);
        Ok(Ticked::Inbox {
            conversation,
            messages: messages.clone(),
            replies: self.replies_of(&turn.id).await?,
            set_aside: aside.map(|message| message.id).collect(),
            turn: turn.id,
            state,
            error,
        })
    }

    /// Whose fault it was that a turn has failed, whichever node has run it.
    async fn fault_of(&self, turn: &Turn) -> Result<Fault, AgentError> {
        let history = self.shared().store.history(&turn.conversation).await?;
        let left: Vec<&NewMessage> = history.messages.iter().map(|message| &message.message).collect();
        let left = || left.iter().filter(|message| message.turn.as_ref() == Some(&turn.id));
        let asked = left().any(|message| message.kind == Kind::Sent);
        let notice = left().rfind(|message| message.kind == Kind::Notice);
        let words = notice.and_then(|notice| match notice.content.as_slice() {
            [ContentBlock::Text { text }] => Some(text.as_str()),
            _ => None,
        });
        Ok(whose_fault(turn.state, asked, words))
    }

    /// Waits for the end of a turn, whichever node runs it; if that one dies, this one goes on with it.
    async fn end_of(&self, tick: &Tick) -> Result<Answer, AgentError> {
        let patience = (self.shared().lease / 2).max(Duration::from_millis(100));
        loop {
            match tokio::time::timeout(patience, self.answer_to(&tick.receipt)).await {
                Ok(answer) => return answer,
                Err(_) => self.recover_conversation(tick.conversation()).await?,
            }
        }
    }

    async fn replies_of(&self, turn: &TurnId) -> Result<Vec<OutboxMessage>, AgentError> {
        let mut replies = Vec::new();
        for number in 1.. {
            match self.shared().store.outbox_message(&reply_id(turn, number)?).await {
                Ok(reply) => replies.push(reply),
                Err(StoreError::NotFound { .. }) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(replies)
    }
}
