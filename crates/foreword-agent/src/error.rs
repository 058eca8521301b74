//! Why an agent could not do what it was asked for.

use foreword_core::failure::{Failure, OwnerOnly};
use foreword_core::id::{BadId, ConversationId};
use foreword_core::model::{ErrorKind, ModelError};
use foreword_core::retry::ErrorCategory;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_workspace::error::WorkspaceError;

use crate::conversation_settings::SettingsError;
use crate::workflows::WorkflowError;

/// Why an agent could not do what it was asked for. As text it is what everybody may read; [`AgentError::cause`] is for the
/// owner.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// What must last can't be written or read.
    #[error("{}", public_store_error(.0))]
    Store(#[from] StoreError),
    /// The prompt can't be made.
    #[error("this prompt can't be made now; its owner finds the reason with `foreword check`")]
    Workspace(#[from] WorkspaceError),
    /// The model can't be called at all.
    #[error("the model can't be called: {}", .0.kind)]
    Model(#[from] ModelError),
    /// A name that is none.
    #[error(transparent)]
    Id(#[from] BadId),
    /// There is nothing to answer.
    #[error("a message without words can't be answered")]
    NoWords,
    /// More than anybody reads.
    #[error("a message has {size} bytes, {limit} are allowed: put the text into a file and name it")]
    TooLong {
        /// What it has.
        size: usize,
        /// What it may have.
        limit: usize,
    },
    /// There is nothing a summary could stand for.
    #[error("there is nothing in conversation `{0}` yet that a summary could stand for")]
    NothingToCompact(ConversationId),
    /// A turn is under way.
    #[error("a turn is under way in conversation `{0}`: wait for it, or cancel it")]
    Busy(ConversationId),
    /// Somebody said stop, or the agent is being shut down.
    #[error("the summary of conversation `{0}` was called off: nothing has changed")]
    CalledOff(ConversationId),
    /// The agent a conversation belongs to is not there any more.
    #[error(
        "conversation `{conversation}` belongs to agent `{agent}`, which is not there any more: put that back into \
         `agents`, or give it to one of {known} with `foreword agents hand-over {conversation} NAME`"
    )]
    AgentGone {
        /// The conversation.
        conversation: ConversationId,
        /// Its agent.
        agent: String,
        /// Those there are.
        known: String,
    },
    /// A message is for another agent than the one the conversation belongs to.
    #[error(
        "conversation `{conversation}` belongs to agent `{agent}`: give it to `{wanted}` with \
         `foreword agents hand-over {conversation} {wanted}`, or begin another one"
    )]
    OtherAgent {
        /// The conversation.
        conversation: ConversationId,
        /// Its agent.
        agent: String,
        /// The one that was named.
        wanted: String,
    },
    /// Nobody answers there: it is a conversation of somebody else's with a model, which only passed through.
    #[error("conversation `{0}` passed through a drop-in endpoint: no agent speaks in it")]
    PassedThrough(ConversationId),
    /// There is nobody to give a conversation to.
    #[error("this workspace has one agent only: write others down in `agents`")]
    OneAgent,
    /// The agent has the conversation already.
    #[error("conversation `{conversation}` belongs to agent `{agent}` already")]
    SameAgent {
        /// The conversation.
        conversation: ConversationId,
        /// Its agent.
        agent: String,
    },
    /// Whoever asks is not trusted with it.
    #[error("to give a conversation to another agent needs `{needed}` trust, and this is `{trust}`")]
    NotTrusted {
        /// What it needs.
        needed: Trust,
        /// What there is.
        trust: Trust,
    },
    /// The summary could not be made. The reason is for everybody.
    #[error("no summary: {0}")]
    NoSummary(String),
    /// Nothing of that name runs by the clock.
    #[error("there is no schedule `{}`", .0.escape_debug())]
    NoSchedule(String),
    /// The settings of a conversation are not accepted, or can't be used.
    #[error("{}", .0.public())]
    Settings(#[from] SettingsError),
    /// A workflow was not run, or not gone on with.
    #[error("{}", .0.public())]
    Workflow(#[from] WorkflowError),
    /// The agent is being shut down.
    #[error("the agent is being shut down")]
    Closed,
    /// What was stored of a turn is not a turn.
    #[error("what was stored of turn `{turn}` can't be read")]
    Unreadable {
        /// Which.
        turn: String,
        /// Why.
        reason: String,
    },
}

impl AgentError {
    /// What went wrong, with files, addresses and variables, and what to do about it.
    ///
    /// ```
    /// use foreword_agent::error::AgentError;
    /// use foreword_core::failure::OwnerProof;
    /// use foreword_prompt::trust::Trust;
    ///
    /// let owner = OwnerProof::of(Trust::Full).unwrap();
    /// assert_eq!(*AgentError::NoWords.cause().reveal(owner), AgentError::NoWords.to_string());
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
    pub fn shown_at(&self, trust: Trust) -> String {
        self.cause().at(trust).cloned().unwrap_or_else(|| self.to_string())
    }

    /// The category that a turn fails with because of this.
    #[must_use]
    pub fn code(&self) -> ErrorCategory {
        match self {
            Self::Workspace(_) | Self::Settings(_) | Self::AgentGone { .. } => ErrorCategory::ConfigError,
            Self::Model(error) if error.kind == ErrorKind::NotConfigured => ErrorCategory::ConfigError,
            Self::Model(_) | Self::NoSummary(_) => ErrorCategory::ProviderPermanent,
            _ => ErrorCategory::InternalError,
        }
    }

    /// The failure of a turn that ends because of this.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        Failure { code: self.code(), public: None, detail: self.cause() }
    }
}

/// What everybody may read of an error of the store: what was asked for, and nothing of the database.
#[must_use]
pub fn public_store_error(error: &StoreError) -> String {
    match error {
        StoreError::NotFound { .. }
        | StoreError::UsedBefore { .. }
        | StoreError::VersionConflict { .. }
        | StoreError::LayerRefused(_)
        | StoreError::Refused { .. }
        | StoreError::ZeroByte => error.to_string(),
        _ => "what is stored can't be read or written now: try again in a while".to_owned(),
    }
}

/// An error of the store as a reader of `trust` sees it.
pub(crate) fn store_error_at(error: &StoreError, trust: Trust) -> String {
    if trust.permits(Trust::Full) { error.to_string() } else { public_store_error(error) }
}
