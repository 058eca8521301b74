//! Section `schedules`.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::cron::Cron;
use foreword_core::schedule::{Missed, Timing};
use foreword_core::template_context::TemplateContext;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::trust::Trust;
use jiff::tz::{self, TimeZone};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::{Location, Spanned};

use super::parse::ConfigParser;
use super::people::is_user_name;
use super::providers::Providers;
use super::raw::Named;
use super::{ConfiguredSettings, User};

/// A schedule with exactly one action: `prompt`, `heartbeat`, `workflow`, `tick` or `compact`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSchedule {
    /// The cron expression: `minute hour day month weekday`, such as `0 7 * * mon-fri`, or `@hourly`, `@daily`,
    /// `@weekly`, `@monthly`.
    #[schemars(with = "String")]
    pub cron: Spanned<String>,
    /// The time zone of the cron expression, such as `Europe/Berlin`. Default: the machine's.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub time_zone: Option<Spanned<String>>,
    /// Sends this message to the agent.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub prompt: Option<Spanned<String>>,
    /// Sends the text of HEARTBEAT.md to the agent, unless it is empty.
    #[serde(default)]
    pub heartbeat: bool,
    /// Runs this workflow.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub workflow: Option<Spanned<String>>,
    /// The parameters of the workflow by name.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// Answers the inbox, or gives the agent a turn of its own if the inbox is empty.
    #[serde(default)]
    pub tick: bool,
    /// Compacts long conversations.
    #[serde(default)]
    pub compact: bool,
    /// How to handle missed firings: `run_once` runs once for all of them, `skip` runs none. Default: `run_once`.
    #[serde(default)]
    pub missed: RawMissed,
    /// The user the schedule runs for. Default: the first user with full trust.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub user: Option<Spanned<String>>,
    /// The agent. Default: the first agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// The model, as `provider/name`. Default: the agent's model.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub model: Option<Spanned<String>>,
    /// Instructions for the schedule's conversation only.
    #[serde(default)]
    pub session_instructions: Option<String>,
    /// The working directory of the schedule's conversation: in the workspace, or below one of `conversations.cwd_roots`.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Template values for the schedule's conversation.
    #[serde(default)]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub context: Option<TemplateContext>,
    /// Whether the schedule is active. Default: true.
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

/// How to handle missed firings.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawMissed {
    /// Runs once for all missed firings.
    #[default]
    RunOnce,
    /// Skips missed firings.
    Skip,
}

/// The file that a heartbeat sends.
pub const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// A schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// Its name, unique in the workspace.
    pub name: Arc<str>,
    /// The cron expression.
    pub cron: Cron,
    /// The time zone of the cron expression. Default: the machine's.
    pub time_zone: Option<TimeZone>,
    /// What it does.
    pub action: ScheduleAction,
    /// How to handle missed firings.
    pub missed: Missed,
    /// The user it runs for.
    pub user: Arc<str>,
    /// The agent. Default: the first agent.
    pub agent: Option<Arc<str>>,
    /// The model. Default: the agent's.
    pub model: Option<Arc<str>>,
    /// The settings of its conversation.
    pub settings: ConfiguredSettings,
    /// Whether it is active.
    pub enabled: bool,
}

/// What a schedule does.
#[derive(Debug, Clone, PartialEq)]
pub enum ScheduleAction {
    /// Sends a message to the agent.
    Prompt(Arc<str>),
    /// Sends the text of HEARTBEAT.md to the agent.
    Heartbeat,
    /// Runs a workflow.
    Workflow {
        /// Its name. The workflow may not exist.
        name: Arc<str>,
        /// Its parameters. They may not match the workflow.
        parameters: Map<String, Value>,
    },
    /// Answers the inbox, or gives the agent a turn of its own.
    Tick,
    /// Compacts long conversations.
    Compact,
}

impl ScheduleAction {
    /// Its configuration key.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Prompt(_) => "prompt",
            Self::Heartbeat => "heartbeat",
            Self::Workflow { .. } => "workflow",
            Self::Tick => "tick",
            Self::Compact => "compact",
        }
    }
}

