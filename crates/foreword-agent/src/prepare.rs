//! From what somebody said to everything a turn needs: who they are and what they are trusted with, the prompt of the
//! conversation's epoch, the history they may read, what is new since the model was last told.

use std::sync::Arc;

use foreword_core::compaction::weight;
use foreword_core::hand_over;
use foreword_core::history::History;
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::message::{ContentBlock, Message, Provenance};
use foreword_core::model::{CachePlan, Diagnostics, ErrorKind, ModelError, RequestMessage, SystemBlock};
use foreword_core::models::{Breakpoints, InvalidModelId, ModelFacts, ModelId};
use foreword_core::price::CacheTtl;
use foreword_core::taint::taint_of_history;
use foreword_core::timestamp::Timestamp;
use foreword_core::transcript::{told, told_block, transcript};
use foreword_core::turn::{Presence, Rules, Turn};
use foreword_core::turn_journal::PromptBuilt;
use foreword_prompt::epoch::{Circumstances, Dependencies};
use foreword_prompt::layer::{Dynamic, Layer, Source};
use foreword_prompt::prompt::{CacheClass, Prompt, Segment, TurnPlacement, TurnSegment};
use foreword_prompt::stored::StoredTexts;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::{Trust, TrustDecision};
use foreword_prompt::turn_delta::{Told, TurnDelta};
use foreword_store::conversation_settings::ConversationSettings;
use foreword_store::epochs::{FrozenBlock, FrozenPrompt, InForce, Proposed, StoredEpoch};
use foreword_store::openings::Opening;
use foreword_workspace::build::Built;
use foreword_workspace::config::{Config, User};
use foreword_workspace::request::Request;
use foreword_workspace::snapshot::Snapshot;

use crate::building::build;
use crate::conversation_settings;
use crate::drafts::Drafts;
use crate::error::AgentError;
use crate::frozen_prompt::{candidate, note_opened};
use crate::inbound::{Occasion, Purpose, Watched, provenance};
use crate::inbox;
use crate::occasion_words::words;
use crate::shared::Shared;
use crate::tool_sets::ToolSet;
use crate::whose::{self, View};

/// What the note of a hand-over is told under. No layer can have that name.
const HANDED_OVER: &str = "handed over";

/// Who a turn is for and where.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) conversation: ConversationId,
    pub(crate) occasion: Occasion,
    /// The trust the messages were accepted at: a turn never has more.
    pub(crate) accepted_at: Trust,
}

impl Placed {
    /// Where nothing was accepted yet: the trust is what the occasion gives.
    pub(crate) fn at(shared: &Shared, conversation: ConversationId, occasion: Occasion) -> Self {
        let accepted_at = crate::agent::request(shared, &occasion)
            .identify(&shared.workspace.snapshot().config)
            .trust
            .effective();
        Self { conversation, occasion, accepted_at }
    }

    /// The effective trust.
    pub(crate) fn trust(&self, shared: &Shared) -> Trust {
        let request = crate::agent::request(shared, &self.occasion);
        let snapshot = shared.workspace.snapshot();
        request.identify(&snapshot.config).trust.effective().meet(self.accepted_at)
    }
}

/// Everything a turn needs.
pub(crate) struct Prepared {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) built: Arc<Built>,
    pub(crate) trust: TrustDecision,
    pub(crate) model: ModelId,
    pub(crate) epoch: InForce,
    pub(crate) system: Vec<SystemBlock>,
    pub(crate) tools: Arc<[ToolSpec]>,
    /// The conversation before this turn.
    pub(crate) before: Vec<RequestMessage>,
    pub(crate) cache: CachePlan,
    /// What is new for the model, and what it has been told with it.
    pub(crate) context: Option<String>,
    pub(crate) told: Told,
    pub(crate) rules: Rules,
}

impl Prepared {
    pub(crate) fn facts(&self) -> Option<&ModelFacts> {
        self.built.model.as_ref()
    }

    /// Whether the provider is asked why its cache was not read.
    pub(crate) fn asks_why_missed(&self) -> bool {
        let provider = self.snapshot.config.providers.get(self.model.provider());
        provider.is_some_and(|provider| provider.cache_diagnostics)
    }

    pub(crate) fn stored_epoch(&self) -> &StoredEpoch {
        self.epoch.epoch()
    }

