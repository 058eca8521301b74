//! Section `logging`: the log and redaction.

use foreword_core::event::Level;
use regex::RegexBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use super::parse::ConfigParser;
use super::raw::RawOtlp;

/// The log: JSON lines, in a file and on standard output.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawLogging {
    /// The minimum level. Default: `info`. Libraries log from `warn` on, or everything at level `debug`.
    pub level: Option<RawLevel>,
    /// The log file, relative to the workspace unless it begins with `/` or `~`. Default:
    /// `.foreword/logs/foreword.log`. `none` disables it.
    #[schemars(with = "Option<String>")]
    pub file: RawLogFile,
    /// Whether `foreword run` also logs to standard output. Default: true.
    pub stdout: Option<bool>,
    /// Log rotation. The log is always rotated at the start of a day.
    pub rotation: RawRotation,
    /// Redaction, in addition to known keys and tokens.
    pub redact: RawRedact,
    /// A file that `foreword run` writes the metrics to, in the Prometheus text format: relative to the workspace, or
    /// absolute. Default: none.
    #[schemars(with = "Option<String>")]
    pub metrics_file: Option<Spanned<String>>,
    /// An OpenTelemetry collector for traces. Default: none, nothing is sent.
    pub otlp: Option<RawOtlp>,
}

/// A log level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawLevel {
    /// Details for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// A problem that was handled.
    Warn,
    /// Something failed.
    Error,
}

/// Rotation and retention of log files.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawRotation {
    /// How many days old log files are kept. Default: 30.
    #[schemars(with = "Option<u32>")]
    pub max_days: Option<Spanned<u32>>,
    /// The maximum size of a log file, in megabytes. Default: 100.
    #[schemars(with = "Option<u64>")]
    pub max_size_mb: Option<Spanned<u64>>,
}

/// Redaction in events and in the log.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawRedact {
    /// Additional keys whose values are redacted, ignoring case; `*` matches any text.
    #[schemars(with = "Vec<String>")]
    pub keys: Vec<Spanned<String>>,
    /// Additional regular expressions to redact. If one has a group, only the group is redacted.
    #[schemars(with = "Vec<String>")]
    pub patterns: Vec<Spanned<String>>,
}

/// The log file setting.
#[derive(Debug, Clone, Default)]
pub enum RawLogFile {
    /// Not set.
    #[default]
    Unsaid,
    /// Disabled.
    Off,
    /// A path.
    At(Spanned<String>),
}

impl<'de> Deserialize<'de> for RawLogFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Option::<Spanned<String>>::deserialize(deserializer)? {
            None => Self::Off,
            Some(path) if path.value == "none" => Self::Off,
            Some(path) => Self::At(path),
        })
    }
}

/// The default log file.
const DEFAULT_LOG: &str = ".foreword/logs/foreword.log";

/// Configuration of the log and of redaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggingConfig {
    /// The minimum level.
    pub level: Level,
    /// The log file as configured: relative to the workspace unless it begins with `/` or `~/`. `None` disables the
    /// file.
    pub file: Option<String>,
    /// Whether long-running commands also log to standard output.
    pub stdout: bool,
    /// How many days old log files are kept.
    pub max_days: u32,
    /// The maximum size of a log file, in bytes.
    pub max_bytes: u64,
    /// Additional keys whose values are redacted.
    pub redact_keys: Vec<String>,
    /// Additional regular expressions to redact.
    pub redact_patterns: Vec<String>,
}

impl Default for LoggingConfig {
    fn default() -> Self {
        Self {
            level: Level::Info,
            file: Some(DEFAULT_LOG.to_owned()),
            stdout: true,
            max_days: 30,
            max_bytes: 100 * 1024 * 1024,
            redact_keys: Vec::new(),
            redact_patterns: Vec::new(),
        }
    }
}

const MAX_DAYS: u32 = 36_500;
const MAX_SIZE_MB: u64 = 1_000_000;
const MEGABYTE: u64 = 1024 * 1024;
/// The size limit of a compiled pattern; redaction uses the same limit.
const MAX_PATTERN_SIZE: usize = 1 << 20;

