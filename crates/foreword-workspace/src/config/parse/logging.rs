//! What is written to the log, and what is hidden in it.

use foreword_core::event::Level;
use regex::RegexBuilder;

use super::Reader;
use crate::config::LoggingConfig;
use crate::config::raw::{RawLevel, RawLogFile, RawLogging};

const MOST_DAYS: u32 = 36_500;
const LARGEST_MB: u64 = 1_000_000;
const MEGABYTE: u64 = 1024 * 1024;
/// What a pattern may become when it is compiled; the same bound holds where it is used.
const PATTERN_SIZE: usize = 1 << 20;

impl Reader<'_> {
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
                1..=MOST_DAYS,
                default.max_days,
            ),
            max_bytes: MEGABYTE
                * self.within(
                    rotation.max_size_mb.as_ref(),
                    "logging.rotation.max_size_mb",
                    1..=LARGEST_MB,
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
            let message = format!("`logging.file` is `{}`, which names no file", path.value.escape_debug());
            self.refuse(path.defined, message, "name a file, or switch it off with `none`".to_owned());
        }
        if path.value.starts_with('~') && !path.value.starts_with("~/") {
            let message = format!("`logging.file` is `{}`", path.value.escape_debug());
            self.refuse(path.defined, message, "only one's own home is known: write `~/…`".to_owned());
        }
        Some(path.value.clone())
    }

    fn redact_keys(&mut self, raw: &RawLogging) -> Vec<String> {
        for key in &raw.redact.keys {
            if key.value.trim_matches(['*', ' ']).is_empty() {
                let message = format!("`{}` would hide every value", key.value.escape_debug());
                let help = "name a part of the key, as in `*_pin`".to_owned();
                self.refuse(key.defined, message, help);
            }
        }
        raw.redact.keys.iter().map(|key| key.value.clone()).collect()
    }

    fn redact_patterns(&mut self, raw: &RawLogging) -> Vec<String> {
        for pattern in &raw.redact.patterns {
            let built = RegexBuilder::new(&pattern.value).size_limit(PATTERN_SIZE).build();
            let reason = match built {
                Ok(built) if built.is_match("") => "it matches every text".to_owned(),
                Ok(_) => continue,
                Err(error) => last_line(&error.to_string()),
            };
            let message = format!("`{}` is no pattern for secrets: {reason}", pattern.value.escape_debug());
            self.refuse(pattern.defined, message, "write a regular expression".to_owned());
        }
        raw.redact.patterns.iter().map(|pattern| pattern.value.clone()).collect()
    }
}

/// The lines before it draw the pattern again.
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
    fn what_is_not_said_has_a_default_and_the_file_can_be_switched_off() {
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
    fn what_makes_no_sense_is_refused_where_it_stands() {
        for (yaml, message, column) in [
            ("logging: { file: logs/ }", "`logging.file` is `logs/`, which names no file", 18),
            ("logging: { file: '~bob/x' }", "`logging.file` is `~bob/x`", 18),
            (
                "logging: { rotation: { max_days: 0 } }",
                "`logging.rotation.max_days` is 0, which is too small",
                34,
            ),
            ("logging: { redact: { keys: ['*'] } }", "`*` would hide every value", 29),
            (
                "logging: { redact: { patterns: ['a(b'] } }",
                "`a(b` is no pattern for secrets: unclosed group",
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
