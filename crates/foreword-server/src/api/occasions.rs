//! The possible occasions of a prompt: users, situations, agents and models, for pickers. Users other than the owner
//! only see themselves.

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

use super::error_responses::CommonErrors;
use super::permission::{is_owner, reads};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// The possible occasions of a prompt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Occasions {
    /// The agents; the first is the default.
    agents: Vec<OccasionAgent>,
    /// The users.
    users: Vec<OccasionUser>,
    /// The situations.
    situations: Vec<OccasionSituation>,
    /// The channels of the users.
    channels: BTreeSet<String>,
    /// The known models.
    models: Vec<OccasionModel>,
}

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OccasionAgent {
    /// Its name.
    name: String,
    /// Its blueprint.
    #[schema(example = "gateway")]
    blueprint: String,
    /// Its model.
    #[schema(example = "offline/echo")]
    model: String,
    /// The dialect of its templates: `bracket`, `bracket-compat` or `jinja`.
    #[schema(value_type = String, example = "bracket")]
    dialect: Dialect,
    /// Whether its prompt is built from the stored template.
    uses_template: bool,
}

/// A user.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OccasionUser {
    /// The name.
    name: String,
    /// The user's trust.
    #[schema(value_type = String, example = "inner")]
    trust: Trust,
    /// The user's channels.
    channels: Vec<String>,
}

/// A situation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OccasionSituation {
    /// Its name.
    name: String,
    /// The maximum trust in it.
    #[schema(value_type = String, example = "familiar")]
    ceiling: Trust,
}

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OccasionModel {
    /// Its name.
    #[schema(example = "anthropic/claude-sonnet-4-6")]
    id: String,
    /// Price of a million input tokens in US dollars, if known.
    input_usd_per_mtok: Option<f64>,
    /// The context window in tokens, if known.
    context_window: Option<usize>,
}

/// Lists the possible occasions of a prompt. The owner sees all users; other users only see themselves, in `dm`. With
/// `chat` or `observe`.
#[utoipa::path(get, path = "/api/v1/occasions", tag = "prompts", responses((status = 200, body = Occasions), CommonErrors))]
pub(crate) async fn list_occasions(
    State(app): State<App>,
    caller: Caller,
) -> Result<Json<Occasions>, Problem> {
    reads(&caller)?;
    let config = app.config();
    let all = is_owner(&caller, &config);
    let users: Vec<&User> = config.users.iter().filter(|user| all || &*user.name == caller.user()).collect();
    let situations = config.situations.iter().filter(|(name, _)| all || &***name == DIRECT);
    Ok(Json(Occasions {
        agents: config.all_agents().map(agent).collect(),
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
