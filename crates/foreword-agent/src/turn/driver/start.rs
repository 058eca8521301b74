//! The start of a turn: creates its drafts and log, and records user, trust and prompt. The driver records them after
//! the model request is sent, to reduce latency.

use foreword_core::id::MessageId;
use foreword_core::message::{ContentBlock, Message, Provenance};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::{Journal, JournalStep};
use foreword_store::turns::StartedTurn;

use super::Driver;
use crate::error::AgentError;
use crate::shared::Shared;
use crate::turn::drafts::Drafts;
use crate::turn::prepare::Prepared;
use crate::turn::saved_state::Saved;
use crate::turn::scope::TurnScope;
use crate::turn::turn_log::TurnLog;

/// The start of a turn that is not recorded yet.
pub(super) struct Start {
    at: Timestamp,
    /// The state of the turn at its first start.
    saved: Option<Box<Saved>>,
}

impl Start {
    /// The first start of a turn.
    pub(super) fn new(saved: Saved) -> Self {
        Self { at: saved.at, saved: Some(Box::new(saved)) }
    }

    /// The start of a resumed turn.
    pub(super) fn resumed(at: Timestamp) -> Self {
        Self { at, saved: None }
    }
}

impl Driver {
    /// Records the start, unless it is already recorded.
    pub(super) async fn record_start(&mut self) -> Result<(), AgentError> {
        let Some(Start { at, saved }) = self.unrecorded_start.take() else { return Ok(()) };
        self.log.started(&self.prepared, at);
        match saved {
            Some(saved) => {
                let built = JournalStep::PromptBuilt(self.prepared.prompt_built());
                self.journal.record_concurrently(built, Some(*saved), at).await
            }
            None => Ok(()),
        }
    }
}

/// The event log of a turn.
pub(super) fn log(
    shared: &Shared,
    scope: &TurnScope,
    prepared: &Prepared,
    drafts: &Drafts,
    messages: Vec<MessageId>,
) -> TurnLog {
    let (turn, conversation) = (drafts.turn.clone(), scope.conversation.clone());
    let random = shared.clock_and_rng.random();
    TurnLog::new(shared.recorder.clone(), turn, conversation, prepared, messages, random)
}

pub(super) fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.message.id.clone()).collect()
}

/// The messages that the turn answers, from its journal.
pub(super) fn accepted(journal: &Journal) -> Vec<MessageId> {
    let messages = journal.steps().iter().filter_map(|step| match step {
        JournalStep::Accepted { messages } => Some(messages.clone()),
        _ => None,
    });
    messages.flatten().collect()
}

/// The drafts of a turn that sends `sent`.
pub(super) fn drafts(
    scope: &TurnScope,
    begun: &StartedTurn,
    prepared: &Prepared,
    sent: Vec<ContentBlock>,
) -> Drafts {
    let authors = || begun.messages.iter().map(|message| message.message.author.clone());
    let one =
        authors().next().flatten().filter(|first| authors().all(|author| author.as_ref() == Some(first)));
    let from = |provenance| begun.messages.iter().any(|message| message.message.provenance == provenance);
    let provenance = [Provenance::Outside, Provenance::User].into_iter().find(|worst| from(*worst));
    Drafts {
        conversation: scope.conversation.clone(),
        turn: begun.hold.turn.clone(),
        trust: prepared.trust.effective(),
        sent,
        has_context: prepared.context.is_some(),
        provenance: scope.origin.purpose.sent_provenance(provenance.unwrap_or(Provenance::Owner)),
        author: one,
        agent: prepared.built.occasion.agent.to_string(),
    }
}
