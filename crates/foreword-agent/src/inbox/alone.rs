//! Turns of the agent's own: where they happen, and how one is begun.

use std::sync::Arc;

use foreword_core::id::{ConversationId, TurnId};
use foreword_core::sender::OWN_TURN;
use foreword_core::taint::taint_of_history;
use foreword_core::turn_journal::TurnState;
use foreword_prompt::occasion::Channel;
use foreword_prompt::text::ContentHash;
use foreword_store::conversations::ConversationPage;
use foreword_store::error::StoreError;
use foreword_store::messages::IdempotencyKey;
use foreword_store::turns::Turn;

use super::tick::Tick;
use crate::agent::Agent;
use crate::error::AgentError;
use crate::inbound::{Inbound, Occasion, Purpose, SYSTEM, Watched};
use crate::prepare::Placed;

/// The conversation of the agent's own turns; those that follow it have more behind a hyphen.
const AUTONOMOUS: &str = "autonomous";
/// How many conversations are looked through for it at once.
const LOOKED_THROUGH: u32 = 100;
/// How many characters of a hash tell one conversation from another.
const HASH_CHARS: usize = 16;

impl Agent {
    /// Begins a turn of the agent's own. `None` if one is under way.
    pub(super) async fn begin_alone(&self) -> Result<Option<Tick>, AgentError> {
        let shared = self.shared();
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let owner = config.owner().map(|owner| Arc::clone(&owner.name));
        let conversation = self.own_conversation(owner.as_deref()).await?;
        let last = shared.store.turns(&conversation, None, 1).await?.into_iter().next();
        if last.as_ref().is_some_and(|turn| turn.state == TurnState::Running) {
            // Whoever ran it may be gone.
            self.recover_conversation(&conversation).await?;
            return Ok(None);
        }
        let occasion = Occasion {
            user: owner,
            channel: Some(Channel::new("system:tick")),
            situation: Some(SYSTEM.into()),
            purpose: Purpose::Alone,
            watched: Watched::ByNobody,
            ..Occasion::default()
        };
        let placed = Placed::at(shared, conversation.clone(), occasion.clone());
        let text = self.words(&config, &placed, OWN_TURN).await?;
        // Of two nodes that tick at the same moment one begins; the other waits for the same turn.
        let after = last.map_or_else(|| "none".to_owned(), |turn| turn.id.to_string());
        let key = IdempotencyKey { scope: "tick".to_owned(), key: format!("{conversation}-after-{after}") };
        let inbound = Inbound { conversation: conversation.clone(), occasion, text, key: Some(key) };
        match self.send(inbound).await {
            Ok(receipt) => Ok(Some(Tick { receipt, what: Purpose::Alone })),
            Err(AgentError::Store(StoreError::UsedBefore { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The conversation of the agent's own turns: the last one, unless it has come to hold text from outside. Then it goes
    /// on in a new one, for otherwise no later turn would ever be clean again. The new one's name follows from the old
    /// one, so that all who look at the same moment go on in the same.
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

    /// The conversation in which the last turn of the agent's own was, however many others came after it.
    async fn last_own(&self, owner: Option<&str>) -> Result<ConversationId, AgentError> {
        let page = ConversationPage::first(LOOKED_THROUGH);
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

/// Whether a conversation is one of the agent's own time.
pub(crate) fn is_own(id: &ConversationId) -> bool {
    id.as_str().strip_prefix(AUTONOMOUS).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The conversation that follows one whose last turn was `last`.
fn successor(conversation: &ConversationId, last: Option<&Turn>) -> Result<ConversationId, AgentError> {
    let last = last.map_or("none", |turn| TurnId::as_str(&turn.id));
    let hash = ContentHash::of(&format!("{conversation} {last}")).to_string();
    let short: String = hash.chars().skip("blake3:".len()).take(HASH_CHARS).collect();
    Ok(ConversationId::new(format!("{AUTONOMOUS}-{short}"))?)
}
