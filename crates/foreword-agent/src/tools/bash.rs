//! `bash`: runs one shell command in the workspace, with a timeout and an output limit. Below full trust it runs
//! confined to the files that trust permits, or not at all. Its output is text from outside.

mod blocked;
mod captured;
mod command_line;
#[cfg(unix)]
mod group;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod sandbox;
mod settings;

use std::sync::Arc;

use foreword_core::event::EventType;
use foreword_prompt::untrusted::single_line;
use serde_json::{Map, Value, json};

pub use settings::BashSettings;

use super::arguments::Arguments;
use super::limits::event_of;
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};

const NAME: &str = "bash";
/// The maximum length of a command in the log.
const COMMAND_CHARS: usize = 500;

/// The tool `bash`.
#[derive(Debug, Clone, Default)]
pub struct Bash {
    settings: Arc<BashSettings>,
}

impl Bash {
    /// The tool with these settings.
    #[must_use]
    pub fn new(settings: BashSettings) -> Self {
        Self { settings: Arc::new(settings) }
    }
}

impl Tool for Bash {
    fn name(&self) -> &'static str {
        NAME
    }

    fn has_side_effects(&self) -> bool {
        true
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        // The configuration may have been reloaded since the last command.
        let settings = self.settings.under(&call.snapshot.config.bash);
        Box::pin(async move {
            let arguments = Arguments::new(arguments);
            match checked(&arguments, &call, &settings) {
                Ok(command) => perform(command, &call, &settings).await,
                Err(refused) => refused,
            }
        })
    }
}

/// The command, if it is valid and not blocked.
fn checked(arguments: &Arguments, call: &ToolCall, settings: &BashSettings) -> Result<String, ToolOutput> {
    let command = arguments.text("command")?;
    if command.trim().is_empty() {
        return Err(ToolOutput::failed("`command` is empty: give a command line"));
    }
    if command.contains('\0') {
        return Err(ToolOutput::failed(
            "`command` has a NUL character, which no command line can: leave it out",
        ));
    }
    let by_owner = || call.snapshot.config.bash.blocks(command).map(str::to_owned);
    let built_in = blocked::blocked_by(command, &settings.blocked).map(|pattern| pattern.to_string());
    let Some(pattern) = built_in.or_else(by_owner) else {
        return Ok(command.to_owned());
    };
    let reason = format!("it falls under `{pattern}`, which is blocked here");
    let metadata = json!({ "tool": NAME, "command": single_line(command, COMMAND_CHARS), "reason": reason });
    let text = format!("not run: {reason}. Do it another way, or ask the owner to do it.");
    Err(ToolOutput::failed(text).with_event(event_of(EventType::ToolBlocked, call, metadata)))
}

#[cfg(not(unix))]
async fn perform(_command: String, _call: &ToolCall, _settings: &BashSettings) -> ToolOutput {
    ToolOutput::failed("there is no `bash` on this system: use the other tools")
}

#[cfg(unix)]
async fn perform(command: String, call: &ToolCall, settings: &BashSettings) -> ToolOutput {
    use foreword_prompt::trust::Trust;

    let directory = match call.workspace.directory().canonicalize() {
        Ok(directory) => directory,
        Err(error) => return ToolOutput::failed(format!("the workspace can't be entered: {error}")),
    };
    let mut environment = settings.environment.clone();
    environment.push(("TERM".to_owned(), "dumb".to_owned()));
    let home = directory.to_string_lossy().into_owned();
    let sandbox = if call.trust.permits(Trust::Full) {
        None
    } else {
        environment.retain(|(name, _)| name != "HOME");
        let access = super::file_access::FileAccess::of(call);
        match sandbox::Sandbox::new(directory.clone(), &access) {
            Ok(sandbox) => Some(sandbox),
            Err(error) => {
                return ToolOutput::failed(format!("the workspace can't be looked through: {error}"));
            }
        }
    };
    if environment.iter().all(|(name, _)| name != "HOME") {
        environment.push(("HOME".to_owned(), home));
    }
    let job = process::Job {
        command,
        directory,
        environment,
        mark: format!("{:032x}", call.random),
        sandbox,
        timeout: settings.timeout,
        grace: settings.grace,
        max_output_bytes: settings.max_output_bytes,
    };
    match process::run(job).await {
        Ok(finished) => output(&finished, call, settings),
        Err(error) => not_started(&error, call),
    }
}

#[cfg(unix)]
fn not_started(error: &std::io::Error, call: &ToolCall) -> ToolOutput {
    if error.kind() == std::io::ErrorKind::Unsupported {
        let reason = format!("below `full` trust a command has to be confined, and {error}");
        let metadata = json!({ "tool": NAME, "reason": reason });
        return ToolOutput::failed(format!("not run: {reason}. Use `read_file` instead, or ask the owner."))
            .with_event(event_of(EventType::ToolBlocked, call, metadata));
    }
    ToolOutput::failed(format!("`bash` could not be started: {error}"))
}

/// The output: the exit status first, then what the command printed.
#[cfg(unix)]
fn output(finished: &process::Finished, call: &ToolCall, settings: &BashSettings) -> ToolOutput {
    let printed = finished.output.text();
    let (ending, failed) = ending(finished.ending, settings);
    let body = if printed.is_empty() { "(it printed nothing)".to_owned() } else { printed };
    let mut output = ToolOutput::untrusted(format!("{ending}\n{body}"));
    output.is_error = failed;
    if finished.ending == process::Ending::TimedOut {
        let timeout = u64::try_from(settings.timeout.as_millis()).unwrap_or(u64::MAX);
        output = output.with_event(event_of(
            EventType::ToolTimeout,
            call,
            json!({ "tool": NAME, "timeoutMs": timeout }),
        ));
    }
    if finished.output.left_out() > 0 {
        let (total, kept) = (finished.output.total(), finished.output.kept_bytes());
        output = output.with_event(super::limits::truncated(call, NAME, total, kept));
    }
    output
}

#[cfg(unix)]
fn ending(ending: process::Ending, settings: &BashSettings) -> (String, bool) {
    use std::os::unix::process::ExitStatusExt as _;

    match ending {
        process::Ending::Exited(status) => match (status.code(), status.signal()) {
            (Some(code), _) => (format!("exit code {code}"), code != 0),
            (None, Some(signal)) => (format!("ended by signal {signal}"), true),
            (None, None) => ("ended in an unknown way".to_owned(), true),
        },
        process::Ending::TimedOut => {
            let seconds = settings.timeout.as_secs_f64();
            let text = format!(
                "stopped: it took longer than {seconds} seconds, and everything it started was ended. Do less at once."
            );
            (text, true)
        }
        process::Ending::Abandoned => ("stopped".to_owned(), true),
    }
}
