//! Sets up logging as section `logging` configures it: events go to the store and the log file, and to standard output
//! for long-running commands.

use std::fs::{self, OpenOptions};
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::clock_and_rng::ClockAndRng;
use foreword_agent::shared::into_store;
use foreword_core::event::{Event, EventType, Level};
use foreword_core::timestamp::Timestamp;
use foreword_observe::error::ObserveError;
use foreword_observe::human::Human;
use foreword_observe::lines::file::{FileSettings, LogFile};
use foreword_observe::lines::queue::{LineQueue, LineWriter};
use foreword_observe::lines::stdout::Stdout;
use foreword_observe::lines::{Levels, LineForm, LineLayer};
use foreword_observe::recorder::{EventLayer, Recorder};
use foreword_observe::redact::{RedactionRules, Redactor};
use foreword_observe::sink::SinkLayer;
use foreword_store::events::EventQueue;
use foreword_workspace::config::{Config, LoggingConfig};
use serde_json::json;
use tracing_subscriber::Layer as _;

use crate::failure::Failure;
use crate::telemetry::Telemetry;

/// The salt of masked values: equal values of one workspace have equal masks.
const SALT_FILE: &str = ".foreword/mask-salt";
/// How long shutdown waits for the remaining lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Log lines on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StdoutLog {
    /// None: the command uses standard output itself.
    Off,
    Json,
    /// Human-readable lines.
    Human,
}

impl StdoutLog {
    /// For long-running commands: JSON if standard output is not a terminal, or with `--json`.
    pub(crate) fn of(config: &LoggingConfig, wants_json: bool) -> Self {
        match (wants_json, config.stdout, std::io::stdout().is_terminal()) {
            (true, _, _) | (false, true, false) => Self::Json,
            (false, true, true) => Self::Human,
            (false, false, _) => Self::Off,
        }
    }
}

/// What logging is set up from.
pub(crate) struct LoggingParts<'a> {
    pub(crate) config: &'a Config,
    /// The workspace's directory.
    pub(crate) folder: &'a Path,
    pub(crate) stdout: StdoutLog,
    pub(crate) events: &'a EventQueue,
    pub(crate) telemetry: &'a Telemetry,
    pub(crate) clock_and_rng: Arc<dyn ClockAndRng>,
}

/// The recorder and its outputs.
pub(crate) struct Logging {
    pub(crate) recorder: Recorder,
    levels: Levels,
    queues: Vec<LineQueue>,
    /// The configuration these outputs were created from.
    config: LoggingConfig,
    clock: Clock,
}

impl Logging {
    /// Opens the outputs.
    pub(crate) fn start(
        LoggingParts { config, folder, stdout, events, telemetry, clock_and_rng }: LoggingParts<'_>,
    ) -> Result<Self, Failure> {
        let (spans, config) = (spans_from(config), &config.logging);
        let clock: Clock = Arc::new(move || clock_and_rng.timestamp());
        let rules =
            RedactionRules { keys: config.redact_keys.clone(), patterns: config.redact_patterns.clone() };
        let redactor = Redactor::new(&rules, salt(folder)).map_err(|error| failure(&error))?;
        let levels = Levels::new(config.level).with_spans(spans);
        let mut ways: Vec<EventLayer> =
            vec![SinkLayer::new(into_store(events)).boxed(), telemetry.layer().boxed()];
        // Each JSON line is serialised once for all outputs.
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
        let screen = form(stdout);
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
        // Also records log messages that libraries emit on their own tasks.
        recorder.listen_everywhere();
        Ok(Self { recorder, levels, queues, config: config.clone(), clock })
    }

    /// Applies those configuration changes that do not need a restart.
    pub(crate) fn reload(&self, config: &LoggingConfig) {
        self.levels.set(config.level);
        let rest = LoggingConfig { level: self.config.level, ..config.clone() };
        if rest != self.config {
            self.recorder.record(Event {
                level: Level::Warn,
                error: Some(
                    "only `level` of section `logging` can change while the agent runs: restart to apply the rest".to_owned(),
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

    /// Flushes the remaining lines.
    pub(crate) fn stop(&self) {
        self.queues.iter().for_each(|queue| queue.close(FLUSH_TIMEOUT));
    }
}

/// The minimum level of library spans that are exported.
fn spans_from(config: &Config) -> Option<Level> {
    config.export.otlp.as_ref().map(|otlp| otlp.level)
}

fn form(screen: StdoutLog) -> Option<LineForm> {
    match screen {
        StdoutLog::Off => None,
        StdoutLog::Json => Some(LineForm::Json),
        StdoutLog::Human => {
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

/// The path of a file named in the configuration.
fn resolved(path: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let Some(rest) = path.strip_prefix("~/") else { return Ok(folder.join(path)) };
    let message = || format!("`logging.file` is `{path}`, but there is no home directory");
    let home = crate::process_context::home()
        .ok_or_else(|| Failure::failed(message(), "set HOME, or use an absolute path"))?;
    Ok(home.join(rest))
}

/// The workspace's salt, created on first use. If it can't be stored it is valid for this process only.
fn salt(folder: &Path) -> [u8; 16] {
    let path = folder.join(SALT_FILE);
    read_salt(&path).or_else(|| create_salt(&path)).unwrap_or_else(random)
}

fn read_salt(path: &Path) -> Option<[u8; 16]> {
    let mut salt = [0; 16];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut salt)).ok().map(|()| salt)
}

fn create_salt(path: &Path) -> Option<[u8; 16]> {
    let salt = random();
    fs::create_dir_all(path.parent()?).ok()?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(mut file) => file.write_all(&salt).ok().map(|()| salt),
        // Another process created it first.
        Err(_) => read_salt(path),
    }
}

fn random() -> [u8; 16] {
    let mut salt = [0; 16];
    // Without random bytes masks still hide their values, but equal values have equal masks in all workspaces.
    let _ = getrandom::fill(&mut salt);
    salt
}
