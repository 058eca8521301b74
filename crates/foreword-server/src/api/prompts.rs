//! Builds prompts, like `foreword build`: for any occasion for the owner, for themselves for other users.

mod format;
mod owners_view;
mod report;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use foreword_agent::error::AgentError;
use foreword_agent::error::settings::SettingsError;
use foreword_agent::prompt::request_format::{anthropic, openai};
use foreword_agent::reports::prompt_report::Explained;
use foreword_core::id::ConversationId;
use foreword_core::template_context::TemplateContext;
use foreword_prompt::occasion::Channel;
use foreword_prompt::report::{Report, View};
use foreword_prompt::trust::Trust;
use foreword_workspace::build::Built;
use foreword_workspace::check::context_problem;
use foreword_workspace::config::Config;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;
use http::StatusCode;
use serde::Deserialize;
use utoipa::{IntoParams, OpenApi, ToSchema};

use self::format::PromptInFormat;
use self::owners_view::ExplainedPrompt;
use self::report::BuiltPrompt;
use super::error_responses::{BodyErrors, CommonErrors, NotFoundError};
use super::extract::{self, Query};
use super::permission::{is_an_agent, reads};
use super::template::{TemplateCheck, draft_problem, normalized};
use crate::app::App;
use crate::auth::{Asserted, Caller, find_visible, may_set};
use crate::problem::Problem;

/// Schemas of the alternative responses.
#[derive(OpenApi)]
#[openapi(components(schemas(BuiltPrompt, ExplainedPrompt)))]
pub(crate) struct PromptSchemas;

/// The occasion of a prompt. All fields have defaults. Users other than the owner may set `agent`, `model`,
/// `conversation` and their own name; with the scope `assert` also `session_instructions`, `cwd` and `context`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PromptOccasion {
    /// The user. Default: the caller.
    user: Option<String>,
    /// The channel, as `family:identifier`.
    #[schema(example = "signal:alice")]
    channel: Option<String>,
    /// The situation, such as `group`. Default: `dm`.
    situation: Option<String>,
    /// The agent. Default: the first.
    agent: Option<String>,
    /// The model. Default: the configured one.
    model: Option<String>,
    /// The conversation's id. Its session instructions, working directory and context are used unless this request has
    /// some.
    conversation: Option<String>,
    /// The working directory, relative to the workspace.
    cwd: Option<String>,
    /// Values for templates.
    #[schema(value_type = Object)]
    context: TemplateContext,
    /// Instructions for this conversation only.
    session_instructions: Option<String>,
    /// A draft to use instead of the stored template. Owner only.
    template: Option<String>,
}

/// The format of the response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// A report.
    #[default]
    Json,
    /// The start of a request to Anthropic.
    Anthropic,
    /// The start of a request to OpenAI.
    Openai,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct BuildQuery {
    /// The owner's view, with withheld layers, cache breakpoints and prices.
    #[serde(default)]
    explain: bool,
    /// `json`, `anthropic` or `openai`. Default: `json`.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

/// Builds a prompt without storing anything. With `chat` or `observe`.
#[utoipa::path(post, path = "/api/v1/prompts/build", tag = "prompts", request_body = PromptOccasion,
    params(BuildQuery),
    responses((status = 200, description = "The prompt; with `explain` an `ExplainedPrompt`, with another `format` the start of that provider's request.", body = PromptInFormat), CommonErrors, NotFoundError, BodyErrors))]
pub(crate) async fn build_prompt(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<BuildQuery>,
    extract::Json(mut wanted): extract::Json<PromptOccasion>,
) -> Result<Response, Problem> {
    reads(&caller)?;
    app.agent.refresh_workspace().await;
    let config = app.config();
    let trust = caller.trust(&config);
    if query.explain && trust != Trust::Full {
        return Err(Problem::forbidden("owner_only", "only the owner may use `explain`"));
    }
    if query.explain && query.format != Format::Json {
        return Err(Problem::bad_request("bad_query", "`explain` only supports the format `json`"));
    }
    let template = wanted.template.take();
    if template.is_some() && trust != Trust::Full {
        return Err(Problem::forbidden("owner_only", "only the owner may set `template`"));
    }
    let request = if trust == Trust::Full {
        owner_request(&app, &caller, wanted)
    } else {
        own_request(&app, &caller, wanted, &config)?
    };
    let request = with_settings(&app, &caller, request).await?;
    context_fits(&app, &request)?;
    let built = match template {
        Some(template) => with_template(&app, request, &template).await?,
        None => app.agent.prompt(request).await.map_err(|error| Problem::of_agent(error, trust))?,
    };
    Ok(respond(&built, &query))
}

