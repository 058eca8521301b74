//! What saving a template would cost: for each conversation that goes on with a prompt made from the stored template, the prompt
//! it would get with another text, next to the one it has. Nothing is stored and nothing is frozen.

mod look;

use std::cmp::Reverse;
use std::sync::{Arc, Weak};

use foreword_core::id::ConversationId;
use foreword_core::model::marks::of_blocks;
use foreword_core::models::ModelFacts;
use foreword_core::models::caching::MOST_MARKS;
use foreword_core::money::Money;
use foreword_core::price::CacheTtl;
use foreword_core::rewriting::{KeptUpTo, Live, Loss, Rewritten, rewritten};
use foreword_core::simulate::CacheRules;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::tokens::Counter;
use foreword_store::epochs::{FrozenBlock, FrozenPrompt};
use foreword_workspace::build::Built;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::Workspace;

use self::look::{LOOKED_AT, Looked, look};
use crate::agent::Agent;
use crate::error::AgentError;
use crate::simulation::{tools_bytes, tools_tokens};

/// What saving a template would cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TemplateImpact {
    /// How many conversations go on with a prompt made from the template.
    pub conversations: usize,
    /// How many are looked at, at most.
    pub looked_at: usize,
    /// Whether there are more.
    pub or_more: bool,
    /// What they lose together.
    pub loss: Loss,
    /// Those that would read differently, the dearest first.
    pub touched: Vec<TouchedConversation>,
}

/// A conversation whose prompt would read differently.
#[derive(Debug, Clone, PartialEq)]
pub struct TouchedConversation {
    /// Which.
    pub conversation: ConversationId,
    /// What people call it.
    pub title: Option<String>,
    /// The agent that talks in it.
    pub agent: String,
    /// The model it is talked with.
    pub model: String,
    /// What its frozen prompt weighs.
    pub frozen_tokens: u64,
    /// What becomes of its cache.
    pub rewritten: Rewritten,
}

impl Agent {
    /// What it would cost if `template` were stored now.
    ///
    /// # Errors
    /// If what is stored can't be read, or a prompt can't be made with this template.
    pub async fn template_impact(&self, template: Arc<str>) -> Result<TemplateImpact, AgentError> {
        let shared = self.shared();
        let snapshot = shared.workspace.snapshot();
        let alone = shared.weighing().await?;
        let (looked, or_more) = look(shared, &snapshot).await?;
        let (workspace, now) = (Arc::clone(&shared.workspace), shared.now());
        let conversations = looked.len();
        // Gone as soon as nobody waits for this any more.
        let asker = Arc::new(());
        let asking = Arc::downgrade(&asker);
        let working = tokio::task::spawn_blocking(move || {
            let _alone = alone;
            touched(&workspace, &looked, (&template, now), &asking)
        });
        let mut touched = working.await.map_err(|_| AgentError::Closed)??;
        let loss = Loss::of(touched.iter().map(|one| &one.rewritten));
        let dearest = |one: &TouchedConversation| {
            let cost = one.rewritten.cost.known().map(Money::picodollars);
            (Reverse(cost), Reverse(one.rewritten.touched_tokens), one.conversation.clone())
        };
        touched.sort_by_key(dearest);
        Ok(TemplateImpact { conversations, looked_at: LOOKED_AT, or_more, loss, touched })
    }
}

/// Those of them that would read differently with `template` than with the one that is stored.
fn touched(
    workspace: &Workspace,
    looked: &[Looked],
    (template, now): (&Arc<str>, Timestamp),
    asking: &Weak<()>,
) -> Result<Vec<TouchedConversation>, AgentError> {
    let mut touched = Vec::new();
    for one in looked {
        if asking.strong_count() == 0 {
            return Err(AgentError::Closed);
        }
        // One whose prompt can't be made now is touched by whatever keeps it from that.
        let Ok(as_it_is) = workspace.build_once(&one.request) else { continue };
        let stored = one.request.stored.as_ref().map(|stored| stored.with_template(Arc::clone(template)));
        let request = Request { stored: stored.map(Arc::new), ..one.request.clone() };
        match workspace.build_once(&request) {
            // A file that was edited, or a day that has passed, is not the template's doing.
            Ok(built) if built.prompt.frozen.text == as_it_is.prompt.frozen.text => {}
            Ok(built) => touched.extend(of_one(one, &built, now)),
            Err(error @ WorkspaceError::Template(_)) => return Err(error.into()),
            Err(_) => {}
        }
    }
    Ok(touched)
}

