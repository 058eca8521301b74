//! What is to be done about all schedules at a moment, and when to look again. Decides; does nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foreword_core::id::NodeId;
use foreword_core::schedule::{Due, due};
use foreword_core::timestamp::Timestamp;
use foreword_store::schedules::{ClaimFiring, NewSchedule, Schedule as Stored};
use foreword_workspace::config::Schedule;
use jiff::tz::TimeZone;

/// How many later times are tried for one that was put off by a wrong clock.
const TRIED: usize = 100;
/// Why a firing was skipped that nobody was there for.
const TOO_LATE: &str = "missed: nobody was there in time, or the firing before it was still under way";

/// What is to be done.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Firings to be claimed.
    pub(super) claims: Vec<ClaimFiring>,
    /// Schedules to be pulled back: the name, from where, and where to.
    pub(super) pulls: Vec<(String, Timestamp, Vec<Timestamp>)>,
    /// When the next one is due.
    pub(super) next: Option<Timestamp>,
}

/// The schedules of a configuration, on a machine somewhere, and when each fires next. That is worked out again only
/// once it has passed: a thousand schedules cost nothing while none is due.
pub(super) struct Timetable {
    schedules: BTreeMap<Arc<str>, Schedule>,
    machine: TimeZone,
    known: Known,
}

impl Timetable {
    pub(super) fn new(schedules: &BTreeMap<Arc<str>, Schedule>, machine: &TimeZone) -> Self {
        Self { schedules: schedules.clone(), machine: machine.clone(), known: Known::default() }
    }

    /// Whether it is of these schedules on this machine.
    pub(super) fn is_of(&self, schedules: &BTreeMap<Arc<str>, Schedule>, machine: &TimeZone) -> bool {
        self.machine == *machine && self.schedules == *schedules
    }

    pub(super) fn schedule(&self, name: &str) -> Option<&Schedule> {
        self.schedules.get(name)
    }

    /// What the store is told of them.
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

    /// What is to be done at `now` about those that are stored. `under_way` are those with a firing that has not ended.
    pub(super) fn plan(
        &mut self,
        now: Timestamp,
        stored: &[Stored],
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
            match due(now, (stored.next_fire_at, next), schedule.missed, is_under_way) {
                Due::Wait(until) => plan.next = earlier(plan.next, until),
                Due::Behind => {}
                Due::Fire(at) => plan.claims.push(claim(at, None)),
                Due::Skip(at) => plan.claims.push(claim(at, Some(TOO_LATE))),
                Due::TooFarAhead(first) => {
                    plan.next = earlier(plan.next, Some(first));
                    if let Some(from) = stored.next_fire_at {
                        plan.pulls.push((
                            stored.name.clone(),
                            from,
                            between(schedule, machine, (first, from)),
                        ));
                    }
                }
            }
            // What is claimed now is due again then.
            plan.next = earlier(plan.next, next);
        }
        plan
    }
}

/// When each schedule fires next, as far as that was worked out.
#[derive(Default)]
struct Known(BTreeMap<Arc<str>, Next>);

/// The first time after `since`.
struct Next {
    since: Timestamp,
    next: Option<Timestamp>,
}

impl Known {
    /// The first time after `now`.
    fn next(&mut self, schedule: &Schedule, machine: &TimeZone, now: Timestamp) -> Option<Timestamp> {
        // A clock that was put back makes what is known wrong: there may be earlier ones.
        let holds = |known: &&Next| known.since <= now && known.next.is_none_or(|next| next > now);
        if let Some(known) = self.0.get(&schedule.name).filter(holds) {
            return known.next;
        }
        let next = schedule.cron.next_after(now, schedule.zone(machine));
        self.0.insert(Arc::clone(&schedule.name), Next { since: now, next });
        next
    }
}

/// The times from `first` on, and before `end`.
fn between(schedule: &Schedule, machine: &TimeZone, (first, end): (Timestamp, Timestamp)) -> Vec<Timestamp> {
    let zone = schedule.zone(machine);
    let times = std::iter::successors(Some(first), |at| schedule.cron.next_after(*at, zone));
    times.take_while(|at| *at < end).take(TRIED).collect()
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}
