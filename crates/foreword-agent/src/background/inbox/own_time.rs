//! Autonomous turns: their conversation, and how one starts.

use std::sync::Arc;

use foreword_core::id::{ConversationId, TurnId};
use foreword_core::sender::OWN_TURN_PROMPT;
use foreword_core::taint::taint_of_history;
use foreword_core::turn_journal::TurnState;
use foreword_prompt::occasion::Channel;
use foreword_prompt::text::ContentHash;
use foreword_store::conversations::ConversationPage;
use foreword_store::error::StoreError;
use foreword_store::messages::IdempotencyKey;
use foreword_store::turns::StoredTurn;
use foreword_workspace::speaker::Speaker;

use super::tick::Tick;
use crate::agent::Agent;
use crate::conversation::inbound::{Attendance, Inbound, Purpose, SYSTEM, TurnOrigin};
use crate::error::AgentError;
use crate::turn::scope::TurnScope;

/// Id of the first autonomous conversation; later ones append a hyphen and a hash.
const AUTONOMOUS: &str = "autonomous";
/// How many conversations are read per query.
const PAGE_SIZE: u32 = 100;
/// How many hash characters an id contains.
const HASH_CHARS: usize = 16;

impl Agent {
    /// Starts an autonomous turn. `None` if one is running.
    pub(super) async fn begin_alone(&self) -> Result<Option<Tick>, AgentError> {
        let shared = self.shared();
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let owner = config.owner().map(|owner| Arc::clone(&owner.name));
        let conversation = self.own_conversation(owner.as_deref()).await?;
        let last = shared.store.turns(&conversation, None, 1).await?.into_iter().next();
        if last.as_ref().is_some_and(|turn| turn.state == TurnState::Running) {
            // Its node may be dead.
            self.recover_conversation(&conversation).await?;
            return Ok(None);
        }
        let occasion = TurnOrigin {
            speaker: Speaker {
                user: owner,
                channel: Some(Channel::new("system:tick")),
                situation: Some(SYSTEM.into()),
                ..Speaker::default()
            },
            purpose: Purpose::Alone,
            attendance: Attendance::Unattended,
        };
        let scope = TurnScope::at(shared, conversation.clone(), occasion.clone());
        let text = self.turn_text(&config, &scope, OWN_TURN_PROMPT).await?;
        // Of two nodes that tick at the same time, one starts the turn and the other waits for it.
        let after = last.map_or_else(|| "none".to_owned(), |turn| turn.id.to_string());
        let key = IdempotencyKey { scope: "tick".to_owned(), key: format!("{conversation}-after-{after}") };
        let inbound = Inbound { conversation: conversation.clone(), origin: occasion, text, key: Some(key) };
        match self.send(inbound).await {
            Ok(receipt) => Ok(Some(Tick { receipt, what: Purpose::Alone })),
            Err(AgentError::Store(StoreError::UsedBefore { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The conversation of autonomous turns: the last one, or a new one if the last one is tainted, because a taint
    /// never goes away. The new id is derived from the old one, so that concurrent nodes choose the same.
    async fn own_conversation(&self, owner: Option<&str>) -> Result<ConversationId, AgentError> {
        let store = &self.shared().store;
        let mut conversation = self.last_own(owner).await?;
        while store.conversation(&conversation).await?.is_some() {
            let last = store.turns(&conversation, None, 1).await?.into_iter().next();
            let running = last.as_ref().is_some_and(|turn| turn.state == TurnState::Running);
            let history = store.history(&conversation).await?;
            if running || !taint_of_history(&history.messages, owner).is_tainted() {
                break;
            }
            conversation = successor(&conversation, last.as_ref())?;
        }
        Ok(conversation)
    }

    /// The most recent autonomous conversation.
    async fn last_own(&self, owner: Option<&str>) -> Result<ConversationId, AgentError> {
        let page = ConversationPage::first(PAGE_SIZE);
        let mut next = Some(owner.map_or(page.clone(), |owner| page.of_user(owner)));
        while let Some(page) = next {
            let listed = self.shared().store.conversations(page.clone()).await?;
            if let Some(last) = listed.iter().find(|listed| is_own(&listed.id)) {
                return Ok(last.id.clone());
            }
            next = page.after(&listed);
        }
        Ok(ConversationId::new(AUTONOMOUS)?)
    }
}

/// Whether this is an autonomous conversation.
pub(crate) fn is_own(id: &ConversationId) -> bool {
    id.as_str().strip_prefix(AUTONOMOUS).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The successor of a conversation whose last turn was `last`.
fn successor(conversation: &ConversationId, last: Option<&StoredTurn>) -> Result<ConversationId, AgentError> {
    let last = last.map_or("none", |turn| TurnId::as_str(&turn.id));
    let hash = ContentHash::of(&format!("{conversation} {last}")).to_string();
    let short: String = hash.chars().skip("blake3:".len()).take(HASH_CHARS).collect();
    Ok(ConversationId::new(format!("{AUTONOMOUS}-{short}"))?)
}
