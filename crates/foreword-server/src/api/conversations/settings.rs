//! The settings of a conversation: session instructions, working directory and template context. For the owner, and for
//! tokens with the scope `assert`.

use axum::Json;
use axum::extract::State;
use foreword_agent::error::AgentError;
use foreword_core::api_token::Scope;
use foreword_store::conversation_settings::{SettingChange, SettingsUpdate};
use http::HeaderMap;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::ConversationBody;
use super::saying::Spoken;
use crate::api::extract::{self, Path};
use crate::api::refusals::{Clashes, NotThere, Refusals};
use crate::app::App;
use crate::auth::{Caller, may_set};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(update))
}

/// Changes to the settings of a conversation. What is left out stays as it is; `null` removes it.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct ConversationUpdate {
    /// Instructions for this conversation alone; at most 64 KiB.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<String>, required = false, example = "Answer in Portuguese.")]
    session_instructions: Option<Option<String>>,
    /// The working directory: relative to the workspace, or absolute and below one of `conversations.cwd_roots`.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<String>, required = false, example = "projects/site")]
    cwd: Option<Option<String>>,
    /// Values for templates, which replace the old ones all together; at most 64 KiB of JSON.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<Object>, required = false)]
    context: Option<Option<Map<String, Value>>>,
}

/// A field that is there, as opposed to one that is left out.
pub(crate) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// The change that a field of a request asks for.
pub(crate) fn change<T>(field: Option<Option<T>>) -> SettingChange<T> {
    match field {
        None => SettingChange::Keep,
        Some(None) => SettingChange::Remove,
        Some(Some(value)) => SettingChange::Set(value),
    }
}

/// Changes the session instructions, the working directory or the template context of a conversation. They apply to all
/// turns from the next one on, which opens a new epoch. With `chat`; for the owner, and for tokens with `assert`.
#[utoipa::path(patch, path = "/api/v1/conversations/{id}", tag = "conversations", request_body = ConversationUpdate,
    params(("id" = String, Path, description = "The conversation.")),
    responses((status = 200, body = ConversationBody), Refusals, NotThere, Clashes))]
async fn update(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    extract::Json(update): extract::Json<ConversationUpdate>,
) -> Result<Json<ConversationBody>, Problem> {
    caller.needs(Scope::Chat)?;
    may_set(&caller, &app.config())?;
    let Spoken { seen, .. } = Spoken::of(&app, &caller, &id, &headers).await?;
    let update = SettingsUpdate {
        session_instructions: change(update.session_instructions),
        cwd: change(update.cwd),
        context: change(update.context),
    };
    let settings = app.agent.update_settings(&seen.conversation.id, update).await;
    let settings = settings.map_err(|error| refused(error, &app, &caller))?;
    app.kept_words.forget();
    let mut body = ConversationBody::from(seen.conversation);
    body.show(settings);
    Ok(Json(body))
}

/// What the caller is told of settings that are not accepted.
pub(crate) fn refused(error: AgentError, app: &App, caller: &Caller) -> Problem {
    match error {
        AgentError::Settings(error) => Problem::of_settings(&error, caller.trust(&app.config())),
        other => other.into(),
    }
}