impl ConfigParser<'_> {
    pub(super) fn logging(&mut self, raw: &RawLogging) -> LoggingConfig {
        let default = LoggingConfig::default();
        let megabytes = default.max_bytes / MEGABYTE;
        let rotation = &raw.rotation;
        LoggingConfig {
            level: match raw.level {
                None => default.level,
                Some(RawLevel::Debug) => Level::Debug,
                Some(RawLevel::Info) => Level::Info,
                Some(RawLevel::Warn) => Level::Warn,
                Some(RawLevel::Error) => Level::Error,
            },
            file: self.log_file(&raw.file, default.file),
            stdout: raw.stdout.unwrap_or(default.stdout),
            max_days: self.within(
                rotation.max_days.as_ref(),
                "logging.rotation.max_days",
                1..=MAX_DAYS,
                default.max_days,
            ),
            max_bytes: MEGABYTE
                * self.within(
                    rotation.max_size_mb.as_ref(),
                    "logging.rotation.max_size_mb",
                    1..=MAX_SIZE_MB,
                    megabytes,
                ),
            redact_keys: self.redact_keys(raw),
            redact_patterns: self.redact_patterns(raw),
        }
    }

    fn log_file(&mut self, written: &RawLogFile, default: Option<String>) -> Option<String> {
        let path = match written {
            RawLogFile::Unsaid => return default,
            RawLogFile::Off => return None,
            RawLogFile::At(path) => path,
        };
        let name = path.value.rsplit('/').next().unwrap_or_default();
        if matches!(name, "" | "." | ".." | "~") || path.value.contains('\0') {
            let message =
                format!("`logging.file` is `{}`, which is not a file name", path.value.escape_debug());
            self.refuse(path.defined, message, "name a file, or switch it off with `none`".to_owned());
        }
        if path.value.starts_with('~') && !path.value.starts_with("~/") {
            let message = format!("`logging.file` is `{}`", path.value.escape_debug());
            self.refuse(
                path.defined,
                message,
                "only your own home directory is supported: write `~/…`".to_owned(),
            );
        }
        Some(path.value.clone())
    }

    fn redact_keys(&mut self, raw: &RawLogging) -> Vec<String> {
        for key in &raw.redact.keys {
            if key.value.trim_matches(['*', ' ']).is_empty() {
                let message = format!("`{}` would redact every value", key.value.escape_debug());
                let help = "name a part of the key, as in `*_pin`".to_owned();
                self.refuse(key.defined, message, help);
            }
        }
        raw.redact.keys.iter().map(|key| key.value.clone()).collect()
    }

    fn redact_patterns(&mut self, raw: &RawLogging) -> Vec<String> {
        for pattern in &raw.redact.patterns {
            let built = RegexBuilder::new(&pattern.value).size_limit(MAX_PATTERN_SIZE).build();
            let reason = match built {
                Ok(built) if built.is_match("") => "it matches every text".to_owned(),
                Ok(_) => continue,
                Err(error) => last_line(&error.to_string()),
            };
            let message = format!("`{}` is not a valid pattern: {reason}", pattern.value.escape_debug());
            self.refuse(pattern.defined, message, "write a regular expression".to_owned());
        }
        raw.redact.patterns.iter().map(|pattern| pattern.value.clone()).collect()
    }
}

/// The lines before the last one repeat the pattern.
fn last_line(text: &str) -> String {
    let last = text.lines().last().unwrap_or_default().trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn read(yaml: &str) -> LoggingConfig {
        let config = Config::parse("foreword.yaml", yaml).unwrap();
        assert!(config.notes.is_empty(), "{:?}", config.notes);
        config.logging
    }

    #[test]
    fn omitted_settings_have_defaults_and_file_can_be_disabled() {
        assert_eq!(read(""), LoggingConfig::default());
        assert_eq!(read("logging: {}"), LoggingConfig::default());
        for off in ["none", "null", "~", ""] {
            assert_eq!(read(&format!("logging:\n  file: {off}\n")).file, None, "{off}");
        }
        let all = "logging: { level: debug, file: ~/x.log, stdout: false, rotation: { max_days: 3, max_size_mb: 2 },\n\
                   redact: { keys: ['*_pin'], patterns: ['CUST-\\d+'] } }";
        let expected = LoggingConfig {
            level: Level::Debug,
            file: Some("~/x.log".to_owned()),
            stdout: false,
            max_days: 3,
            max_bytes: 2 * 1024 * 1024,
            redact_keys: vec!["*_pin".to_owned()],
            redact_patterns: vec!["CUST-\\d+".to_owned()],
        };
        assert_eq!(read(all), expected);
    }

    #[test]
    fn invalid_settings_are_refused_at_their_position() {
        for (yaml, message, column) in [
            ("logging: { file: logs/ }", "`logging.file` is `logs/`, which is not a file name", 18),
            ("logging: { file: '~bob/x' }", "`logging.file` is `~bob/x`", 18),
            (
                "logging: { rotation: { max_days: 0 } }",
                "`logging.rotation.max_days` is 0, which is too small",
                34,
            ),
            ("logging: { redact: { keys: ['*'] } }", "`*` would redact every value", 29),
            (
                "logging: { redact: { patterns: ['a(b'] } }",
                "`a(b` is not a valid pattern: unclosed group",
                33,
            ),
        ] {
            let Err(problems) = Config::parse("foreword.yaml", yaml) else { panic!("{yaml}") };
            let found: Vec<_> =
                problems.iter().map(|problem| (problem.message.as_str(), problem.at.column)).collect();
            assert_eq!(found, [(message, column)], "{yaml}");
        }
        assert!(Config::parse("foreword.yaml", "logging: { level: loud }").is_err());
        assert!(Config::parse("foreword.yaml", "logging: { levle: info }").is_err());
    }
}
