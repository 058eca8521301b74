//! Estimates the cost of a conversation, like `foreword simulate`.

mod body;

use axum::Json;
use axum::extract::State;
use foreword_agent::reports::simulation::{SimulationError, SimulationParams};
use foreword_core::api_token::Scope;
use foreword_core::simulate::BadScenario;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use self::body::SimulationBody;
use super::error_responses::{CommonErrors, NotFoundError};
use super::extract::Query;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

const DEFAULT_PAUSE: &str = "90s";
const MAX_MODELS: usize = 8;

/// The conversation to simulate. All fields have defaults.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct SimulateQuery {
    /// The user. Default: the caller.
    user: Option<String>,
    /// The channel, as `family:identifier`.
    channel: Option<String>,
    /// The situation. Default: `dm`.
    situation: Option<String>,
    /// The agent. Default: the first.
    agent: Option<String>,
    /// Comma-separated models, at most 8. Default: the agent's, else one of each provider.
    #[param(example = "anthropic/claude-sonnet-4-6,openai/gpt-5.4")]
    model: Option<String>,
    /// Number of user messages, up to 100000. Default: 100.
    #[param(minimum = 1, maximum = 100_000)]
    turns: Option<usize>,
    /// The pause between two turns, such as `90s` or `5m`; or `10s..20m`, which doubles each pause and then starts
    /// over. Default: `90s`.
    #[param(example = "90s")]
    pause: Option<String>,
}

/// Estimates the cost of a conversation
///
/// Same format as `foreword --json simulate`: this workspace's prompt and a number of turns, with the providers'
/// caching rules and three strategies of sending it. Calls no provider. Owner only.
#[utoipa::path(get, path = "/api/v1/simulate", tag = "observing", security(("bearer" = ["observe"])), params(SimulateQuery),
    responses((status = 200, body = SimulationBody), CommonErrors, NotFoundError,
        (status = 422, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn get_simulation(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<SimulateQuery>,
) -> Result<Json<SimulationBody>, Problem> {
    caller.require_owner(Scope::Observe, &app.config())?;
    let agent = query.agent.as_deref();
    let known = app.workspace.snapshot().of_agent(agent).is_ok();
    if !known {
        return Err(Problem::not_found("agent", agent.unwrap_or_default()));
    }
    let (params, request) = (simulation_params(&query)?, request(&app, &caller, &query));
    let simulation = app.agent.simulate(request, params).await;
    let simulation =
        simulation.map_err(|error| Problem::of_agent(error, Trust::Full))?.map_err(simulation_problem)?;
    Ok(Json(simulation.report().into()))
}

fn simulation_params(query: &SimulateQuery) -> Result<SimulationParams, Problem> {
    let pause = query.pause.as_deref().map_or(DEFAULT_PAUSE, str::trim);
    let mut params = SimulationParams::paused(pause).map_err(|bad| {
        Problem::bad_request("bad_pause", bad.to_string()).help("write it as `pause=90s` or `pause=10s..20m`")
    })?;
    params.turns = query.turns.unwrap_or(params.turns);
    let named = query.model.as_deref().unwrap_or_default().split(',').map(str::trim);
    params.models = named.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if params.models.len() > MAX_MODELS {
        let detail = format!("{} models are too many: the maximum is {MAX_MODELS}", params.models.len());
        return Err(Problem::bad_request("bad_query", detail).help("name fewer in `model`"));
    }
    Ok(params)
}

fn request(app: &App, caller: &Caller, query: &SimulateQuery) -> Request {
    let nobody_named = query.user.is_none() && query.channel.is_none();
    let user = if nobody_named { Some(caller.user()) } else { query.user.as_deref() };
    Request {
        speaker: Speaker {
            user: user.map(Into::into),
            channel: query.channel.as_deref().map(Channel::new),
            situation: query.situation.as_deref().map(Into::into),
            agent: query.agent.as_deref().map(Into::into),
            ..Speaker::default()
        },
        ..Request::at(app.clock_and_rng.now(), app.clock_and_rng.random().to_be_bytes())
    }
}

fn simulation_problem(why: SimulationError) -> Problem {
    let words = why.to_string();
    match why {
        SimulationError::Workspace(error) => Problem::from(error).visible_at(Trust::Full),
        SimulationError::NoPrice { near, .. } => {
            let near = near.map(|near| format!("did you mean `{near}`? otherwise ")).unwrap_or_default();
            Problem::bad_request("no_price", words)
                .help(format!("{near}set them in `prices` of foreword.yaml"))
        }
        SimulationError::Scenario {
            error: BadScenario::Overflow { .. } | BadScenario::Refused(_),
            strategy,
            model,
        } => {
            let detail = format!("{} with `{model}`: {words}", strategy.title());
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_scenario", detail)
                .help("use fewer turns, or a model with a larger context window")
        }
        SimulationError::Scenario { .. } => {
            Problem::bad_request("bad_scenario", words).help("write it as `turns=100`")
        }
    }
}
