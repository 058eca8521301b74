//! Calibration of token estimates by the counts that providers report. Kept in memory, and restored from the log at
//! startup: the log has the estimate and the reported count of every call.

use std::collections::BTreeMap;

use foreword_core::event::EventType;
use foreword_core::message::{ContentBlock, Usage};
use foreword_core::model::ModelRequest;
use foreword_core::models::{Calibration, Factor, ModelFacts, ModelId};
use foreword_core::tools::ParametersSchema;
use foreword_store::events::{EventFilter, EventPage};
use foreword_workspace::config::Config;
use parking_lot::Mutex;

use crate::error::AgentError;
use crate::shared::Shared;

/// How many logged calls are read at startup.
const MAX_CALLS: u64 = 200;

/// Calibrations by model.
#[derive(Debug, Default)]
pub(crate) struct Calibrations(Mutex<BTreeMap<ModelId, Learned>>);

#[derive(Debug)]
struct Learned {
    calibration: Calibration,
    /// The factor that prompts currently use.
    used: Option<Factor>,
}

impl Calibrations {
    /// The factor for estimates of `model`, if any call was observed.
    pub(crate) fn factor(&self, config: &Config, model: &str) -> Option<Factor> {
        let facts = config.models.resolve(model)?;
        let mut known = self.0.lock();
        let Learned { calibration, used } = known.get_mut(&facts.id)?;
        if !calibration.has_learned() {
            return None;
        }
        let factor = calibration.factor();
        Some(*used.insert(used.map_or(factor.to_a_twentieth(), |used| factor.to_a_twentieth_from(used))))
    }

    /// Adds the estimated and the reported tokens of a call.
    pub(crate) fn learn(&self, facts: &ModelFacts, estimated: u64, usage: Usage) {
        let reported = usage.input + usage.cache_read + usage.cache_write;
        let mut known = self.0.lock();
        let learned = known
            .entry(facts.id.clone())
            .or_insert_with(|| Learned { calibration: Calibration::of(facts), used: None });
        learned.calibration.learn(estimated, reported);
    }

    /// Restores the calibrations from the log, which has the calls of all processes.
    pub(crate) async fn recall(&self, shared: &Shared) -> Result<(), AgentError> {
        let calls = EventFilter { event_type: Some(EventType::ApiCall), ..EventFilter::default() };
        let mut events = shared.store.events(&calls, &EventPage::newest(MAX_CALLS)).await?;
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
}

/// The estimated tokens of a request. `None` if the tokenizer is exact and needs no calibration.
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