    /// Which prompt the turn runs on, for its journal.
    pub(crate) fn prompt_built(&self) -> PromptBuilt {
        let info = &self.stored_epoch().info;
        PromptBuilt {
            fingerprint: info.fingerprint,
            epoch: info.number,
            layer_versions: info.layer_versions.clone(),
        }
    }

    /// Holds a turn that goes on to the rules of now, and the next request to the tools it has left: what has come since it
    /// began is not for it.
    pub(crate) fn narrow(&mut self, turn: &mut Turn) {
        turn.narrow(&self.rules);
        if !self.tools.iter().all(|tool| turn.may_call(&tool.name)) {
            self.tools = self.tools.iter().filter(|tool| turn.may_call(&tool.name)).cloned().collect();
        }
    }

    /// Puts what is new now in the place of what was new before the history became shorter. Anybody's words may begin like
    /// that, so only what is known to be ours gives way.
    pub(crate) fn tell_again(&self, drafts: &mut Drafts) {
        let sent = &mut drafts.sent;
        if drafts.has_context && !sent.is_empty() {
            sent.remove(0);
        }
        sent.retain(|block| matches!(block, ContentBlock::Text { .. }));
        sent.splice(0..0, self.context.clone().map(ContentBlock::text));
        sent.extend(told_block(&self.told).ok());
        drafts.has_context = self.context.is_some();
    }

    /// What is sent for the messages a turn has taken up: what is new, their words, and a note for ourselves.
    pub(crate) fn sent(
        &self,
        taken: &[Message],
        situation: &str,
        random: impl Fn() -> u128,
    ) -> Vec<ContentBlock> {
        let mut content: Vec<ContentBlock> =
            self.context.clone().map(ContentBlock::text).into_iter().collect();
        let said = taken.iter().map(|message| words(&message.message, situation, random()));
        content.extend(said.filter(|text| !text.trim().is_empty()).map(ContentBlock::text));
        // Without it everything is told once more, which is a waste and no harm.
        content.extend(told_block(&self.told).ok());
        content
    }
}

/// Prepares a turn at `placed`. `running` is the turn itself: its messages are not the past. `opening` is what was read of
/// the conversation, if that was done already.
pub(crate) async fn prepare(
    shared: &Shared,
    placed: &Placed,
    running: Option<&TurnId>,
    opening: Option<Opening>,
) -> Result<Prepared, AgentError> {
    // Without its files the agent would be somebody else.
    shared.workspace.check_available()?;
    let mut opening = match opening {
        Some(opening) => opening,
        None => shared.store.opening(&placed.conversation).await?,
    };
    let (agent, hand_overs) = opening.agent.take().unzip();
    let view = whose::view(shared, placed, agent.as_deref()).await?;
    let outside = shared.outside_tools();
    let mut request = request(shared, placed, &view, &opening.settings.settings).await?;
    request.more_tools = inbox::more_tools(&outside.specs, &placed.occasion.purpose);
    let snapshot = view.snapshot;
    let config = &snapshot.config;
    let own = Box::pin(inbox::situate(shared, placed, config, &mut request)).await?;
    let who = request.identify(config);
    let (trust, effective) = (who.trust, who.trust.effective());
    let speaker = who.user.map(|user| Arc::clone(&user.name));
    let presence = presence(placed, who.user);
    let who_model = Arc::clone(&who.occasion.model);
    let history = std::mem::take(&mut opening.history).at_trust(effective);
    request.history_tokens = weight(&history);
    request.calibration = shared.calibrations.factor(config, &who_model);
    let candidate = candidate(shared, placed, request, &history, opening.epoch_dependencies()).await?;
    let (built, proposed) = (candidate.built, candidate.proposed);
    let model = model_of(&built)?;
    let epoch = shared.store.epoch_after(opening, proposed).await?;
    note_opened(shared, &built, &epoch).await;
    let told = told(&history.messages);
    let note = hand_over::note(&hand_overs.unwrap_or_default(), &built.occasion.agent, effective);
    let delta = what_is_new(&told, &built, &epoch.epoch().prompt, note.as_deref());
    let tool_set = shared.tool_sets.at(shared, config, &outside, effective);
    let ToolSet { specs: tools, rules } = inbox::with_tools(tool_set, &placed.occasion.purpose);
    let mut taint = taint_of_history(&history.messages, speaker.as_deref());
    taint.add_all(own);
    let rules = Rules {
        tools: rules,
        limits: config.limits,
        retry: inbox::retry(&config.retry, &placed.occasion.purpose),
        presence,
        owner_patience: config.confirm_time,
        taint,
    };
    let (system, context) = lower_system(&built, &epoch.epoch().prompt, delta.text);
    let cache = cache_plan(config, &built, epoch.epoch());
    let before = transcript(&history.messages, running);
    let told = delta.told.since(&told);
    Ok(Prepared { snapshot, built, trust, model, epoch, system, tools, before, cache, context, told, rules })
}

