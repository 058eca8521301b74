//! What a client is told when it does not get what it asked for: `application/problem+json` with a stable code, a sentence a
//! person can act on, and no secret in it.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use foreword_agent::conversation_settings::SettingsError;
use foreword_agent::error::AgentError;
use foreword_core::failure::OwnerOnly;
use foreword_prompt::layer_update::Refused as LayerRefused;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_workspace::error::WorkspaceError;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

/// The media type of a problem.
pub const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Problem {
    /// The HTTP status again.
    #[schema(example = 404)]
    status: u16,
    /// A word for programs that stays the same from version to version.
    #[schema(value_type = String, example = "not_found")]
    code: Cow<'static, str>,
    /// What happened, for people.
    #[schema(example = "there is no conversation `c-1`")]
    detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// Everything that is wrong, where it is more than one thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ProblemPlace>,
    /// After how many seconds to try again.
    #[serde(skip)]
    retry_after: Option<u32>,
    /// What the owner reads in the place of `detail` and `help`.
    #[serde(skip)]
    for_owner: Option<Box<OwnerOnly<ForOwner>>>,
}

/// The cause of a problem, and what to do about it.
#[derive(Debug, Clone, PartialEq)]
struct ForOwner {
    detail: String,
    help: Option<String>,
}

/// One of several things that are wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ProblemPlace {
    /// What is wrong.
    pub message: String,
    /// In which line, if it is a text; the first is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// In which column, in characters; the first is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The line in which it ends, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    /// The column behind its last character.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<usize>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl ProblemPlace {
    /// Something that is wrong at no place in particular.
    #[must_use]
    pub fn anywhere(message: String) -> Self {
        Self { message, line: None, column: None, end_line: None, end_column: None, help: None }
    }
}

impl Problem {
    /// A problem of that status and code.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status: status.as_u16(),
            code: Cow::Borrowed(code),
            detail: detail.into(),
            help: None,
            problems: Vec::new(),
            retry_after: None,
            for_owner: None,
        }
    }

    /// What was sent makes no sense.
    #[must_use]
    pub fn bad_request(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// There is no such thing, or none that this caller may know of.
    #[must_use]
    pub fn not_found(what: &str, name: &str) -> Self {
        let name = foreword_prompt::untrusted::display_line(name, 120);
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {what} `{name}`"))
    }

    /// This caller may not.
    #[must_use]
    pub fn forbidden(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, detail)
    }

    /// Something else is in the way.
    #[must_use]
    pub fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    /// It can't be done now.
    #[must_use]
    pub fn unavailable(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
    }

    /// A layer may not have that text.
    fn of_layer(refused: &LayerRefused) -> Self {
        let words = refused.to_string();
        match refused {
            LayerRefused::Unknown { .. } => Self::new(StatusCode::NOT_FOUND, "not_found", words),
            LayerRefused::Immutable { .. } => Self::conflict("layer_immutable", words),
            LayerRefused::Blank { .. } | LayerRefused::TooLong { .. } | LayerRefused::TotalTooLong { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "layer_refused", words)
            }
        }
    }

    /// The same, with what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, with everything that is wrong.
    #[must_use]
    pub fn places(mut self, places: Vec<ProblemPlace>) -> Self {
        self.problems = places;
        self
    }

    /// The same with its cause, which only the owner reads, once [`Problem::shown_at`] has found that it is they who ask.
    pub(crate) fn cause(mut self, detail: impl Into<String>, help: Option<String>) -> Self {
        self.for_owner = Some(Box::new(ForOwner { detail: detail.into(), help }.into()));
        self
    }

    /// The problem as a reader of this effective trust sees it: with its cause for the owner. Without this nobody sees it.
    pub(crate) fn shown_at(mut self, trust: Trust) -> Self {
        if let Some(ForOwner { detail, help }) =
            self.for_owner.take().and_then(|cause| cause.at(trust).cloned())
        {
            self.detail = detail;
            self.help = help.or(self.help);
        }
        self
    }

    /// The same, worth another try after so many seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(u32::try_from(seconds).unwrap_or(u32::MAX));
        self
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Its code.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// What happened.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// What to do about it.
    pub(crate) fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// After how many seconds to try again.
    pub(crate) fn seconds(&self) -> Option<u64> {
        self.retry_after.map(u64::from)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        // Texts and numbers have a JSON form.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (self.status(), [(header::CONTENT_TYPE, CONTENT_TYPE)], body).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED.as_u16() {
            let ask = HeaderValue::from_static("Bearer realm=\"foreword\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, ask);
        }
        response
    }
}

