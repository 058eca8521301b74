//! Prompts built for an occasion, as `foreword build` does: by the owner for anybody, by everybody else for themselves.

mod as_asked_for;
mod owners_view;
mod report;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use foreword_agent::explained::Explained;
use foreword_agent::lowering::{anthropic, openai};
use foreword_core::id::ConversationId;
use foreword_prompt::occasion::Channel;
use foreword_prompt::report::{Report, View};
use foreword_prompt::trust::Trust;
use foreword_workspace::build::Built;
use foreword_workspace::config::Config;
use foreword_workspace::inspect::context_problem;
use foreword_workspace::request::Request;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, OpenApi, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::as_asked_for::AsAskedFor;
use self::owners_view::ExplainedPrompt;
use self::report::BuiltPrompt;
use super::extract::{self, Query};
use super::permission::{is_an_agent, reads};
use super::refusals::{Clashes, NotThere, Refusals};
use super::template::{LookedOver, as_kept, tried_by_owner};
use crate::app::App;
use crate::auth::{Asserted, Caller, may_see};
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Named::openapi()).routes(routes!(build))
}

/// What the document speaks of in words: one route answers in several forms.
#[derive(OpenApi)]
#[openapi(components(schemas(BuiltPrompt, ExplainedPrompt)))]
struct Named;

/// The occasion of a prompt. Everything has a default. Whoever is not the owner may say `agent`, `model`, `conversation` and
/// `session_instructions`, and their own name.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct PromptOccasion {
    /// For whom. Default: the caller.
    user: Option<String>,
    /// Where, as `family:identifier`.
    #[schema(example = "signal:alice")]
    channel: Option<String>,
    /// Such as `group`. Default: `dm`.
    situation: Option<String>,
    /// Another agent than the first.
    agent: Option<String>,
    /// Another model than the configured one.
    model: Option<String>,
    /// The conversation's id: its session instructions, working directory and context are used where this request has none.
    conversation: Option<String>,
    /// The working directory; relative to the workspace.
    cwd: Option<String>,
    /// Values for templates.
    #[schema(value_type = Object)]
    context: Map<String, Value>,
    /// Instructions for this conversation alone.
    session_instructions: Option<String>,
    /// This text instead of the stored template, to try it out. The owner's.
    template: Option<String>,
}

/// In which form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// A report.
    #[default]
    Json,
    /// The beginning of a request to Anthropic.
    Anthropic,
    /// The beginning of a request to OpenAI.
    Openai,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct BuildQuery {
    /// The owner's view: with what was withheld and why, where it can be cached, and what it costs.
    #[serde(default)]
    explain: bool,
    /// `json`, `anthropic` or `openai`. Default: `json`.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

/// Builds a prompt and gives it back; nothing is frozen and nothing is stored. With `chat` or `observe`.
#[utoipa::path(post, path = "/api/v1/prompts/build", tag = "prompts", request_body = PromptOccasion,
    params(BuildQuery),
    responses((status = 200, description = "The prompt; with `explain` an `ExplainedPrompt`, with another `format` the \
        beginning of that provider's request.", body = AsAskedFor), Refusals, NotThere, Clashes))]
async fn build(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<BuildQuery>,
    extract::Json(mut wanted): extract::Json<PromptOccasion>,
) -> Result<Response, Problem> {
    reads(&caller)?;
    app.agent.attend().await;
    let config = app.config();
    let trust = caller.trust(&config);
    if query.explain && trust != Trust::Full {
        return Err(Problem::forbidden("owner_only", "only the owner has a prompt explained"));
    }
    if query.explain && query.format != Format::Json {
        return Err(Problem::bad_request("bad_query", "`explain` has no other format"));
    }
    let template = wanted.template.take();
    if template.is_some() && trust != Trust::Full {
        return Err(Problem::forbidden("owner_only", "only the owner says `template`"));
    }
    let request = if trust == Trust::Full {
        anybodys(&app, &caller, wanted)
    } else {
        their_own(&app, &caller, wanted, &config)?
    };
    let request = with_settings(&app, &caller, request).await?;
    context_fits(&app, &request)?;
    let built = match template {
        Some(template) => with_template(&app, request, &template).await?,
        None => app.agent.prompt(request).await.map_err(|error| Problem::told(error, trust))?,
    };
    Ok(written(&built, &query))
}

