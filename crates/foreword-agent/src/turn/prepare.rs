//! Prepares a turn: resolves the principal and its trust, builds the prompt of the conversation's epoch, selects the
//! visible history, and computes the context that is new since the last turn.

use std::sync::Arc;

use foreword_core::budget_rule::Spender;
use foreword_core::compaction::weight;
use foreword_core::hand_over;
use foreword_core::history::History;
use foreword_core::id::TurnId;
use foreword_core::message::{ContentBlock, Message, Provenance};
use foreword_core::model::{CachePlan, Diagnostics, ErrorKind, ModelError, RequestMessage, SystemBlock};
use foreword_core::models::{Breakpoints, InvalidModelId, ModelFacts, ModelId};
use foreword_core::price::CacheTtl;
use foreword_core::taint::taint_of_history;
use foreword_core::timestamp::Timestamp;
use foreword_core::transcript::{announced, announced_block, transcript};
use foreword_core::turn::{Turn, TurnAttendance, TurnRules};
use foreword_core::turn_journal::PromptBuilt;
use foreword_prompt::epoch::{Dependencies, EpochTriggers};
use foreword_prompt::layer::{Dynamic, Layer, Source};
use foreword_prompt::prompt::{CacheClass, Prompt, Segment, TurnPlacement, TurnSegment};
use foreword_prompt::stored::StoredTexts;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::TrustDecision;
use foreword_prompt::turn_delta::{Announced, TurnDelta};
use foreword_store::conversation_settings::ConversationSettings;
use foreword_store::epochs::{CurrentEpoch, FrozenBlock, FrozenPrompt, ProposedEpoch, StoredEpoch};
use foreword_store::turn_inputs::TurnInputs;
use foreword_workspace::build::Built;
use foreword_workspace::config::Config;
use foreword_workspace::request::Request;
use foreword_workspace::snapshot::Snapshot;
use foreword_workspace::speaker::Principal;

use crate::conversation::agent_routing::{self, View};
use crate::conversation::inbound::{Attendance, Purpose, provenance};
use crate::conversation::settings;
use crate::error::AgentError;
use crate::prompt::build::build;
use crate::prompt::frozen_prompt::{candidate, note_opened};
use crate::prompt::message_text::quoted_text;
use crate::shared::Shared;
use crate::tool::sets::ToolSet;
use crate::turn::drafts::Drafts;
use crate::turn::scope::TurnScope;

/// The key of the hand-over note in the turn context. No layer can have this id.
const HAND_OVER_NOTE: &str = "handed over";

/// The inputs of a turn.
pub(crate) struct Prepared {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) built: Arc<Built>,
    pub(crate) trust: TrustDecision,
    pub(crate) model: ModelId,
    pub(crate) epoch: CurrentEpoch,
    pub(crate) system: Vec<SystemBlock>,
    pub(crate) tools: Arc<[ToolSpec]>,
    /// The conversation before this turn.
    pub(crate) before: Vec<RequestMessage>,
    pub(crate) cache: CachePlan,
    /// The new context for the model.
    pub(crate) context: Option<String>,
    /// The layer versions that the context announces.
    pub(crate) announced: Announced,
    pub(crate) rules: TurnRules,
}

impl Prepared {
    pub(crate) fn facts(&self) -> Option<&ModelFacts> {
        self.built.model.as_ref()
    }

    /// Who pays for the model calls.
    pub(crate) fn payer<'a>(&'a self, scope: &'a TurnScope) -> Spender<'a> {
        let occasion = &self.built.occasion;
        let session = scope.conversation.as_str();
        Spender { user: occasion.user.as_deref(), session, agent: &occasion.agent }
    }

    /// Whether to request cache diagnostics from the provider.
    pub(crate) fn wants_cache_diagnostics(&self) -> bool {
        let provider = self.snapshot.config.providers.get(self.model.provider());
        provider.is_some_and(|provider| provider.cache_diagnostics)
    }

    pub(crate) fn stored_epoch(&self) -> &StoredEpoch {
        self.epoch.epoch()
    }

    /// The journal entry about the prompt.
    pub(crate) fn prompt_built(&self) -> PromptBuilt {
        let info = &self.stored_epoch().info;
        PromptBuilt {
            fingerprint: info.fingerprint,
            epoch: info.number,
            layer_versions: info.layer_versions.clone(),
        }
    }

    /// Restricts a resumed turn to the current rules, and the next request to the tools that it still has. Tools added
    /// since its start are not available to it.
    pub(crate) fn narrow(&mut self, turn: &mut Turn) {
        turn.narrow(&self.rules);
        if !self.tools.iter().all(|tool| turn.may_call(&tool.name)) {
            self.tools = self.tools.iter().filter(|tool| turn.may_call(&tool.name)).cloned().collect();
        }
    }

