//! `foreword memory`: what the agent's memory tools see, with the same trust and by the same code. Looking never makes a
//! database; where none is, there are the memory files alone.

mod index;
mod read;
mod write;

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::memory::{Given, Memory, MemoryError};
use foreword_prompt::untrusted::{Marker, Origin, Untrusted, display_line, frame};
use foreword_workspace::memory_index::Reader;
use foreword_workspace::request::Identified;
use foreword_workspace::snapshot::Snapshot;
use foreword_workspace::workspace::Workspace;
use tokio::runtime::Runtime;

use crate::cli::memory::{MemoryCommand, WhoArgs};
use crate::failure::Failure;
use crate::occasion::request;
use crate::output::Output;
use crate::stored::{Stored, runtime};
use crate::world::World;

pub(crate) fn run(command: &MemoryCommand, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    match command {
        MemoryCommand::Index { who } => index::run(who, &workspace, world, output)?,
        MemoryCommand::Search { query, who } => {
            let shelf = Shelf::existing(&workspace, world)?;
            let reader = reader(who, &workspace, world, output)?;
            read::search(&shelf, workspace.snapshot(), reader, (&query.join(" "), world), output)?;
        }
        MemoryCommand::Get(args) => {
            let shelf = Shelf::existing(&workspace, world)?;
            let reader = reader(&args.who, &workspace, world, output)?;
            read::get(&shelf, workspace.snapshot(), reader, (args, world), output)?;
        }
        MemoryCommand::Write(args) => write::run(args, &workspace, world, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The memory, and what runs its futures.
struct Shelf {
    memory: Memory,
    stored: Option<Stored>,
    alone: Option<Runtime>,
}

impl Shelf {
    /// The memory files, and the notes if anything was ever stored.
    fn existing(workspace: &Workspace, world: &World) -> Result<Self, Failure> {
        match Stored::open_existing(workspace, world)? {
            Some(stored) => Ok(Self::of(stored)),
            None => Ok(Self { memory: Memory::of_files(), stored: None, alone: Some(runtime()?) }),
        }
    }

    fn of(stored: Stored) -> Self {
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

/// Who asks. Somebody unknown is told so, since they will find nothing.
fn identified<'a>(
    who: &WhoArgs,
    snapshot: &'a Snapshot,
    (workspace, world): (&Workspace, &World),
    output: &Output,
) -> Result<Identified<'a>, Failure> {
    let identified = request(&who.occasion(), workspace, world)?.identify(&snapshot.config);
    if let Some(name) = who.user.as_deref().filter(|_| identified.user.is_none()) {
        output.warn(&format!("nobody here is called `{}`, so this is `public`", display_line(name, 80)));
    }
    let situation = &identified.occasion.situation;
    if !snapshot.config.situations.contains_key(situation) {
        let name = display_line(situation, 80);
        output.warn(&format!("there is no situation `{name}`, so its ceiling is `public`"));
    }
    Ok(identified)
}

fn reader(who: &WhoArgs, workspace: &Workspace, world: &World, output: &Output) -> Result<Reader, Failure> {
    let snapshot = workspace.snapshot();
    let who = identified(who, &snapshot, (workspace, world), output)?;
    let channel = who.occasion.channel.as_ref();
    Ok(Reader {
        trust: who.trust.effective(),
        user: who.user.map(|user| Arc::clone(&user.name)),
        family: channel.and_then(|channel| channel.family()).map(Into::into),
        situation: Some(Arc::clone(&who.occasion.situation)),
    })
}

/// Text as the model reads it: words from outside in their frame, so that they do nothing to a terminal either.
fn shown(given: Given, path: &str, world: &World) -> String {
    if !given.from_outside {
        return given.text;
    }
    let text = Untrusted::new(Origin::memory(path), given.text);
    frame(&[text], &Marker::from_random_bytes(world.marker)).to_string()
}

fn failure(error: MemoryError) -> Failure {
    let message = error.to_string();
    match error {
        MemoryError::Store(error) => Failure::Stored(error),
        MemoryError::NoMemory { .. } => Failure::failed(message, "ask as somebody who is known: --user NAME"),
        MemoryError::NotThere { .. } => {
            Failure::failed(message, "see `foreword memory index`, or find it with `foreword memory search`")
        }
        MemoryError::NothingToLookFor
        | MemoryError::Title { .. }
        | MemoryError::Text { .. }
        | MemoryError::NoSuchLines { .. } => Failure::usage(message, error.advice()),
        other => Failure::failed(message, other.advice()),
    }
}
