//! What saving a template would cost: for each conversation that goes on with a prompt made from the stored template, the prompt
//! it would get with another text, next to the one it has. Nothing is stored and nothing is frozen.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_core::money::Money;
use foreword_core::rewriting::{KeptUpTo, Live, Loss, Rewritten, rewritten};
use foreword_core::simulate::CacheRules;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::occasion::Channel;
use foreword_prompt::prompt::CacheClass;
use foreword_prompt::stored::StoredTexts;
use foreword_prompt::tokens::Counter;
use foreword_store::conversations::{Conversation, ConversationPage};
use foreword_store::epochs::{FrozenPrompt, StoredEpoch};
use foreword_store::proxied::is_passed_through;
use foreword_workspace::build::Built;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::request::Request;
use foreword_workspace::snapshot::Snapshot;
use foreword_workspace::workspace::Workspace;

use crate::agent::Agent;
use crate::error::AgentError;
use crate::inbound::Purpose;
use crate::inbox;
use crate::shared::Shared;
use crate::simulation::tools_tokens;

/// How many conversations are looked at, those first that were active last.
const LOOKED_AT: usize = 200;

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

/// A conversation with what has to be known of it.
struct Looked {
    conversation: Conversation,
    epoch: StoredEpoch,
    /// What its last answer has said that it weighs.
    weight: u64,
    view: Arc<Snapshot>,
    /// What it would be asked for now.
    request: Request,
}

impl Agent {
    /// What it would cost if `template` were stored now.
    ///
    /// # Errors
    /// If what is stored can't be read, or a prompt can't be made with this template.
    pub async fn template_impact(&self, template: Arc<str>) -> Result<TemplateImpact, AgentError> {
        let shared = self.shared();
        let snapshot = shared.workspace.snapshot();
        let (looked, or_more) = look(shared, &snapshot).await?;
        let (workspace, now) = (Arc::clone(&shared.workspace), shared.now());
        let conversations = looked.len();
        let working = tokio::task::spawn_blocking(move || touched(&workspace, &looked, &template, now));
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

/// The conversations whose agents build from the stored template and that have a prompt, and whether there may be more.
async fn look(shared: &Shared, snapshot: &Arc<Snapshot>) -> Result<(Vec<Looked>, bool), AgentError> {
    let mut all: Vec<(Conversation, Arc<Snapshot>)> = Vec::new();
    let mut stored: BTreeMap<Arc<str>, Arc<StoredTexts>> = BTreeMap::new();
    let company = snapshot.config.roster.has_company();
    for view in snapshot.of_all_agents().filter(|view| view.config.builds_from_stored_template()) {
        let page = ConversationPage::first(u32::try_from(LOOKED_AT + 1).unwrap_or(u32::MAX));
        let page = if company { page.of_agent(&*view.config.agent.name) } else { page };
        let found = shared.store.conversations(page).await?;
        all.extend(found.into_iter().map(|one| (one, Arc::clone(view))));
        let texts = shared.store.current_texts(&view.config.blueprint.name).await?;
        stored.insert(Arc::clone(&view.config.agent.name), Arc::new(texts));
    }
    // Their prompts are lent, and frozen by nobody here.
    all.retain(|(one, _)| !is_passed_through(&one.id));
    all.sort_by_key(|(one, _)| (Reverse(one.last_activity_at), one.id.clone()));
    let or_more = all.len() > LOOKED_AT;
    all.truncate(LOOKED_AT);
    let mut looked = Vec::new();
    for (conversation, view) in all {
        let Some(epoch) = shared.store.newest_epoch(&conversation.id).await? else { continue };
        let weight = shared.store.weight(&conversation.id).await?;
        let request = Request {
            stored: stored.get(&view.config.agent.name).cloned(),
            more_tools: inbox::more_tools(&shared.outside_tools().specs, &Purpose::Talk),
            calibration: shared.calibrations.factor(&view.config, &view.config.agent.model),
            history_tokens: usize::try_from(weight).unwrap_or(usize::MAX),
            agent: company.then(|| conversation.agent.as_str().into()),
            ..asked(shared, &conversation, &epoch)
        };
        looked.push(Looked { conversation, epoch, weight, view, request });
    }
    Ok((looked, or_more))
}

/// What the conversation's prompt was asked for, as far as that is on record.
fn asked(shared: &Shared, conversation: &Conversation, epoch: &StoredEpoch) -> Request {
    let hard = &epoch.dependencies.hard;
    let usual = *hard.cwd == *shared.workspace.directory().to_string_lossy();
    Request {
        user: hard.personal_to.clone().or_else(|| conversation.user.as_deref().map(Into::into)),
        channel: conversation.channel.as_deref().map(Channel::new),
        situation: Some(conversation.situation.as_str().into()),
        conversation: Some(conversation.id.as_str().into()),
        cwd: (!usual).then(|| PathBuf::from(&*hard.cwd)),
        audience: Some(epoch.info.trust),
        ..Request::at(shared.surroundings.now(), shared.surroundings.random().to_be_bytes())
    }
}

/// Those of them that would read differently with `template` than with the one that is stored.
fn touched(
    workspace: &Workspace,
    looked: &[Looked],
    template: &Arc<str>,
    now: Timestamp,
) -> Result<Vec<TouchedConversation>, AgentError> {
    let mut touched = Vec::new();
    for one in looked {
        // One whose prompt can't be made now is touched by whatever keeps it from that.
        let Ok(as_it_is) = workspace.build(&one.request) else { continue };
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
    let minimum = facts.map_or(0, |facts| CacheRules::of(facts, None).minimum);
    let counter = facts.map_or(Counter::Estimate, |facts| facts.tokenizer);
    let tools = one.view.config.tools_at(one.epoch.info.trust, &one.request.more_tools);
    let tools_tokens = tools_tokens(&tools, counter) as u64;
    let live = Live {
        tools_tokens,
        frozen: &frozen.text,
        frozen_tokens: frozen.tokens,
        marks: &marks(frozen, minimum),
        next: &built.prompt.frozen.text,
        history_tokens: one.weight.saturating_sub(tools_tokens + frozen.tokens),
        idle: now.since(one.conversation.last_activity_at),
    };
    let rewritten = rewritten(&live, facts, one.view.config.cache_ttl)?;
    Some(TouchedConversation {
        conversation: one.conversation.id.clone(),
        title: one.conversation.title.clone(),
        agent: one.conversation.agent.clone(),
        model: built.occasion.model.to_string(),
        frozen_tokens: frozen.tokens,
        rewritten,
    })
}

/// Where the provider was asked to keep it: behind each block, once there is enough.
fn marks(frozen: &FrozenPrompt, minimum: usize) -> Vec<KeptUpTo> {
    let mut tokens = 0;
    let mut marks = Vec::new();
    for block in &frozen.blocks {
        tokens += block.tokens;
        if block.class != CacheClass::None && tokens >= minimum as u64 {
            marks.push(KeptUpTo { at: block.range.end, tokens });
        }
    }
    marks
}
