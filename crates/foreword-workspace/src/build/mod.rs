//! Builds a prompt from a snapshot: identify, plan, gather, assemble. Trust decides in the plan, before anything is
//! gathered.

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
use foreword_prompt::budget::Budget;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::epoch::HardDependencies;
use foreword_prompt::layer::Dialect;
use foreword_prompt::occasion::Occasion;
use foreword_prompt::plan::{Plan, PlanFor};
use foreword_prompt::prompt::{Prompt, Segment, Warning};
use foreword_prompt::stored::StoredVersions;
use foreword_prompt::text::ContentHash;
use foreword_prompt::tokens::Counter;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::{Trust, TrustDecision};

use self::gather::Gatherer;
pub use self::sources::{Replacement, SourceFailure, Sources};
pub(crate) use self::template_text::{stored_includes, stored_template_name};
use crate::config::Config;
use crate::error::WorkspaceError;
use crate::request::{Identified, Request, SourcePolicy};
use crate::roots::Root;
use crate::snapshot::Snapshot;
use crate::workspace::Place;

/// The room for the turn's layers beside a prompt that is frozen already.
const MIN_TURN_TOKENS: usize = 8_000;

/// A prompt and what it was built for.
#[derive(Debug, Clone)]
pub struct Built {
    /// The prompt.
    pub prompt: Prompt,
    /// The occasion.
    pub occasion: Occasion,
    /// What would force a new epoch.
    pub dependencies: HardDependencies,
    /// What is known about the model.
    pub model: Option<ModelFacts>,
    /// The tools of ours that are sent with it.
    pub tools: Arc<[ToolSpec]>,
    /// How long the provider is asked to cache it.
    pub cache_ttl: CacheTtl,
    /// The versions of the stored texts in it.
    pub stored: Arc<StoredVersions>,
    /// What was read for it, and which sources failed.
    pub sources: Arc<Sources>,
    /// Whether the same request gives the same frozen words as long as no file changes. A template that shows a clock
    /// does not.
    pub repeatable: bool,
}

pub(crate) fn build(snapshot: &Snapshot, place: &Place, request: &Request) -> Result<Built, WorkspaceError> {
    let extended = session_layer::extended(&snapshot.config, request);
    let config = extended.as_ref().unwrap_or(&snapshot.config);
    let who = request.identify(config);
    let trust = who.trust.effective();
    let model = config.models.resolve(&who.occasion.model).map(Cow::into_owned);
    let window = model.as_ref().and_then(|model| model.context_window);
    let counter = model.as_ref().map_or(Counter::Estimate, |model| model.tokenizer);
    let tools = request.tools(config, trust);

    let family = who.occasion.channel.as_ref().and_then(|channel| channel.family());
    let plan = plan(config, who.trust, (who.user.map(|user| &*user.name), family), window);
    let mut gatherer = Gatherer::new(snapshot, place, request, &who).with_tools(&tools).with_counter(counter);
    let mut materials = gatherer.gather(&plan)?;
    materials.warnings.splice(0..0, occasion_warnings(config, request, &who));
    materials.warnings.extend(model.iter().flat_map(|model| model_warnings(model, request)));
    let (repeatable, stored) = (gatherer.repeatable, Arc::new(gatherer.versions));
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
        cwd: place.cwd_name(request).into(),
        tools: tools_hash(&tools),
        channel_family: who.occasion.channel.as_ref().and_then(|channel| channel.family()).map(Into::into),
        model_family: model_family(config, &who.occasion.model),
        personal_to: personal_to(snapshot, &prompt, &sources, &who),
        session_instructions: request.session_instructions.as_deref().map(ContentHash::of),
        context: request.context_hash(),
    };
    let (tools, cache_ttl) = (tools.into(), config.cache_ttl);
    let occasion = who.occasion;
    Ok(Built { prompt, occasion, dependencies, model, tools, cache_ttl, stored, sources, repeatable })
}

/// What a prompt may weigh, in tokens as they are estimated: what the provider counts more, there is less room for.
fn budget(config: &Config, request: &Request, model: Option<&ModelFacts>) -> Budget {
    let known = || model.and_then(|model| model.calibration.as_ref()).map(|known| known.factor);
    let factor = request.calibration.or_else(known).unwrap_or_default();
    let tokens = match request.sources {
        // The frozen prompt is sent as it is, so a budget that is too small for it must not keep the turn's own layers out.
        SourcePolicy::TurnLayersOnly => config.prompt.budget.max(MIN_TURN_TOKENS),
        SourcePolicy::Require | SourcePolicy::Tolerate => config.prompt.budget,
    };
    Budget {
        tokens: factor.room_in(tokens),
        window: model.and_then(|model| model.context_window).map(|window| factor.room_in(window)),
        history: factor.room_in(request.history_to_the_next_step()),
    }
}

/// A template rendered outside any blueprint, and what was noticed on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// What was noticed.
    pub warnings: Vec<Warning>,
}

/// A template to render outside any blueprint.
pub(crate) struct Once<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: Arc<str>,
    pub(crate) dialect: Dialect,
    /// Where Jinja includes are read.
    pub(crate) folder: Option<&'a Root>,
}

/// Renders a template for whoever sits at the machine, with the owner's trust.
pub(crate) fn render_once(
    snapshot: &Snapshot,
    place: &Place,
    request: &Request,
    once: Once<'_>,
) -> Result<Rendered, WorkspaceError> {
    let mut who = request.identify(&snapshot.config);
    who.trust = TrustDecision::new(Trust::Full, Trust::Full);
    let mut gatherer = Gatherer::new(snapshot, place, request, &who);
    let text = gatherer.render_once(once)?;
    Ok(Rendered { text, warnings: gatherer.warnings })
}

/// The layers for a user on a channel of a family, as far as they are known.
pub(crate) fn plan(
    config: &Config,
    trust: TrustDecision,
    (user, family): (Option<&str>, Option<&str>),
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

/// The user whose own files or skills the frozen text holds, or would hold if the file could be read.
fn personal_to(
    snapshot: &Snapshot,
    prompt: &Prompt,
    sources: &Sources,
    who: &Identified<'_>,
) -> Option<Arc<str>> {
    let user = who.user?;
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

/// The family of a model; one nobody can place is a family of its own.
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

/// What the owner has to know about the model.
fn model_warnings(model: &ModelFacts, request: &Request) -> Vec<Warning> {
    let warnings = model.warnings(request.now.date()).into_iter();
    warnings
        .map(|warning| Warning { code: warning.code, layer: None, message: warning.message, for_owner: true })
        .collect()
}

/// What is unknown about the occasion. What is known instead is for the owner only: it names people.
fn occasion_warnings(config: &Config, request: &Request, who: &Identified<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut unknown = |code: &'static str, message: String, word: &str, known: Vec<&str>| {
        let hint = match did_you_mean(word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.join(", ")),
        };
        warnings.push(Warning { code, layer: None, message, for_owner: false });
        warnings.push(Warning { code: "hint", layer: None, message: hint, for_owner: true });
    };
    if let Some(name) = request.user.as_deref().filter(|_| who.user.is_none()) {
        let message = format!("nobody here is called `{}`, so this is `public`", name.escape_debug());
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