/// The request with the stored settings of its conversation, if there is one that the caller may see.
async fn with_settings(app: &App, caller: &Caller, request: Request) -> Result<Request, Problem> {
    let id = request.conversation.as_deref().and_then(|id| ConversationId::new(id).ok());
    let Some(id) = id else { return Ok(request) };
    match may_see(app, caller, &id).await {
        Ok(_) => {
            let with_settings = app.agent.with_settings(request).await;
            with_settings.map_err(|error| Problem::told(error, caller.trust(&app.config())))
        }
        Err(problem) if problem.status() == StatusCode::NOT_FOUND => Ok(request),
        Err(problem) => Err(problem),
    }
}

/// The prompt as it would be with another template, if the agent builds from one and this one can be used.
async fn with_template(app: &App, request: Request, template: &str) -> Result<Arc<Built>, Problem> {
    let view = app.workspace.snapshot().of_agent(request.agent.as_deref());
    let view = view.map_err(|error| Problem::from(error).shown_at(Trust::Full))?;
    if !view.config.builds_from_stored_template() {
        let name = &view.config.blueprint.name;
        let detail = format!("blueprint `{name}` builds from no stored template");
        let help = "leave `template` out, or name an `agent` whose blueprint has such a layer";
        return Err(Problem::bad_request("no_template", detail).help(help));
    }
    let template: Arc<str> = as_kept(template).into();
    LookedOver::of(&view, app.workspace.place(), &template)?.usable()?;
    app.agent.prompt_with_template(request, template).await.map_err(tried_by_owner)
}

fn written(built: &Built, query: &BuildQuery) -> Response {
    match query.format {
        Format::Json if query.explain => Json(ExplainedPrompt::from(Explained::of(built))).into_response(),
        Format::Json => Json(BuiltPrompt::from(Report::of(&built.prompt, View::Principal))).into_response(),
        Format::Anthropic => Json(anthropic(built)).into_response(),
        Format::Openai => Json(openai(built)).into_response(),
    }
}

/// What the owner asks for.
fn anybodys(app: &App, caller: &Caller, wanted: PromptOccasion) -> Request {
    let nobody_named = wanted.user.is_none() && wanted.channel.is_none();
    let user = if nobody_named { Some(caller.user().to_owned()) } else { wanted.user.clone() };
    Request {
        user: user.map(Into::into),
        channel: wanted.channel.as_deref().map(Channel::new),
        situation: wanted.situation.as_deref().map(Into::into),
        cwd: wanted.cwd.as_deref().map(PathBuf::from),
        context: Arc::new(wanted.context.clone()),
        ..harmless(app, &wanted)
    }
}

/// What everybody else may ask for: their own prompt, where they speak in private; or whom they assert to be, if they may.
fn their_own(
    app: &App,
    caller: &Caller,
    wanted: PromptOccasion,
    config: &Config,
) -> Result<Request, Problem> {
    for (given, what) in [(wanted.cwd.is_some(), "cwd"), (!wanted.context.is_empty(), "context")] {
        if given {
            return Err(Problem::forbidden("owner_only", format!("only the owner says `{what}`")));
        }
    }
    let asserted = Asserted {
        user: wanted.user.as_deref().map(Into::into),
        channel: wanted.channel.as_deref().map(Channel::new),
        situation: wanted.situation.as_deref().map(Into::into),
    };
    let occasion = caller.occasion(&asserted, config)?;
    // Files may be called after an agent that nobody has configured, and are nobody's but the owner's then.
    is_an_agent(config, wanted.agent.as_deref())?;
    Ok(Request {
        user: occasion.user,
        channel: occasion.channel,
        situation: occasion.situation,
        ..harmless(app, &wanted)
    })
}

/// What anybody may say.
fn harmless(app: &App, wanted: &PromptOccasion) -> Request {
    let text = |word: &Option<String>| word.as_deref().map(Into::into);
    Request {
        agent: text(&wanted.agent),
        model: text(&wanted.model),
        conversation: text(&wanted.conversation),
        session_instructions: text(&wanted.session_instructions),
        ..Request::at(app.surroundings.now(), app.surroundings.random().to_be_bytes())
    }
}

/// Refuses an agent that is not there, and a context that a layer would pass over in silence.
fn context_fits(app: &App, request: &Request) -> Result<(), Problem> {
    let agent = request.agent.as_deref();
    let view = app.workspace.snapshot().of_agent(agent);
    let view = view.map_err(|_| Problem::not_found("agent", agent.unwrap_or_default()))?;
    match context_problem(&view.config.blueprint, &request.context) {
        None => Ok(()),
        Some(problem) => Err(Problem::bad_request("bad_context", problem.message)
            .help(format!("write it as `{}`", problem.shape))),
    }
}