fn of_one(one: &Looked, built: &Built, now: Timestamp) -> Option<TouchedConversation> {
    let frozen = &one.epoch.prompt;
    let facts = built.model.as_ref();
    let counter = facts.map_or(Counter::Estimate, |facts| facts.tokenizer);
    let tools = one.view.config.tools_at(one.epoch.info.trust, &one.request.more_tools);
    let tools_tokens = tools_tokens(&tools, counter) as u64;
    let live = Live {
        tools_tokens,
        frozen: &frozen.text,
        frozen_tokens: frozen.tokens,
        marks: &marks(frozen, facts, (tools_bytes(&tools), one.view.config.cache_ttl)),
        next: &built.prompt.frozen.text,
        history_tokens: one.weight.saturating_sub(tools_tokens + frozen.tokens),
        idle: now.since(one.conversation.last_activity_at),
    };
    let rewritten = rewritten(&live, facts)?;
    Some(TouchedConversation {
        conversation: one.conversation.id.clone(),
        title: one.conversation.title.clone(),
        agent: one.conversation.agent.clone(),
        model: built.occasion.model.to_string(),
        frozen_tokens: frozen.tokens,
        rewritten,
    })
}

/// Where the provider was asked to keep it, as its requests do: one mark is left for what was said.
fn marks(
    frozen: &FrozenPrompt,
    facts: Option<&ModelFacts>,
    (tools_bytes, ttl): (usize, CacheTtl),
) -> Vec<KeptUpTo> {
    let Some(rules) = facts.map(|facts| CacheRules::of(facts, None)).filter(CacheRules::takes_marks) else {
        return Vec::new();
    };
    let weight = |block: &FrozenBlock| usize::try_from(block.tokens).unwrap_or(usize::MAX);
    let blocks: Vec<_> = frozen.blocks.iter().map(|block| (block.class, weight(block))).collect();
    let up_to = |(index, ttl): (usize, CacheTtl)| {
        let blocks = frozen.blocks.get(..=index)?;
        let tokens = blocks.iter().map(|block| block.tokens).sum();
        Some(KeptUpTo { at: blocks.last()?.range.end, tokens, ttl })
    };
    let marks = of_blocks(&blocks, (tools_bytes, rules.minimum), ttl, MOST_MARKS - 1);
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
    fn marks_are_where_requests_have_them_and_live_as_long() {
        let catalog = ModelCatalog::builtin();
        let sonnet = catalog.find("anthropic/claude-sonnet-4-5").unwrap();
        let prompt =
            frozen(&[(CacheClass::Static, 600), (CacheClass::Static, 300), (CacheClass::Conversation, 400)]);
        let hour = CacheTtl::OneHour;
        // Two blocks of the same class are one stretch; alone it is too small.
        let last = KeptUpTo { at: 12, tokens: 1_300, ttl: CacheTtl::FiveMinutes };
        assert_eq!(marks(&prompt, Some(sonnet), (0, hour)), [last]);
        // With the tools before it, it is not.
        let first = KeptUpTo { at: 8, tokens: 900, ttl: hour };
        assert_eq!(marks(&prompt, Some(sonnet), (4 * 200, hour)), [first, last]);
        assert_eq!(marks(&prompt, catalog.find("openai/gpt-4o"), (0, hour)), []);
        assert_eq!(marks(&prompt, None, (0, hour)), []);
    }
}
