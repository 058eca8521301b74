//! One tick: answers a batch of the inbox if a message is pending, else runs an autonomous turn.

use std::sync::Arc;

use foreword_core::id::{ConversationId, InboxId, TurnId};
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Role};
use foreword_core::sender::{FailureSource, INBOX_TURN_PROMPT, InboxState, failure_source};
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_prompt::untrusted::display_line;
use foreword_store::error::StoreError;
use foreword_store::mailboxes::OutboxMessage;
use foreword_store::turns::{Answer, StoredTurn};
use foreword_workspace::config::Config;
use foreword_workspace::request::formatted_time;
use foreword_workspace::situation_input::situation_text;

use super::batch::{PlannedBatch, next_planned_batch};
use super::context::{gather, has_situation_layer, messages_of};
use super::finish::reply_id;
use crate::agent::{Agent, Receipt};
use crate::conversation::inbound::{Inbound, Purpose, TurnOrigin};
use crate::error::AgentError;
use crate::turn::saved_state::SavedOrigin;
use crate::turn::scope::TurnScope;

/// Maximum length of a failure reason.
const MAX_REASON_CHARS: usize = 500;

/// A tick that has started.
pub struct Tick {
    /// The receipt of its first message.
    pub receipt: Receipt,
    pub(super) what: Purpose,
}

impl Tick {
    /// The messages it answers; empty for an autonomous turn.
    #[must_use]
    pub fn messages(&self) -> &[InboxId] {
        match &self.what {
            Purpose::Inbox { messages } => messages,
            _ => &[],
        }
    }

    #[must_use]
    pub fn conversation(&self) -> &ConversationId {
        &self.receipt.message.message.conversation
    }
}

/// The result of a tick.
#[derive(Debug, Clone, PartialEq)]
pub enum TickOutcome {
    /// A batch of the inbox.
    Inbox {
        /// The conversation it was answered in.
        conversation: ConversationId,
        messages: Vec<InboxId>,
        turn: TurnId,
        /// The turn's state.
        state: TurnState,
        /// The failure, if any: the messages stay pending.
        error: Option<String>,
        replies: Vec<OutboxMessage>,
        /// Messages that are set aside after too many failed turns.
        set_aside: Vec<InboxId>,
        /// Messages that stay pending because the turn ended without a reply to their senders.
        unanswered: Vec<InboxId>,
    },
    /// An autonomous turn.
    Alone {
        conversation: ConversationId,
        turn: TurnId,
        /// The turn's state.
        state: TurnState,
        /// The failure, if any.
        error: Option<String>,
        /// Its final text.
        text: String,
    },
    /// An autonomous turn is already running.
    Busy,
}

impl TickOutcome {
    /// Whether the turn succeeded.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        match self {
            Self::Inbox { state, .. } | Self::Alone { state, .. } => {
                *state == TurnState::Ended(Outcome::Done)
            }
            Self::Busy => true,
        }
    }
}

impl Agent {
    /// Answers one batch of the inbox if a message is pending, else runs an autonomous turn. Waits for its end.
    ///
    /// # Errors
    /// If it can't be started, or the store can't be read. A failed turn is not an error: see [`TickOutcome`].
    pub async fn tick(&self) -> Result<TickOutcome, AgentError> {
        match self.begin_tick().await? {
            Some(tick) => self.end_tick(&tick).await,
            None => Ok(TickOutcome::Busy),
        }
    }

    /// Starts a tick without waiting for its end. `None` if an autonomous turn is already running.
    ///
    /// # Errors
    /// As [`Agent::tick`].
    pub async fn begin_tick(&self) -> Result<Option<Tick>, AgentError> {
        match self.begin_batch().await? {
            Some(tick) => Ok(Some(tick)),
            None => self.begin_alone().await,
        }
    }

    /// Starts to answer the next batch, even if its retry is not due yet. `None` if no message is pending.
    ///
    /// # Errors
    /// As [`Agent::tick`].
    pub async fn begin_batch(&self) -> Result<Option<Tick>, AgentError> {
        let shared = self.shared();
        let config = Arc::clone(&shared.workspace.snapshot().config);
        match next_planned_batch(shared, &config).await? {
            Some(planned) => self.begin_planned(&config, planned).await,
            None => Ok(None),
        }
    }