/// Adds the stored settings of the conversation, if the caller may see it.
async fn with_settings(app: &App, caller: &Caller, request: Request) -> Result<Request, Problem> {
    let id = request.conversation.as_deref().and_then(|id| ConversationId::new(id).ok());
    let Some(id) = id else { return Ok(request) };
    match find_visible(app, caller, &id).await {
        Ok(_) => {
            let with_settings = app.agent.with_settings(request).await;
            with_settings.map_err(|error| Problem::of_agent(error, caller.trust(&app.config())))
        }
        Err(problem) if problem.status() == StatusCode::NOT_FOUND => Ok(request),
        Err(problem) => Err(problem),
    }
}

/// Builds the prompt with a draft template, if the agent uses the stored template and the draft is valid.
async fn with_template(app: &App, request: Request, template: &str) -> Result<Arc<Built>, Problem> {
    let view = app.workspace.snapshot().of_agent(request.speaker.agent.as_deref());
    let view = view.map_err(|error| Problem::from(error).visible_at(Trust::Full))?;
    if !view.config.builds_from_stored_template() {
        let name = &view.config.blueprint.name;
        let detail = format!("blueprint `{name}` does not use the stored template");
        let help = "omit `template`, or name an `agent` whose blueprint uses it";
        return Err(Problem::bad_request("no_template", detail).help(help));
    }
    let template: Arc<str> = normalized(template).into();
    TemplateCheck::of(&view, app.workspace.dir(), &template)?.usable()?;
    app.agent.prompt_with_template(request, template).await.map_err(draft_problem)
}

fn respond(built: &Built, query: &BuildQuery) -> Response {
    match query.format {
        Format::Json if query.explain => Json(ExplainedPrompt::from(Explained::of(built))).into_response(),
        Format::Json => Json(BuiltPrompt::from(Report::of(&built.prompt, View::Principal))).into_response(),
        Format::Anthropic => Json(anthropic(built)).into_response(),
        Format::Openai => Json(openai(built)).into_response(),
    }
}

fn owner_request(app: &App, caller: &Caller, wanted: PromptOccasion) -> Request {
    let nobody_named = wanted.user.is_none() && wanted.channel.is_none();
    let user = if nobody_named { Some(caller.user().to_owned()) } else { wanted.user.clone() };
    let base = base_request(app, &wanted);
    Request {
        speaker: Speaker {
            user: user.map(Into::into),
            channel: wanted.channel.as_deref().map(Channel::new),
            situation: wanted.situation.as_deref().map(Into::into),
            ..base.speaker.clone()
        },
        cwd: wanted.cwd.as_deref().map(PathBuf::from),
        context: Arc::new(wanted.context.clone()),
        ..base
    }
}

/// The request of another user: for themselves, or for the asserted user.
fn own_request(
    app: &App,
    caller: &Caller,
    wanted: PromptOccasion,
    config: &Config,
) -> Result<Request, Problem> {
    if wanted.session_instructions.is_some() || wanted.cwd.is_some() || !wanted.context.is_empty() {
        may_set(caller, config)?;
    }
    let asserted = Asserted {
        user: wanted.user.as_deref().map(Into::into),
        channel: wanted.channel.as_deref().map(Channel::new),
        situation: wanted.situation.as_deref().map(Into::into),
    };
    let occasion = caller.occasion(&asserted, config)?;
    // Files named after an agent that is not configured are for the owner only.
    is_an_agent(config, wanted.agent.as_deref())?;
    let cwd = wanted.cwd.as_deref().map(|cwd| app.workspace.working_directory(cwd)).transpose();
    let cwd = cwd.map_err(|error| {
        Problem::of_agent(AgentError::Settings(SettingsError::Cwd(error)), caller.trust(config))
    })?;
    let base = base_request(app, &wanted);
    let speaker =
        Speaker { agent: base.speaker.agent.clone(), model: base.speaker.model.clone(), ..occasion.speaker };
    let (cwd, context) = (cwd.map(|cwd| cwd.path), Arc::new(wanted.context.clone()));
    Ok(Request { speaker, cwd, context, ..base })
}

/// The fields that everyone may set.
fn base_request(app: &App, wanted: &PromptOccasion) -> Request {
    let text = |word: &Option<String>| word.as_deref().map(Into::into);
    Request {
        speaker: Speaker { agent: text(&wanted.agent), model: text(&wanted.model), ..Speaker::default() },
        conversation: text(&wanted.conversation),
        session_instructions: text(&wanted.session_instructions),
        ..Request::at(app.clock_and_rng.now(), app.clock_and_rng.random().to_be_bytes())
    }
}

/// Refuses an unknown agent, and a context that a layer would silently ignore.
fn context_fits(app: &App, request: &Request) -> Result<(), Problem> {
    let agent = request.speaker.agent.as_deref();
    let view = app.workspace.snapshot().of_agent(agent);
    let view = view.map_err(|_| Problem::not_found("agent", agent.unwrap_or_default()))?;
    match context_problem(&view.config.blueprint, &request.context) {
        None => Ok(()),
        Some(problem) => Err(Problem::bad_request("bad_context", problem.message)
            .help(format!("write it as `{}`", problem.shape))),
    }
}
