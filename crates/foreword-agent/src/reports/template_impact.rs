//! Estimates the cost of saving a template: for each live conversation whose prompt uses the stored template, compares
//! its frozen prompt with the one it would get. Stores and freezes nothing.

mod affected_conversations;

use std::cmp::Reverse;
use std::sync::{Arc, Weak};

use foreword_core::cache_rewrite_cost::{
    CachedPrefix, LiveConversation, RewriteCost, TotalRewriteCost, rewrite_cost,
};
use foreword_core::id::ConversationId;
use foreword_core::model::breakpoints::of_blocks;
use foreword_core::models::ModelFacts;
use foreword_core::models::cache_limits::MAX_BREAKPOINTS;
use foreword_core::money::Money;
use foreword_core::price::CacheTtl;
use foreword_core::simulate::CacheModel;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::tokens::Tokenizer;
use foreword_store::epochs::{FrozenBlock, FrozenPrompt};
use foreword_workspace::build::Built;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::Workspace;

use self::affected_conversations::{AffectedConversation, MAX_CONVERSATIONS, affected_conversations};
use crate::agent::Agent;
use crate::error::AgentError;
use crate::reports::simulation::{tools_bytes, tools_tokens};

/// The cost of saving a template.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TemplateImpact {
    /// The number of conversations whose prompt uses the template.
    pub conversations: usize,
    /// The maximum number of conversations examined.
    pub max_checked: usize,
    /// Whether there are more.
    pub or_more: bool,
    /// What they lose together.
    pub loss: TotalRewriteCost,
    /// Those that would read differently, the dearest first.
    pub changed: Vec<ChangedConversation>,
}

/// A conversation whose prompt would change.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedConversation {
    pub conversation: ConversationId,
    pub title: Option<String>,
    pub agent: String,
    pub model: String,
    /// The tokens of its frozen prompt.
    pub frozen_tokens: u64,
    /// The effect on its cache.
    pub rewrite_cost: RewriteCost,
}

impl Agent {
    /// The cost of storing `template` now.
    ///
    /// # Errors
    /// If the stored texts cannot be read, or a prompt cannot be built with this template.
    pub async fn template_impact(&self, template: Arc<str>) -> Result<TemplateImpact, AgentError> {
        let shared = self.shared();
        let snapshot = shared.workspace.snapshot();
        let alone = shared.acquire_estimate_permit().await?;
        let (affected, or_more) = affected_conversations(shared, &snapshot).await?;
        let (workspace, now) = (Arc::clone(&shared.workspace), shared.now());
        let conversations = affected.len();
        // Dropped when the caller stops waiting, which cancels the work.
        let asker = Arc::new(());
        let asking = Arc::downgrade(&asker);
        let working = tokio::task::spawn_blocking(move || {
            let _alone = alone;
            changed_conversations(&workspace, &affected, &template, now, &asking)
        });
        let mut changed = working.await.map_err(|_| AgentError::Closed)??;
        let loss = TotalRewriteCost::of(changed.iter().map(|one| &one.rewrite_cost));
        let dearest = |one: &ChangedConversation| {
            let cost = one.rewrite_cost.cost.known().map(Money::picodollars);
            (Reverse(cost), Reverse(one.rewrite_cost.rewritten_tokens), one.conversation.clone())
        };
        changed.sort_by_key(dearest);
        Ok(TemplateImpact { conversations, max_checked: MAX_CONVERSATIONS, or_more, loss, changed })
    }
}

/// The conversations whose prompt would differ between `template` and the stored one.
fn changed_conversations(
    workspace: &Workspace,
    affected: &[AffectedConversation],
    template: &Arc<str>,
    now: Timestamp,
    asking: &Weak<()>,
) -> Result<Vec<ChangedConversation>, AgentError> {
    let mut changed = Vec::new();
    for one in affected {
        if asking.strong_count() == 0 {
            return Err(AgentError::Closed);
        }
        // A prompt that cannot be built now is affected by another problem.
        let Ok(as_it_is) = workspace.build_once(&one.request) else { continue };
        let stored = one.request.stored.as_ref().map(|stored| stored.with_template(Arc::clone(template)));
        let request = Request { stored: stored.map(Arc::new), ..one.request.clone() };
        match workspace.build_once(&request) {
            // An edited file or a new day is not caused by the template.
            Ok(built) if built.prompt.frozen.text == as_it_is.prompt.frozen.text => {}
            Ok(built) => changed.extend(of_one(one, &built, now)),
            Err(error @ WorkspaceError::Template(_)) => return Err(error.into()),
            Err(_) => {}
        }
    }
    Ok(changed)
}

