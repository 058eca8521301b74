//! The settings of a conversation: session instructions, working directory and template context. For the owner and
//! tokens with `assert`.

use axum::Json;
use axum::extract::State;
use foreword_agent::error::AgentError;
use foreword_core::api_token::Scope;
use foreword_core::template_context::TemplateContext;
use foreword_store::conversation_settings::{SettingChange, SettingsUpdate};
use http::HeaderMap;
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::body::ConversationBody;
use super::post_message::MessageContext;
use crate::api::error_responses::{BodyErrors, CommonErrors, NotFoundError};
use crate::api::extract::{self, Path};
use crate::app::App;
use crate::auth::{Caller, may_set};
use crate::problem::Problem;

/// Changes to a conversation's settings. An absent field stays unchanged; `null` removes it.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ConversationUpdate {
    /// Instructions for this conversation only, at most 64 KiB.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<String>, required = false, example = "Answer in Portuguese.")]
    session_instructions: Option<Option<String>>,
    /// The working directory: relative to the workspace, or absolute and below one of `conversations.cwd_roots`.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<String>, required = false, example = "projects/site")]
    cwd: Option<Option<String>>,
    /// Values for templates, which replace all old ones; at most 64 KiB of JSON.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<Object>, required = false)]
    context: Option<Option<TemplateContext>>,
}

/// Distinguishes `null` from an absent field.
pub(crate) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

pub(crate) fn change<T>(field: Option<Option<T>>) -> SettingChange<T> {
    match field {
        None => SettingChange::Keep,
        Some(None) => SettingChange::Remove,
        Some(Some(value)) => SettingChange::Set(value),
    }
}

/// Changes the session instructions, the working directory or the template context of a conversation. They apply from
/// the next turn on, which opens a new epoch. With `chat`; for the owner and tokens with `assert`.
#[utoipa::path(patch, path = "/api/v1/conversations/{id}", tag = "conversations", request_body = ConversationUpdate,
    params(("id" = String, Path, description = "The conversation.")),
    responses((status = 200, body = ConversationBody), CommonErrors, NotFoundError, BodyErrors))]
pub(crate) async fn update_conversation(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    extract::Json(update): extract::Json<ConversationUpdate>,
) -> Result<Json<ConversationBody>, Problem> {
    caller.require(Scope::Chat)?;
    may_set(&caller, &app.config())?;
    let MessageContext { seen, .. } = MessageContext::of(&app, &caller, &id, &headers).await?;
    let update = SettingsUpdate {
        session_instructions: change(update.session_instructions),
        cwd: change(update.cwd),
        context: change(update.context),
    };
    let settings = app.agent.update_settings(&seen.conversation.id, update).await;
    let settings = settings.map_err(|error| refused(error, &app, &caller))?;
    app.prompt_cache.clear();
    let mut body = ConversationBody::from(seen.conversation);
    body.show(settings);
    Ok(Json(body))
}

/// The error of invalid settings.
pub(crate) fn refused(error: AgentError, app: &App, caller: &Caller) -> Problem {
    match error {
        AgentError::Settings(error) => Problem::of_settings(&error, caller.trust(&app.config())),
        other => other.into(),
    }
}
