//! `foreword memory`: what the agent's memory tools see, with the same trust checks and code. Reading never creates a
//! database; without one only the memory files are available.

mod index;
mod read;
mod write;

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::memory::{Memory, MemoryAnswer, MemoryError};
use foreword_prompt::untrusted::{Marker, Origin, Untrusted, display_line, frame};
use foreword_workspace::memory_index::Reader;
use foreword_workspace::snapshot::Snapshot;
use foreword_workspace::speaker::Principal;
use foreword_workspace::workspace::Workspace;
use tokio::runtime::Runtime;

use crate::cli::memory::{MemoryCommand, PrincipalArgs};
use crate::failure::Failure;
use crate::occasion::request;
use crate::output::Output;
use crate::process_context::ProcessContext;
use crate::workspace_store::{WorkspaceStore, runtime};

pub(crate) fn run(
    command: &MemoryCommand,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    match command {
        MemoryCommand::Index { who } => index::run(who, &workspace, process, output)?,
        MemoryCommand::Search { query, who } => {
            let access = MemoryAccess::existing(&workspace, process)?;
            let viewer = viewer(who, &workspace, process, output)?;
            read::search(&access, viewer, &query.join(" "), process, output)?;
        }
        MemoryCommand::Get(args) => {
            let access = MemoryAccess::existing(&workspace, process)?;
            let viewer = viewer(&args.who, &workspace, process, output)?;
            read::get(&access, viewer, args, process, output)?;
        }
        MemoryCommand::Write(args) => write::run(args, &workspace, process, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The memory and its runtime.
struct MemoryAccess {
    memory: Memory,
    stored: Option<WorkspaceStore>,
    alone: Option<Runtime>,
}

impl MemoryAccess {
    /// The memory files, and the notes if anything was ever stored.
    fn existing(workspace: &Workspace, process: &ProcessContext) -> Result<Self, Failure> {
        match WorkspaceStore::open_existing(workspace, process)? {
            Some(stored) => Ok(Self::of(stored)),
            None => Ok(Self { memory: Memory::of_files(), stored: None, alone: Some(runtime()?) }),
        }
    }

    fn of(stored: WorkspaceStore) -> Self {
        Self { memory: Memory::new(stored.store.clone()), stored: Some(stored), alone: None }
    }

    fn wait<T>(&self, future: impl Future<Output = Result<T, MemoryError>>) -> Result<T, Failure> {
        let answer = match (&self.stored, &self.alone) {
            (Some(stored), _) => stored.wait(future),
            (None, Some(runtime)) => runtime.block_on(future),
            (None, None) => Err(MemoryError::NoStore),
        };
        answer.map_err(failure)
    }
}

/// Resolves the user; warns about an unknown one, who finds nothing.
fn identified(
    who: &PrincipalArgs,
    snapshot: &Snapshot,
    workspace: &Workspace,
    process: &ProcessContext,
    output: &Output,
) -> Result<Principal, Failure> {
    let identified = request(&who.occasion(), workspace, process)?.principal(&snapshot.config);
    if let Some(name) = who.user.as_deref().filter(|_| identified.user.is_none()) {
        output.warn(&format!("unknown user `{}`, so trust is `public`", display_line(name, 80)));
    }
    let situation = &identified.occasion.situation;
    if !snapshot.config.situations.contains_key(situation) {
        let name = display_line(situation, 80);
        output.warn(&format!("unknown situation `{name}`, so trust is `public`"));
    }
    Ok(identified)
}

/// A user's view of the memory.
struct MemoryViewer {
    snapshot: Arc<Snapshot>,
    reader: Reader,
}

fn viewer(
    who: &PrincipalArgs,
    workspace: &Workspace,
    process: &ProcessContext,
    output: &Output,
) -> Result<MemoryViewer, Failure> {
    let snapshot = workspace.snapshot();
    let who = identified(who, &snapshot, workspace, process, output)?;
    let channel = who.occasion.channel.as_ref();
    let reader = Reader {
        trust: who.trust.effective(),
        user: who.user.map(|user| Arc::clone(&user.name)),
        family: channel.and_then(|channel| channel.family()).map(Into::into),
        situation: Some(Arc::clone(&who.occasion.situation)),
    };
    Ok(MemoryViewer { snapshot, reader })
}

/// The text as the model reads it: untrusted text is framed and escaped, so that it can't control the terminal.
fn framed_text(answer: MemoryAnswer, path: &str, process: &ProcessContext) -> String {
    if !answer.from_outside {
        return answer.text;
    }
    let text = Untrusted::new(Origin::memory(path), answer.text);
    frame(&[text], &Marker::from_random_bytes(process.marker)).to_string()
}

fn failure(error: MemoryError) -> Failure {
    let message = error.to_string();
    match error {
        MemoryError::Store(error) => Failure::Store(error),
        MemoryError::NoMemory { .. } => Failure::failed(message, "use a known user: --user NAME"),
        MemoryError::NoteNotFound { .. } => {
            Failure::failed(message, "see `foreword memory index`, or find it with `foreword memory search`")
        }
        MemoryError::EmptyQuery
        | MemoryError::Title { .. }
        | MemoryError::Text { .. }
        | MemoryError::NoSuchLines { .. } => Failure::usage(message, error.advice()),
        other => Failure::failed(message, other.advice()),
    }
}
