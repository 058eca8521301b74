//! Records the steps of a turn in order. A step that has to last before the next thing is begun is waited for; one that
//! does not is written while the model already answers.

use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::Step;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_store::turns::{Hold, NewStep};
use tokio::task::JoinHandle;

use crate::error::AgentError;
use crate::saved::Saved;

/// The journal of a running turn.
pub(crate) struct JournalWriter {
    store: Store,
    hold: Hold,
    next: u64,
    under_way: Option<JoinHandle<Result<(), StoreError>>>,
}

impl JournalWriter {
    pub(crate) fn new(store: Store, hold: Hold, next: u64) -> Self {
        Self { store, hold, next, under_way: None }
    }

    pub(crate) fn hold(&self) -> &Hold {
        &self.hold
    }

    /// Records a step; when this returns, it lasts.
    pub(crate) async fn record(
        &mut self,
        step: Step,
        saved: Option<Saved>,
        at: Timestamp,
    ) -> Result<(), AgentError> {
        self.record_meanwhile(step, saved, at).await?;
        self.settle().await
    }

    /// Records a step while the caller goes on. Those before it last already.
    pub(crate) async fn record_meanwhile(
        &mut self,
        step: Step,
        saved: Option<Saved>,
        at: Timestamp,
    ) -> Result<(), AgentError> {
        self.settle().await?;
        let (store, hold) = (self.store.clone(), self.hold.clone());
        let number = self.next;
        self.next += 1;
        self.under_way = Some(tokio::spawn(async move {
            // Putting it into words takes a while too, which the caller need not wait for.
            let saved = saved.and_then(|saved| saved.to_json());
            store.record_step(&hold, NewStep { number, step, saved, at }).await
        }));
        Ok(())
    }

    /// Waits until everything recorded lasts.
    pub(crate) async fn settle(&mut self) -> Result<(), AgentError> {
        match self.under_way.take() {
            Some(writing) => match writing.await {
                Ok(written) => Ok(written?),
                Err(_) => Err(AgentError::Closed),
            },
            None => Ok(()),
        }
    }
}