/// What the workspace is asked for a prompt, with the conversation's settings.
pub(crate) async fn request(
    shared: &Shared,
    placed: &Placed,
    view: &View,
    settings: &ConversationSettings,
) -> Result<Request, AgentError> {
    let occasion = &placed.occasion;
    let random = shared.surroundings.random();
    let mut request = Request {
        user: occasion.user.clone(),
        channel: occasion.channel.clone(),
        sender: occasion.sender.clone(),
        situation: occasion.situation.clone(),
        agent: view.agent.clone(),
        strangers: occasion.strangers.unwrap_or(Trust::Public),
        model: occasion.model.clone(),
        conversation: Some(placed.conversation.as_str().into()),
        audience: Some(placed.accepted_at),
        more_tools: inbox::more_tools(&shared.outside_tools().specs, &occasion.purpose),
        stored: stored_texts(shared, &view.snapshot.config).await?,
        ..Request::at(shared.surroundings.now(), random.to_be_bytes())
    };
    conversation_settings::apply(&shared.workspace, settings, &mut request)?;
    Ok(request)
}

/// The prompt as it would be built now.
pub(crate) async fn rebuilt(shared: &Shared, placed: &Placed) -> Result<Arc<Built>, AgentError> {
    let view = whose::view(shared, placed, None).await?;
    let settings = shared.store.conversation_settings(&placed.conversation).await?;
    let request = request(shared, placed, &view, &settings).await?;
    build(shared, request).await
}

/// What is stored of the texts the blueprint is built from, if it is built from such.
pub(crate) async fn stored_texts(
    shared: &Shared,
    config: &Config,
) -> Result<Option<Arc<StoredTexts>>, AgentError> {
    let is_stored =
        |layer: &Layer| matches!(layer.source, Source::Stored { .. } | Source::Template { path: None, .. });
    if !config.blueprint.layers.iter().any(is_stored) {
        return Ok(None);
    }
    Ok(Some(Arc::new(shared.store.current_texts(&config.blueprint.name).await?)))
}

fn presence(placed: &Placed, user: Option<&User>) -> Presence {
    match (placed.occasion.watched, provenance(user)) {
        (Watched::ByNobody, _) => Presence::Nobody,
        // Whoever started a workflow sees its end, and is not asked on the way.
        _ if matches!(placed.occasion.purpose, Purpose::Workflow { .. }) => Presence::Somebody,
        (Watched::AtScreen, Provenance::Owner) => Presence::Owner,
        (Watched::AtScreen, _) => Presence::Somebody,
    }
}

/// The model a prompt is for.
pub(crate) fn model_of(built: &Built) -> Result<ModelId, AgentError> {
    built.occasion.model.parse().map_err(|error: InvalidModelId| {
        AgentError::Model(ModelError {
            kind: ErrorKind::UnknownModel,
            provider: "foreword".to_owned(),
            status: None,
            message: error.to_string(),
            retry_after: None,
            request_id: None,
        })
    })
}

/// What the conversation would be frozen to now.
pub(crate) fn proposed(shared: &Shared, placed: &Placed, built: &Built, history: &History) -> Proposed {
    let now = shared.now();
    Proposed {
        conversation: placed.conversation.clone(),
        prompt: FrozenPrompt::from(&*built.prompt.frozen),
        dependencies: Dependencies::of(&built.prompt.frozen, built.dependencies.clone()),
        circumstances: Circumstances {
            compacting: false,
            cache_cold: is_cold(built, history, (now, whose::cache_ttl(shared, &built.occasion.agent))),
        },
        layer_versions: built.stored.layers.iter().map(|(id, version)| (id.to_string(), *version)).collect(),
        template_version: built.stored.template,
        at: now,
    }
}

