//! Asking the agent something and waiting for what comes of it, whichever node answers.

use std::sync::Arc;
use std::time::Duration;

use foreword_store::turns::Answer;

use crate::agent::{Agent, Receipt};
use crate::error::AgentError;
use crate::feed::Progress;
use crate::inbound::Inbound;

/// How soon to look again whether another node has answered.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Agent {
    /// Takes a message in and waits for what comes of it, whichever node answers.
    ///
    /// # Errors
    /// As [`Agent::send`], or if the store can't be read.
    pub async fn ask(&self, inbound: Inbound) -> Result<Answer, AgentError> {
        let receipt = self.send(inbound).await?;
        self.answer_to(&receipt).await
    }

    /// Waits for what comes of a message that was taken in, whichever node answers.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn answer_to(&self, receipt: &Receipt) -> Result<Answer, AgentError> {
        let store = &self.shared().store;
        let mut from = receipt.from;
        loop {
            let answer = store.answer_to(&receipt.message.message.id).await?;
            if let Some(answer) = answer.filter(|answer| answer.turn.ended_at.is_some()) {
                return Ok(answer);
            }
            from = self.next_end(receipt, from).await;
        }
    }

    /// Waits until a turn of the conversation has ended here, or so long that one may have ended elsewhere.
    async fn next_end(&self, receipt: &Receipt, mut from: u64) -> u64 {
        let ended = async {
            loop {
                let batch = receipt.feed.read(from).await;
                from = batch.next;
                let ends = |progress: &Arc<Progress>| {
                    matches!(
                        **progress,
                        Progress::TurnEnded { .. }
                            | Progress::TurnLeft { .. }
                            | Progress::TurnInterrupted { .. }
                    )
                };
                if batch.items.iter().any(ends) {
                    return;
                }
            }
        };
        // The end of a wait is no failure: the store is asked again.
        let _ = tokio::time::timeout(LOOK_AGAIN, ended).await;
        from
    }
}
