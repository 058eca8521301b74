//! Conversation settings from the command line. They are stored with the conversation's first message.

use std::path::Path;

use foreword_agent::agent::Agent;
use foreword_store::conversation_settings::{ConversationSettings, SettingChange, SettingsUpdate};

use crate::cli::{ChatArgs, SettingsArgs};
use crate::failure::Failure;
use crate::occasion::context;
use crate::process_context::ProcessContext;

/// The settings of the command line; not checked yet.
pub(crate) fn from_args(
    args: &SettingsArgs,
    cwd: Option<&Path>,
    process: &ProcessContext,
) -> Result<ConversationSettings, Failure> {
    let values = context(&args.context, args.context_file.as_deref(), process)?;
    let has_context = !args.context.is_empty() || args.context_file.is_some();
    Ok(ConversationSettings {
        session_instructions: args.session_instructions.clone(),
        cwd: cwd.map(|cwd| process.current.join(cwd).to_string_lossy().into_owned()),
        context: has_context.then_some(values),
    })
}

/// Whether the conversation exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    New,
    Existing,
}

/// The settings of `args`, checked. A new conversation works in the current directory, if that is allowed.
pub(super) fn checked(
    args: &ChatArgs,
    process: &ProcessContext,
    agent: &Agent,
    stage: Stage,
) -> Result<SettingsUpdate, Failure> {
    let update = SettingsUpdate::from(from_args(&args.settings, args.cwd.as_deref(), process)?);
    let update = agent.check_settings(update, args.agent.as_deref())?;
    if update.cwd != SettingChange::Keep || stage == Stage::Existing {
        return Ok(update);
    }
    let current = process.current.to_string_lossy().into_owned();
    let here = SettingsUpdate { cwd: SettingChange::Set(current), ..SettingsUpdate::default() };
    // If the current directory is not allowed, the conversation works in the workspace.
    let here = agent.check_settings(here, args.agent.as_deref()).map_or(SettingChange::Keep, |here| here.cwd);
    let cwd = if here == SettingChange::Set(".".to_owned()) { SettingChange::Keep } else { here };
    Ok(SettingsUpdate { cwd, ..update })
}
