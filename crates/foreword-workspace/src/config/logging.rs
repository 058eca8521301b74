//! What is written to the log, and what is hidden in it.

use foreword_core::event::Level;

/// Where the log is, unless the configuration says otherwise.
const DEFAULT_LOG: &str = ".foreword/logs/foreword.log";

/// What is written to the log, and what is hidden in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggingConfig {
    /// From which level on lines are written.
    pub level: Level,
    /// The file as it is named: below the workspace unless it begins with `/` or `~/`. `None` if there is to be none.
    pub file: Option<String>,
    /// Whether what runs on writes the lines to standard output too.
    pub stdout: bool,
    /// For how many days old files are kept.
    pub max_days: u32,
    /// How large a file may become, in bytes.
    pub max_bytes: u64,
    /// Further keys whose values are hidden.
    pub redact_keys: Vec<String>,
    /// Further patterns of what is hidden. Each is a regular expression.
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
