//! Conversation settings: session instructions, working directory and template context. Validates them, stores them,
//! and applies them to the prompt request of every turn. The caller checks permissions.

use std::path::PathBuf;
use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_core::template_context::TemplateContext;
use foreword_store::conversation_settings::{ConversationSettings, SettingChange, SettingsUpdate};
use foreword_store::conversations::Created;
use foreword_store::error::StoreError;
use foreword_workspace::check::context_problem;
use foreword_workspace::config::ConfiguredSettings;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::Workspace;

use crate::agent::Agent;
use crate::conversation::agent_routing;
use crate::conversation::create::ConversationSpec;
use crate::conversation::inbound::TurnOrigin;
use crate::error::AgentError;
pub use crate::error::settings::SettingsError;
use crate::shared::Shared;

/// The longest session instructions, in bytes.
pub const MAX_SESSION_INSTRUCTIONS_BYTES: usize = 64 * 1024;
/// The largest context, in bytes of JSON.
pub const MAX_CONTEXT_BYTES: usize = 64 * 1024;
/// The longest path of a working directory, in bytes.
pub const MAX_CWD_BYTES: usize = 4096;

/// The stored form of the workspace directory.
const WORKSPACE: &str = ".";

impl Agent {
    /// Validates a change of settings for a conversation of `agent`. Converts the working directory to its stored form.
    ///
    /// # Errors
    /// If the agent does not exist, or a value is invalid.
    pub fn check_settings(
        &self,
        update: SettingsUpdate,
        agent: Option<&str>,
    ) -> Result<SettingsUpdate, AgentError> {
        checked(self.shared(), update, agent)
    }

    /// Changes the settings of a conversation and returns the result. The next turn opens a new epoch with them.
    ///
    /// # Errors
    /// If the conversation does not exist, a value is invalid, or it can't be stored.
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

    /// As [`Agent::update_settings`]. Creates the conversation for `origin` if it does not exist.
    ///
    /// # Errors
    /// As [`Agent::update_settings`].
    pub async fn set_settings(
        &self,
        conversation: &ConversationId,
        origin: &TurnOrigin,
        update: SettingsUpdate,
    ) -> Result<ConversationSettings, AgentError> {
        if self.shared().store.conversation(conversation).await?.is_some() {
            return self.update_settings(conversation, update).await;
        }
        let settings = update.applied_to(&ConversationSettings::default());
        let spec = ConversationSpec {
            id: Some(conversation.clone()),
            origin: origin.clone(),
            settings,
            ..ConversationSpec::default()
        };
        match self.create_conversation(spec).await? {
            Created::New(_) => Ok(self.shared().store.conversation_settings(conversation).await?),
            // Another request created it concurrently.
            Created::Before(_) => self.update_settings(conversation, update).await,
        }
    }

    /// Adds the stored settings of its conversation to a request. Values of the request take precedence.
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

/// Adds stored settings to a request. Values of the request take precedence.
///
/// # Errors
/// If the working directory can't be used, or is no longer allowed.
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
    }
    Ok(())
}

fn cwd(workspace: &Workspace, settings: &ConversationSettings) -> Result<Option<PathBuf>, SettingsError> {
    let stored = settings.cwd.as_deref().filter(|stored| *stored != WORKSPACE);
    Ok(stored.map(|stored| workspace.stored_working_directory(stored)).transpose()?)
}

/// The settings of a schedule or a workflow file.
pub(crate) fn configured(written: &ConfiguredSettings) -> ConversationSettings {
    ConversationSettings {
        session_instructions: written.session_instructions.clone(),
        cwd: written.cwd.clone(),
        context: written.context.clone(),
    }
}

/// Validates a change of settings for a conversation of `agent`.
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

fn check_context(shared: &Shared, context: &TemplateContext, agent: Option<&str>) -> Result<(), AgentError> {
    // Serialising a map of JSON values does not fail.
    let size = serde_json::to_string(context).map_or(usize::MAX, |written| written.len());
    check_size("context", size, MAX_CONTEXT_BYTES)?;
    let view = agent_routing::snapshot(shared, agent)?;
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
