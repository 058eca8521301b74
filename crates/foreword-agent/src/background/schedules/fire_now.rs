//! Fires a schedule immediately, on request.

use std::time::Duration;

use foreword_core::id::{ConversationId, RunId};
use foreword_core::schedule::FiringEnd;
use foreword_core::timestamp::Timestamp;
use foreword_store::schedules::{Firing, FiringLinks, NewSchedule};
use foreword_workspace::config::Schedule;
use foreword_workspace::config::schedules::ScheduleAction;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::actions::{Attempt, run_id};
use super::fire::FiringReport;
use super::running_firings::{FiringGuard, Key};
use super::{conversation, fire};
use crate::agent::Agent;
use crate::conversation::feed::Feed;
use crate::error::AgentError;

/// How long stopping a firing waits for the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of a requested firing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiringResult {
    /// When it started; identifies it among the schedule's firings.
    pub due_at: Timestamp,
    /// How it ended.
    pub end: FiringEnd,
    /// The output of a workflow or of an autonomous turn. A prompt's answer is in the schedule's conversation instead.
    pub output: Option<String>,
}

/// A requested firing that has started. It continues if this handle is dropped.
pub struct FireNow {
    /// When it started.
    pub due_at: Timestamp,
    /// The feed of its conversation; `None` if it sends no message.
    pub feed: Option<FiringFeed>,
    /// The workflow run, if its action is a workflow.
    pub run: Option<RunId>,
    agent: Agent,
    schedule: Schedule,
    firing: Firing,
    began: Instant,
    task: JoinHandle<FiringReport>,
}

/// The feed of a firing's conversation.
pub struct FiringFeed {
    pub conversation: ConversationId,
    pub feed: Feed,
    /// The feed position at which this firing starts.
    pub from: u64,
}

impl FireNow {
    /// Waits for its end.
    ///
    /// # Errors
    /// If the agent has stopped. A failed firing is not an error; see [`FiringResult::end`].
    pub async fn ended(&mut self) -> Result<FiringResult, AgentError> {
        let FiringReport { end, output } = (&mut self.task).await.map_err(|_| AgentError::Closed)?;
        Ok(FiringResult { due_at: self.due_at, end, output })
    }

    /// Aborts it; it counts as failed. The turn or workflow run that it started keeps its progress.
    pub async fn stop(mut self) -> FiringResult {
        self.task.abort();
        // It may have ended in the meantime.
        if let Ok(FiringReport { end, output }) = (&mut self.task).await {
            return FiringResult { due_at: self.due_at, end, output };
        }
        let end = FiringEnd::Failed { error: "stopped by a user".to_owned() };
        let links = FiringLinks { run: self.run, ..self.firing.links.clone() };
        let noted = fire::finish(&self.agent, &self.schedule, &self.firing, self.began, &end, links);
        // If the store stays unavailable, the firing is taken over once its lease expires.
        let _ = tokio::time::timeout(STORE_TIMEOUT, noted).await;
        FiringResult { due_at: self.due_at, end, output: None }
    }
}

impl Agent {
    /// Fires a schedule immediately, even a disabled one, and waits for its end. Its next due time does not change. The
    /// firing continues if this future is dropped.
    ///
    /// # Errors
    /// If there is no such schedule, or the store can't be written. A failed firing is not an error.
    pub async fn fire_now(&self, name: &str) -> Result<FiringResult, AgentError> {
        self.begin_fire_now(name).await?.ended().await
    }

    /// Starts the firing of [`Agent::fire_now`] without waiting for its end.
    ///
    /// # Errors
    /// As [`Agent::fire_now`].
    pub async fn begin_fire_now(&self, name: &str) -> Result<FireNow, AgentError> {
        let config = std::sync::Arc::clone(&self.shared().workspace.snapshot().config);
        let unknown = || AgentError::NoSchedule(name.to_owned());
        let schedule = config.schedules.get(name).cloned().ok_or_else(unknown)?;
        let (mut firing, guard) = self.begin_now(&schedule).await?;
        let due_at = firing.due_at;
        // On an error, the firing chooses again and reports the error.
        let chosen = conversation::choose(self, &schedule, due_at).await.ok().flatten();
        firing.links.conversation.clone_from(&chosen);
        let feed = chosen.map(|conversation| {
            let feed = self.feed(&conversation);
            let from = feed.next();
            FiringFeed { conversation, feed, from }
        });
        let run = match schedule.action {
            ScheduleAction::Workflow { .. } => Some(run_id(&schedule.name, due_at)?),
            _ => None,
        };
        let (agent, began) = (self.clone(), Instant::now());
        let (own, fired) = (schedule.clone(), firing.clone());
        let task = tokio::spawn(async move {
            let key = (firing.schedule.clone(), due_at);
            let ended = fire::run(agent.clone(), schedule, firing, Attempt::First);
            let end = tokio::select! {
                end = ended => end,
                never = hold(&agent, &key) => never,
            };
            drop(guard);
            end
        });
        Ok(FireNow { due_at, feed, run, agent: self.clone(), schedule: own, firing: fired, began, task })
    }

    async fn begin_now(&self, schedule: &Schedule) -> Result<(Firing, FiringGuard), AgentError> {
        let shared = self.shared();
        loop {
            let zoned = shared.clock_and_rng.now();
            let now = Timestamp::from(zoned.timestamp());
            let new = NewSchedule {
                name: schedule.name.to_string(),
                timing: schedule.timing(zoned.time_zone()),
                next_fire_at: schedule.cron.next_after(now, schedule.zone(zoned.time_zone())),
                at: now,
            };
            shared.store.put_schedule(new).await?;
            // Registered before it is stored: the scheduler takes over stored firings that are not registered.
            let guard = shared.firings.begin((schedule.name.to_string(), now));
            if let Some(guard) = guard
                && let Some(firing) =
                    shared.store.begin_firing(&schedule.name, shared.node.clone(), now).await?
            {
                return Ok((firing, guard));
            }
            // The schedule has fired at this timestamp: try the next one.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Renews the lease of the firing. Never returns.
async fn hold(agent: &Agent, firing: &Key) -> FiringReport {
    let shared = agent.shared();
    loop {
        tokio::time::sleep(shared.lease / 3).await;
        // If this fails and another node takes it over, idempotency keys prevent duplicates.
        let _ = shared.store.renew_firings(&shared.node, vec![firing.clone()], shared.now()).await;
    }
}
