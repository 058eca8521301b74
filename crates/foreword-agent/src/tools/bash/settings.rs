//! What a shell command may take, give and see.

use std::time::Duration;

use foreword_workspace::config::BashConfig;

/// Variables of the program's environment that a command may see. All others are left out: keys and tokens live there.
const PASSED_ON: [&str; 8] = ["PATH", "HOME", "LANG", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR"];

/// What is looked for in a command before it is run; see [`BashSettings::blocked`].
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
    /// How long a command may run, if that is less than the configuration says.
    pub timeout: Duration,
    /// How long it may take to end once it was told to.
    pub grace: Duration,
    /// How much of what it prints is kept, half of it from the beginning and half from the end, if that is less than the
    /// configuration says.
    pub max_output_bytes: usize,
    /// Commands that are not run. A pattern is a program, then letters of options that must all be there, then words
    /// that must all be there; `*` stands for anything within a word, and `>path` for output sent to a file. One with
    /// a `(` is looked for anywhere, blanks aside. It keeps accidents away, and nobody who means harm.
    pub blocked: Vec<String>,
    /// All that a command sees of the environment.
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
    /// What holds under a configuration: its limits, as long as these are not narrower.
    pub(super) fn under(&self, config: &BashConfig) -> Self {
        Self {
            timeout: self.timeout.min(config.timeout),
            max_output_bytes: self.max_output_bytes.min(config.max_output_bytes),
            ..self.clone()
        }
    }

    /// The same, with those of `variables` that a command may see: where programs are, whose home it is, the language.
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
