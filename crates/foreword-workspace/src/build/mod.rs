//! Builds a prompt from a snapshot: identify, plan, gather, assemble. The plan applies trust before any text is read.

mod gather;
mod guarded;
mod session_layer;
mod sources;
mod stored;
mod template;
mod template_text;

use std::borrow::Cow;
use std::sync::Arc;

use foreword_core::models::ModelFacts;
use foreword_core::price::CacheTtl;
use foreword_prompt::assemble::{Settings, assemble};
use foreword_prompt::budget::TokenBudget;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::epoch::HardDependencies;
use foreword_prompt::layer::Dialect;
use foreword_prompt::occasion::Occasion;
use foreword_prompt::plan::{Plan, PlanFor};
use foreword_prompt::prompt::{Prompt, Segment, Warning};
use foreword_prompt::stored::StoredVersions;
use foreword_prompt::text::ContentHash;
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::{Trust, TrustDecision};

use self::gather::Gatherer;
pub use self::sources::{Replacement, SourceFailure, Sources};
pub(crate) use self::template_text::{stored_includes, stored_template_name};
use crate::config::Config;
use crate::error::WorkspaceError;
use crate::request::{Request, SourcePolicy};
use crate::roots::Root;
use crate::snapshot::Snapshot;
use crate::speaker::Principal;
use crate::workspace::WorkspaceDir;

/// The token budget of the turn's layers when the frozen prompt exists already.
const MIN_TURN_TOKENS: usize = 8_000;

/// A prompt and the occasion it was built for.
#[derive(Debug, Clone)]
pub struct Built {
    /// The prompt.
    pub prompt: Prompt,
    /// The occasion.
    pub occasion: Occasion,
    /// The values whose change forces a new epoch.
    pub dependencies: HardDependencies,
    /// The facts about the model.
    pub model: Option<ModelFacts>,
    /// Foreword's tools that are sent with the prompt.
    pub tools: Arc<[ToolSpec]>,
    /// The cache lifetime to request from the provider.
    pub cache_ttl: CacheTtl,
    /// The versions of the stored texts in the prompt.
    pub stored: Arc<StoredVersions>,
    /// The sources that were read for the prompt, and those that failed.
    pub sources: Arc<Sources>,
    /// Whether the same request gives the same frozen text as long as no file changes. False for a template that shows
    /// the time.
    pub repeatable: bool,
    /// Whether the prompt contains the id of its conversation. If not, `occasion` has none, and other conversations may
    /// reuse it.
    pub has_conversation_id: bool,
}

pub(crate) fn build(
    snapshot: &Snapshot,
    dir: &WorkspaceDir,
    request: &Request,
) -> Result<Built, WorkspaceError> {
    let extended = session_layer::extended(&snapshot.config, request);
    let config = extended.as_ref().unwrap_or(&snapshot.config);
    let who = request.principal(config);
    let trust = who.trust.effective();
    let model = config.models.resolve(&who.occasion.model).map(Cow::into_owned);
    let window = model.as_ref().and_then(|model| model.context_window);
    let counter = model.as_ref().map_or(Tokenizer::Estimate, |model| model.tokenizer);
    let tools = request.tools(config, trust);

    let family = who.occasion.channel.as_ref().and_then(|channel| channel.family());
    let plan = plan(config, who.trust, who.user.as_ref().map(|user| &*user.name), family, window);
    let mut gatherer = Gatherer::new(snapshot, dir, request, &who).with_tools(&tools).with_counter(counter);
    let mut materials = gatherer.gather(&plan)?;
    materials.warnings.splice(0..0, occasion_warnings(config, request, &who));
    materials.warnings.extend(model.iter().flat_map(|model| model_warnings(model, request)));
    let (repeatable, stored) = (gatherer.repeatable, Arc::new(gatherer.versions));
    let has_conversation_id = gatherer.has_conversation_id;
    let sources = Arc::new(gatherer.sources);
    let settings = Settings {
        blueprint: &config.blueprint.name,
        budget: budget(config, request, model.as_ref()),
        counter: counter.get(),
        placement: config.prompt.turn_context,
    };
    let prompt = assemble(&plan, materials, settings)?;
    let dependencies = HardDependencies {
        trust,
        agent: Arc::clone(&who.occasion.agent),
        blueprint: Arc::clone(&config.blueprint.name),
        cwd: dir.cwd_name(request).into(),
        tools: tools_hash(&tools),
        channel_family: who.occasion.channel.as_ref().and_then(|channel| channel.family()).map(Into::into),
        model_family: model_family(config, &who.occasion.model),
        personal_to: personal_to(snapshot, &prompt, &sources, &who),
        session_instructions: request.session_instructions.as_deref().map(ContentHash::of),
        context: request.context_hash(),
    };
    let (tools, cache_ttl) = (tools.into(), config.cache_ttl);
    let conversation = who.occasion.conversation.filter(|_| has_conversation_id);
    let occasion = Occasion { conversation, ..who.occasion };
    Ok(Built {
        prompt,
        occasion,
        dependencies,
        model,
        tools,
        cache_ttl,
        stored,
        sources,
        repeatable,
        has_conversation_id,
    })
}

