//! How much there is of a conversation, and whether that is too much.

use foreword_core::compaction::{Measured, Moment, counted, weight};
use foreword_core::history::History;
use foreword_core::message::{Kind, Message};
use foreword_prompt::tokens::Counter;
use foreword_prompt::trust::Trust;
use foreword_workspace::request::Request;

use crate::agent::request;
use crate::error::AgentError;
use crate::prepare::Placed;
use crate::shared::Shared;
use crate::whose;

/// What there is of the conversation at `placed`, if that is too much at this moment. Mostly one number has to be read to
/// know that it is not.
pub(super) async fn due(
    shared: &Shared,
    placed: &Placed,
    moment: Moment,
) -> Result<Option<Measured>, AgentError> {
    // Another agent may have another model, and other rules.
    let view = whose::view(shared, placed, None).await?;
    let config = &view.snapshot.config;
    let asked = Request { agent: view.agent.clone(), ..request(shared, &placed.occasion) };
    let model = asked.identify(config).occasion.model;
    let facts = config.models.resolve(&model);
    let window = facts.as_ref().and_then(|facts| facts.context_window);
    let Some(limit) = config.compaction.limit(moment, window) else { return Ok(None) };
    let reported = shared.store.weight(&placed.conversation).await?;
    if reported != 0 && reported <= limit as u64 {
        return Ok(None);
    }
    let history = shared.store.history(&placed.conversation).await?;
    let counter = facts.map_or(Counter::default(), |facts| facts.tokenizer);
    let measured = Measured { window, ..measured(&history, placed.trust(shared), counter) };
    Ok(config.compaction.is_due(moment, &measured).then_some(measured))
}

fn measured(history: &History, trust: Trust, counter: Counter) -> Measured {
    let count = |text: &str| counter.get().count(text);
    let all: Vec<&Message> = history.messages.iter().collect();
    let weight = match weight(history) {
        0 => counted(&all, count),
        reported => reported,
    };
    let covered_to = history.cut(trust, None).unwrap_or(0);
    let is_new = |message: &&&Message| message.seq <= covered_to && message.message.kind != Kind::Summary;
    let coverable: Vec<&Message> = all.iter().filter(is_new).copied().collect();
    Measured { weight, coverable: counted(&coverable, count), window: None }
}
