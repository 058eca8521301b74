//! A schedule for display: its configuration and its stored state.

use foreword_agent::background::schedules::ScheduleView;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::untrusted::display_line;
use foreword_store::schedules::Firing;
use foreword_workspace::config::schedules::ScheduleAction;
use foreword_workspace::config::{Config, Schedule};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{DIM, YELLOW, styled};
use crate::process_context::ProcessContext;
use crate::workspace_store::{WorkspaceStore, now, runtime};

const MAX_PROMPT_CHARS: usize = 80;

pub(super) struct View {
    pub(super) stands: ScheduleView,
    now: Timestamp,
}

impl View {
    /// All configured schedules.
    pub(super) fn all(
        config: &Config,
        stored: Option<&WorkspaceStore>,
        process: &ProcessContext,
    ) -> Result<Vec<Self>, Failure> {
        let all = match stored {
            Some(stored) => stored.wait(ScheduleView::all(config, Some(&stored.store), &process.now))?,
            None => runtime()?.block_on(ScheduleView::all(config, None, &process.now))?,
        };
        let now = now(process);
        Ok(all.into_iter().map(|stands| Self { stands, now }).collect())
    }

    pub(super) fn zone_name(&self) -> String {
        let name = self.stands.zone.iana_name().unwrap_or("local");
        if self.stands.schedule.time_zone.is_some() { name.to_owned() } else { styled(DIM, name) }
    }

    pub(super) fn next_text(&self) -> String {
        match self.stands.next {
            _ if !self.stands.schedule.enabled => styled(DIM, "disabled"),
            None => styled(DIM, "never"),
            Some(next) if next <= self.now => {
                styled(YELLOW, format!("due since {}", local(next, &self.stands.zone)))
            }
            Some(next) => local(next, &self.stands.zone),
        }
    }

    pub(super) fn action_text(&self) -> String {
        match &self.stands.schedule.action {
            ScheduleAction::Prompt(text) => format!("says `{}`", display_line(text, MAX_PROMPT_CHARS)),
            ScheduleAction::Heartbeat => "sends HEARTBEAT.md".to_owned(),
            ScheduleAction::Workflow { name, parameters } if parameters.is_empty() => {
                format!("runs workflow `{name}`")
            }
            ScheduleAction::Workflow { name, parameters } => {
                let given = display_line(&json!(parameters).to_string(), MAX_PROMPT_CHARS);
                format!("runs workflow `{name}` with {given}")
            }
            ScheduleAction::Tick => "answers the inbox, or runs a turn of the agent's own".to_owned(),
            ScheduleAction::Compact => "compacts long conversations".to_owned(),
        }
    }

    pub(super) fn json(&self) -> Value {
        let ScheduleView { schedule, zone, next, last, failures } = &self.stands;
        json!({
            "name": &*schedule.name,
            "action": schedule.action.as_str(),
            "cron": schedule.cron.as_str(),
            "when": schedule.cron.in_words(),
            "time_zone": zone.iana_name(),
            "user": &*schedule.user,
            "missed": schedule.missed,
            "enabled": schedule.enabled,
            "next_fire_at": next,
            "last": last.as_ref().map(firing_json),
            "consecutive_failures": failures,
        })
    }
}

/// The time zone of a schedule, by default the machine's.
pub(super) fn zone(schedule: Option<&Schedule>, process: &ProcessContext) -> TimeZone {
    let machine = process.now.time_zone();
    schedule.map_or(machine, |schedule| schedule.zone(machine)).clone()
}

/// A time in `zone`.
pub(super) fn local(at: Timestamp, zone: &TimeZone) -> String {
    jiff::Timestamp::from(at).to_zoned(zone.clone()).strftime("%a %Y-%m-%d %H:%M").to_string()
}

pub(super) fn firing_json(firing: &Firing) -> Value {
    json!({
        "due_at": firing.due_at,
        "node": firing.node,
        "claimed_at": firing.claimed_at,
        "ended_at": firing.ended_at,
        "outcome": firing.outcome,
        "error": firing.error,
        "note": firing.note,
        "conversation": firing.links.conversation,
        "message": firing.links.message,
        "run": firing.links.run,
    })
}