/// Whether the provider has forgotten what it was last sent.
fn is_cold(built: &Built, history: &History, (now, ttl): (Timestamp, CacheTtl)) -> bool {
    let caches = |facts: &&ModelFacts| facts.breakpoints != Breakpoints::None;
    let Some(facts) = built.model.as_ref().filter(caches) else { return false };
    let last =
        history.messages.iter().filter(|message| message.message.usage.is_some()).map(|m| m.message.at).max();
    last.is_some_and(|last| now.since(last) > facts.cold_after(ttl))
}

/// What the model is to be told now: what has changed in the turn's layers, and in those of the epoch it reads.
fn what_is_new(told: &Told, built: &Built, epoch: &FrozenPrompt, note: Option<&str>) -> TurnDelta {
    let now = &built.prompt.frozen;
    let words_now = |id: &str| {
        let segment = now.segments.iter().find(|segment| segment.layer.id.as_str() == id);
        segment.filter(|segment| waits_for_next_epoch(segment, built)).map(|segment| now.words(segment))
    };
    let frozen = epoch.layers.iter().map(|layer| {
        (layer.id.as_str(), layer.title.as_str(), words_now(&layer.id).unwrap_or_else(|| epoch.words(layer)))
    });
    let sources = &built.sources;
    let (notes, told) = told.notes_on_read(frozen, now, |layer| !sources.is_unread(layer));
    let words: Vec<(&str, &str)> = note.map(|note| (HANDED_OVER, note)).into_iter().collect();
    match built.prompt.placement {
        TurnPlacement::Message => {
            // The memory menu also lists frozen layers, so it is not known without them.
            let is_menu = |id: &str| built.prompt.turn.iter().any(|segment| is_menu_called(segment, id));
            told.delta_of_read(&built.prompt, &notes, &words, |layer| !sources.skipped || !is_menu(layer))
        }
        // The turn's layers go into the system prompt each time: the history knows nothing of them.
        TurnPlacement::System => {
            told.delta_with(&Prompt { turn: Vec::new(), ..built.prompt.clone() }, &notes, &words)
        }
    }
}

fn is_menu_called(segment: &TurnSegment, id: &str) -> bool {
    let layer = &segment.segment.layer;
    layer.id.as_str() == id && layer.source == Source::Dynamic(Dynamic::MemoryMenu)
}

/// Whether a conversation keeps what a layer said when its epoch opened, and is told nothing of a change: a layer the agent
/// may write itself, and a template that shows a clock, which reads differently each time without having changed.
fn waits_for_next_epoch(segment: &Segment, built: &Built) -> bool {
    match segment.layer.source {
        Source::Stored { .. } => true,
        Source::Template { .. } | Source::Instructions => !built.repeatable,
        _ => false,
    }
}

/// The system prompt as it was frozen, block by block, with the turn's layers behind it if they go there; and what is
/// told in the message.
fn lower_system(
    built: &Built,
    frozen: &FrozenPrompt,
    context: Option<String>,
) -> (Vec<SystemBlock>, Option<String>) {
    let block = |block: &FrozenBlock| {
        let text = frozen.text.get(block.range.clone()).filter(|text| !text.is_empty())?;
        let tokens = usize::try_from(block.tokens).unwrap_or(usize::MAX);
        Some(SystemBlock { text: text.into(), class: block.class, tokens })
    };
    let mut system: Vec<SystemBlock> = frozen.blocks.iter().filter_map(block).collect();
    if built.prompt.placement == TurnPlacement::Message {
        return (system, context);
    }
    if let Some(text) = built.prompt.turn_context_after(&frozen.text) {
        let tokens = built.prompt.turn.iter().map(|segment| segment.segment.tokens).sum();
        system.push(SystemBlock { text: text.into(), class: CacheClass::None, tokens });
    }
    (system, context)
}

fn cache_plan(config: &Config, built: &Built, epoch: &StoredEpoch) -> CachePlan {
    let facts = built.model.as_ref();
    CachePlan {
        breakpoints: facts.map_or(Breakpoints::None, |facts| facts.breakpoints),
        min_cacheable: facts.and_then(|facts| facts.min_cacheable).unwrap_or(0),
        ttl: config.cache_ttl,
        key: Some(epoch.info.fingerprint.to_string().into()),
        diagnostics: Diagnostics::Off,
    }
}
