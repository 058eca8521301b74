//! Makes failures of the store visible where they don't depend on it: on standard error, in the log, as events once they
//! can be stored again. Tries a failing store until it can be written.

use std::sync::Arc;
use std::time::Duration;

use foreword_agent::surroundings::Surroundings;
use foreword_core::event::{Event, EventType, Level};
use foreword_core::id::NodeId;
use foreword_observe::recorder::Recorder;
use foreword_store::health::{Failure as StoreFailure, HealthChange};
use foreword_store::store::Store;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::AbortHandle;

use crate::failure::Failure;
use crate::output::Output;

/// How often a failing store is tried.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// Follows the store's health until the task is ended. Needs a runtime around it.
pub(crate) fn start(
    store: &Store,
    node: &NodeId,
    recorder: &Recorder,
    surroundings: &Arc<dyn Surroundings>,
) -> AbortHandle {
    let watch = Watch {
        store: store.clone(),
        node: node.clone(),
        recorder: recorder.clone(),
        surroundings: Arc::clone(surroundings),
    };
    tokio::spawn(watch.run()).abort_handle()
}

struct Watch {
    store: Store,
    node: NodeId,
    recorder: Recorder,
    surroundings: Arc<dyn Surroundings>,
}

impl Watch {
    async fn run(self) {
        let mut changes = self.store.health().changes();
        loop {
            let failing = self.store.health().failures().iter().any(|failure| !failure.fault.is_lasting());
            let change = tokio::select! {
                change = changes.recv() => change,
                () = tokio::time::sleep(PROBE_INTERVAL), if failing => {
                    // Its result changes the health, which is heard of next.
                    let _ = self.store.probe(&self.node, self.surroundings.timestamp()).await;
                    continue;
                }
            };
            match change {
                Ok(HealthChange::Failed(failure)) => self.failed(&failure),
                Ok(HealthChange::Recovered) => self.recovered(),
                Err(RecvError::Lagged(_)) => {
                    self.store.health().failures().iter().for_each(|one| self.failed(one))
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn failed(&self, failure: &StoreFailure) {
        self.recorder.record(Event {
            level: Level::Error,
            error: Some(failure.error.to_string()),
            metadata: Some(json!({ "fault": failure.fault.as_str(), "help": failure.error.help() })),
            ..Event::new(EventType::StoreFailed, self.surroundings.timestamp())
        });
        Output::new(false).failure(&Failure::from(failure.error.clone()));
    }

    fn recovered(&self) {
        self.recorder.record(Event::new(EventType::StoreRecovered, self.surroundings.timestamp()));
        Output::new(false).say("the store can be written again");
    }
}
