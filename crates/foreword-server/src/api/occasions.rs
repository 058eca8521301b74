//! What a prompt can be built for here: who there is, where, which agents and models. For pickers; whoever is not the owner
//! sees themselves.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use foreword_core::models::ModelFacts;
use foreword_core::money::Money;
use foreword_prompt::layer::Dialect;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::{Config, User};
use foreword_workspace::request::DIRECT;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::permission::{is_owner, reads};
use super::refusals::Refusals;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list))
}

/// What a prompt can be built for.
#[derive(Debug, Serialize, ToSchema)]
struct Occasions {
    /// The agents, the first first.
    agents: Vec<OccasionAgent>,
    /// The people.
    users: Vec<OccasionUser>,
    /// The kinds of places.
    situations: Vec<OccasionSituation>,
    /// The channels that people are known by.
    channels: BTreeSet<String>,
    /// The models that something is known of.
    models: Vec<OccasionModel>,
}

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
struct OccasionAgent {
    /// Its name.
    name: String,
    /// The blueprint its prompt is made by.
    #[schema(example = "gateway")]
    blueprint: String,
    /// The model it runs on.
    #[schema(example = "offline/echo")]
    model: String,
    /// How its templates are written: `bracket`, `bracket-compat` or `jinja`.
    #[schema(value_type = String, example = "bracket")]
    dialect: Dialect,
    /// Whether its prompt is made from the stored template.
    uses_template: bool,
}

/// A person.
#[derive(Debug, Serialize, ToSchema)]
struct OccasionUser {
    /// The name.
    name: String,
    /// How far they are trusted.
    #[schema(value_type = String, example = "inner")]
    trust: Trust,
    /// The channels they are known by.
    channels: Vec<String>,
}

/// A kind of place.
#[derive(Debug, Serialize, ToSchema)]
struct OccasionSituation {
    /// Its name.
    name: String,
    /// Nobody is trusted above this there.
    #[schema(value_type = String, example = "familiar")]
    ceiling: Trust,
}

/// A model.
#[derive(Debug, Serialize, ToSchema)]
struct OccasionModel {
    /// Its name.
    #[schema(example = "anthropic/claude-sonnet-4-6")]
    id: String,
    /// What a million tokens of input cost, in US dollars, if it is known.
    input_usd_per_mtok: Option<f64>,
    /// The most tokens a request may hold, if known.
    context_window: Option<usize>,
}

/// What a prompt can be built for here. The owner sees everybody; everybody else themselves, in private. With `chat` or
/// `observe`.
#[utoipa::path(get, path = "/api/v1/occasions", tag = "prompts", responses((status = 200, body = Occasions), Refusals))]
async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Occasions>, Problem> {
    reads(&caller)?;
    let config = app.config();
    let all = is_owner(&caller, &config);
    let users: Vec<&User> = config.users.iter().filter(|user| all || &*user.name == caller.user()).collect();
    let situations = config.situations.iter().filter(|(name, _)| all || &***name == DIRECT);
    Ok(Json(Occasions {
        agents: config.everybody().map(agent).collect(),
        channels: users.iter().flat_map(|user| channels(user)).collect(),
        users: users.into_iter().map(person).collect(),
        situations: situations
            .map(|(name, one)| OccasionSituation { name: name.to_string(), ceiling: one.ceiling })
            .collect(),
        models: config.models.iter().map(model).collect(),
    }))
}

fn agent(config: &Config) -> OccasionAgent {
    OccasionAgent {
        name: config.agent.name.to_string(),
        blueprint: config.blueprint.name.to_string(),
        model: config.agent.model.to_string(),
        dialect: config.template_dialect(),
        uses_template: config.builds_from_stored_template(),
    }
}

fn person(user: &User) -> OccasionUser {
    OccasionUser { name: user.name.to_string(), trust: user.trust, channels: channels(user).collect() }
}

fn channels(user: &User) -> impl Iterator<Item = String> {
    user.channels.iter().map(|channel| channel.as_str().to_owned())
}

fn model(facts: &ModelFacts) -> OccasionModel {
    OccasionModel {
        id: facts.id.as_str().to_owned(),
        input_usd_per_mtok: facts
            .prices_at(0)
            .map(|prices| prices.input.times(1_000_000))
            .map(Money::dollars),
        context_window: facts.context_window,
    }
}
