//! Measures a conversation and decides whether compaction is due.

use foreword_core::compaction::{CompactionTrigger, ContextSize, counted, weight};
use foreword_core::history::History;
use foreword_core::message::{Kind, Message};
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::trust::Trust;
use foreword_workspace::speaker::Speaker;

use crate::conversation::agent_routing;
use crate::error::AgentError;
use crate::shared::Shared;
use crate::turn::scope::TurnScope;

/// The size of the conversation at `scope`, if compaction is due. In most cases one stored number shows that it is
/// not, and the history is not read.
pub(super) async fn due(
    shared: &Shared,
    scope: &TurnScope,
    moment: CompactionTrigger,
) -> Result<Option<ContextSize>, AgentError> {
    // Another agent may have another model and other limits.
    let view = agent_routing::view(shared, scope, None).await?;
    let config = &view.snapshot.config;
    let speaker = Speaker { agent: view.agent.clone(), ..scope.origin.limited_speaker() };
    let model = speaker.resolve(config, None, &shared.clock_and_rng.now()).occasion.model;
    let facts = config.models.resolve(&model);
    let window = facts.as_ref().and_then(|facts| facts.context_window);
    let Some(limit) = config.compaction.limit(moment, window) else { return Ok(None) };
    let reported = shared.store.conversation_tokens(&scope.conversation).await?;
    if reported != 0 && reported <= limit as u64 {
        return Ok(None);
    }
    let history = shared.store.history(&scope.conversation).await?;
    let tokenizer = facts.map_or(Tokenizer::default(), |facts| facts.tokenizer);
    let measured = ContextSize { window, ..measured(&history, scope.trust(shared), tokenizer) };
    Ok(config.compaction.is_due(moment, &measured).then_some(measured))
}

fn measured(history: &History, trust: Trust, tokenizer: Tokenizer) -> ContextSize {
    let count = |text: &str| tokenizer.get().count(text);
    let all: Vec<&Message> = history.messages.iter().collect();
    let weight = match weight(history) {
        0 => counted(&all, count),
        reported => reported,
    };
    let covered_to = history.cut(trust, None).unwrap_or(0);
    let is_new = |message: &&&Message| message.seq <= covered_to && message.message.kind != Kind::Summary;
    let coverable: Vec<&Message> = all.iter().filter(is_new).copied().collect();
    ContextSize { weight, coverable: counted(&coverable, count), window: None }
}