    /// Starts to answer this batch, or joins the turn that another node has started. `None` if it is already answered.
    pub(super) async fn begin_planned(
        &self,
        config: &Config,
        planned: PlannedBatch,
    ) -> Result<Option<Tick>, AgentError> {
        let (shared, PlannedBatch { conversation, occasion, key }) = (self.shared(), planned);
        if let Some(tick) = self.begun_before(&conversation).await? {
            return Ok(Some(tick));
        }
        let what = occasion.purpose.clone();
        let scope = TurnScope::at(shared, conversation.clone(), occasion.clone());
        let text = self.turn_text(config, &scope, INBOX_TURN_PROMPT).await?;
        match self
            .send(Inbound { conversation: conversation.clone(), origin: occasion, text, key: Some(key) })
            .await
        {
            Ok(receipt) => Ok(Some(Tick { receipt, what })),
            // Another node started a batch with other messages under the same id.
            Err(AgentError::Store(StoreError::UsedBefore { .. })) => self.begun_before(&conversation).await,
            Err(error) => Err(error),
        }
    }

    /// The batch that was already started in this conversation, on any node.
    async fn begun_before(&self, conversation: &ConversationId) -> Result<Option<Tick>, AgentError> {
        let store = &self.shared().store;
        if store.conversation(conversation).await?.is_none() {
            return Ok(None);
        }
        let history = store.history(conversation).await?;
        let begins =
            |message: &Message| message.message.role == Role::User && message.message.kind == Kind::Message;
        let Some(message) = history.messages.into_iter().find(begins) else { return Ok(None) };
        let saved = SavedOrigin::in_message(&message.message.content);
        let what = saved.map(|saved| TurnOrigin::from(saved).purpose).unwrap_or_default();
        let feed = self.feed(conversation);
        let from = feed.next();
        Ok(Some(Tick { receipt: Receipt { message, before: true, feed, from }, what }))
    }

    /// The first message of a turn. Contains the context if the prompt has no situation layer.
    pub(super) async fn turn_text(
        &self,
        config: &Config,
        scope: &TurnScope,
        own: &str,
    ) -> Result<String, AgentError> {
        if has_situation_layer(config) {
            return Ok(own.to_owned());
        }
        let shared = self.shared();
        let messages = messages_of(shared, scope).await?;
        let context = gather(shared, config, scope, scope.trust(shared), &messages).await?;
        let marker = shared.clock_and_rng.random().to_be_bytes();
        let now = formatted_time(&shared.clock_and_rng.now());
        Ok(format!("{own}\n\n{}", situation_text(&context, &now, marker)))
    }

    /// Waits for the end of a tick.
    pub async fn end_tick(&self, tick: &Tick) -> Result<TickOutcome, AgentError> {
        let Answer { turn, text, .. } = self.answer_to(&tick.receipt).await?;
        let (conversation, state) = (turn.conversation.clone(), turn.state);
        let error = (state != TurnState::Ended(Outcome::Done)).then(|| {
            let failure = turn.failure.as_ref().map(|failure| failure.detail.for_record().clone());
            let why = failure.unwrap_or_else(|| format!("the turn was {state}"));
            // Backticks need no escaping: people read this, and it is not part of a quotation.
            display_line(&why, MAX_REASON_CHARS)
        });
        let Purpose::Inbox { messages } = &tick.what else {
            return Ok(TickOutcome::Alone { conversation, turn: turn.id, state, error, text });
        };
        let store = &self.shared().store;
        let noted = match &error {
            Some(why) => {
                store.attempt_failed(messages, &turn.id, self.failure_source_of(&turn).await?, why).await?
            }
            // `finish` has marked the messages without a reply.
            None => {
                let mut batch = store.inbox_batch(messages).await?;
                batch.retain(|message| message.failed_turn.as_ref() == Some(&turn.id));
                batch
            }
        };
        let unanswered = noted.iter().filter(|_| error.is_none()).map(|message| message.id.clone()).collect();
        let aside = noted.into_iter().filter(|message| message.state == InboxState::SetAside);
        Ok(TickOutcome::Inbox {
            conversation,
            messages: messages.clone(),
            replies: self.replies_of(&turn.id).await?,
            set_aside: aside.map(|message| message.id).collect(),
            unanswered,
            turn: turn.id,
            state,
            error,
        })
    }

    /// The cause of a failed turn, on any node.
    async fn failure_source_of(&self, turn: &StoredTurn) -> Result<FailureSource, AgentError> {
        let history = self.shared().store.history(&turn.conversation).await?;
        let left: Vec<&NewMessage> = history.messages.iter().map(|message| &message.message).collect();
        let left = || left.iter().filter(|message| message.turn.as_ref() == Some(&turn.id));
        let asked = left().any(|message| message.kind == Kind::Sent);
        let notice = left().rfind(|message| message.kind == Kind::Notice);
        let words = notice.and_then(|notice| match notice.content.as_slice() {
            [ContentBlock::Text { text }] => Some(text.as_str()),
            _ => None,
        });
        Ok(failure_source(turn.state, asked, words))
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