impl Schedule {
    /// The time zone of the cron expression, on a machine in time zone `machine`.
    #[must_use]
    pub fn zone<'a>(&'a self, machine: &'a TimeZone) -> &'a TimeZone {
        self.time_zone.as_ref().unwrap_or(machine)
    }

    /// The timing as it is stored, on a machine in time zone `machine`.
    #[must_use]
    pub fn timing(&self, machine: &TimeZone) -> Timing {
        let zone = self.zone(machine);
        Timing {
            cron: self.cron.as_str().to_owned(),
            // A system may know its UTC offset but not its time zone name.
            time_zone: zone.iana_name().unwrap_or("local").to_owned(),
            enabled: self.enabled,
        }
    }
}

/// The maximum length of a name in bytes. The name is part of a conversation name.
const MAX_NAME_BYTES: usize = 64;
/// The actions, of which a schedule has exactly one.
const ACTIONS: &str = "`prompt`, `heartbeat`, `workflow`, `tick` or `compact`";

impl ConfigParser<'_> {
    pub(super) fn schedules(
        &mut self,
        raw: &Named<RawSchedule>,
        users: &[User],
        providers: &Providers,
    ) -> BTreeMap<Arc<str>, Schedule> {
        let mut schedules = BTreeMap::new();
        for (name, raw) in &raw.0 {
            if !is_user_name(&name.value) || name.value.len() > MAX_NAME_BYTES {
                let message = format!("`{}` is not a valid schedule name", name.value.escape_debug());
                let help = format!("use at most {MAX_NAME_BYTES} letters, digits, `_`, `-` and `.`");
                self.refuse(name.defined, message, help);
            }
            self.provider_of(raw.model.as_ref(), providers);
            let user = self.schedule_user(name.defined, raw.user.as_ref(), users);
            let time_zone = raw.time_zone.as_ref().and_then(|zone| self.time_zone(zone));
            let (cron, action) = (self.cron(&raw.cron), self.action(name, raw));
            let (Some(cron), Some(action), Some(user)) = (cron, action, user) else { continue };
            let missed = match raw.missed {
                RawMissed::RunOnce => Missed::RunOnce,
                RawMissed::Skip => Missed::Skip,
            };
            let schedule = Schedule {
                name: name.value.as_str().into(),
                cron,
                time_zone,
                action,
                missed,
                user,
                agent: raw.agent.as_deref().map(Into::into),
                model: raw.model.as_ref().map(|model| model.value.as_str().into()),
                settings: self.schedule_settings(name, raw),
                enabled: raw.enabled,
            };
            schedules.insert(Arc::clone(&schedule.name), schedule);
        }
        schedules
    }

    fn cron(&mut self, written: &Spanned<String>) -> Option<Cron> {
        Cron::parse(&written.value)
            .map_err(|bad| self.refuse(written.defined, bad.to_string(), bad.help().to_owned()))
            .ok()
    }

    fn time_zone(&mut self, written: &Spanned<String>) -> Option<TimeZone> {
        if let Ok(zone) = TimeZone::get(&written.value) {
            return Some(zone);
        }
        let known: Vec<String> = tz::db().available().map(|name| name.to_string()).collect();
        let help = near_zone(&written.value, &known).map_or_else(
            || "name one of the IANA time zones, such as `Europe/Berlin` or `UTC`".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        self.refuse(
            written.defined,
            format!("there is no time zone `{}`", written.value.escape_debug()),
            help,
        );
        None
    }

    fn action(&mut self, name: &Spanned<String>, raw: &RawSchedule) -> Option<ScheduleAction> {
        let prompt = raw.prompt.as_ref().map(|prompt| ScheduleAction::Prompt(prompt.value.as_str().into()));
        let workflow = raw.workflow.as_ref().map(|workflow| ScheduleAction::Workflow {
            name: workflow.value.as_str().into(),
            parameters: raw.parameters.clone(),
        });
        let said = [
            prompt,
            raw.heartbeat.then_some(ScheduleAction::Heartbeat),
            workflow,
            raw.tick.then_some(ScheduleAction::Tick),
            raw.compact.then_some(ScheduleAction::Compact),
        ];
        let mut said: Vec<ScheduleAction> = said.into_iter().flatten().collect();
        let shown = name.value.escape_debug();
        match said.len() {
            0 => self.refuse(
                name.defined,
                format!("schedule `{shown}` has no action"),
                format!("add one of {ACTIONS}"),
            ),
            1 => {}
            _ => self.refuse(
                name.defined,
                format!("schedule `{shown}` has more than one action"),
                format!("keep one of {ACTIONS}; use a workflow to combine them"),
            ),
        }
        if let Some(blank) = raw.prompt.as_ref().filter(|prompt| prompt.value.trim().is_empty()) {
            self.refuse(
                blank.defined,
                "`prompt` is empty".to_owned(),
                "write the message to send to the agent".to_owned(),
            );
        }
        if raw.workflow.is_none() && !raw.parameters.is_empty() {
            let message = format!("schedule `{shown}` has `parameters` but no `workflow`");
            self.refuse(
                name.defined,
                message,
                "they belong to a workflow: name it, or remove them".to_owned(),
            );
        }
        said.pop().filter(|_| said.is_empty())
    }

    /// The settings of the schedule's own conversation, if it has one.
    fn schedule_settings(&mut self, name: &Spanned<String>, raw: &RawSchedule) -> ConfiguredSettings {
        let settings = ConfiguredSettings {
            session_instructions: raw.session_instructions.clone(),
            cwd: raw.cwd.clone(),
            context: raw.context.clone(),
        };
        if (raw.tick || raw.compact) && !settings.is_empty() {
            let shown = name.value.escape_debug();
            let message =
                format!("schedule `{shown}` has no conversation of its own, so it cannot have settings");
            let help = "remove `session_instructions`, `cwd` and `context`".to_owned();
            self.refuse(name.defined, message, help);
        }
        settings
    }

    /// The user the schedule runs for.
    fn schedule_user(
        &mut self,
        at: Location,
        written: Option<&Spanned<String>>,
        users: &[User],
    ) -> Option<Arc<str>> {
        let Some(written) = written else {
            let owner = users.iter().find(|user| user.trust == Trust::Full);
            if owner.is_none() {
                self.refuse(
                    at,
                    "no user has full trust, so the schedule has no user to run for".to_owned(),
                    "set the user: `user: …`".to_owned(),
                );
            }
            return owner.map(|owner| Arc::clone(&owner.name));
        };
        if let Some(user) = users.iter().find(|user| *user.name == *written.value) {
            return Some(Arc::clone(&user.name));
        }
        let near = did_you_mean(&written.value, users.iter().map(|user| &*user.name));
        let help =
            near.map_or_else(|| "name one of `users`".to_owned(), |near| format!("did you mean `{near}`?"));
        self.refuse(written.defined, format!("there is no user `{}`", written.value.escape_debug()), help);
        None
    }

    fn provider_of(&mut self, model: Option<&Spanned<String>>, providers: &Providers) {
        if let Some(written) = model.filter(|model| !model.value.contains('/')) {
            let message = format!("model `{}` has no provider prefix", written.value.escape_debug());
            self.refuse(written.defined, message, format!("write it as `provider/{}`", written.value));
        }
        self.served(model, providers);
    }
}

/// Suggests a time zone: a similar name, or the same city.
fn near_zone(written: &str, known: &[String]) -> Option<String> {
    let city = |name: &str| name.rsplit('/').next().unwrap_or(name).replace(' ', "_").to_lowercase();
    let same_city = || known.iter().find(|name| name.contains('/') && city(name) == city(written)).cloned();
    did_you_mean(written, known.iter().map(String::as_str)).map(str::to_owned).or_else(same_city)
}

#[cfg(test)]
mod tests;
