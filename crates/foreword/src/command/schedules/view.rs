//! A schedule as it is shown: what the configuration says of it, and what the store knows.

use std::collections::BTreeMap;

use foreword_core::timestamp::Timestamp;
use foreword_prompt::untrusted::single_line;
use foreword_store::schedules::{Firing, Schedule as Kept};
use foreword_workspace::config::schedules::Action;
use foreword_workspace::config::{Config, Schedule};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{DIM, YELLOW, styled};
use crate::stored::{Stored, now};
use crate::world::World;

/// The most characters of a prompt on a line.
const LINE: usize = 80;

/// A schedule as it is shown.
pub(super) struct View {
    pub(super) schedule: Schedule,
    pub(super) zone: TimeZone,
    /// When it fires next; in the past, if that was missed and is to be made up for.
    pub(super) next: Option<Timestamp>,
    pub(super) last: Option<Firing>,
    pub(super) failures: u64,
    now: Timestamp,
}

impl View {
    /// All that are configured.
    pub(super) fn all(config: &Config, stored: Option<&Stored>, world: &World) -> Result<Vec<Self>, Failure> {
        let (mut kept, mut last) = (BTreeMap::new(), BTreeMap::new());
        if let Some(stored) = stored {
            let schedules = stored.wait(stored.store.schedules())?;
            kept.extend(schedules.into_iter().map(|kept| (kept.name.clone(), kept)));
            let firings = stored.wait(stored.store.last_firings())?;
            last.extend(firings.into_iter().map(|firing| (firing.schedule.clone(), firing)));
        }
        let view = |schedule: &Schedule| {
            let kept = kept.get(&*schedule.name);
            let zone = zone(Some(schedule), world);
            let (now, machine) = (now(world), world.now.time_zone());
            // What is stored counts, unless the configuration has changed since.
            let same = |kept: &&Kept| kept.timing == schedule.timing(machine);
            let next = match kept.filter(same) {
                _ if !schedule.enabled => None,
                Some(kept) => kept.next_fire_at,
                None => schedule.cron.next_after(now, &zone),
            };
            let failures = kept.map_or(0, |kept| kept.record.consecutive_failures);
            let last = last.get(&*schedule.name).cloned();
            Self { schedule: schedule.clone(), zone, next, last, failures, now }
        };
        Ok(config.schedules.values().map(view).collect())
    }

    pub(super) fn zone_name(&self) -> String {
        let name = self.zone.iana_name().unwrap_or("local");
        if self.schedule.time_zone.is_some() { name.to_owned() } else { styled(DIM, name) }
    }

    pub(super) fn next_in_words(&self) -> String {
        match self.next {
            _ if !self.schedule.enabled => styled(DIM, "disabled"),
            None => styled(DIM, "never"),
            Some(next) if next <= self.now => {
                styled(YELLOW, format!("due since {}", local(next, &self.zone)))
            }
            Some(next) => local(next, &self.zone),
        }
    }

    /// The next times, beginning with the one it is at.
    pub(super) fn times(&self, count: usize) -> Vec<Timestamp> {
        let after = |at: &Timestamp| self.schedule.cron.next_after(*at, &self.zone);
        std::iter::successors(self.next, after).take(count).collect()
    }

    pub(super) fn action_in_words(&self) -> String {
        match &self.schedule.action {
            Action::Prompt(text) => format!("says `{}`", single_line(text, LINE)),
            Action::Heartbeat => "says what HEARTBEAT.md says".to_owned(),
            Action::Workflow { name, parameters } if parameters.is_empty() => {
                format!("runs workflow `{name}`")
            }
            Action::Workflow { name, parameters } => {
                let given = single_line(&json!(parameters).to_string(), LINE);
                format!("runs workflow `{name}` with {given}")
            }
            Action::Tick => "answers the inbox, or gives the agent time of its own".to_owned(),
            Action::Compact => "summarises conversations that have grown long".to_owned(),
        }
    }

    pub(super) fn json(&self) -> Value {
        let schedule = &self.schedule;
        json!({
            "name": &*schedule.name,
            "action": schedule.action.as_str(),
            "cron": schedule.cron.as_str(),
            "when": schedule.cron.in_words(),
            "time_zone": self.zone.iana_name(),
            "user": &*schedule.user,
            "missed": schedule.missed,
            "enabled": schedule.enabled,
            "next_fire_at": self.next,
            "last": self.last.as_ref().map(firing_json),
            "consecutive_failures": self.failures,
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