impl Problem {
    /// What an agent can't do, as a reader of this effective trust sees it.
    pub(crate) fn told(error: AgentError, trust: Trust) -> Self {
        match error {
            AgentError::Settings(error) => Self::of_settings(&error, trust),
            error => Self::from(error).shown_at(trust),
        }
    }
}

impl Problem {
    /// Settings of a conversation that are not accepted. Only the owner learns which directories are allowed.
    pub(crate) fn of_settings(error: &SettingsError, trust: Trust) -> Self {
        match error {
            SettingsError::Cwd(_) if trust != Trust::Full => Self::bad_request(error.code(), error.public())
                .help("ask the owner which directories are allowed"),
            error => Self::bad_request(error.code(), error.to_string()).help(error.help_for_owner()),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::NotFound { what, id } => Self::not_found(what, id),
            StoreError::UsedBefore { .. } => {
                Self::conflict("used_before", error.to_string()).help(error.help())
            }
            StoreError::VersionConflict { .. } => {
                Self::conflict("version_conflict", error.to_string()).help(error.help())
            }
            StoreError::LayerRefused(refused) => Self::of_layer(refused).help(error.help()),
            StoreError::Refused { .. } => Self::conflict("refused", error.to_string()).help(error.help()),
            StoreError::ZeroByte => Self::bad_request("zero_byte", error.to_string()).help(error.help()),
            // What a database says of itself is for the owner's log.
            _ => Self::unavailable("store_unavailable", "what must last can't be read or written now")
                .help("try again; the owner finds the reason with `foreword status`")
                .retry_after(1),
        }
    }
}

/// The directory is gone. Where it was is for the owner's log.
pub(crate) fn workspace_unavailable() -> Problem {
    Problem::unavailable("workspace_unavailable", "the workspace's files can't be read now")
        .help("try again; the owner finds the reason with `foreword status`")
        .retry_after(1)
}

impl From<WorkspaceError> for Problem {
    fn from(error: WorkspaceError) -> Self {
        if matches!(error, WorkspaceError::Unavailable { .. }) {
            return workspace_unavailable();
        }
        let code = match &error {
            WorkspaceError::Resolution(_) => "resolution",
            WorkspaceError::Access(_) => "access",
            WorkspaceError::Template(_) => "template",
            _ => "prompt_refused",
        };
        let cause = error.to_string();
        let public = AgentError::Workspace(error).to_string();
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, public)
            .cause(cause, Some("`foreword check` shows every problem with its line".to_owned()))
    }
}

impl From<AgentError> for Problem {
    fn from(error: AgentError) -> Self {
        let (words, cause) = (error.to_string(), error.cause());
        let problem = match error {
            AgentError::Store(error) => return error.into(),
            AgentError::Workspace(error) => return error.into(),
            AgentError::NoWords => Self::bad_request("no_words", words),
            AgentError::Id(_) => Self::bad_request("bad_id", words),
            AgentError::TooLong { .. } => Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", words),
            AgentError::NothingToCompact(_) => Self::conflict("nothing_to_compact", words),
            AgentError::Busy(_) => Self::conflict("busy", words).retry_after(1),
            AgentError::CalledOff(_) => Self::conflict("called_off", words),
            AgentError::AgentGone { .. } => Self::conflict("agent_gone", words),
            AgentError::OtherAgent { .. } => Self::conflict("other_agent", words),
            AgentError::PassedThrough(_) => Self::conflict("passed_through", words),
            AgentError::OneAgent | AgentError::SameAgent { .. } => Self::conflict("same_agent", words),
            AgentError::NotTrusted { .. } => Self::forbidden("not_trusted", words),
            // Not for whoever has set them: the stored directory is the owner's to know.
            AgentError::Settings(SettingsError::Cwd(_)) => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "prompt_refused",
                "the working directory of this conversation can't be used",
            ),
            AgentError::Settings(error) => Self::of_settings(&error, Trust::Public),
            AgentError::NoSchedule(_) => Self::new(StatusCode::NOT_FOUND, "not_found", words),
            AgentError::Closed => Self::unavailable("stopping", words).retry_after(1),
            AgentError::Workflow(_) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "workflow_refused", words),
            AgentError::Model(_) | AgentError::NoSummary(_) => {
                Self::new(StatusCode::BAD_GATEWAY, "model_failed", words)
            }
            AgentError::Unreadable { .. } => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "unreadable", words)
            }
        };
        Self {
            for_owner: Some(Box::new(ForOwner { detail: cause.for_record().clone(), help: None }.into())),
            ..problem
        }
    }
}