fn of_one(one: &AffectedConversation, built: &Built, now: Timestamp) -> Option<ChangedConversation> {
    let frozen = &one.epoch.prompt;
    let facts = built.model.as_ref();
    let counter = facts.map_or(Tokenizer::Estimate, |facts| facts.tokenizer);
    let tools = one.view.config.tools_at(one.epoch.info.trust, &one.request.more_tools);
    let tools_tokens = tools_tokens(&tools, counter) as u64;
    let live = LiveConversation {
        tools_tokens,
        frozen: &frozen.text,
        frozen_tokens: frozen.tokens,
        marks: &marks(frozen, facts, tools_bytes(&tools), one.view.config.cache_ttl),
        next: &built.prompt.frozen.text,
        history_tokens: one.weight.saturating_sub(tools_tokens + frozen.tokens),
        idle: now.since(one.conversation.last_activity_at),
    };
    let rewrite_cost = rewrite_cost(&live, facts)?;
    Some(ChangedConversation {
        conversation: one.conversation.id.clone(),
        title: one.conversation.title.clone(),
        agent: one.conversation.agent.clone(),
        model: built.occasion.model.to_string(),
        frozen_tokens: frozen.tokens,
        rewrite_cost,
    })
}

/// The cache breakpoints, placed as in a request: one is reserved for the messages.
fn marks(
    frozen: &FrozenPrompt,
    facts: Option<&ModelFacts>,
    tools_bytes: usize,
    ttl: CacheTtl,
) -> Vec<CachedPrefix> {
    let Some(rules) = facts.map(|facts| CacheModel::of(facts, None)).filter(CacheModel::takes_marks) else {
        return Vec::new();
    };
    let weight = |block: &FrozenBlock| usize::try_from(block.tokens).unwrap_or(usize::MAX);
    let blocks: Vec<_> = frozen.blocks.iter().map(|block| (block.class, weight(block))).collect();
    let up_to = |(index, ttl): (usize, CacheTtl)| {
        let blocks = frozen.blocks.get(..=index)?;
        let tokens = blocks.iter().map(|block| block.tokens).sum();
        Some(CachedPrefix { at: blocks.last()?.range.end, tokens, ttl })
    };
    let marks = of_blocks(&blocks, tools_bytes, rules.minimum, ttl, MAX_BREAKPOINTS - 1);
    marks.into_iter().filter_map(up_to).collect()
}

#[cfg(test)]
mod tests {
    use foreword_core::models::ModelCatalog;
    use foreword_prompt::prompt::CacheClass;

    use super::*;

    fn frozen(blocks: &[(CacheClass, u64)]) -> FrozenPrompt {
        let text = "word".repeat(blocks.len());
        let block = |(number, (class, tokens)): (usize, &(CacheClass, u64))| FrozenBlock {
            class: *class,
            range: number * 4..number * 4 + 4,
            layers: Vec::new(),
            tokens: *tokens,
        };
        let blocks: Vec<_> = blocks.iter().enumerate().map(block).collect();
        let tokens = blocks.iter().map(|block| block.tokens).sum();
        FrozenPrompt { text: text.into(), tokens, blocks, layers: Vec::new() }
    }

    #[test]
    fn cached_prefixes_match_the_breakpoints_of_requests() {
        let catalog = ModelCatalog::builtin();
        let sonnet = catalog.find("anthropic/claude-sonnet-4-5").unwrap();
        let prompt =
            frozen(&[(CacheClass::Static, 600), (CacheClass::Static, 300), (CacheClass::Conversation, 400)]);
        let hour = CacheTtl::OneHour;
        // Two blocks of the same class are one stretch; alone it is too small.
        let last = CachedPrefix { at: 12, tokens: 1_300, ttl: CacheTtl::FiveMinutes };
        assert_eq!(marks(&prompt, Some(sonnet), 0, hour), [last]);
        // With the tools before it, it is not.
        let first = CachedPrefix { at: 8, tokens: 900, ttl: hour };
        assert_eq!(marks(&prompt, Some(sonnet), 4 * 200, hour), [first, last]);
        assert_eq!(marks(&prompt, catalog.find("openai/gpt-4o"), 0, hour), []);
        assert_eq!(marks(&prompt, None, 0, hour), []);
    }
}
