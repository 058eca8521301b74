//! `foreword status`: the agent's status, the same as its tool `foreword_status` returns. Reading never creates a
//! database.

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::reports::status::AgentStatus;
use foreword_agent::reports::viewer::Viewer;
use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use foreword_workspace::check::failing_sources;
use foreword_workspace::speaker::Principal;
use foreword_workspace::workspace::Workspace;

use crate::cli::StatusArgs;
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::{request, unknown_name_warnings};
use crate::output::{DIM, Output, styled};
use crate::process_context::ProcessContext;
use crate::workspace_store::{WorkspaceStore, now};

pub(crate) fn run(args: &StatusArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let conversation = args.conversation.as_deref().map(ConversationId::new).transpose();
    let conversation = conversation
        .map_err(|error| Failure::usage(error.to_string(), "name one that `foreword status` lists"))?;
    let workspace = Arc::new(process.open()?);
    let snapshot = workspace.snapshot();
    let who = request(&args.who.occasion(), &workspace, process)?.principal(&snapshot.config);
    let (user, situation) = (args.who.user.as_deref(), args.who.situation.as_deref());
    for warning in unknown_name_warnings(user, situation, &snapshot.config) {
        output.warn(&warning);
    }
    Names { user, channel: args.who.channel.as_deref(), ..Names::default() }.warn(&snapshot.config, output);
    let stored = WorkspaceStore::open_existing(&workspace, process)?;
    let status = match &stored {
        Some(stored) => {
            let viewer = viewer(&who, stored, conversation, process);
            stored.wait(AgentStatus::visible_to(&viewer, &workspace, &snapshot.config))?
        }
        None => empty_status(&workspace, who.trust.effective(), process),
    };
    if output.wants_json() {
        output.json(&status)?;
    } else {
        output.print(&status.to_string())?;
        if stored.is_none() {
            output.print_stderr(&styled(DIM, "No events yet; start a conversation with `foreword chat`."));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The status without a database: failing sources are still detected.
fn empty_status(workspace: &Workspace, trust: Trust, process: &ProcessContext) -> AgentStatus {
    let mut status = AgentStatus::empty(now(process), trust, &workspace.snapshot().config);
    if let Some(owner) = &mut status.owner {
        let failing = failing_sources(workspace, &[], None, &process.now);
        owner.sources = failing.into_iter().map(Into::into).collect();
    }
    status
}

fn viewer(
    who: &Principal,
    stored: &WorkspaceStore,
    conversation: Option<ConversationId>,
    process: &ProcessContext,
) -> Viewer {
    Viewer {
        store: stored.store.clone(),
        trust: who.trust.effective(),
        user: who.user.as_ref().map(|user| Arc::clone(&user.name)),
        conversation,
        turn: None,
        now: now(process),
        zone: process.now.time_zone().clone(),
    }
}
