//! Errors as clients get them: `application/problem+json` with a stable code, an actionable message, and no secrets.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use foreword_agent::conversation::settings::SettingsError;
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

/// An error response.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Problem {
    /// The HTTP status.
    #[schema(example = 404)]
    status: u16,
    /// A stable code for programs.
    #[schema(value_type = String, example = "not_found")]
    code: Cow<'static, str>,
    /// The message.
    #[schema(example = "there is no conversation `c-1`")]
    detail: String,
    /// A hint on how to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// The individual problems, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ProblemLocation>,
    /// The `Retry-After` header, in seconds.
    #[serde(skip)]
    retry_after: Option<u32>,
    /// Replaces `detail` and `help` for the owner.
    #[serde(skip)]
    for_owner: Option<Box<OwnerOnly<ForOwner>>>,
}

/// The cause, which only the owner may see.
#[derive(Debug, Clone, PartialEq)]
struct ForOwner {
    detail: String,
    help: Option<String>,
}

/// One of several problems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ProblemLocation {
    /// The message.
    pub message: String,
    /// The line in the text, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The last line, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    /// The column after the last character.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<usize>,
    /// A hint on how to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl ProblemLocation {
    /// A problem without a position.
    #[must_use]
    pub fn without_position(message: String) -> Self {
        Self { message, line: None, column: None, end_line: None, end_column: None, help: None }
    }
}

impl Problem {
    /// A problem with this status, code and message.
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

    /// 400: malformed request.
    #[must_use]
    pub fn bad_request(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// 404: does not exist, or the caller may not see it.
    #[must_use]
    pub fn not_found(what: &str, name: &str) -> Self {
        let name = foreword_prompt::untrusted::display_line(name, 120);
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {what} `{name}`"))
    }

    /// 403: not permitted.
    #[must_use]
    pub fn forbidden(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, detail)
    }

    /// 409: conflicts with the current state.
    #[must_use]
    pub fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    /// 503: temporarily unavailable.
    #[must_use]
    pub fn unavailable(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
    }

    /// An error of writing a layer.
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

    /// Adds a hint.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the individual problems.
    #[must_use]
    pub fn places(mut self, places: Vec<ProblemLocation>) -> Self {
        self.problems = places;
        self
    }

    /// Adds the cause, which [`Problem::visible_at`] shows to the owner only.
    pub(crate) fn cause(mut self, detail: impl Into<String>, help: Option<String>) -> Self {
        self.for_owner = Some(Box::new(ForOwner { detail: detail.into(), help }.into()));
        self
    }

    /// The problem as a reader of this effective trust sees it: the owner gets the cause. Without this call the cause
    /// is never shown.
    pub(crate) fn visible_at(mut self, trust: Trust) -> Self {
        if let Some(ForOwner { detail, help }) =
            self.for_owner.take().and_then(|cause| cause.at(trust).cloned())
        {
            self.detail = detail;
            self.help = help.or(self.help);
        }
        self
    }

    /// Adds a `Retry-After` header.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(u32::try_from(seconds).unwrap_or(u32::MAX));
        self
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The message.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The hint.
    pub(crate) fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The `Retry-After` header, in seconds.
    pub(crate) fn seconds(&self) -> Option<u64> {
        self.retry_after.map(u64::from)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        // Serialising strings and numbers can't fail.
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
    /// An error of the agent as a reader of this effective trust sees it.
    pub(crate) fn of_agent(error: AgentError, trust: Trust) -> Self {
        match error {
            AgentError::Settings(error) => Self::of_settings(&error, trust),
            error => Self::from(error).visible_at(trust),
        }
    }
}

impl Problem {
    /// Invalid settings of a conversation. Only the owner learns which directories are allowed.
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
                Self::conflict("already_exists", error.to_string()).help(error.help())
            }
            StoreError::VersionConflict { .. } => {
                Self::conflict("version_conflict", error.to_string()).help(error.help())
            }
            StoreError::LayerRefused(refused) => Self::of_layer(refused).help(error.help()),
            StoreError::Refused { .. } => Self::conflict("refused", error.to_string()).help(error.help()),
            StoreError::ZeroByte => Self::bad_request("nul_byte", error.to_string()).help(error.help()),
            // Messages of the database are for the owner's log.
            _ => Self::unavailable("store_unavailable", "the store is unavailable")
                .help("try again; the owner can see the reason with `foreword status`")
                .retry_after(1),
        }
    }
}

/// The workspace directory is not readable. Its path is for the owner's log.
pub(crate) fn workspace_unavailable() -> Problem {
    Problem::unavailable("workspace_unavailable", "the workspace's files can't be read at the moment")
        .help("try again; the owner can see the reason with `foreword status`")
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
            AgentError::EmptyMessage => Self::bad_request("empty_message", words),
            AgentError::Id(_) => Self::bad_request("invalid_id", words),
            AgentError::TooLong { .. } => Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", words),
            AgentError::NothingToCompact(_) => Self::conflict("nothing_to_compact", words),
            AgentError::Busy(_) => Self::conflict("busy", words).retry_after(1),
            AgentError::CompactionCancelled(_) => Self::conflict("cancelled", words),
            AgentError::AgentGone { .. } => Self::conflict("agent_not_configured", words),
            AgentError::OtherAgent { .. } => Self::conflict("other_agent", words),
            AgentError::ProxiedConversation(_) => Self::conflict("proxied_conversation", words),
            AgentError::OneAgent | AgentError::SameAgent { .. } => Self::conflict("same_agent", words),
            AgentError::NotTrusted { .. } => Self::forbidden("not_trusted", words),
            // The caller may not be the one who set it, and only the owner may see the stored directory.
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
