//! Decides which schedules to fire or skip at a given time, and when to wake up next. Performs no I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foreword_core::id::NodeId;
use foreword_core::schedule::{Due, due};
use foreword_core::timestamp::Timestamp;
use foreword_store::schedules::{ClaimFiring, NewSchedule, StoredSchedule};
use foreword_workspace::config::Schedule;
use jiff::tz::TimeZone;

/// How many candidate times are computed for a schedule that a wrong clock has postponed.
const MAX_CANDIDATES: usize = 100;
/// The note of a missed firing.
const MISSED_NOTE: &str = "missed: no node was running, or the previous firing was still running";

/// The changes to make in the store.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Firings to claim.
    pub(super) claims: Vec<ClaimFiring>,
    /// Schedules to move to an earlier time: the name, the stored time, and the candidates.
    pub(super) pulls: Vec<(String, Timestamp, Vec<Timestamp>)>,
    /// When the next one is due.
    pub(super) next: Option<Timestamp>,
}

/// The configured schedules and when each fires next. Next times are cached, so that a thousand schedules cost nothing
/// while none is due.
pub(super) struct Timetable {
    schedules: BTreeMap<Arc<str>, Schedule>,
    machine: TimeZone,
    known: NextTimes,
}

impl Timetable {
    pub(super) fn new(schedules: &BTreeMap<Arc<str>, Schedule>, machine: &TimeZone) -> Self {
        Self { schedules: schedules.clone(), machine: machine.clone(), known: NextTimes::default() }
    }

    /// Whether it was made from these schedules and this time zone.
    pub(super) fn matches(&self, schedules: &BTreeMap<Arc<str>, Schedule>, machine: &TimeZone) -> bool {
        self.machine == *machine && self.schedules == *schedules
    }

    pub(super) fn schedule(&self, name: &str) -> Option<&Schedule> {
        self.schedules.get(name)
    }

    /// The schedules as they are stored.
    pub(super) fn stored(&mut self, now: Timestamp) -> Vec<NewSchedule> {
        let Self { schedules, machine, known } = self;
        let new = |schedule: &Schedule| NewSchedule {
            name: schedule.name.to_string(),
            timing: schedule.timing(machine),
            next_fire_at: known.next(schedule, machine, now),
            at: now,
        };
        schedules.values().map(new).collect()
    }

    /// The plan for the stored schedules at `now`. `under_way` contains the schedules with a running firing.
    pub(super) fn plan(
        &mut self,
        now: Timestamp,
        stored: &[StoredSchedule],
        under_way: &BTreeSet<String>,
        node: &NodeId,
    ) -> Plan {
        let Self { schedules, machine, known } = self;
        let mut plan = Plan::default();
        for stored in stored.iter().filter(|stored| stored.timing.enabled) {
            let Some(schedule) = schedules.get(&*stored.name) else { continue };
            let next = known.next(schedule, machine, now);
            let is_under_way = under_way.contains(&stored.name);
            let claim = |due_at, skip: Option<&str>| ClaimFiring {
                schedule: stored.name.clone(),
                due_at,
                node: node.clone(),
                next_fire_at: next,
                now,
                skip: skip.map(str::to_owned),
            };
            match due(now, stored.next_fire_at, next, schedule.missed, is_under_way) {
                Due::Wait(until) => plan.next = earlier(plan.next, until),
                Due::Behind => {}
                Due::Fire(at) => plan.claims.push(claim(at, None)),
                Due::Skip(at) => plan.claims.push(claim(at, Some(MISSED_NOTE))),
                Due::TooFarAhead(first) => {
                    plan.next = earlier(plan.next, Some(first));
                    if let Some(from) = stored.next_fire_at {
                        plan.pulls.push((stored.name.clone(), from, between(schedule, machine, first, from)));
                    }
                }
            }
            // A schedule claimed now is due again at `next`.
            plan.next = earlier(plan.next, next);
        }
        plan
    }
}

/// Cached next times by schedule.
#[derive(Default)]
struct NextTimes(BTreeMap<Arc<str>, Next>);

/// The first time after `since`.
struct Next {
    since: Timestamp,
    next: Option<Timestamp>,
}

impl NextTimes {
    /// The first time after `now`.
    fn next(&mut self, schedule: &Schedule, machine: &TimeZone, now: Timestamp) -> Option<Timestamp> {
        // After the clock was set back there may be earlier times.
        let holds = |known: &&Next| known.since <= now && known.next.is_none_or(|next| next > now);
        if let Some(known) = self.0.get(&schedule.name).filter(holds) {
            return known.next;
        }
        let next = schedule.cron.next_after(now, schedule.zone(machine));
        self.0.insert(Arc::clone(&schedule.name), Next { since: now, next });
        next
    }
}

/// The times from `first` to before `end`.
fn between(schedule: &Schedule, machine: &TimeZone, first: Timestamp, end: Timestamp) -> Vec<Timestamp> {
    let zone = schedule.zone(machine);
    let times = std::iter::successors(Some(first), |at| schedule.cron.next_after(*at, zone));
    times.take_while(|at| *at < end).take(MAX_CANDIDATES).collect()
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}
