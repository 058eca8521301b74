//! An agent as the program builds it, in its own workspace.

use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use foreword_agent::agent::{Agent, Receipt};
use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_agent::conversation::feed::Progress;
use foreword_agent::conversation::inbound::{Inbound, TurnOrigin};
use foreword_agent::error::AgentError;
use foreword_agent::memory::Memory;
use foreword_agent::models::Models;
use foreword_agent::shared::{Parts, into_store};
use foreword_agent::tools::{self, ToolSettings};
use foreword_core::id::ConversationId;
use foreword_core::model::{Model, ModelError};
use foreword_core::models::ModelId;
use foreword_core::provider::WireDialect;
use foreword_core::turn_journal::Outcome;
use foreword_observe::recorder::Recorder;
use foreword_observe::redact::{RedactionRules, Redactor};
use foreword_providers::HttpModel;
use foreword_store::events::{EventQueue, QueueConfig};
use foreword_store::location::Location;
use foreword_store::store::Store;
use foreword_workspace::config::Config;

use super::loopback::Loopback;
use crate::Outcome as Done;
use crate::sample::{Sample, Scale};
use crate::sample_workspace::open;

/// A provider that always returns the same model.
struct OneModel(Arc<HttpModel>);

impl Models for OneModel {
    fn find(&self, _: &ModelId, _: &Config) -> Result<Arc<dyn Model>, ModelError> {
        Ok(Arc::clone(&self.0) as Arc<dyn Model>)
    }
}

/// An agent and its environment.
#[derive(Clone)]
pub(crate) struct Fixture {
    pub(crate) agent: Agent,
    events: EventQueue,
    store: Store,
    /// Dropped with the last clone.
    _sample: Arc<Sample>,
}

impl Fixture {
    pub(crate) async fn open(loopback: &Loopback, dialect: WireDialect) -> Result<Self, Box<dyn Error>> {
        let sample = Sample::write(Scale::BASE)?;
        let model = match dialect {
            WireDialect::Anthropic => "anthropic/claude-sonnet-4-5",
            WireDialect::OpenAi => "openai/gpt-5-mini",
        };
        let config = format!(
            "agent: {{ name: Assistant, blueprint: gateway, model: {model} }}\n\
             users:\n  - {{ name: alice, trust: full, match: [\"terminal:default\"] }}\n"
        );
        std::fs::write(sample.path().join("foreword.yaml"), config)?;
        let workspace = Arc::new(open(&sample)?);
        let clock_and_rng: Arc<dyn ClockAndRng> = Arc::new(Machine);
        let location = Location::file(sample.path().join(".foreword/foreword.db"));
        let store = Store::open(&location, clock_and_rng.timestamp()).await?;
        let clock = Arc::clone(&clock_and_rng);
        let clock: Arc<dyn Fn() -> _ + Send + Sync> = Arc::new(move || clock.timestamp());
        let events = EventQueue::start(store.clone(), Arc::clone(&clock), QueueConfig::default());
        let model = HttpModel::new(loopback.provider(dialect), None, clock)?;
        let memory = Memory::new(store.clone());
        let parts = Parts {
            workspace,
            store: store.clone(),
            recorder: Recorder::to_sink(
                Redactor::new(&RedactionRules::default(), [7; 16])?,
                into_store(&events),
            ),
            events: events.clone(),
            models: Arc::new(OneModel(Arc::new(model))),
            tools: [tools::builtin(ToolSettings::default()), tools::memory(memory)].concat(),
            outside: None,
            node: clock_and_rng.id("node")?,
            clock_and_rng,
        };
        Ok(Self { agent: Agent::new(parts), events, store, _sample: Arc::new(sample) })
    }

    /// Posts a message. Returns the receipt and the time at which it was accepted.
    pub(crate) async fn say(
        &self,
        conversation: &str,
        text: String,
    ) -> Result<(Receipt, Instant), AgentError> {
        let inbound = Inbound {
            conversation: ConversationId::new(conversation)?,
            origin: TurnOrigin::default(),
            text,
            key: None,
        };
        let (receipt, accepted) = last_poll(self.agent.send(inbound)).await;
        Ok((receipt?, accepted))
    }

    /// Shuts down. Fails if an event was lost.
    pub(crate) async fn close(self) -> Done {
        self.agent.shut_down().await;
        self.events.close().await;
        let dropped = self.events.dropped();
        self.store.close().await?;
        if dropped > 0 {
            return Err(format!("{dropped} events were dropped").into());
        }
        Ok(())
    }
}

/// Waits until the turn of `receipt` has ended; calls `piece` for every chunk of its text.
pub(crate) async fn follow(receipt: &Receipt, mut piece: impl FnMut()) -> Done {
    let mut next = receipt.from;
    loop {
        let batch = receipt.feed.read(next).await;
        next = batch.next;
        for item in batch.items {
            match &*item {
                Progress::Text(_) => piece(),
                Progress::TurnEnded { outcome: Outcome::Done, .. } => return Ok(()),
                Progress::TurnEnded { failure, .. } => {
                    return Err(format!("a turn failed: {failure:?}").into());
                }
                _ => {}
            }
        }
    }
}

/// The output of a future and the time of its last poll: when the last event it awaited had arrived. The message is
/// committed by then, and nothing has been done with it.
async fn last_poll<F: Future>(future: F) -> (F::Output, Instant) {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        let polled = Instant::now();
        future.as_mut().poll(context).map(|output| (output, polled))
    })
    .await
}
