//! The frozen prompt of an agent, lent to a program that calls the model itself: it has its own tools and keeps its own
//! history, and only the words it begins with are ours. They stay the same, byte for byte, as long as the conversation's
//! epoch does.
//!
//! What belongs to a turn (the clock, the memory menu) is not lent: it would change the bytes each time, and names tools that
//! such a program does not have.

use std::sync::Arc;

use foreword_core::history::History;
use foreword_core::id::ConversationId;
use foreword_core::model::SystemBlock;
use foreword_core::models::{Breakpoints, ModelFacts};
use foreword_core::price::CacheTtl;
use foreword_prompt::trust::Trust;
use foreword_store::epochs::{FrozenBlock, FrozenPrompt, InForce, Proposed};
use foreword_store::error::StoreError;
use foreword_store::proxied::PASSED_THROUGH;
use foreword_workspace::build::Built;
use foreword_workspace::request::{Request, ToolsOf};

use crate::agent::Agent;
use crate::beginning::make;
use crate::conversation_settings;
use crate::error::AgentError;
use crate::frozen_prompt::{Candidate, candidate, note_opened};
use crate::inbound::Occasion;
use crate::prepare::{Placed, stored_texts};
use crate::shared::Shared;
use crate::whose;

/// The least that a model caches of which nothing is known, in tokens.
const UNKNOWN_MIN: usize = 1_024;

/// A frozen prompt for a program that calls the model itself.
#[derive(Debug, Clone, PartialEq)]
pub struct LentPrompt {
    /// Its text, block by block; a cache breakpoint can go behind each.
    pub blocks: Vec<SystemBlock>,
    /// The number of its epoch.
    pub epoch: u64,
    /// Who may see it.
    pub trust: Trust,
    /// The agent whose it is.
    pub agent: Arc<str>,
    /// Whether the model caches what is marked, as far as that is known: of one nobody knows it is believed.
    pub takes_marks: bool,
    /// The least the model caches, in tokens.
    pub min_cacheable: usize,
    /// How long the provider is asked to keep it.
    pub ttl: CacheTtl,
}

impl Agent {
    /// The frozen prompt of a conversation that a program outside carries on, for whoever speaks in it on `occasion`. The
    /// conversation is made if it is not there, and a new epoch is opened where one is due.
    ///
    /// # Errors
    /// If there is no such agent, the conversation belongs to another one, the prompt can't be built, or the store can't be
    /// used.
    pub async fn lend_prompt(
        &self,
        conversation: &ConversationId,
        occasion: Occasion,
    ) -> Result<LentPrompt, AgentError> {
        let shared = self.shared();
        let placed = Placed::at(shared, conversation.clone(), occasion);
        let named = placed.occasion.agent.clone();
        let snapshot = whose::snapshot(shared, named.as_deref())?;
        let settings = shared.store.conversation_settings(conversation).await?;
        let mut request = Request {
            user: placed.occasion.user.clone(),
            channel: placed.occasion.channel.clone(),
            situation: placed.occasion.situation.clone(),
            agent: named,
            model: placed.occasion.model.clone(),
            conversation: Some(conversation.as_str().into()),
            audience: Some(placed.accepted_at),
            tools_of: ToolsOf::Client,
            stored: stored_texts(shared, &snapshot.config).await?,
            ..Request::at(shared.surroundings.now(), shared.surroundings.random().to_be_bytes())
        };
        conversation_settings::apply(&shared.workspace, &settings, &mut request)?;
        // What was said before is the client's to keep, so nothing tells here whether the provider has forgotten it.
        let history = History::default();
        let newest = shared.store.newest_epoch(conversation).await?;
        let current = newest.as_ref().map(|epoch| &epoch.dependencies);
        let Candidate { built, proposed } = candidate(shared, &placed, request, &history, current).await?;
        let epoch = epoch(shared, &placed, &built, proposed).await?;
        note_opened(shared, &built, &epoch).await;
        let epoch = epoch.into_epoch();
        let facts = built.model.as_ref();
        Ok(LentPrompt {
            blocks: blocks(&epoch.prompt),
            epoch: epoch.info.number,
            trust: epoch.info.trust,
            agent: Arc::clone(&built.occasion.agent),
            takes_marks: facts.is_none_or(takes_marks),
            min_cacheable: facts.map_or(UNKNOWN_MIN, |facts| facts.min_cacheable.unwrap_or(0)),
            ttl: snapshot.config.cache_ttl,
        })
    }
}

fn takes_marks(facts: &ModelFacts) -> bool {
    matches!(facts.breakpoints, Breakpoints::Explicit | Breakpoints::Either)
}

/// The epoch in force, in a conversation that is made if it is not there.
async fn epoch(
    shared: &Shared,
    placed: &Placed,
    built: &Built,
    proposed: Proposed,
) -> Result<InForce, AgentError> {
    match shared.store.epoch_for(proposed.clone()).await {
        Err(StoreError::NotFound { .. }) => {
            let conversation = placed.conversation.clone();
            // Whatever the occasion: nobody but a program outside carries it on.
            let mut occasion = built.occasion.clone();
            occasion.situation = PASSED_THROUGH.into();
            make(shared, (conversation, None), &occasion, shared.now()).await?;
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
