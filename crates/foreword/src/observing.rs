//! What happens, made visible as section `logging` says: in the store, in the log file, and on standard output for what runs
//! on.

use std::fs::{self, OpenOptions};
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::shared::into_store;
use foreword_agent::surroundings::Surroundings;
use foreword_core::event::{Event, EventType, Level};
use foreword_core::timestamp::Timestamp;
use foreword_observe::error::ObserveError;
use foreword_observe::human::Human;
use foreword_observe::lines::file::{FileSettings, LogFile};
use foreword_observe::lines::queue::{LineQueue, LineWriter};
use foreword_observe::lines::stdout::Stdout;
use foreword_observe::lines::{Levels, LineForm, LineLayer};
use foreword_observe::recorder::{Recorder, WayOut};
use foreword_observe::redact::{RedactionRules, Redactor};
use foreword_observe::sink::SinkLayer;
use foreword_store::events::EventQueue;
use foreword_workspace::config::{Config, LoggingConfig};
use serde_json::json;
use tracing_subscriber::Layer as _;

use crate::failure::Failure;
use crate::telemetry::Telemetry;

/// What makes masks of one workspace comparable with each other.
const SALT_FILE: &str = ".foreword/mask-salt";
/// How long the end of the program waits for lines that are not written yet.
const PATIENCE: Duration = Duration::from_secs(2);

type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What standard output gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    /// Nothing of the log: it is for something else.
    Nothing,
    /// Lines of JSON.
    Json,
    /// Lines for people.
    Human,
}

impl Screen {
    /// For what runs on: JSON where a program reads, or where somebody asked for it.
    pub(crate) fn of(config: &LoggingConfig, wants_json: bool) -> Self {
        match (wants_json, config.stdout, std::io::stdout().is_terminal()) {
            (true, _, _) | (false, true, false) => Self::Json,
            (false, true, true) => Self::Human,
            (false, false, _) => Self::Nothing,
        }
    }
}

/// The ways out of what is recorded.
pub(crate) struct Observing {
    pub(crate) recorder: Recorder,
    levels: Levels,
    queues: Vec<LineQueue>,
    /// What the ways out were made by.
    config: LoggingConfig,
    clock: Clock,
}

impl Observing {
    /// Opens them for the workspace in `folder`.
    pub(crate) fn start(
        (config, folder): (&Config, PathBuf),
        screen: Screen,
        (events, telemetry): (&EventQueue, &Telemetry),
        surroundings: &Arc<dyn Surroundings>,
    ) -> Result<Self, Failure> {
        let (spans, config, folder) = (spans_from(config), &config.logging, folder.as_path());
        let surroundings = Arc::clone(surroundings);
        let clock: Clock = Arc::new(move || surroundings.timestamp());
        let rules =
            RedactionRules { keys: config.redact_keys.clone(), patterns: config.redact_patterns.clone() };
        let redactor = Redactor::new(&rules, salt(folder)).map_err(|error| failure(&error))?;
        let levels = Levels::new(config.level).with_spans(spans);
        let mut ways: Vec<WayOut> =
            vec![SinkLayer::new(into_store(events)).boxed(), telemetry.layer().boxed()];
        // A line of JSON is made once, wherever it goes.
        let (mut json, mut human) = (Vec::new(), Vec::new());
        if let Some(path) = &config.file {
            let settings = FileSettings {
                path: resolved(path, folder)?,
                max_days: config.max_days,
                max_bytes: config.max_bytes,
            };
            let file = LogFile::open(settings, Arc::clone(&clock)).map_err(|error| failure(&error))?;
            json.push(queue(file, &LineForm::Json, &clock)?);
        }
        let screen = form(screen);
        if let Some(form) = &screen {
            let lines = queue(Stdout::default(), form, &clock)?;
            if matches!(form, LineForm::Json) { json.push(lines) } else { human.push(lines) }
        }
        let queues = [json.clone(), human.clone()].concat();
        for (lines, form) in [(json, Some(LineForm::Json)), (human, screen)] {
            if let Some(form) = form.filter(|_| !lines.is_empty()) {
                let lines = LineLayer::new(lines, form, levels.clone(), redactor.clone(), Arc::clone(&clock));
                ways.push(lines.boxed());
            }
        }
        let recorder = Recorder::to_all(redactor, ways, levels.clone());
        // What libraries say on tasks of their own belongs to the log too.
        recorder.listen_everywhere();
        Ok(Self { recorder, levels, queues, config: config.clone(), clock })
    }

    /// What changed in the configuration, as far as that can be done while it runs.
    pub(crate) fn reload(&self, config: &LoggingConfig) {
        self.levels.set(config.level);
        let rest = LoggingConfig { level: self.config.level, ..config.clone() };
        if rest != self.config {
            self.recorder.record(Event {
                level: Level::Warn,
                error: Some(
                    "of section `logging` only `level` changes while the agent runs: restart it".to_owned(),
                ),
                metadata: Some(json!({ "section": "logging", "restartNeeded": true })),
                ..Event::new(EventType::ConfigReloaded, (self.clock)())
            });
        }
    }

    /// How many lines could not be written.
    pub(crate) fn lines_dropped(&self) -> u64 {
        self.queues.iter().map(LineQueue::dropped).sum()
    }

    /// Writes what waits.
    pub(crate) fn stop(&self) {
        self.queues.iter().for_each(|queue| queue.close(PATIENCE));
    }
}

/// From which level on a collector wants to see spans of libraries.
fn spans_from(config: &Config) -> Option<Level> {
    config.export.otlp.as_ref().map(|otlp| otlp.level)
}

fn form(screen: Screen) -> Option<LineForm> {
    match screen {
        Screen::Nothing => None,
        Screen::Json => Some(LineForm::Json),
        Screen::Human => {
            let colour = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
            Some(LineForm::Human(Human { zone: jiff::tz::TimeZone::system(), colour }))
        }
    }
}

fn queue(writer: impl LineWriter, form: &LineForm, clock: &Clock) -> Result<LineQueue, Failure> {
    let (form, clock) = (form.clone(), Arc::clone(clock));
    LineQueue::start(writer, move |lost| form.lost(lost, clock()))
        .map_err(|error| failure(&ObserveError::Thread { reason: error.to_string() }))
}

fn failure(error: &ObserveError) -> Failure {
    Failure::failed(error.to_string(), error.help())
}

/// Where a file is that the configuration names.
fn resolved(path: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let Some(rest) = path.strip_prefix("~/") else { return Ok(folder.join(path)) };
    let message = || format!("`logging.file` is `{path}`, and there is no home directory");
    let home = crate::world::home()
        .ok_or_else(|| Failure::failed(message(), "set HOME, or write the whole path"))?;
    Ok(home.join(rest))
}

/// The workspace's salt, made when it is first needed. Where it can't be kept it holds for this process.
fn salt(folder: &Path) -> [u8; 16] {
    let path = folder.join(SALT_FILE);
    kept(&path).or_else(|| made(&path)).unwrap_or_else(random)
}

fn kept(path: &Path) -> Option<[u8; 16]> {
    let mut salt = [0; 16];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut salt)).ok().map(|()| salt)
}

fn made(path: &Path) -> Option<[u8; 16]> {
    let salt = random();
    fs::create_dir_all(path.parent()?).ok()?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(mut file) => file.write_all(&salt).ok().map(|()| salt),
        // Another process was first.
        Err(_) => kept(path),
    }
}

fn random() -> [u8; 16] {
    let mut salt = [0; 16];
    // Without chance masks are still masks; they can only be compared by more people.
    let _ = getrandom::fill(&mut salt);
    salt
}
