//! Conversation settings: session instructions, working directory and template context. Checks what is set, stores it, and
//! applies it to the request of every turn. Who may set them is decided by the caller.

use std::path::PathBuf;
use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_store::conversation_settings::{ConversationSettings, SettingChange, SettingsUpdate};
use foreword_store::conversations::Created;
use foreword_store::error::StoreError;
use foreword_workspace::config::ConfiguredSettings;
use foreword_workspace::inspect::context_problem;
use foreword_workspace::request::Request;
use foreword_workspace::working_directory::WorkingDirectoryError;
use foreword_workspace::workspace::Workspace;
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::beginning::Beginning;
use crate::error::AgentError;
use crate::inbound::Occasion;
use crate::shared::Shared;
use crate::whose;

/// The longest session instructions, in bytes.
pub const MAX_SESSION_INSTRUCTIONS_BYTES: usize = 64 * 1024;
/// The largest context, in bytes of JSON.
pub const MAX_CONTEXT_BYTES: usize = 64 * 1024;
/// The longest path of a working directory, in bytes.
pub const MAX_CWD_BYTES: usize = 4096;

/// How the working directory is stored if it is the workspace itself.
const WORKSPACE: &str = ".";

/// Why settings are not accepted, or can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The text of a setting is blank.
    #[error("`{0}` is empty")]
    Blank(&'static str),
    /// A setting is too long.
    #[error("`{what}` has {size} bytes, {limit} are allowed")]
    TooLong {
        /// Which.
        what: &'static str,
        /// What it has.
        size: usize,
        /// What it may have.
        limit: usize,
    },
    /// The context does not fit the agent's prompt.
    #[error("{message}")]
    Context {
        /// What does not fit.
        message: String,
        /// What would fit.
        shape: &'static str,
    },
    /// The working directory can't be used, or is not allowed.
    #[error(transparent)]
    Cwd(#[from] WorkingDirectoryError),
}

impl SettingsError {
    /// What to do about it. Names directories of the machine, so only the owner may read it.
    #[must_use]
    pub fn help_for_owner(&self) -> String {
        match self {
            Self::Blank(_) => "leave it out, or remove the setting with `null`".to_owned(),
            Self::TooLong { .. } => "put the text into a file that the prompt reads".to_owned(),
            Self::Context { shape, .. } => format!("write it as `{shape}`"),
            Self::Cwd(error) => error.help_for_owner(),
        }
    }

    /// What everybody may read of it: no directory of the machine.
    #[must_use]
    pub fn public(&self) -> String {
        match self {
            Self::Cwd(_) => "the working directory of this conversation can't be used".to_owned(),
            other => other.to_string(),
        }
    }

    /// A code for programs.
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

impl Agent {
    /// Checks a change of settings for a conversation of `agent`. In the result the working directory is written as it is
    /// stored.
    ///
    /// # Errors
    /// If there is no such agent, or a value is not accepted.
    pub fn check_settings(
        &self,
        update: SettingsUpdate,
        agent: Option<&str>,
    ) -> Result<SettingsUpdate, AgentError> {
        checked(self.shared(), update, agent)
    }

    /// Changes the settings of a conversation, and returns them as they are now. The next turn opens a new epoch with them.
    ///
    /// # Errors
    /// If there is no such conversation, a value is not accepted, or it can't be stored.
    pub async fn update_settings(
        &self,
        conversation: &ConversationId,
        update: SettingsUpdate,
    ) -> Result<ConversationSettings, AgentError> {
        let store = &self.shared().store;
        let Some(found) = store.conversation(conversation).await? else {
            return Err(StoreError::NotFound { what: "conversation", id: conversation.to_string() }.into());
        };
        let update = self.check_settings(update, known_agent(self.shared(), &found.agent))?;
        Ok(store.update_conversation_settings(conversation, update, self.shared().now()).await?)
    }

    /// The same for a conversation that is created if it does not exist, for whoever speaks on `occasion`.
    ///
    /// # Errors
    /// As [`Agent::update_settings`].
    pub async fn set_settings(
        &self,
        conversation: &ConversationId,
        occasion: &Occasion,
        update: SettingsUpdate,
    ) -> Result<ConversationSettings, AgentError> {
        if self.shared().store.conversation(conversation).await?.is_some() {
            return self.update_settings(conversation, update).await;
        }
        let settings = update.applied_to(&ConversationSettings::default());
        let beginning = Beginning {
            id: Some(conversation.clone()),
            occasion: occasion.clone(),
            settings,
            ..Beginning::default()
        };
        match self.begin_conversation(beginning).await? {
            Created::New(_) => Ok(self.shared().store.conversation_settings(conversation).await?),
            // Somebody else created it in between.
            Created::Before(_) => self.update_settings(conversation, update).await,
        }
    }

    /// `request` with the stored settings of its conversation, if there is one. What the request says itself wins.
    ///
    /// # Errors
    /// If they can't be read, or the working directory can't be used.
    pub async fn with_settings(&self, mut request: Request) -> Result<Request, AgentError> {
        let id = request.conversation.as_deref().and_then(|id| ConversationId::new(id).ok());
        if let Some(id) = id {
            let settings = self.shared().store.conversation_settings(&id).await?;
            apply(&self.shared().workspace, &settings, &mut request)?;
        }
        Ok(request)
    }
}

/// Adds stored settings to a request. What the request says itself wins.
///
/// # Errors
/// If the working directory can't be used, or is not allowed any more.
pub fn apply(
    workspace: &Workspace,
    settings: &ConversationSettings,
    request: &mut Request,
) -> Result<(), SettingsError> {
    if request.session_instructions.is_none() {
        request.session_instructions = settings.session_instructions.as_deref().map(Into::into);
    }
    if request.cwd.is_none() {
        request.cwd = cwd(workspace, settings)?;
    }
    if request.context.is_empty()
        && let Some(context) = &settings.context
    {
        request.context = Arc::new(context.clone());
        request.ordered_context = None;
    }
    Ok(())
}

fn cwd(workspace: &Workspace, settings: &ConversationSettings) -> Result<Option<PathBuf>, SettingsError> {
    let stored = settings.cwd.as_deref().filter(|stored| *stored != WORKSPACE);
    Ok(stored.map(|stored| workspace.stored_working_directory(stored)).transpose()?)
}

/// The settings that a schedule or a workflow file states.
pub(crate) fn configured(written: &ConfiguredSettings) -> ConversationSettings {
    ConversationSettings {
        session_instructions: written.session_instructions.clone(),
        cwd: written.cwd.clone(),
        context: written.context.clone(),
    }
}

/// A change of settings whose values are accepted, for a conversation of `agent`.
pub(crate) fn checked(
    shared: &Shared,
    update: SettingsUpdate,
    agent: Option<&str>,
) -> Result<SettingsUpdate, AgentError> {
    if let SettingChange::Set(text) = &update.session_instructions {
        check_text("session_instructions", text, MAX_SESSION_INSTRUCTIONS_BYTES)?;
    }
    if let SettingChange::Set(context) = &update.context {
        check_context(shared, context, agent)?;
    }
    let cwd = match update.cwd {
        SettingChange::Set(cwd) => {
            check_text("cwd", &cwd, MAX_CWD_BYTES)?;
            let found = shared.workspace.working_directory(&cwd).map_err(SettingsError::from)?;
            SettingChange::Set(found.name)
        }
        other => other,
    };
    Ok(SettingsUpdate { cwd, ..update })
}

fn check_text(what: &'static str, text: &str, limit: usize) -> Result<(), SettingsError> {
    if text.trim().is_empty() {
        return Err(SettingsError::Blank(what));
    }
    check_size(what, text.len(), limit)
}

fn check_size(what: &'static str, size: usize, limit: usize) -> Result<(), SettingsError> {
    if size > limit { Err(SettingsError::TooLong { what, size, limit }) } else { Ok(()) }
}

fn check_context(
    shared: &Shared,
    context: &Map<String, Value>,
    agent: Option<&str>,
) -> Result<(), AgentError> {
    // A map of JSON values always has a written form.
    let size = serde_json::to_string(context).map_or(usize::MAX, |written| written.len());
    check_size("context", size, MAX_CONTEXT_BYTES)?;
    let view = whose::snapshot(shared, agent)?;
    match context_problem(&view.config.blueprint, context) {
        None => Ok(()),
        Some(problem) => {
            Err(SettingsError::Context { message: problem.message, shape: problem.shape }.into())
        }
    }
}

/// The agent of a conversation, if it is still configured.
fn known_agent<'a>(shared: &Shared, agent: &'a str) -> Option<&'a str> {
    let snapshot = shared.workspace.snapshot();
    snapshot.config.roster.find(agent).map(|_| agent)
}