/// The token budget of the prompt, in estimated tokens. It shrinks if the provider counts more tokens than the
/// estimate.
fn budget(config: &Config, request: &Request, model: Option<&ModelFacts>) -> TokenBudget {
    let known = || model.and_then(|model| model.calibration.as_ref()).map(|known| known.factor);
    let factor = request.calibration.or_else(known).unwrap_or_default();
    let tokens = match request.sources {
        // The frozen prompt is sent unchanged, so a budget too small for it must not exclude the turn's layers.
        SourcePolicy::TurnLayersOnly => config.prompt.budget.max(MIN_TURN_TOKENS),
        SourcePolicy::Require | SourcePolicy::Tolerate => config.prompt.budget,
    };
    TokenBudget {
        tokens: factor.room_in(tokens),
        window: model.and_then(|model| model.context_window).map(|window| factor.room_in(window)),
        history: factor.room_in(request.history_to_the_next_step()),
    }
}

/// A template rendered outside any blueprint, with its warnings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// The warnings from rendering.
    pub warnings: Vec<Warning>,
}

/// A template to render outside any blueprint.
#[derive(Debug)]
pub struct TemplateInput<'a> {
    /// Its name in messages.
    pub name: &'a str,
    /// Its text.
    pub text: Arc<str>,
    /// Its dialect.
    pub dialect: Dialect,
    /// The folder of Jinja includes.
    pub folder: Option<&'a Root>,
}

/// Renders a template for the local user, with the owner's trust.
pub(crate) fn render_once(
    snapshot: &Snapshot,
    dir: &WorkspaceDir,
    request: &Request,
    template: TemplateInput<'_>,
) -> Result<Rendered, WorkspaceError> {
    let mut who = request.principal(&snapshot.config);
    who.trust = TrustDecision::new(Trust::Full, Trust::Full);
    let mut gatherer = Gatherer::new(snapshot, dir, request, &who);
    let text = gatherer.render_once(template)?;
    Ok(Rendered { text, warnings: gatherer.warnings })
}

/// Plans the layers for a user on a channel family, as far as both are known.
pub(crate) fn plan(
    config: &Config,
    trust: TrustDecision,
    user: Option<&str>,
    family: Option<&str>,
    window: Option<usize>,
) -> Plan {
    let mut fills = vec![
        ("soul", &*config.agent.soul),
        ("identity_file", config.prompt.identity_file.as_str()),
        ("custom_instructions_file", config.prompt.custom_instructions_file.as_str()),
    ];
    fills.extend(user.map(|user| ("user", user)));
    fills.extend(family.map(|family| ("family", family)));
    let wanted = PlanFor { trust, files: &config.prompt.files, fills: &fills, window };
    Plan::new(&config.blueprint, wanted)
}

/// The user whose own files or skills are in the frozen text, or would be if the file were readable.
fn personal_to(snapshot: &Snapshot, prompt: &Prompt, sources: &Sources, who: &Principal) -> Option<Arc<str>> {
    let user = who.user.as_ref()?;
    let config = &snapshot.config;
    let is_own = |path: &str| {
        path.starts_with("users/") || config.in_own_folders(path).any(|rest| rest.starts_with("users/"))
    };
    let own_file = |segment: &Segment| segment.origin.as_deref().is_some_and(is_own);
    let own_skills =
        || who.trust.effective().permits(Trust::Inner) && !snapshot.user_skills(&user.name).items.is_empty();
    let own_failure = || sources.failures.iter().any(|failure| is_own(&failure.source));
    let is_personal = prompt.frozen.segments.iter().any(own_file) || own_failure() || own_skills();
    is_personal.then(|| Arc::clone(&user.name))
}

/// The family of a model. An unknown model is a family of its own.
fn model_family(config: &Config, model: &Arc<str>) -> Arc<str> {
    config.models.family(model).map_or_else(|| Arc::clone(model), |family| family.as_str().into())
}

pub(crate) fn tools_hash<'a>(tools: &'a [ToolSpec]) -> ContentHash {
    let parts = |tool: &'a ToolSpec| {
        let schema = tool.schema.as_deref();
        [Some(tool.name.as_str()), Some(tool.description.as_str()), schema].into_iter().flatten()
    };
    ContentHash::of_parts(tools.iter().flat_map(parts))
}

/// Warnings about the model, for the owner.
fn model_warnings(model: &ModelFacts, request: &Request) -> Vec<Warning> {
    let warnings = model.warnings(request.now.date()).into_iter();
    warnings
        .map(|warning| Warning { code: warning.code, layer: None, message: warning.message, for_owner: true })
        .collect()
}

/// Warnings about unknown users, channels and situations. They name people, so only the owner sees them.
fn occasion_warnings(config: &Config, request: &Request, who: &Principal) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut unknown = |code: &'static str, message: String, word: &str, known: Vec<&str>| {
        let hint = match did_you_mean(word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.join(", ")),
        };
        warnings.push(Warning { code, layer: None, message, for_owner: false });
        warnings.push(Warning { code: "hint", layer: None, message: hint, for_owner: true });
    };
    if let Some(name) = request.speaker.user.as_deref().filter(|_| who.user.is_none()) {
        let message = format!("unknown user `{}`, so trust is `public`", name.escape_debug());
        unknown("unknown_user", message, name, config.users.iter().map(|user| &*user.name).collect());
    }
    let situation = &who.occasion.situation;
    if !config.situations.contains_key(situation) {
        let message =
            format!("there is no situation `{}`, so its ceiling is `public`", situation.escape_debug());
        unknown(
            "unknown_situation",
            message,
            situation,
            config.situations.keys().map(|name| &**name).collect(),
        );
    }
    warnings
}
