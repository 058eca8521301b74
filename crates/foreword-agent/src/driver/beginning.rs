//! What is put on record when a turn begins: who it is for, on which prompt it runs. Nothing depends on it before the answer
//! is there, so it is done once the request is on its way.

use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::Step;

use super::Driver;
use crate::error::AgentError;
use crate::saved::Saved;

/// A beginning that is not on record yet.
pub(super) struct Beginning {
    at: Timestamp,
    /// The turn as it was then, if it is the first time that it begins.
    saved: Option<Box<Saved>>,
}

impl Beginning {
    /// Of a turn that has begun.
    pub(super) fn anew(saved: Saved) -> Self {
        Self { at: saved.at, saved: Some(Box::new(saved)) }
    }

    /// Of a turn that goes on.
    pub(super) fn again(at: Timestamp) -> Self {
        Self { at, saved: None }
    }
}

impl Driver {
    /// Puts the beginning on record, if that is still to be done.
    pub(super) async fn note_beginning(&mut self) -> Result<(), AgentError> {
        let Some(Beginning { at, saved }) = self.unnoted.take() else { return Ok(()) };
        self.log.started(&self.prepared, at);
        match saved {
            Some(saved) => {
                let built = Step::PromptBuilt(self.prepared.prompt_built());
                self.journal.record_meanwhile(built, Some(*saved), at).await
            }
            None => Ok(()),
        }
    }
}
