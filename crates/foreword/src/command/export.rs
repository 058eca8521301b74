//! `foreword export events`: JSON lines, oldest first, read in pages. The file appears under its name only when
//! complete.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use foreword_core::event::{Category, EventType, Level};
use foreword_core::id::ConversationId;
use foreword_core::since::since;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_store::events::EventFilter;

use crate::cli::stored::{ExportCommand, ExportEventsArgs};
use crate::failure::Failure;
use crate::output::progress::ProgressLine;
use crate::output::{Output, counted};
use crate::process_context::ProcessContext;
use crate::workspace_store::WorkspaceStore;

pub(crate) fn run(
    command: &ExportCommand,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let ExportCommand::Events(args) = command;
    let filter = filter(args, process, output)?;
    let workspace = process.open()?;
    let stored = WorkspaceStore::open_existing(&workspace, process)?;
    let file = args.output.as_ref().filter(|file| *file != Path::new("-"));
    let count = match file {
        Some(file) => into_file(&process.current.join(file), stored.as_ref(), filter, args.limit)?,
        None => match write_all(stored.as_ref(), filter, args.limit, &mut io::stdout().lock()) {
            Ok(count) => count,
            // A closed pipe, such as of `head`, is not a failure.
            Err(Stopped::Writing(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(ExitCode::SUCCESS);
            }
            Err(stopped) => return Err(stopped.failure(Path::new("standard output"))),
        },
    };
    if let Some(file) = file.filter(|_| output.wants_json()) {
        output.json(&serde_json::json!({ "path": process.current.join(file), "events": count }))?;
    } else if let Some(file) = file {
        output.print_stderr(&format!("{} in {}", counted(count, "event"), file.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn filter(
    args: &ExportEventsArgs,
    process: &ProcessContext,
    output: &Output,
) -> Result<EventFilter, Failure> {
    let time = |text: &Option<String>| -> Result<Option<Timestamp>, Failure> {
        let time = text.as_deref().map(|text| since(text, &process.now)).transpose();
        time.map_err(|error| Failure::usage(error.to_string(), "such as --since 12h"))
    };
    let level = args.level.as_deref().map(str::parse::<Level>).transpose();
    let level = level.map_err(|error| Failure::usage(error.to_string(), "use info, warn or error"))?;
    let session = args.session.as_deref().map(ConversationId::new).transpose();
    let session = session.map_err(|error| Failure::usage(error.to_string(), "name a conversation"))?;
    // An unknown type may come from a newer version: warn, but search for it.
    let known = EventType::KNOWN.iter().map(EventType::as_str);
    if let Some(name) = args.event_type.as_deref().filter(|name| known.clone().all(|known| known != *name)) {
        let near =
            did_you_mean(name, known).map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
        output.warn(&format!("unknown event type `{}`{near}", name.escape_debug()));
    }
    let category: Option<Category> = args.category.as_deref().and_then(|name| name.parse().ok());
    let event_type: Option<EventType> = args.event_type.as_deref().and_then(|name| name.parse().ok());
    Ok(EventFilter {
        session,
        levels: level.into_iter().collect(),
        category,
        event_type,
        user: args.user.clone(),
        since: time(&args.since)?,
        until: time(&args.until)?,
        ..EventFilter::default()
    })
}

/// Why an export stopped early.
enum Stopped {
    Reading(Failure),
    Writing(io::Error),
}

impl Stopped {
    fn failure(self, path: &Path) -> Failure {
        match self {
            Self::Reading(failure) => failure,
            Self::Writing(error) => Failure::io("write", path, &error),
        }
    }
}

fn write_all(
    stored: Option<&WorkspaceStore>,
    filter: EventFilter,
    limit: Option<u64>,
    out: &mut impl Write,
) -> Result<u64, Stopped> {
    let Some(stored) = stored else { return Ok(0) };
    let reading = |error| Stopped::Reading(Failure::Store(error));
    let mut out = BufWriter::new(out);
    let mut meter = ProgressLine::new("events");
    let mut export = stored.wait(stored.store.export_events(filter)).map_err(reading)?;
    let mut left = limit.unwrap_or(u64::MAX);
    let mut count = 0;
    while let Some(events) = stored.wait(export.next_page()).map_err(reading)? {
        for event in events {
            if left == 0 {
                break;
            }
            serde_json::to_writer(&mut out, &event).map_err(|error| Stopped::Writing(error.into()))?;
            out.write_all(b"\n").map_err(Stopped::Writing)?;
            (left, count) = (left - 1, count + 1);
        }
        meter.show(count, None);
        if left == 0 {
            break;
        }
    }
    out.flush().map_err(Stopped::Writing)?;
    Ok(count)
}

/// Writes to a temporary file beside `path` and links it at the end, so that a partial export never has the final name.
fn into_file(
    path: &Path,
    stored: Option<&WorkspaceStore>,
    filter: EventFilter,
    limit: Option<u64>,
) -> Result<u64, Failure> {
    if path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    let partial = PathBuf::from(format!("{}.{}.partial", path.display(), std::process::id()));
    let mut options = OpenOptions::new();
    // Never overwrites an existing file.
    options.write(true).create_new(true);
    // Events contain private data: readable by the owner only.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&partial).map_err(|error| Failure::io("write", &partial, &error))?;
    let written = write_all(stored, filter, limit, &mut file)
        .and_then(|count| file.sync_all().map(|()| count).map_err(Stopped::Writing))
        // Unlike a rename, a hard link never replaces an existing file.
        .and_then(|count| fs::hard_link(&partial, path).map(|()| count).map_err(Stopped::Writing));
    // Either linked to its final name, or incomplete.
    let _ = fs::remove_file(&partial);
    written.map_err(|stopped| match stopped {
        Stopped::Writing(error) if error.kind() == io::ErrorKind::AlreadyExists => exists(path),
        stopped => stopped.failure(path),
    })
}

fn exists(path: &Path) -> Failure {
    Failure::failed(
        format!("the file `{}` exists already", path.display()),
        "name another file, or move this one away",
    )
}