    /// Replaces the turn context after a compaction. Relies on `has_context`, because the text of a message may look
    /// like context.
    pub(crate) fn replace_context(&self, drafts: &mut Drafts) {
        let sent = &mut drafts.sent;
        if drafts.has_context && !sent.is_empty() {
            sent.remove(0);
        }
        sent.retain(|block| matches!(block, ContentBlock::Text { .. }));
        sent.splice(0..0, self.context.clone().map(ContentBlock::text));
        sent.extend(announced_block(&self.announced).ok());
        drafts.has_context = self.context.is_some();
    }

    /// The content to send for the messages of a turn: new context, message texts, and the announced versions.
    pub(crate) fn sent(
        &self,
        taken: &[Message],
        situation: &str,
        random: impl Fn() -> u128,
    ) -> Vec<ContentBlock> {
        let mut content: Vec<ContentBlock> =
            self.context.clone().map(ContentBlock::text).into_iter().collect();
        let texts = taken.iter().map(|message| quoted_text(&message.message, situation, random()));
        content.extend(texts.filter(|text| !text.trim().is_empty()).map(ContentBlock::text));
        // Without this block, the next turn repeats the context.
        content.extend(announced_block(&self.announced).ok());
        content
    }
}

/// Prepares a turn in `scope`. `running` is the id of the turn, whose own messages are not history. `inputs` are the
/// prefetched inputs.
pub(crate) async fn prepare(
    shared: &Shared,
    scope: &TurnScope,
    running: Option<&TurnId>,
    inputs: Option<TurnInputs>,
) -> Result<Prepared, AgentError> {
    // Without its files, the agent would have another prompt.
    shared.workspace.check_available()?;
    let mut inputs = match inputs {
        Some(inputs) => inputs,
        None => shared.store.turn_inputs(&scope.conversation).await?,
    };
    let (agent, hand_overs) = inputs.agent.take().unzip();
    let view = agent_routing::view(shared, scope, agent.as_deref()).await?;
    let (outside, purpose) = (shared.outside_tools(), &scope.origin.purpose);
    let mut request = request(shared, scope, &view, &inputs.settings.settings).await?;
    request.more_tools = purpose.extra_tools(&outside.specs);
    let snapshot = view.snapshot;
    let config = &snapshot.config;
    let situation_taint = scope.add_situation(shared, config, &mut request).await?;
    let who = request.principal(config);
    let (trust, effective) = (who.trust, who.trust.effective());
    let attendance = attendance(scope, &who);
    let history = std::mem::take(&mut inputs.history).at_trust(effective);
    request.history_tokens = weight(&history);
    request.calibration = shared.calibrations.factor(config, &who.occasion.model);
    let candidate = candidate(shared, scope, request, &history, inputs.epoch_dependencies()).await?;
    let (built, proposed) = (candidate.built, candidate.proposed);
    let model = model_of(&built)?;
    let epoch = shared.store.epoch_after(inputs, proposed).await?;
    note_opened(shared, &built, &epoch).await;
    let announced = announced(&history.messages);
    let note = hand_over::note(&hand_overs.unwrap_or_default(), &built.occasion.agent, effective);
    let delta = turn_delta(&announced, &built, &epoch.epoch().prompt, note.as_deref());
    let tool_set = shared.tool_sets.at(shared, config, &outside, effective);
    let ToolSet { specs: tools, rules } = purpose.extend_tools(tool_set);
    let mut taint = taint_of_history(&history.messages, who.user_name().map(|name| &**name));
    taint.add_all(situation_taint);
    let rules = TurnRules {
        tools: rules,
        limits: config.limits,
        retry: purpose.retry_policy(&config.retry),
        attendance,
        owner_patience: config.confirm_time,
        taint,
    };
    let (system, context) = lower_system(&built, &epoch.epoch().prompt, delta.text);
    let cache = cache_plan(config, &built, epoch.epoch());
    let before = transcript(&history.messages, running);
    let announced = delta.announced.since(&announced);
    Ok(Prepared {
        snapshot,
        built,
        trust,
        model,
        epoch,
        system,
        tools,
        before,
        cache,
        context,
        announced,
        rules,
    })
}

/// The prompt request for a turn, with the conversation's settings.
pub(crate) async fn request(
    shared: &Shared,
    scope: &TurnScope,
    view: &View,
    settings: &ConversationSettings,
) -> Result<Request, AgentError> {
    let random = shared.clock_and_rng.random();
    let mut request = Request {
        speaker: scope.speaker(view.agent.clone()),
        conversation: Some(scope.conversation.as_str().into()),
        more_tools: scope.origin.purpose.extra_tools(&shared.outside_tools().specs),
        stored: stored_texts(shared, &view.snapshot.config).await?,
        ..Request::at(shared.clock_and_rng.now(), random.to_be_bytes())
    };
    settings::apply(&shared.workspace, settings, &mut request)?;
    Ok(request)
}

