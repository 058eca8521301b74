//! What the answers of models have taught about the estimates of their tokens. Kept in memory, and learned again from the
//! log when a process starts: the log has both numbers of every call.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foreword_core::event::EventType;
use foreword_core::message::{ContentBlock, Usage};
use foreword_core::model::ModelRequest;
use foreword_core::models::{Calibration, Factor, ModelFacts, ModelId};
use foreword_core::tools::ParametersSchema;
use foreword_store::events::{EventFilter, EventPage};
use foreword_workspace::config::Config;

use crate::error::AgentError;
use crate::shared::Shared;

/// How many calls of the past are looked at.
const RECALLED: u64 = 200;

/// What has been learned, by model.
#[derive(Debug, Default)]
pub(crate) struct Calibrations(Mutex<BTreeMap<ModelId, Learned>>);

#[derive(Debug)]
struct Learned {
    calibration: Calibration,
    /// The factor that prompts are made with.
    used: Option<Factor>,
}

impl Calibrations {
    /// What estimates for `model` are multiplied by, if anything has been learned.
    pub(crate) fn factor(&self, config: &Config, model: &str) -> Option<Factor> {
        let facts = config.models.resolve(model)?;
        let mut known = self.known();
        let Learned { calibration, used } = known.get_mut(&facts.id)?;
        if !calibration.has_learned() {
            return None;
        }
        let factor = calibration.factor();
        Some(*used.insert(used.map_or(factor.to_a_twentieth(), |used| factor.to_a_twentieth_from(used))))
    }

    /// Takes in what a call was estimated at, and what its provider counted.
    pub(crate) fn learn(&self, facts: &ModelFacts, estimated: u64, usage: Usage) {
        let reported = usage.input + usage.cache_read + usage.cache_write;
        let mut known = self.known();
        let learned = known
            .entry(facts.id.clone())
            .or_insert_with(|| Learned { calibration: Calibration::of(facts), used: None });
        learned.calibration.learn(estimated, reported);
    }

    /// Learns from the log what other processes have seen.
    pub(crate) async fn recall(&self, shared: &Shared) -> Result<(), AgentError> {
        let calls = EventFilter { event_type: Some(EventType::ApiCall), ..EventFilter::default() };
        let mut events = shared.store.events(&calls, &EventPage::newest(RECALLED)).await?;
        events.reverse();
        let config = &shared.workspace.snapshot().config;
        for event in events {
            let metadata = event.event.metadata.unwrap_or_default();
            let facts = metadata["model"].as_str().and_then(|model| config.models.resolve(model));
            if let (Some(facts), Some(estimated), Some(input)) =
                (facts, metadata["estimatedTokens"].as_u64(), event.event.tokens_in)
            {
                self.learn(&facts, estimated, Usage { input, ..Usage::default() });
            }
        }
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<ModelId, Learned>> {
        // What is learned is a guess in any case.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a request weighs by our own count. `None` where that is exact: there is nothing to learn.
pub(crate) fn estimate(facts: &ModelFacts, request: &ModelRequest) -> Option<u64> {
    if facts.tokenizer.is_exact() {
        return None;
    }
    let counter = facts.tokenizer.get();
    let system: usize = request.system.iter().map(|block| block.tokens).sum();
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| {
            counter.count(&tool.name)
                + counter.count(&tool.description)
                + counter.count(&serde_json::to_string(&ParametersSchema::of(tool)).unwrap_or_default())
        })
        .sum();
    let said = request.messages.iter().flat_map(|message| &message.content);
    let messages: usize = said
        .map(|block| match block {
            ContentBlock::Text { text } => counter.count(text),
            ContentBlock::ToolCall { name, input, .. } => {
                counter.count(name) + counter.count(&input.to_string())
            }
            ContentBlock::ToolResult { content, .. } => counter.count(content),
            ContentBlock::Other(value) => counter.count(&value.to_string()),
        })
        .sum();
    Some((system + tools + messages) as u64)
}
