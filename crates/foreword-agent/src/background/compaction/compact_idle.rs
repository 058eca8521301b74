//! Compacts long conversations in the background, one after another. A failure does not stop the others.

use foreword_core::compaction::CompactionTrigger;
use foreword_core::id::ConversationId;
use foreword_core::message::{Kind, Message, Role};
use foreword_store::conversations::{Conversation, ConversationPage};
use foreword_store::messages::MessagePage;

use super::{CompactionResult, measure, outside_turn};
use crate::agent::Agent;
use crate::error::AgentError;
use crate::shared::Shared;
use crate::turn::recovery::origin_of;
use crate::turn::scope::TurnScope;

/// How many conversations one call compacts.
const MAX_CONVERSATIONS: usize = 50;
/// How many conversations one call examines, most recently active first.
const MAX_EXAMINED: usize = 2_000;
/// How many of the newest messages are searched for the last user message. No turn has more messages.
const MAX_MESSAGES: u32 = 500;
/// How many conversations are read per query.
const PAGE_SIZE: u32 = 100;

/// The result for one long conversation.
#[derive(Debug)]
pub struct CompactedConversation {
    pub conversation: ConversationId,
    /// The compaction, or the error; on an error the conversation is unchanged.
    pub outcome: Result<CompactionResult, AgentError>,
}

impl Agent {
    /// Compacts the idle conversations that exceed `agent.compaction.night_share` of the context window, each at the
    /// trust and on the occasion of its last message. Skips busy conversations. Compacts at most 50 per call.
    ///
    /// # Errors
    /// If the conversations can't be listed. Errors of single conversations are in the result.
    pub async fn compact_long(&self) -> Result<Vec<CompactedConversation>, AgentError> {
        let shared = self.shared();
        let (mut done, mut looked_at) = (Vec::new(), 0);
        let mut page = Some(ConversationPage::first(PAGE_SIZE));
        while let Some(next) = page.filter(|_| looked_at < MAX_EXAMINED) {
            let listed = shared.store.conversations(next.clone()).await?;
            looked_at += listed.len();
            for conversation in &listed {
                if done.len() == MAX_CONVERSATIONS {
                    return Ok(done);
                }
                done.extend(self.compact_if_long(conversation).await);
            }
            page = next.after(&listed);
        }
        Ok(done)
    }

    async fn compact_if_long(&self, conversation: &Conversation) -> Option<CompactedConversation> {
        let id = conversation.id.clone();
        let outcome = match too_long(self.shared(), conversation).await {
            Ok(None) => return None,
            Ok(Some(scope)) => match self.compact_at(scope.clone()).await {
                // A message has arrived in the meantime, here or on another node.
                Err(AgentError::Busy(_) | AgentError::CompactionCancelled(_)) => return None,
                Err(error) => {
                    outside_turn::log_failure(self.shared(), &scope, &error);
                    Err(error)
                }
                done => done,
            },
            Err(error) => Err(error),
        };
        Some(CompactedConversation { conversation: id, outcome })
    }
}

/// The scope for compacting a conversation, if it is too long and no message is pending.
async fn too_long(shared: &Shared, conversation: &Conversation) -> Result<Option<TurnScope>, AgentError> {
    let (store, id) = (&shared.store, &conversation.id);
    if !store.pending(id).await?.is_empty() {
        return Ok(None);
    }
    let newest = store.all_messages(id, MessagePage::newest(MAX_MESSAGES)).await?;
    let Some(last) = newest.iter().find(is_user_message) else { return Ok(None) };
    let scope = TurnScope {
        conversation: conversation.id.clone(),
        origin: origin_of(Some(conversation), last),
        accepted_at: last.message.trust,
    };
    Ok(measure::due(shared, &scope, CompactionTrigger::Night).await?.map(|_| scope))
}

/// Whether this is a user message.
fn is_user_message(message: &&Message) -> bool {
    message.message.kind == Kind::Message && message.message.role == Role::User
}