/// The prompt as it would be built now.
pub(crate) async fn rebuilt(shared: &Shared, scope: &TurnScope) -> Result<Arc<Built>, AgentError> {
    let view = agent_routing::view(shared, scope, None).await?;
    let settings = shared.store.conversation_settings(&scope.conversation).await?;
    let request = request(shared, scope, &view, &settings).await?;
    build(shared, request).await
}

/// The stored texts of the blueprint, if it has stored layers.
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

fn attendance(scope: &TurnScope, principal: &Principal) -> TurnAttendance {
    match (scope.origin.attendance, provenance(principal)) {
        (Attendance::Unattended, _) => TurnAttendance::Unattended,
        // A workflow does not ask the user for confirmation.
        _ if matches!(scope.origin.purpose, Purpose::Workflow { .. }) => TurnAttendance::Interactive,
        (Attendance::Interactive, Provenance::Owner) => TurnAttendance::Owner,
        (Attendance::Interactive, _) => TurnAttendance::Interactive,
    }
}

/// The model of a prompt.
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

/// The epoch that the conversation would open now.
pub(crate) fn proposed(
    shared: &Shared,
    scope: &TurnScope,
    built: &Built,
    history: &History,
) -> ProposedEpoch {
    let now = shared.now();
    ProposedEpoch {
        conversation: scope.conversation.clone(),
        prompt: FrozenPrompt::from(&*built.prompt.frozen),
        dependencies: Dependencies::of(&built.prompt.frozen, built.dependencies.clone()),
        triggers: EpochTriggers {
            compacting: false,
            cache_cold: is_cold(built, history, now, agent_routing::cache_ttl(shared, &built.occasion.agent)),
        },
        layer_versions: built.stored.layers.iter().map(|(id, version)| (id.to_string(), *version)).collect(),
        template_version: built.stored.template,
        at: now,
    }
}

/// Whether the provider's cache entry has expired.
fn is_cold(built: &Built, history: &History, now: Timestamp, ttl: CacheTtl) -> bool {
    let caches = |facts: &&ModelFacts| facts.breakpoints != Breakpoints::None;
    let Some(facts) = built.model.as_ref().filter(caches) else { return false };
    let last =
        history.messages.iter().filter(|message| message.message.usage.is_some()).map(|m| m.message.at).max();
    last.is_some_and(|last| now.since(last) > facts.cold_after(ttl))
}

/// The new context for the model: changes of the turn's layers and of the epoch's layers since `announced`.
fn turn_delta(announced: &Announced, built: &Built, epoch: &FrozenPrompt, note: Option<&str>) -> TurnDelta {
    let now = &built.prompt.frozen;
    let current_text = |id: &str| {
        let segment = now.segments.iter().find(|segment| segment.layer.id.as_str() == id);
        segment.filter(|segment| waits_for_next_epoch(segment, built)).map(|segment| now.text_of(segment))
    };
    let frozen = epoch.layers.iter().map(|layer| {
        (
            layer.id.as_str(),
            layer.title.as_str(),
            current_text(&layer.id).unwrap_or_else(|| epoch.text_of(layer)),
        )
    });
    let sources = &built.sources;
    let (notes, announced) = announced.notes_on_read(frozen, now, |layer| !sources.is_unread(layer));
    let extra: Vec<(&str, &str)> = note.map(|note| (HAND_OVER_NOTE, note)).into_iter().collect();
    match built.prompt.placement {
        TurnPlacement::Message => {
            // The memory menu also lists frozen layers, so it is incomplete without them.
            let is_menu = |id: &str| built.prompt.turn.iter().any(|segment| is_menu_called(segment, id));
            announced
                .delta_of_read(&built.prompt, &notes, &extra, |layer| !sources.skipped || !is_menu(layer))
        }
        // The turn's layers are part of each system prompt, so the history does not contain them.
        TurnPlacement::System => {
            announced.delta_with(&Prompt { turn: Vec::new(), ..built.prompt.clone() }, &notes, &extra)
        }
    }
}

fn is_menu_called(segment: &TurnSegment, id: &str) -> bool {
    let layer = &segment.segment.layer;
    layer.id.as_str() == id && layer.source == Source::Dynamic(Dynamic::MemoryMenu)
}

/// Whether changes of a layer wait for the next epoch. True for layers that the agent can edit, and for templates that
/// are not repeatable, such as those with a clock.
fn waits_for_next_epoch(segment: &Segment, built: &Built) -> bool {
    match segment.layer.source {
        Source::Stored { .. } => true,
        Source::Template { .. } | Source::Instructions => !built.repeatable,
        _ => false,
    }
}

/// The blocks of the frozen system prompt, followed by the turn's layers if they are placed there, and the context for
/// the message.
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
