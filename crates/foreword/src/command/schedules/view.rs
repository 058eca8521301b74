//! A schedule as it is shown: what the configuration says of it, and what the store knows.

use foreword_agent::schedules::ScheduleView;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::untrusted::display_line;
use foreword_store::schedules::Firing;
use foreword_workspace::config::schedules::Action;
use foreword_workspace::config::{Config, Schedule};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{DIM, YELLOW, styled};
use crate::stored::{Stored, now, runtime};
use crate::world::World;

/// The most characters of a prompt on a line.
const LINE: usize = 80;

/// A schedule as it is shown.
pub(super) struct View {
    pub(super) stands: ScheduleView,
    now: Timestamp,
}

impl View {
    /// All that are configured.
    pub(super) fn all(config: &Config, stored: Option<&Stored>, world: &World) -> Result<Vec<Self>, Failure> {
        let all = match stored {
            Some(stored) => stored.wait(ScheduleView::all(config, Some(&stored.store), &world.now))?,
            None => runtime()?.block_on(ScheduleView::all(config, None, &world.now))?,
        };
        let now = now(world);
        Ok(all.into_iter().map(|stands| Self { stands, now }).collect())
    }

    pub(super) fn zone_name(&self) -> String {
        let name = self.stands.zone.iana_name().unwrap_or("local");
        if self.stands.schedule.time_zone.is_some() { name.to_owned() } else { styled(DIM, name) }
    }

    pub(super) fn next_in_words(&self) -> String {
        match self.stands.next {
            _ if !self.stands.schedule.enabled => styled(DIM, "disabled"),
            None => styled(DIM, "never"),
            Some(next) if next <= self.now => {
                styled(YELLOW, format!("due since {}", local(next, &self.stands.zone)))
            }
            Some(next) => local(next, &self.stands.zone),
        }
    }

    pub(super) fn action_in_words(&self) -> String {
        match &self.stands.schedule.action {
            Action::Prompt(text) => format!("says `{}`", display_line(text, LINE)),
            Action::Heartbeat => "says what HEARTBEAT.md says".to_owned(),
            Action::Workflow { name, parameters } if parameters.is_empty() => {
                format!("runs workflow `{name}`")
            }
            Action::Workflow { name, parameters } => {
                let given = display_line(&json!(parameters).to_string(), LINE);
                format!("runs workflow `{name}` with {given}")
            }
            Action::Tick => "answers the inbox, or gives the agent time of its own".to_owned(),
            Action::Compact => "summarises conversations that have grown long".to_owned(),
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

/// The time zone of a schedule; the machine's, if it names none.
pub(super) fn zone(schedule: Option<&Schedule>, world: &World) -> TimeZone {
    let machine = world.now.time_zone();
    schedule.map_or(machine, |schedule| schedule.zone(machine)).clone()
}

/// A time as clocks in `zone` show it.
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
        "conversation": firing.place.conversation,
        "message": firing.place.message,
        "run": firing.place.run,
    })
}
