//! Checks a template while it is edited, without storing it or building a prompt.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use foreword_prompt::layer::Dialect;
use foreword_workspace::template_problems::template_view;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::template_check::{TemplateCheck, normalized};
use crate::api::error_responses::{BodyErrors, CommonErrors, NotFoundError};
use crate::api::extract;
use crate::api::permission::owner_reads;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::{Problem, ProblemLocation};

/// A template to check.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TemplateToCheck {
    /// The text.
    #[schema(example = "You are kind. [sytem:date]")]
    template: String,
    /// The agent. Default: the first one that uses the stored template.
    agent: Option<String>,
}

/// The result of a check.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CheckedTemplate {
    /// The dialect: `bracket`, `bracket-compat` or `jinja`.
    #[schema(value_type = String, example = "bracket")]
    dialect: Dialect,
    /// Errors.
    problems: Vec<ProblemLocation>,
    /// Probable mistakes.
    warnings: Vec<ProblemLocation>,
}

/// Checks a template, without storing it. Owner only, with `observe` or `admin`. An invalid one gets status 200 too,
/// with `problems`.
#[utoipa::path(post, path = "/api/v1/template/check", tag = "template",
    request_body = TemplateToCheck,
    responses((status = 200, body = CheckedTemplate), CommonErrors, NotFoundError, BodyErrors))]
pub(crate) async fn check_template(
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
    let text: Arc<str> = normalized(&sent.template).into();
    let TemplateCheck { dialect, problems, warnings } = TemplateCheck::of(&view, app.workspace.dir(), &text)?;
    Ok(Json(CheckedTemplate { dialect, problems, warnings }))
}
