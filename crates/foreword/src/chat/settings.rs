//! The settings that the command line gives a conversation. They are stored with its first message.

use std::path::Path;

use foreword_agent::agent::Agent;
use foreword_store::conversation_settings::{SettingChange, SettingsUpdate};

use crate::cli::ChatArgs;
use crate::failure::Failure;
use crate::occasion::context;
use crate::world::World;

/// Whether the conversation exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    New,
    Existing,
}

/// The settings that `args` ask for, checked. A new conversation works in the current directory, if that is allowed.
pub(super) fn wanted(
    args: &ChatArgs,
    world: &World,
    agent: &Agent,
    stage: Stage,
) -> Result<SettingsUpdate, Failure> {
    let values = context(&args.context, args.context_file.as_deref(), world)?;
    let says_context = !args.context.is_empty() || args.context_file.is_some();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let stated = args.cwd.as_deref().map(|cwd| text(&world.current.join(cwd)));
    let update = SettingsUpdate {
        session_instructions: SettingChange::set_if(args.session_instructions.clone()),
        cwd: SettingChange::set_if(stated),
        context: if says_context { SettingChange::Set(values.values) } else { SettingChange::Keep },
    };
    let checked = agent.check_settings(update, args.agent.as_deref())?;
    if checked.cwd != SettingChange::Keep || stage == Stage::Existing {
        return Ok(checked);
    }
    let here = SettingsUpdate { cwd: SettingChange::Set(text(&world.current)), ..SettingsUpdate::default() };
    // Elsewhere a conversation works in the workspace, as it does there.
    let here = agent.check_settings(here, args.agent.as_deref()).map_or(SettingChange::Keep, |here| here.cwd);
    let cwd = if here == SettingChange::Set(".".to_owned()) { SettingChange::Keep } else { here };
    Ok(SettingsUpdate { cwd, ..checked })
}
