//! Section `logging` as people write it.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use super::RawOtlp;

/// The log: lines of JSON, in a file and on standard output.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawLogging {
    /// From which level on lines are written. Default: `info`. What libraries say is written from `warn` on, and at `debug`
    /// all of it.
    pub level: Option<RawLevel>,
    /// The file, below the workspace unless it begins with `/` or `~`. Default: `.foreword/logs/foreword.log`. `none`
    /// switches it off.
    #[schemars(with = "Option<String>")]
    pub file: RawLogFile,
    /// Whether `foreword run` writes the lines to standard output too. Default: true.
    pub stdout: Option<bool>,
    /// When the file is turned over. A new day always begins a new one.
    pub rotation: RawRotation,
    /// What is hidden, beside the keys and tokens that are known.
    pub redact: RawRedact,
    /// A file that `foreword run` keeps the metrics in, as Prometheus reads them: a path below the workspace, or an absolute
    /// one. Default: none.
    #[schemars(with = "Option<String>")]
    pub metrics_file: Option<Spanned<String>>,
    /// A collector that traces are sent to. Default: none, and nothing is sent.
    pub otlp: Option<RawOtlp>,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawLevel {
    /// For whoever looks for a fault.
    Debug,
    /// As it should be.
    Info,
    /// Something went wrong and was dealt with.
    Warn,
    /// Something failed.
    Error,
}

/// When a log file is turned over, and what becomes of the old ones.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawRotation {
    /// For how many days old files are kept. Default: 30.
    #[schemars(with = "Option<u32>")]
    pub max_days: Option<Spanned<u32>>,
    /// How large a file may become, in megabytes. Default: 100.
    #[schemars(with = "Option<u64>")]
    pub max_size_mb: Option<Spanned<u64>>,
}

/// What is hidden in events and in the log.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawRedact {
    /// Further keys whose values are hidden, `*` for any text, in whatever case.
    #[schemars(with = "Vec<String>")]
    pub keys: Vec<Spanned<String>>,
    /// Further patterns of what is hidden, as regular expressions. Of one with a group only the group is.
    #[schemars(with = "Vec<String>")]
    pub patterns: Vec<Spanned<String>>,
}

/// Where the log is: not said, nowhere, or in a file.
#[derive(Debug, Clone, Default)]
pub enum RawLogFile {
    /// Nothing is said about it.
    #[default]
    Unsaid,
    /// It is said to be nothing.
    Off,
    /// It is said to be there.
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
