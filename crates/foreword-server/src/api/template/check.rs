//! A template looked over while somebody writes it. Nothing is stored and no prompt is made.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use foreword_prompt::layer::Dialect;
use foreword_workspace::template_problems::template_view;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::looked_over::{LookedOver, as_kept};
use crate::api::extract;
use crate::api::permission::owner_reads;
use crate::api::refusals::{Clashes, NotThere, Refusals};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::{Problem, ProblemPlace};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(check))
}

/// A template to look over.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TemplateToCheck {
    /// The template itself.
    #[schema(example = "You are kind. [sytem:date]")]
    template: String,
    /// The agent that is to read it. Default: the first one whose prompts are made from the stored template.
    agent: Option<String>,
}

/// What there is to say of a template.
#[derive(Debug, Serialize, ToSchema)]
struct CheckedTemplate {
    /// The language it is read in: `bracket`, `bracket-compat` or `jinja`.
    #[schema(value_type = String, example = "bracket")]
    dialect: Dialect,
    /// What keeps it from being used.
    problems: Vec<ProblemPlace>,
    /// What works, but is probably not meant.
    warnings: Vec<ProblemPlace>,
}

/// Looks a template over, without storing it. For the owner, with `observe` or `admin`. One that can't be used is answered as
/// well: `problems` says why.
#[utoipa::path(post, path = "/api/v1/template/check", tag = "template",
    request_body = TemplateToCheck,
    responses((status = 200, body = CheckedTemplate), Refusals, NotThere, Clashes))]
async fn check(
    State(app): State<App>,
    caller: Caller,
    extract::Json(sent): extract::Json<TemplateToCheck>,
) -> Result<Json<CheckedTemplate>, Problem> {
    owner_reads(&caller, &app.config())?;
    let snapshot = app.workspace.snapshot();
    let view = match &sent.agent {
        Some(agent) => snapshot.of_agent(Some(agent)).map_err(|_| Problem::not_found("agent", agent))?,
        None => template_view(&snapshot),
    };
    let text: Arc<str> = as_kept(&sent.template).into();
    let LookedOver { dialect, problems, warnings } = LookedOver::of(&view, app.workspace.place(), &text)?;
    Ok(Json(CheckedTemplate { dialect, problems, warnings }))
}
