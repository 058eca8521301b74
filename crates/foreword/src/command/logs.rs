//! `foreword logs`: the events that the viewer may see, newest last. Reading never creates a database; `--follow` waits
//! for one.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use foreword_agent::reports::viewer::Viewer;
use foreword_agent::tools::event_line::details;
use foreword_core::event::{EventType, Level, StoredEvent};
use foreword_core::id::{ConversationId, TurnId};
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::display_line;
use foreword_store::events::EventFilter;
use foreword_workspace::config::Config;
use jiff::tz::TimeZone;

use crate::cli::observe::LogsArgs;
use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, RED, YELLOW, styled};
use crate::process_context::ProcessContext;
use crate::signals::Signals;
use crate::viewer::{ViewerIdentity, moment};
use crate::workspace_store::{WorkspaceStore, runtime};

/// Polls for new events, since not every engine sends notifications.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Collects more events before printing them.
const BATCH_DELAY: Duration = Duration::from_millis(50);
const PAGE_SIZE: u64 = 500;

pub(crate) fn run(args: &LogsArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let filter = filter(args, process, &workspace.snapshot().config, output)?;
    let identity = ViewerIdentity::of(&args.look, &workspace, process, output)?;
    let mut stored = WorkspaceStore::open_existing(&workspace, process)?;
    if stored.is_none() {
        output.print_stderr(&styled(DIM, "No events yet; start a conversation with `foreword chat`."));
    }
    while args.follow && stored.is_none() {
        if runtime()?.block_on(stop_requested(POLL_INTERVAL))? {
            return Ok(ExitCode::SUCCESS);
        }
        stored = WorkspaceStore::open_existing(&workspace, process)?;
    }
    let Some(stored) = stored else { return Ok(ExitCode::SUCCESS) };
    let lines = Lines { json: output.wants_json(), zone: process.now.time_zone().clone() };
    let viewer = identity.viewer(&stored.store, process);
    stored.wait(show(&viewer, filter, args, &lines, output))
}

async fn show(
    viewer: &Viewer,
    filter: EventFilter,
    args: &LogsArgs,
    lines: &Lines,
    output: &Output,
) -> Result<ExitCode, Failure> {
    // Events written during the read are printed by `--follow`.
    let newest = viewer.store.newest_event_id().await?;
    let so_far = EventFilter { written_up_to: Some(newest), ..filter.clone() };
    let mut events = viewer.newest_stored(so_far, args.limit as usize).await?;
    events.reverse();
    if !lines.print(&events)? || !args.follow {
        if events.is_empty() && !output.wants_json() {
            output.print_stderr(&styled(DIM, "no matching events; try fewer filters"));
        }
        return Ok(ExitCode::SUCCESS);
    }
    follow(viewer, &filter, newest, lines, output).await
}

