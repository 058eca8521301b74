//! Errors of conversation settings.

use foreword_workspace::working_directory::WorkingDirectoryError;

/// Conversation settings are invalid or can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The text of a setting is blank.
    #[error("`{0}` is empty")]
    Blank(&'static str),
    /// A setting is too long.
    #[error("`{what}` has {size} bytes, {limit} are allowed")]
    TooLong {
        /// The name of the setting.
        what: &'static str,
        /// Its size in bytes.
        size: usize,
        /// The maximum in bytes.
        limit: usize,
    },
    /// The context does not fit the agent's prompt.
    #[error("{message}")]
    Context {
        /// The mismatch.
        message: String,
        /// The expected form.
        shape: &'static str,
    },
    /// The working directory can't be used, or is not allowed.
    #[error(transparent)]
    Cwd(#[from] WorkingDirectoryError),
}

impl SettingsError {
    /// Advice for the owner. May contain paths of the machine.
    #[must_use]
    pub fn help_for_owner(&self) -> String {
        match self {
            Self::Blank(_) => "leave it out, or remove the setting with `null`".to_owned(),
            Self::TooLong { .. } => "put the text into a file that the prompt reads".to_owned(),
            Self::Context { shape, .. } => format!("write it as `{shape}`"),
            Self::Cwd(error) => error.help_for_owner(),
        }
    }

    /// The public text, without paths of the machine.
    #[must_use]
    pub fn public(&self) -> String {
        match self {
            Self::Cwd(_) => "the working directory of this conversation can't be used".to_owned(),
            other => other.to_string(),
        }
    }

    /// The machine-readable error code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Blank(_) => "empty_setting",
            Self::TooLong { .. } => "setting_too_long",
            Self::Context { .. } => "bad_context",
            Self::Cwd(WorkingDirectoryError::NotAllowed { .. }) => "cwd_not_allowed",
            Self::Cwd(_) => "bad_cwd",
        }
    }
}
