//! One firing from its claim to its end, with what the log is told of it.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use foreword_core::event::{Event, EventType};
use foreword_core::schedule::{Ended, FiringOutcome};
use foreword_store::error::StoreError;
use foreword_store::schedules::{FinishFiring, Finished, Firing, FiringPlace};
use foreword_workspace::config::Schedule;
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::time::Instant;

use super::actions::{Attempt, Performed, perform};
use super::conversation;
use crate::agent::Agent;

/// The longest reason that is kept.
const LONGEST: usize = 1_000;
/// How long to wait before a store is told again that was away.
const TELL_AGAIN: Duration = Duration::from_secs(1);

/// What came of a firing, and what it gave.
pub(super) struct Came {
    pub(super) end: Ended,
    pub(super) output: Option<String>,
}

/// Does what the schedule says, and notes what came of it.
pub(super) async fn run(agent: Agent, schedule: Schedule, mut firing: Firing, attempt: Attempt) -> Came {
    let began = Instant::now();
    if attempt == Attempt::First {
        if firing.place.conversation.is_none() {
            // If it can't be told now, it is asked again when it is needed, and the reason is told then.
            let chosen = conversation::choose(&agent, &schedule, firing.due_at).await;
            firing.place.conversation = chosen.ok().flatten();
        }
        log_fired(&agent, &schedule, &firing);
    }
    // A firing that breaks off must still end: nothing of its schedule happens before.
    let performed = AssertUnwindSafe(perform(&agent, &schedule, &firing, attempt)).catch_unwind().await;
    let Performed { end, place, output } = match performed {
        Ok(Ok(performed)) => performed,
        Ok(Err(error)) => failed(error.cause().for_record()),
        Err(_) => failed("it broke off: this is a mistake in the program"),
    };
    let end = match end {
        Ended::Failed { error } => Ended::Failed { error: on_one_line(&error) },
        other => other,
    };
    if firing.place.conversation.is_none() {
        firing.place.conversation = place.conversation.clone();
    }
    finish(&agent, &schedule, (&firing, began), (&end, place)).await;
    Came { end, output }
}

/// A reason as it is kept: where it is shown, it is made harmless.
fn on_one_line(reason: &str) -> String {
    reason.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect()
}

fn failed(error: &str) -> Performed {
    Performed { end: Ended::Failed { error: error.to_owned() }, place: FiringPlace::default(), output: None }
}

/// Notes the end, however long the store is away. Only the first word on a firing is told to the log.
pub(super) async fn finish(
    agent: &Agent,
    schedule: &Schedule,
    (firing, began): (&Firing, Instant),
    (end, place): (&Ended, FiringPlace),
) {
    let shared = agent.shared();
    loop {
        let finish = FinishFiring {
            schedule: firing.schedule.clone(),
            due_at: firing.due_at,
            end: end.clone(),
            place: place.clone(),
            now: shared.now(),
        };
        match shared.store.finish_firing(finish).await {
            Ok(Finished { first: false, .. }) | Err(StoreError::NotFound { .. }) => return,
            Ok(Finished { schedule: stored, first: true }) => {
                let failures = stored.record.consecutive_failures;
                return log_ended(agent, (schedule, firing), (end, failures), began.elapsed());
            }
            Err(_) => tokio::time::sleep(TELL_AGAIN).await,
        }
    }
}

/// What every event of a schedule says.
fn event(agent: &Agent, (schedule, firing): (&Schedule, &Firing), kind: EventType) -> Event {
    let place = firing.place.conversation.clone();
    Event {
        session_id: place.or_else(|| conversation::first(&schedule.name).ok()),
        user_id: Some(schedule.user.clone()),
        ..Event::new(kind, agent.shared().now())
    }
}

fn log_fired(agent: &Agent, schedule: &Schedule, firing: &Firing) {
    let metadata = json!({
        "jobId": &*schedule.name,
        "schedule": schedule.cron.as_str(),
        "action": schedule.action.as_str(),
        "dueAt": firing.due_at,
    });
    let fired = event(agent, (schedule, firing), EventType::ScheduleFired);
    agent.shared().log(Event { metadata: Some(metadata), ..fired });
}

fn log_ended(
    agent: &Agent,
    (schedule, firing): (&Schedule, &Firing),
    (end, failures): (&Ended, u64),
    took: Duration,
) {
    let duration_ms = u64::try_from(took.as_millis()).ok();
    let job = &*schedule.name;
    if let Ended::Failed { error } = end {
        let failed = event(agent, (schedule, firing), EventType::ScheduleError);
        let metadata = Some(json!({ "jobId": job, "consecutiveFailures": failures }));
        agent.shared().log(Event { error: Some(error.clone()), metadata, ..failed });
    }
    let ended = event(agent, (schedule, firing), EventType::ScheduleEnded);
    let metadata = json!({ "jobId": job, "status": end.outcome(), "note": end.note() });
    agent.shared().log(Event { duration_ms, metadata: Some(metadata), ..ended });
}

/// Tells the log of a firing that was missed.
pub(super) fn log_skipped(agent: &Agent, schedule: &Schedule, firing: &Firing) {
    debug_assert_eq!(firing.outcome, Some(FiringOutcome::Skipped));
    let end = Ended::Skipped { note: firing.note.clone().unwrap_or_default() };
    log_ended(agent, (schedule, firing), (&end, 0), Duration::ZERO);
}

/// Ends a firing of a schedule that is no longer there.
pub(super) async fn abandon(agent: &Agent, firing: Firing) -> Result<(), StoreError> {
    let shared = agent.shared();
    let error = "its schedule is no longer configured".to_owned();
    let finish = FinishFiring {
        schedule: firing.schedule,
        due_at: firing.due_at,
        end: Ended::Failed { error },
        place: FiringPlace::default(),
        now: shared.now(),
    };
    shared.store.finish_firing(finish).await.map(|_| ())
}