async fn follow(
    viewer: &Viewer,
    filter: &EventFilter,
    mut after: u64,
    lines: &Lines,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen().map_err(signal_error)?;
    let mut changes = viewer.store.changes();
    let mut is_away = false;
    loop {
        let found = tokio::select! {
            () = signals.next() => return Ok(ExitCode::SUCCESS),
            found = viewer.written_after(filter, after, PAGE_SIZE) => found,
        };
        match found {
            Ok(found) => {
                is_away = false;
                let more = found.events.len() as u64 >= PAGE_SIZE;
                after = found.last_id;
                if !lines.print(&found.events)? {
                    return Ok(ExitCode::SUCCESS);
                }
                if more {
                    continue;
                }
            }
            // The database is unavailable: report it once and keep polling.
            Err(error) if !is_away => {
                is_away = true;
                output.warn(&format!("{error}; retrying"));
            }
            Err(_) => {}
        }
        let changed = async {
            // Either a change or a lagged receiver: both mean new events.
            let _ = changes.recv().await;
            tokio::time::sleep(BATCH_DELAY).await;
        };
        tokio::select! {
            () = signals.next() => return Ok(ExitCode::SUCCESS),
            () = changed => {}
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }
}

async fn stop_requested(within: Duration) -> Result<bool, Failure> {
    let mut signals = Signals::listen().map_err(signal_error)?;
    Ok(tokio::time::timeout(within, signals.next()).await.is_ok())
}

fn signal_error(error: io::Error) -> Failure {
    Failure::failed(format!("can't listen for Ctrl-C: {error}"), "report this bug")
}

fn filter(
    args: &LogsArgs,
    process: &ProcessContext,
    config: &Config,
    output: &Output,
) -> Result<EventFilter, Failure> {
    let session = args.session.as_deref().map(ConversationId::new).transpose();
    let session = session
        .map_err(|error| Failure::usage(error.to_string(), "name one that `foreword status` lists"))?;
    let turn = args.turn.as_deref().map(TurnId::new).transpose();
    let turn =
        turn.map_err(|error| Failure::usage(error.to_string(), "use an id that `foreword logs` shows"))?;
    for warning in unknown_names(args, config) {
        output.warn(&warning);
    }
    Ok(EventFilter {
        session,
        levels: levels(args.level.as_deref())?,
        event_type: args.event_type.as_deref().and_then(|word| word.parse().ok()),
        user: args.user.clone(),
        channel: args.channel.clone(),
        turn,
        since: moment(args.since.as_deref(), process)?,
        until: moment(args.until.as_deref(), process)?,
        ..EventFilter::default()
    })
}

/// The requested level and those above it.
fn levels(word: Option<&str>) -> Result<Vec<Level>, Failure> {
    let Some(word) = word else { return Ok(Vec::new()) };
    let Ok(least) = word.parse::<Level>() else {
        let words = Level::ALL.map(Level::as_str);
        let help = match did_you_mean(word, words) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use {}", words.join(", ")),
        };
        return Err(Failure::usage(format!("unknown level `{}`", display_line(word, 40)), help));
    };
    Ok(Level::ALL.into_iter().filter(|level| *level >= least).collect())
}

/// Warnings about unknown names. They are searched for anyway: a newer version or an earlier configuration may have
/// used them.
fn unknown_names(args: &LogsArgs, config: &Config) -> Vec<String> {
    let types: Vec<&str> =
        EventType::KNOWN.iter().flat_map(|known| [known.as_str(), known.line_name()]).collect();
    let users: Vec<&str> = config.users.iter().map(|user| &*user.name).collect();
    let unknown = |name: Option<&str>, known: &[&str], what: &str| {
        let name = name.filter(|name| !known.contains(name))?;
        let near = did_you_mean(name, known.iter().copied());
        let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
        Some(format!("unknown {what} `{}`{near}", display_line(name, 80)))
    };
    let event_type = unknown(args.event_type.as_deref(), &types, "event type");
    let user = unknown(args.user.as_deref(), &users, "user");
    event_type.into_iter().chain(user).collect()
}

/// The format of events.
struct Lines {
    json: bool,
    zone: TimeZone,
}

impl Lines {
    /// Prints events; `false` if standard output is closed.
    fn print(&self, events: &[StoredEvent]) -> Result<bool, Failure> {
        let mut out = anstream::stdout().lock();
        let written = events
            .iter()
            .try_for_each(|stored| writeln!(out, "{}", self.line(stored)?))
            .and_then(|()| out.flush());
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::failed(format!("can't write: {error}"), "is the disk full?")),
        }
    }

    fn line(&self, stored: &StoredEvent) -> io::Result<String> {
        if self.json {
            return Ok(serde_json::to_string(stored)?);
        }
        let event = &stored.event;
        let at = jiff::Timestamp::from(event.timestamp).to_zoned(self.zone.clone());
        let at = styled(DIM, at.strftime("%Y-%m-%d %H:%M:%S%.3f"));
        let level = format!("{:5}", event.level.as_str());
        let level = match event.level {
            Level::Debug => styled(DIM, level),
            Level::Info => level,
            Level::Warn => styled(YELLOW, level),
            Level::Error => styled(RED, level),
        };
        let name = format!("{:16}", display_line(event.event_type.as_str(), 80));
        let details = details(event, display_line);
        Ok(format!("{at} {level} {}{details}", styled(BOLD, name)).trim_end().to_owned())
    }
}
