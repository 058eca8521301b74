//! Limits and environment of shell commands.

use std::time::Duration;

use foreword_workspace::config::BashConfig;

/// Environment variables passed to a command. All others are removed, since they may contain keys and tokens.
const PASSED_ON: [&str; 8] = ["PATH", "HOME", "LANG", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR"];

/// The built-in blocked patterns; see [`BashSettings::blocked`].
const BLOCKED: [&str; 22] = [
    "rm -r /",
    "rm -r ~",
    "rm -r $HOME",
    "rm -r ${HOME}",
    "rm -r .foreword",
    "rm --no-preserve-root",
    "chmod -R /",
    "chown -R /",
    "mkfs*",
    "wipefs",
    "fdisk /dev/*",
    "dd of=/dev/*",
    "* >/dev/sd*",
    "* >/dev/nvme*",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "init 0",
    "init 6",
    "systemctl *boot",
    ":(){:|:&};:",
];

/// The limits of `bash`.
///
/// ```
/// use foreword_agent::tools::bash::BashSettings;
/// let environment = [("PATH", "/usr/bin"), ("OPENAI_API_KEY", "a secret")].map(|(name, value)| (name.to_owned(), value.to_owned()));
/// let settings = BashSettings::default().with_environment(environment);
/// assert!(settings.environment.contains(&("PATH".to_owned(), "/usr/bin".to_owned())));
/// assert!(settings.environment.iter().all(|(name, _)| name != "OPENAI_API_KEY"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashSettings {
    /// The maximum timeout; the configuration may set a lower one.
    pub timeout: Duration,
    /// How long a command may take to exit after SIGTERM.
    pub grace: Duration,
    /// The maximum size of the output, half from its start and half from its end; the configuration may set a lower
    /// one.
    pub max_output_bytes: usize,
    /// Blocked commands. A pattern is a program, then option letters that must all be present, then words that must all
    /// be present; `*` matches anything within a word, and `>path` matches a redirection to a file. A pattern with a
    /// `(` matches anywhere, ignoring whitespace. This prevents accidents, not attacks.
    pub blocked: Vec<String>,
    /// The environment of a command.
    pub environment: Vec<(String, String)>,
}

impl Default for BashSettings {
    fn default() -> Self {
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        let environment = [("PATH", path), ("LANG", "C.UTF-8")];
        Self {
            timeout: Duration::MAX,
            grace: Duration::from_secs(2),
            max_output_bytes: usize::MAX,
            blocked: BLOCKED.map(str::to_owned).to_vec(),
            environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        }
    }
}

impl BashSettings {
    /// The settings under a configuration: the stricter of both limits.
    pub(super) fn under(&self, config: &BashConfig) -> Self {
        Self {
            timeout: self.timeout.min(config.timeout),
            max_output_bytes: self.max_output_bytes.min(config.max_output_bytes),
            ..self.clone()
        }
    }

    /// Adds those of `variables` that a command may see: paths, home directory and language.
    #[must_use]
    pub fn with_environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        for (name, value) in variables {
            if PASSED_ON.contains(&name.as_str()) || name.starts_with("LC_") {
                self.environment.retain(|(there, _)| *there != name);
                self.environment.push((name, value));
            }
        }
        self
    }
}
