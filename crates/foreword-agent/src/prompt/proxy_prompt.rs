//! The frozen prompt for proxied conversations. The proxy's client has its own tools and history; only the system
//! prompt comes from the agent. Its bytes stay the same during an epoch.
//!
//! Turn layers (the clock, the memory menu) are not included: they change with every request and name tools that the
//! client does not have.

use std::sync::Arc;

use foreword_core::history::History;
use foreword_core::id::ConversationId;
use foreword_core::model::SystemBlock;
use foreword_core::models::{Breakpoints, ModelFacts};
use foreword_core::price::CacheTtl;
use foreword_prompt::trust::Trust;
use foreword_store::epochs::{CurrentEpoch, FrozenBlock, FrozenPrompt, ProposedEpoch};
use foreword_store::error::StoreError;
use foreword_store::proxied::PROXY_SITUATION;
use foreword_workspace::build::Built;
use foreword_workspace::request::{Request, ToolsOf};

use crate::agent::Agent;
use crate::conversation::agent_routing;
use crate::conversation::create::create_if_missing;
use crate::conversation::inbound::TurnOrigin;
use crate::conversation::settings;
use crate::error::AgentError;
use crate::prompt::frozen_prompt::{Candidate, candidate, note_opened};
use crate::shared::Shared;
use crate::turn::prepare::stored_texts;
use crate::turn::scope::TurnScope;

/// Minimum cacheable tokens of an unknown model.
const DEFAULT_MIN_CACHEABLE: usize = 1_024;

/// The frozen prompt of a proxied conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct ProxyPrompt {
    /// Its text in blocks; a cache breakpoint can follow each.
    pub blocks: Vec<SystemBlock>,
    /// Its epoch number.
    pub epoch: u64,
    /// The trust it was built at.
    pub trust: Trust,
    pub agent: Arc<str>,
    /// Whether the model supports cache breakpoints; assumed for unknown models.
    pub takes_marks: bool,
    /// The minimum cacheable tokens of the model.
    pub min_cacheable: usize,
    /// The requested cache lifetime.
    pub ttl: CacheTtl,
}

impl Agent {
    /// The frozen prompt of a proxied conversation on `occasion`. Creates the conversation if it does not exist, and
    /// opens a new epoch if one is due.
    ///
    /// # Errors
    /// If there is no such agent, the conversation belongs to another one, the prompt can't be built, or the store
    /// can't be used.
    pub async fn proxy_prompt(
        &self,
        conversation: &ConversationId,
        occasion: TurnOrigin,
    ) -> Result<ProxyPrompt, AgentError> {
        let shared = self.shared();
        let scope = TurnScope::at(shared, conversation.clone(), occasion);
        let named = scope.origin.speaker.agent.clone();
        let snapshot = agent_routing::snapshot(shared, named.as_deref())?;
        let settings = shared.store.conversation_settings(conversation).await?;
        let mut request = Request {
            speaker: scope.speaker(named),
            conversation: Some(conversation.as_str().into()),
            tools_of: ToolsOf::Client,
            stored: stored_texts(shared, &snapshot.config).await?,
            ..Request::at(shared.clock_and_rng.now(), shared.clock_and_rng.random().to_be_bytes())
        };
        settings::apply(&shared.workspace, &settings, &mut request)?;
        // The client keeps the history, so the state of the provider's cache is unknown here.
        let history = History::default();
        let newest = shared.store.newest_epoch(conversation).await?;
        let current = newest.as_ref().map(|epoch| &epoch.dependencies);
        let Candidate { built, proposed } = candidate(shared, &scope, request, &history, current).await?;
        let epoch = epoch(shared, &scope, &built, proposed).await?;
        note_opened(shared, &built, &epoch).await;
        let epoch = epoch.into_epoch();
        let facts = built.model.as_ref();
        Ok(ProxyPrompt {
            blocks: blocks(&epoch.prompt),
            epoch: epoch.info.number,
            trust: epoch.info.trust,
            agent: Arc::clone(&built.occasion.agent),
            takes_marks: facts.is_none_or(takes_marks),
            min_cacheable: facts.map_or(DEFAULT_MIN_CACHEABLE, |facts| facts.min_cacheable.unwrap_or(0)),
            ttl: snapshot.config.cache_ttl,
        })
    }
}

fn takes_marks(facts: &ModelFacts) -> bool {
    matches!(facts.breakpoints, Breakpoints::Explicit | Breakpoints::Either)
}

/// The current epoch. Creates the conversation if it does not exist.
async fn epoch(
    shared: &Shared,
    scope: &TurnScope,
    built: &Built,
    proposed: ProposedEpoch,
) -> Result<CurrentEpoch, AgentError> {
    match shared.store.epoch_for(proposed.clone()).await {
        Err(StoreError::NotFound { .. }) => {
            let conversation = scope.conversation.clone();
            // A proxied conversation always has this situation.
            let mut occasion = built.occasion.clone();
            occasion.situation = PROXY_SITUATION.into();
            create_if_missing(shared, conversation, &occasion, shared.now()).await?;
            Ok(shared.store.epoch_for(proposed).await?)
        }
        other => Ok(other?),
    }
}

fn blocks(frozen: &FrozenPrompt) -> Vec<SystemBlock> {
    let block = |block: &FrozenBlock| {
        let text = frozen.text.get(block.range.clone()).filter(|text| !text.is_empty())?;
        let tokens = usize::try_from(block.tokens).unwrap_or(usize::MAX);
        Some(SystemBlock { text: text.into(), class: block.class, tokens })
    };
    frozen.blocks.iter().filter_map(block).collect()
}
