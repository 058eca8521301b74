//! The bill of a conversation before it is had: what `foreword simulate` shows.

mod body;

use axum::Json;
use axum::extract::State;
use foreword_agent::simulation::{NoBill, Wish};
use foreword_core::api_token::Scope;
use foreword_core::simulate::BadScenario;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use foreword_workspace::request::Request;
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::body::SimulationBody;
use super::extract::Query;
use super::refusals::{NotThere, Refusals};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// The time between two turns, if nobody says.
const PAUSE: &str = "90s";
/// The most models at once: each is a bill of its own.
const MOST_MODELS: usize = 8;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_simulation))
}

/// Which conversation. Everything has a default.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct SimulateQuery {
    /// Who speaks. Default: the caller.
    user: Option<String>,
    /// Where, as `family:identifier`.
    channel: Option<String>,
    /// The kind of place. Default: `dm`.
    situation: Option<String>,
    /// Another agent than the first.
    agent: Option<String>,
    /// Models, with commas between them, 8 at most. Default: the agent's, else one of each kind.
    #[param(example = "anthropic/claude-sonnet-4-6,openai/gpt-5.4")]
    model: Option<String>,
    /// How many messages somebody writes, up to 100000. Default: 100.
    #[param(minimum = 1, maximum = 100_000)]
    turns: Option<usize>,
    /// The time between two turns, such as `90s` or `5m`; or `10s..20m`: each pause twice the one before, then again. Default:
    /// `90s`.
    #[param(example = "90s")]
    pause: Option<String>,
}

/// The bill of a conversation before it is had
///
/// As `foreword --json simulate` writes it: this workspace's prompt, so many turns, under the rules by which providers cache, for
/// three ways to send it. Nothing is sent anywhere. For the owner.
#[utoipa::path(get, path = "/api/v1/simulate", tag = "observing", security(("bearer" = ["observe"])), params(SimulateQuery),
    responses((status = 200, body = SimulationBody), Refusals, NotThere,
        (status = 422, body = Problem, content_type = "application/problem+json")))]
async fn get_simulation(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<SimulateQuery>,
) -> Result<Json<SimulationBody>, Problem> {
    caller.needs_owner(Scope::Observe, &app.config())?;
    let agent = query.agent.as_deref();
    let known = app.workspace.snapshot().of_agent(agent).is_ok();
    if !known {
        return Err(Problem::not_found("agent", agent.unwrap_or_default()));
    }
    let (wish, request) = (wish(&query)?, request(&app, &caller, &query));
    let simulation = app.agent.simulate(request, wish).await;
    let simulation = simulation.map_err(|error| Problem::told(error, Trust::Full))?.map_err(no_bill)?;
    Ok(Json(simulation.report().into()))
}

fn wish(query: &SimulateQuery) -> Result<Wish, Problem> {
    let pause = query.pause.as_deref().map_or(PAUSE, str::trim);
    let mut wish = Wish::paused(pause).map_err(|bad| {
        Problem::bad_request("bad_pause", bad.to_string()).help("write it as `pause=90s` or `pause=10s..20m`")
    })?;
    wish.turns = query.turns.unwrap_or(wish.turns);
    let named = query.model.as_deref().unwrap_or_default().split(',').map(str::trim);
    wish.models = named.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if wish.models.len() > MOST_MODELS {
        let detail = format!("{} models are simulated at once, {MOST_MODELS} at most", wish.models.len());
        return Err(Problem::bad_request("bad_query", detail).help("name fewer in `model`"));
    }
    Ok(wish)
}

fn request(app: &App, caller: &Caller, query: &SimulateQuery) -> Request {
    let nobody_named = query.user.is_none() && query.channel.is_none();
    let user = if nobody_named { Some(caller.user()) } else { query.user.as_deref() };
    Request {
        user: user.map(Into::into),
        channel: query.channel.as_deref().map(Channel::new),
        situation: query.situation.as_deref().map(Into::into),
        agent: query.agent.as_deref().map(Into::into),
        ..Request::at(app.surroundings.now(), app.surroundings.random().to_be_bytes())
    }
}

fn no_bill(why: NoBill) -> Problem {
    let words = why.to_string();
    match why {
        NoBill::Workspace(error) => Problem::from(error).shown_at(Trust::Full),
        NoBill::NoPrice { near, .. } => {
            let near = near.map(|near| format!("did you mean `{near}`? else ")).unwrap_or_default();
            Problem::bad_request("no_price", words)
                .help(format!("{near}say them under `prices` in foreword.yaml"))
        }
        NoBill::Scenario { error: BadScenario::Overflow { .. } | BadScenario::Refused(_), way, model } => {
            let detail = format!("{} with `{model}`: {words}", way.title());
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_scenario", detail)
                .help("ask for fewer turns, or a model with a larger window")
        }
        NoBill::Scenario { .. } => {
            Problem::bad_request("bad_scenario", words).help("write it as `turns=100`")
        }
    }
}
