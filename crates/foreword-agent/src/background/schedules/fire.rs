//! Runs one firing from its claim to its end, and logs it.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use foreword_core::event::{Event, EventType};
use foreword_core::schedule::{FiringEnd, FiringOutcome};
use foreword_store::error::StoreError;
use foreword_store::schedules::{FinishFiring, FinishedFiring, Firing, FiringLinks};
use foreword_workspace::config::Schedule;
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::time::Instant;

use super::actions::{ActionResult, Attempt, perform};
use super::conversation;
use crate::agent::Agent;

/// Maximum length of a stored failure reason.
const MAX_REASON_CHARS: usize = 1_000;
/// How long to wait before retrying a failed write.
const STORE_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// How a firing ended, with its output.
pub(super) struct FiringReport {
    pub(super) end: FiringEnd,
    pub(super) output: Option<String>,
}

/// Performs the schedule's action and stores the result.
pub(super) async fn run(
    agent: Agent,
    schedule: Schedule,
    mut firing: Firing,
    attempt: Attempt,
) -> FiringReport {
    let began = Instant::now();
    if attempt == Attempt::First {
        if firing.links.conversation.is_none() {
            // On an error, the action chooses again and reports the error.
            let chosen = conversation::choose(&agent, &schedule, firing.due_at).await;
            firing.links.conversation = chosen.ok().flatten();
        }
        log_fired(&agent, &schedule, &firing);
    }
    // After a panic the firing must still end: the schedule does not fire again before that.
    let performed = AssertUnwindSafe(perform(&agent, &schedule, &firing, attempt)).catch_unwind().await;
    let ActionResult { end, links, output } = match performed {
        Ok(Ok(performed)) => performed,
        Ok(Err(error)) => failed(error.cause().for_record()),
        Err(_) => failed("internal error: the action panicked"),
    };
    let end = match end {
        FiringEnd::Failed { error } => FiringEnd::Failed { error: on_one_line(&error) },
        other => other,
    };
    if firing.links.conversation.is_none() {
        firing.links.conversation = links.conversation.clone();
    }
    finish(&agent, &schedule, &firing, began, &end, links).await;
    FiringReport { end, output }
}

/// Replaces control characters and truncates. Escaping is done where the reason is displayed.
fn on_one_line(reason: &str) -> String {
    reason.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_REASON_CHARS).collect()
}

fn failed(error: &str) -> ActionResult {
    ActionResult {
        end: FiringEnd::Failed { error: error.to_owned() },
        links: FiringLinks::default(),
        output: None,
    }
}

/// Stores the end, and retries until the store is available. Logs it only if no other attempt has stored an end before.
pub(super) async fn finish(
    agent: &Agent,
    schedule: &Schedule,
    firing: &Firing,
    began: Instant,
    end: &FiringEnd,
    links: FiringLinks,
) {
    let shared = agent.shared();
    loop {
        let finish = FinishFiring {
            schedule: firing.schedule.clone(),
            due_at: firing.due_at,
            end: end.clone(),
            links: links.clone(),
            now: shared.now(),
        };
        match shared.store.finish_firing(finish).await {
            Ok(FinishedFiring { first: false, .. }) | Err(StoreError::NotFound { .. }) => return,
            Ok(FinishedFiring { schedule: stored, first: true }) => {
                let failures = stored.record.consecutive_failures;
                return log_ended(agent, schedule, firing, end, failures, began.elapsed());
            }
            Err(_) => tokio::time::sleep(STORE_RETRY_INTERVAL).await,
        }
    }
}

/// The fields that all schedule events share.
fn event(agent: &Agent, schedule: &Schedule, firing: &Firing, kind: EventType) -> Event {
    let links = firing.links.conversation.clone();
    Event {
        session_id: links.or_else(|| conversation::first(&schedule.name).ok()),
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
    let fired = event(agent, schedule, firing, EventType::ScheduleFired);
    agent.shared().log(Event { metadata: Some(metadata), ..fired });
}

fn log_ended(
    agent: &Agent,
    schedule: &Schedule,
    firing: &Firing,
    end: &FiringEnd,
    failures: u64,
    took: Duration,
) {
    let duration_ms = u64::try_from(took.as_millis()).ok();
    let job = &*schedule.name;
    if let FiringEnd::Failed { error } = end {
        let failed = event(agent, schedule, firing, EventType::ScheduleError);
        let metadata = Some(json!({ "jobId": job, "consecutiveFailures": failures }));
        agent.shared().log(Event { error: Some(error.clone()), metadata, ..failed });
    }
    let ended = event(agent, schedule, firing, EventType::ScheduleEnded);
    let metadata = json!({ "jobId": job, "status": end.outcome(), "note": end.note() });
    agent.shared().log(Event { duration_ms, metadata: Some(metadata), ..ended });
}

/// Logs a missed firing.
pub(super) fn log_skipped(agent: &Agent, schedule: &Schedule, firing: &Firing) {
    debug_assert_eq!(firing.outcome, Some(FiringOutcome::Skipped));
    let end = FiringEnd::Skipped { note: firing.note.clone().unwrap_or_default() };
    log_ended(agent, schedule, firing, &end, 0, Duration::ZERO);
}

/// Ends a firing of a schedule that is no longer configured.
pub(super) async fn abandon(agent: &Agent, firing: Firing) -> Result<(), StoreError> {
    let shared = agent.shared();
    let error = "its schedule is no longer configured".to_owned();
    let finish = FinishFiring {
        schedule: firing.schedule,
        due_at: firing.due_at,
        end: FiringEnd::Failed { error },
        links: FiringLinks::default(),
        now: shared.now(),
    };
    shared.store.finish_firing(finish).await.map(|_| ())
}
