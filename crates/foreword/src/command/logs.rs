//! `foreword logs`: what happened, the newest last, as far as whoever looks may see it. Looking never makes a database;
//! following waits for one.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use foreword_agent::tools::event_line::details;
use foreword_agent::viewer::Viewer;
use foreword_core::event::{EventType, Level, StoredEvent};
use foreword_core::id::{ConversationId, TurnId};
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::display_line;
use foreword_store::events::EventFilter;
use foreword_workspace::config::Config;
use jiff::tz::TimeZone;

use crate::cli::observe::LogsArgs;
use crate::failure::Failure;
use crate::looking::{Looker, moment};
use crate::output::{BOLD, DIM, Output, RED, YELLOW, styled};
use crate::signals::Signals;
use crate::stored::{Stored, runtime};
use crate::world::World;

/// How often is looked for new events though nobody has told of any: not every engine tells.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long is waited for more that belongs together.
const GATHER: Duration = Duration::from_millis(50);
/// How many events are read at once.
const PAGE: u64 = 500;

pub(crate) fn run(args: &LogsArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let filter = filter(args, world, &workspace.snapshot().config, output)?;
    let looker = Looker::of(&args.look, &workspace, world, output)?;
    let mut stored = Stored::open_existing(&workspace, world)?;
    if stored.is_none() {
        output.say(&styled(DIM, "Nothing has happened here yet; `foreword chat` begins a conversation."));
    }
    while args.follow && stored.is_none() {
        if runtime()?.block_on(told_to_stop(LOOK_EVERY))? {
            return Ok(ExitCode::SUCCESS);
        }
        stored = Stored::open_existing(&workspace, world)?;
    }
    let Some(stored) = stored else { return Ok(ExitCode::SUCCESS) };
    let lines = Lines { json: output.wants_json(), zone: world.now.time_zone().clone() };
    let viewer = looker.viewer(&stored.store, world);
    stored.wait(show(&viewer, (filter, args), &lines, output))
}

async fn show(
    viewer: &Viewer,
    (filter, args): (EventFilter, &LogsArgs),
    lines: &Lines,
    output: &Output,
) -> Result<ExitCode, Failure> {
    // What is written while we read is for those who follow.
    let newest = viewer.store.newest_event_id().await?;
    let so_far = EventFilter { written_up_to: Some(newest), ..filter.clone() };
    let mut events = viewer.newest_stored(so_far, args.limit as usize).await?;
    events.reverse();
    if !lines.print(&events)? || !args.follow {
        if events.is_empty() && !output.wants_json() {
            output.say(&styled(
                DIM,
                "no event found; without --level, --type and the others there may be some",
            ));
        }
        return Ok(ExitCode::SUCCESS);
    }
    follow(viewer, &filter, newest, (lines, output)).await
}

async fn follow(
    viewer: &Viewer,
    filter: &EventFilter,
    mut after: u64,
    (lines, output): (&Lines, &Output),
) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen().map_err(deaf)?;
    let mut changes = viewer.store.changes();
    let mut is_away = false;
    loop {
        let found = tokio::select! {
            () = signals.next() => return Ok(ExitCode::SUCCESS),
            found = viewer.written_after(filter, after, PAGE) => found,
        };
        match found {
            Ok(found) => {
                is_away = false;
                let more = found.events.len() as u64 >= PAGE;
                after = found.last_id;
                if !lines.print(&found.events)? {
                    return Ok(ExitCode::SUCCESS);
                }
                if more {
                    continue;
                }
            }
            // A database that is away comes back; whoever follows is told once.
            Err(error) if !is_away => {
                is_away = true;
                output.warn(&format!("{error}; it is tried again"));
            }
            Err(_) => {}
        }
        let told = async {
            // Told of a change, or that there were too many to tell: either way it is time to look.
            let _ = changes.recv().await;
            tokio::time::sleep(GATHER).await;
        };
        tokio::select! {
            () = signals.next() => return Ok(ExitCode::SUCCESS),
            () = told => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

async fn told_to_stop(within: Duration) -> Result<bool, Failure> {
    let mut signals = Signals::listen().map_err(deaf)?;
    Ok(tokio::time::timeout(within, signals.next()).await.is_ok())
}

fn deaf(error: io::Error) -> Failure {
    Failure::failed(format!("can't listen for Ctrl-C: {error}"), "report this")
}

fn filter(args: &LogsArgs, world: &World, config: &Config, output: &Output) -> Result<EventFilter, Failure> {
    let session = args.session.as_deref().map(ConversationId::new).transpose();
    let session = session
        .map_err(|error| Failure::usage(error.to_string(), "name one that `foreword status` lists"))?;
    let turn = args.turn.as_deref().map(TurnId::new).transpose();
    let turn =
        turn.map_err(|error| Failure::usage(error.to_string(), "take an id that `foreword logs` shows"))?;
    for oddity in unheard_of(args, config) {
        output.warn(&oddity);
    }
    Ok(EventFilter {
        session,
        levels: levels(args.level.as_deref())?,
        event_type: args.event_type.as_deref().and_then(|word| word.parse().ok()),
        user: args.user.clone(),
        channel: args.channel.clone(),
        turn,
        since: moment(args.since.as_deref(), world)?,
        until: moment(args.until.as_deref(), world)?,
        ..EventFilter::default()
    })
}

/// The level that is asked for, and the worse ones.
fn levels(word: Option<&str>) -> Result<Vec<Level>, Failure> {
    let Some(word) = word else { return Ok(Vec::new()) };
    let Ok(least) = word.parse::<Level>() else {
        let words = Level::ALL.map(Level::as_str);
        let help = match did_you_mean(word, words) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use {}", words.join(", ")),
        };
        return Err(Failure::usage(format!("there is no level `{}`", display_line(word, 40)), help));
    };
    Ok(Level::ALL.into_iter().filter(|level| *level >= least).collect())
}

/// Names nobody has heard of. They are looked for all the same: a newer program, or a configuration that was, may have used
/// them.
fn unheard_of(args: &LogsArgs, config: &Config) -> Vec<String> {
    let types: Vec<&str> =
        EventType::KNOWN.iter().flat_map(|known| [known.as_str(), known.line_name()]).collect();
    let users: Vec<&str> = config.users.iter().map(|user| &*user.name).collect();
    let unknown = |name: Option<&str>, known: &[&str], what: &str| {
        let name = name.filter(|name| !known.contains(name))?;
        let near = did_you_mean(name, known.iter().copied());
        let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
        Some(format!("{what} `{}`{near}", display_line(name, 80)))
    };
    let event_type = unknown(args.event_type.as_deref(), &types, "there is no event type");
    let user = unknown(args.user.as_deref(), &users, "nobody here is called");
    event_type.into_iter().chain(user).collect()
}

/// How events are written.
struct Lines {
    json: bool,
    zone: TimeZone,
}

impl Lines {
    /// Writes events; `false` if nobody reads them any more.
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
