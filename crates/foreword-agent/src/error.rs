//! Errors of the agent.

pub mod settings;
pub mod workflow;

use foreword_core::failure::{Failure, OwnerOnly};
use foreword_core::id::{BadId, ConversationId};
use foreword_core::model::{ErrorKind, ModelError};
use foreword_core::retry::ErrorCategory;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_workspace::error::WorkspaceError;

use self::settings::SettingsError;
use self::workflow::WorkflowError;

/// An error of the agent. Its text is safe for every reader; [`AgentError::cause`] has the details for the owner.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The store failed.
    #[error("{}", public_store_error(.0))]
    Store(#[from] StoreError),
    /// The prompt can't be built.
    #[error("this prompt can't be built now; the owner finds the reason with `foreword check`")]
    Workspace(#[from] WorkspaceError),
    /// The model can't be called.
    #[error("the model can't be called: {}", .0.kind)]
    Model(#[from] ModelError),
    /// An id is invalid.
    #[error(transparent)]
    Id(#[from] BadId),
    /// The message is empty.
    #[error("an empty message can't be answered")]
    EmptyMessage,
    /// The message is too long.
    #[error("a message has {size} bytes, {limit} are allowed: put the text into a file and name it")]
    TooLong {
        /// Its size in bytes.
        size: usize,
        /// The maximum in bytes.
        limit: usize,
    },
    /// The conversation has nothing to summarise.
    #[error("conversation `{0}` has nothing to summarise yet")]
    NothingToCompact(ConversationId),
    /// A turn is running in the conversation.
    #[error("a turn is running in conversation `{0}`: wait for it, or cancel it")]
    Busy(ConversationId),
    /// The compaction was cancelled, or the agent shuts down.
    #[error("the compaction of conversation `{0}` was cancelled: nothing has changed")]
    CompactionCancelled(ConversationId),
    /// The agent of the conversation is no longer configured.
    #[error(
        "conversation `{conversation}` belongs to agent `{agent}`, which is no longer configured: add it to \
         `agents` again, or hand the conversation over to one of {known} with \
         `foreword agents hand-over {conversation} NAME`"
    )]
    AgentGone {
        conversation: ConversationId,
        agent: String,
        /// The configured agents.
        known: String,
    },
    /// The message names another agent than that of the conversation.
    #[error(
        "conversation `{conversation}` belongs to agent `{agent}`: hand it over to `{wanted}` with \
         `foreword agents hand-over {conversation} {wanted}`, or start another conversation"
    )]
    OtherAgent {
        conversation: ConversationId,
        agent: String,
        /// The agent that the message names.
        wanted: String,
    },
    /// The conversation was recorded by a drop-in endpoint, so it has no agent.
    #[error("conversation `{0}` was recorded by a drop-in endpoint: no agent answers in it")]
    ProxiedConversation(ConversationId),
    /// No other agent is configured.
    #[error("this workspace has only one agent: configure others in `agents`")]
    OneAgent,
    /// The conversation already belongs to this agent.
    #[error("conversation `{conversation}` belongs to agent `{agent}` already")]
    SameAgent { conversation: ConversationId, agent: String },
    /// The trust is not sufficient for a hand-over.
    #[error("handing a conversation over needs `{needed}` trust, this request has `{trust}`")]
    NotTrusted {
        /// The trust it requires.
        needed: Trust,
        /// The trust of the requester.
        trust: Trust,
    },
    /// The summary could not be generated. The reason is safe for every reader.
    #[error("no summary: {0}")]
    NoSummary(String),
    /// The schedule does not exist.
    #[error("there is no schedule `{}`", .0.escape_debug())]
    NoSchedule(String),
    /// The settings of a conversation are invalid or can't be used.
    #[error("{}", .0.public())]
    Settings(#[from] SettingsError),
    /// A workflow was not started or not resumed.
    #[error("{}", .0.public())]
    Workflow(#[from] WorkflowError),
    /// The agent shuts down.
    #[error("the agent is being shut down")]
    Closed,
    /// The saved state of a turn can't be decoded.
    #[error("the saved state of turn `{turn}` can't be read")]
    Unreadable {
        /// The id of the turn.
        turn: String,
        /// The decoding error.
        reason: String,
    },
}

impl AgentError {
    /// The details for the owner: files, addresses and variables, and what to do.
    ///
    /// ```
    /// use foreword_agent::error::AgentError;
    /// use foreword_core::failure::OwnerProof;
    /// use foreword_prompt::trust::Trust;
    ///
    /// let owner = OwnerProof::of(Trust::Full).unwrap();
    /// assert_eq!(*AgentError::EmptyMessage.cause().reveal(owner), AgentError::EmptyMessage.to_string());
    /// ```
    #[must_use]
    pub fn cause(&self) -> OwnerOnly<String> {
        let cause = match self {
            Self::Store(error) => error.to_string(),
            Self::Workspace(error) => match error.help() {
                Some(help) => format!("{error}; {help}"),
                None => error.to_string(),
            },
            Self::Model(error) => error.to_string(),
            Self::Workflow(error) => error.to_string(),
            Self::Settings(error) => format!("{error}; {}", error.help_for_owner()),
            Self::Unreadable { reason, .. } => format!("{self}: {reason}"),
            other => other.to_string(),
        };
        cause.into()
    }

    /// The error as a reader of `trust` sees it.
    #[must_use]
    pub fn visible_at(&self, trust: Trust) -> String {
        self.cause().at(trust).cloned().unwrap_or_else(|| self.to_string())
    }

    /// The error category of a turn that fails with this error.
    #[must_use]
    pub fn code(&self) -> ErrorCategory {
        match self {
            Self::Workspace(_) | Self::Settings(_) | Self::AgentGone { .. } => ErrorCategory::ConfigError,
            Self::Model(error) if error.kind == ErrorKind::NotConfigured => ErrorCategory::ConfigError,
            Self::Model(_) | Self::NoSummary(_) => ErrorCategory::ProviderPermanent,
            _ => ErrorCategory::InternalError,
        }
    }

    /// The failure of a turn that fails with this error.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        Failure { code: self.code(), public: None, detail: self.cause() }
    }
}

/// The public text of a store error. It contains nothing about the database.
#[must_use]
pub fn public_store_error(error: &StoreError) -> String {
    match error {
        StoreError::NotFound { .. }
        | StoreError::UsedBefore { .. }
        | StoreError::VersionConflict { .. }
        | StoreError::LayerRefused(_)
        | StoreError::Refused { .. }
        | StoreError::ZeroByte => error.to_string(),
        _ => "the database can't be read or written now: try again later".to_owned(),
    }
}

/// A store error as a reader of `trust` sees it.
pub(crate) fn store_error_at(error: &StoreError, trust: Trust) -> String {
    if trust.permits(Trust::Full) { error.to_string() } else { public_store_error(error) }
}
