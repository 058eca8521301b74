//! Reports failures of the store where reporting does not depend on it: on standard error, in the log, and as events
//! once they can be stored again. Probes a failing store until writes succeed.

use std::sync::Arc;
use std::time::Duration;

use foreword_agent::clock_and_rng::ClockAndRng;
use foreword_core::event::{Event, EventType, Level};
use foreword_core::id::NodeId;
use foreword_observe::recorder::Recorder;
use foreword_store::health::{HealthChange, StoreFailure};
use foreword_store::store::Store;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::AbortHandle;

use crate::failure::Failure;
use crate::output::Output;

const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// Watches the store's health until the task is aborted. Must be called within a runtime.
pub(crate) fn start(
    store: &Store,
    node: &NodeId,
    recorder: &Recorder,
    clock_and_rng: &Arc<dyn ClockAndRng>,
) -> AbortHandle {
    let watch = Watch {
        store: store.clone(),
        node: node.clone(),
        recorder: recorder.clone(),
        clock_and_rng: Arc::clone(clock_and_rng),
    };
    tokio::spawn(watch.run()).abort_handle()
}

struct Watch {
    store: Store,
    node: NodeId,
    recorder: Recorder,
    clock_and_rng: Arc<dyn ClockAndRng>,
}

impl Watch {
    async fn run(self) {
        let mut changes = self.store.health().changes();
        loop {
            let failing = self.store.health().failures().iter().any(|failure| !failure.fault.is_lasting());
            let change = tokio::select! {
                change = changes.recv() => change,
                () = tokio::time::sleep(PROBE_INTERVAL), if failing => {
                    // The result changes the health, which the loop reads next.
                    let _ = self.store.probe(&self.node, self.clock_and_rng.timestamp()).await;
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
            ..Event::new(EventType::StoreFailed, self.clock_and_rng.timestamp())
        });
        Output::new(false).failure(&Failure::from(failure.error.clone()));
    }

    fn recovered(&self) {
        self.recorder.record(Event::new(EventType::StoreRecovered, self.clock_and_rng.timestamp()));
        Output::new(false).print_stderr("the store accepts writes again");
    }
}
