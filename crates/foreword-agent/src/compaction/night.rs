//! Conversations that have grown long are made shorter while nobody waits: one after another, so many at a time, and one
//! that fails stops no other.

use foreword_core::compaction::Moment;
use foreword_core::id::ConversationId;
use foreword_core::message::{Kind, Message, Role};
use foreword_store::conversations::{Conversation, ConversationPage};
use foreword_store::messages::MessagePage;

use super::{Shortened, measure, own_turn};
use crate::agent::Agent;
use crate::error::AgentError;
use crate::prepare::Placed;
use crate::recovery::occasion_of;
use crate::shared::Shared;

/// How many conversations are made shorter in one go.
const MOST: usize = 50;
/// How many are looked at for that, those with the latest words first.
const LOOKED_AT: usize = 2_000;
/// How many of its newest messages are searched for what somebody said last. A turn has no more answers than that.
const NEWEST: u32 = 500;
/// How many are read at once.
const PAGE: u32 = 100;

/// What became of a conversation that was too long.
#[derive(Debug)]
pub struct Compacted {
    /// Which.
    pub conversation: ConversationId,
    /// What its summary stands for and what it took, or why there is none: then nothing has changed.
    pub outcome: Result<Shortened, AgentError>,
}

impl Agent {
    /// Replaces the history of every conversation by its summary that weighs more than `agent.compaction.night_share` allows
    /// and in which nothing happens; each at the trust and on the occasion of its last message. Busy ones are left alone.
    /// At most 50 in one go: what is left is for the next time.
    ///
    /// # Errors
    /// If the conversations can't be listed. What becomes of each is in the answer.
    pub async fn compact_long(&self) -> Result<Vec<Compacted>, AgentError> {
        let shared = self.shared();
        let (mut done, mut looked_at) = (Vec::new(), 0);
        let mut page = Some(ConversationPage::first(PAGE));
        while let Some(next) = page.filter(|_| looked_at < LOOKED_AT) {
            let listed = shared.store.conversations(next.clone()).await?;
            looked_at += listed.len();
            for conversation in &listed {
                if done.len() == MOST {
                    return Ok(done);
                }
                done.extend(self.compact_if_long(conversation).await);
            }
            page = next.after(&listed);
        }
        Ok(done)
    }

    async fn compact_if_long(&self, conversation: &Conversation) -> Option<Compacted> {
        let id = conversation.id.clone();
        let outcome = match too_long(self.shared(), conversation).await {
            Ok(None) => return None,
            Ok(Some(placed)) => match self.compact_at(placed.clone()).await {
                // Somebody has spoken in the meantime, here or on another node.
                Err(AgentError::Busy(_) | AgentError::CalledOff(_)) => return None,
                Err(error) => {
                    own_turn::log_failure(self.shared(), &placed, &error);
                    Err(error)
                }
                done => done,
            },
            Err(error) => Err(error),
        };
        Some(Compacted { conversation: id, outcome })
    }
}

/// Where to make a conversation shorter, if it is too long and nobody waits in it.
async fn too_long(shared: &Shared, conversation: &Conversation) -> Result<Option<Placed>, AgentError> {
    let (store, id) = (&shared.store, &conversation.id);
    if !store.pending(id).await?.is_empty() {
        return Ok(None);
    }
    let newest = store.all_messages(id, MessagePage::newest(NEWEST)).await?;
    let Some(last) = newest.iter().find(said) else { return Ok(None) };
    let placed = Placed {
        conversation: conversation.id.clone(),
        occasion: occasion_of(Some(conversation), last),
        accepted_at: last.message.trust,
    };
    Ok(measure::due(shared, &placed, Moment::Night).await?.map(|_| placed))
}

/// Whether somebody said it.
fn said(message: &&Message) -> bool {
    message.message.kind == Kind::Message && message.message.role == Role::User
}
