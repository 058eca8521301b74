//! What runs by the clock.

use foreword_core::cron::Cron;
use foreword_core::schedule::Missed;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::trust::Trust;
use jiff::tz::{self, TimeZone};
use serde_saphyr::{Location, Spanned};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Reader;
use super::providers::Providers;
use crate::config::raw::{Named, RawMissed, RawSchedule};
use crate::config::schedules::{Action, Schedule};
use crate::config::words::is_user_name;
use crate::config::{ConfiguredSettings, User};

/// The longest name, in bytes: it is part of a conversation's.
const LONGEST_NAME: usize = 64;
/// What one of a schedule has to say.
const ACTIONS: &str = "`prompt`, `heartbeat`, `workflow`, `tick` or `compact`";

impl Reader<'_> {
    pub(super) fn schedules(
        &mut self,
        raw: &Named<RawSchedule>,
        users: &[User],
        providers: &Providers,
    ) -> BTreeMap<Arc<str>, Schedule> {
        let mut schedules = BTreeMap::new();
        for (name, raw) in &raw.0 {
            if !is_user_name(&name.value) || name.value.len() > LONGEST_NAME {
                let message = format!("`{}` is no name for a schedule", name.value.escape_debug());
                let help = format!("use at most {LONGEST_NAME} letters, digits, `_`, `-` and `.`");
                self.refuse(name.defined, message, help);
            }
            self.provider_of(raw.model.as_ref(), providers);
            let user = self.whose(name.defined, raw.user.as_ref(), users);
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

    fn action(&mut self, name: &Spanned<String>, raw: &RawSchedule) -> Option<Action> {
        let prompt = raw.prompt.as_ref().map(|prompt| Action::Prompt(prompt.value.as_str().into()));
        let workflow = raw.workflow.as_ref().map(|workflow| Action::Workflow {
            name: workflow.value.as_str().into(),
            parameters: raw.parameters.clone(),
        });
        let said = [
            prompt,
            raw.heartbeat.then_some(Action::Heartbeat),
            workflow,
            raw.tick.then_some(Action::Tick),
            raw.compact.then_some(Action::Compact),
        ];
        let mut said: Vec<Action> = said.into_iter().flatten().collect();
        let shown = name.value.escape_debug();
        match said.len() {
            0 => self.refuse(
                name.defined,
                format!("schedule `{shown}` does not say what to do"),
                format!("add one of {ACTIONS}"),
            ),
            1 => {}
            _ => self.refuse(
                name.defined,
                format!("schedule `{shown}` says more than one thing to do"),
                format!("keep one of {ACTIONS}; what they do together is a workflow"),
            ),
        }
        if let Some(blank) = raw.prompt.as_ref().filter(|prompt| prompt.value.trim().is_empty()) {
            self.refuse(
                blank.defined,
                "`prompt` is empty".to_owned(),
                "say what the agent is told".to_owned(),
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

    /// The settings of its conversation, if it has one of its own.
    fn schedule_settings(&mut self, name: &Spanned<String>, raw: &RawSchedule) -> ConfiguredSettings {
        let settings = ConfiguredSettings {
            session_instructions: raw.session_instructions.clone(),
            cwd: raw.cwd.clone(),
            context: raw.context.clone(),
        };
        if (raw.tick || raw.compact) && !settings.is_empty() {
            let shown = name.value.escape_debug();
            let message = format!("schedule `{shown}` has no conversation of its own to set anything for");
            let help = "remove `session_instructions`, `cwd` and `context`".to_owned();
            self.refuse(name.defined, message, help);
        }
        settings
    }

    /// For whom it runs.
    fn whose(&mut self, at: Location, written: Option<&Spanned<String>>, users: &[User]) -> Option<Arc<str>> {
        let Some(written) = written else {
            let owner = users.iter().find(|user| user.trust == Trust::Full);
            if owner.is_none() {
                self.refuse(
                    at,
                    "a schedule runs for the first user who is trusted fully, and nobody is".to_owned(),
                    "name whom it runs for: `user: …`".to_owned(),
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
            let message = format!("model `{}` names no provider", written.value.escape_debug());
            self.refuse(written.defined, message, format!("write it as `provider/{}`", written.value));
        }
        self.served(model, providers);
    }
}

/// The zone that was meant: nearly the same name, or the same city.
fn near_zone(written: &str, known: &[String]) -> Option<String> {
    let city = |name: &str| name.rsplit('/').next().unwrap_or(name).replace(' ', "_").to_lowercase();
    let same_city = || known.iter().find(|name| name.contains('/') && city(name) == city(written)).cloned();
    did_you_mean(written, known.iter().map(String::as_str)).map(str::to_owned).or_else(same_city)
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn refused(schedule: &str) -> String {
        let text = format!(
            "users:\n  - {{ name: alice, trust: full }}\n  - {{ name: bob, trust: inner }}\nschedules:\n  {schedule}\n"
        );
        let problems = Config::parse("foreword.yaml", &text).unwrap_err();
        let shown = problems.iter().map(|problem| {
            format!("{problem}\n{}\nhelp: {}", problem.excerpt(), problem.help.as_deref().unwrap_or("-"))
        });
        shown.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn everything_that_can_be_wrong_is_shown_with_its_line_and_a_way_out() {
        insta::assert_snapshot!(
            "refused_schedules",
            [
                refused("a: { cron: '0 0 30 2 *', heartbeat: true }"),
                refused("a: { cron: '* * * * * *', heartbeat: true }"),
                refused("a: { cron: 'every day', heartbeat: true }"),
                refused("a: { cron: '@daily', heartbeat: true, time_zone: Europe/Berln }"),
                refused("a: { cron: '@daily', heartbeat: true, time_zone: new york }"),
                refused("a: { cron: '@daily', heartbeat: true, time_zone: Middle-earth }"),
                refused("a: { cron: '@daily' }"),
                refused("a: { cron: '@daily', tick: true, prompt: hello }"),
                refused("a: { cron: '@daily', prompt: ' ' }"),
                refused("a: { cron: '@daily', tick: true, parameters: { day: today } }"),
                refused("a: { cron: '@daily', tick: true, user: ailce }"),
                refused("a: { cron: '@daily', tick: true, model: claude }"),
                refused("a: { cron: '@daily', tick: true, missed: never }"),
                refused("'two words': { cron: '@daily', tick: true }"),
                refused("a: { tick: true }"),
            ]
            .join("\n\n")
        );
    }

    #[test]
    fn a_schedule_runs_for_the_owner_in_the_machines_zone_unless_it_says_otherwise() {
        let text = "users:\n  - { name: bob, trust: inner }\n  - { name: alice, trust: full }\nschedules:\n  \
            night: { cron: '0 3 * * *', compact: true }\n  \
            bobs: { cron: '@daily', prompt: hello, user: bob, time_zone: asia/tokyo, missed: skip, enabled: false }\n";
        let config = Config::parse("foreword.yaml", text).unwrap();
        let [bobs, night] = ["bobs", "night"].map(|name| &config.schedules[name]);
        assert_eq!((&*night.user, night.time_zone.is_none(), night.enabled), ("alice", true, true));
        let machine = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
        assert_eq!(night.timing(&machine).time_zone, "Europe/Berlin");
        assert_eq!((&*bobs.user, bobs.enabled, bobs.missed.as_str()), ("bob", false, "skip"));
        assert_eq!(bobs.timing(&machine).time_zone, "Asia/Tokyo");
        let nobody =
            "users:\n  - { name: bob, trust: inner }\nschedules:\n  a: { cron: '@daily', tick: true }\n";
        assert_eq!(Config::parse("foreword.yaml", nobody).unwrap_err().len(), 1);
    }
}
