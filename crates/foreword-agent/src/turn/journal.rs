//! Records the steps of a turn in order. The caller waits for a step that must be durable before the turn continues.
//! Other steps are written concurrently.

use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::JournalStep;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_store::turns::{NewStep, TurnLease};
use tokio::task::JoinHandle;

use crate::error::AgentError;
use crate::turn::saved_state::Saved;

/// The journal of a running turn.
pub(crate) struct JournalWriter {
    store: Store,
    hold: TurnLease,
    next: u64,
    pending: Option<JoinHandle<Result<(), StoreError>>>,
}

impl JournalWriter {
    pub(crate) fn new(store: Store, hold: TurnLease, next: u64) -> Self {
        Self { store, hold, next, pending: None }
    }

    pub(crate) fn hold(&self) -> &TurnLease {
        &self.hold
    }

    /// Records a step. On return it is durable.
    pub(crate) async fn record(
        &mut self,
        step: JournalStep,
        saved: Option<Saved>,
        at: Timestamp,
    ) -> Result<(), AgentError> {
        self.record_concurrently(step, saved, at).await?;
        self.flush().await
    }

    /// Records a step concurrently, after all earlier steps are durable.
    pub(crate) async fn record_concurrently(
        &mut self,
        step: JournalStep,
        saved: Option<Saved>,
        at: Timestamp,
    ) -> Result<(), AgentError> {
        self.flush().await?;
        let (store, hold) = (self.store.clone(), self.hold.clone());
        let number = self.next;
        self.next += 1;
        self.pending = Some(tokio::spawn(async move {
            // Serialise in the task as well, because it takes time.
            let saved = saved.and_then(|saved| saved.to_json());
            store.record_step(&hold, NewStep { number, step, saved, at }).await
        }));
        Ok(())
    }

    /// Waits until all recorded steps are durable.
    pub(crate) async fn flush(&mut self) -> Result<(), AgentError> {
        match self.pending.take() {
            Some(writing) => match writing.await {
                Ok(written) => Ok(written?),
                Err(_) => Err(AgentError::Closed),
            },
            None => Ok(()),
        }
    }
}
