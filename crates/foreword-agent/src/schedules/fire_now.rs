//! A schedule that somebody wants to fire now, whenever it is due.

use std::time::Duration;

use foreword_core::id::{ConversationId, RunId};
use foreword_core::schedule::Ended;
use foreword_core::timestamp::Timestamp;
use foreword_store::schedules::{Firing, FiringPlace, NewSchedule};
use foreword_workspace::config::Schedule;
use foreword_workspace::config::schedules::Action;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::actions::{Attempt, run_id};
use super::at_work::{Key, Place};
use super::firing::Came;
use super::{conversation, firing};
use crate::agent::Agent;
use crate::error::AgentError;
use crate::feed::Feed;

/// How long a store is waited for that is to be told of a stop.
const PATIENCE: Duration = Duration::from_secs(5);

/// A firing that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fired {
    /// When it was begun: by this it is found among the schedule's firings.
    pub due_at: Timestamp,
    /// What came of it.
    pub end: Ended,
    /// What a workflow gave, or a turn of the agent's own said. What is said to a schedule is in its conversation.
    pub output: Option<String>,
}

/// A firing that somebody asked for, and that has begun. It goes on even if nobody waits for it.
pub struct FireNow {
    /// When it was begun.
    pub due_at: Timestamp,
    /// Where it speaks; `None` if it says nothing itself.
    pub heard: Option<Heard>,
    /// The run, if it runs a workflow.
    pub run: Option<RunId>,
    agent: Agent,
    schedule: Schedule,
    firing: Firing,
    began: Instant,
    task: JoinHandle<Came>,
}

/// Where a firing can be listened to.
pub struct Heard {
    /// The conversation.
    pub conversation: ConversationId,
    /// What happens there.
    pub feed: Feed,
    /// From where on that is this firing's.
    pub from: u64,
}

impl FireNow {
    /// Waits for its end.
    ///
    /// # Errors
    /// If the agent is gone. That a firing failed is no error: it is told.
    pub async fn ended(&mut self) -> Result<Fired, AgentError> {
        let Came { end, output } = (&mut self.task).await.map_err(|_| AgentError::Closed)?;
        Ok(Fired { due_at: self.due_at, end, output })
    }

    /// Stops it: it has failed then. What it began, such as a turn or a workflow's run, stays as far as it came.
    pub async fn stop(mut self) -> Fired {
        self.task.abort();
        // It may have ended in the meantime: then that stands.
        if let Ok(Came { end, output }) = (&mut self.task).await {
            return Fired { due_at: self.due_at, end, output };
        }
        let end = Ended::Failed { error: "somebody stopped it".to_owned() };
        let place = FiringPlace { run: self.run, ..self.firing.place.clone() };
        let noted = firing::finish(&self.agent, &self.schedule, (&self.firing, self.began), (&end, place));
        // A store that stays away can't be told; then it is taken over as what a dead process leaves.
        let _ = tokio::time::timeout(PATIENCE, noted).await;
        Fired { due_at: self.due_at, end, output: None }
    }
}

impl Agent {
    /// Fires a schedule at once, enabled or not, and waits for its end. When it fires next stays as it is. It goes on even
    /// if nobody waits any more.
    ///
    /// # Errors
    /// If there is no such schedule, or the store can't be written. That a firing failed is no error: it is told.
    pub async fn fire_now(&self, name: &str) -> Result<Fired, AgentError> {
        self.begin_fire_now(name).await?.ended().await
    }

    /// Begins what [`Agent::fire_now`] does.
    ///
    /// # Errors
    /// As [`Agent::fire_now`].
    pub async fn begin_fire_now(&self, name: &str) -> Result<FireNow, AgentError> {
        let config = std::sync::Arc::clone(&self.shared().workspace.snapshot().config);
        let unknown = || AgentError::NoSchedule(name.to_owned());
        let schedule = config.schedules.get(name).cloned().ok_or_else(unknown)?;
        let (mut firing, place) = self.begin_now(&schedule).await?;
        let due_at = firing.due_at;
        // What can't be told now is asked again by the firing itself, which tells why.
        let chosen = conversation::choose(self, &schedule, due_at).await.ok().flatten();
        firing.place.conversation.clone_from(&chosen);
        let heard = chosen.map(|conversation| {
            let feed = self.feed(&conversation);
            let from = feed.next();
            Heard { conversation, feed, from }
        });
        let run = match schedule.action {
            Action::Workflow { .. } => Some(run_id(&schedule.name, due_at)?),
            _ => None,
        };
        let (agent, began) = (self.clone(), Instant::now());
        let (own, fired) = (schedule.clone(), firing.clone());
        let task = tokio::spawn(async move {
            let key = (firing.schedule.clone(), due_at);
            let ended = firing::run(agent.clone(), schedule, firing, Attempt::First);
            let end = tokio::select! {
                end = ended => end,
                never = hold(&agent, &key) => never,
            };
            drop(place);
            end
        });
        Ok(FireNow { due_at, heard, run, agent: self.clone(), schedule: own, firing: fired, began, task })
    }

    async fn begin_now(&self, schedule: &Schedule) -> Result<(Firing, Place), AgentError> {
        let shared = self.shared();
        loop {
            let zoned = shared.surroundings.now();
            let now = Timestamp::from(zoned.timestamp());
            let new = NewSchedule {
                name: schedule.name.to_string(),
                timing: schedule.timing(zoned.time_zone()),
                next_fire_at: schedule.cron.next_after(now, schedule.zone(zoned.time_zone())),
                at: now,
            };
            shared.store.put_schedule(new).await?;
            // Said before it is stored: whoever finds it in the store and nobody at it would begin it too.
            let place = shared.firings.begin((schedule.name.to_string(), now));
            if let Some(place) = place
                && let Some(firing) =
                    shared.store.begin_firing(&schedule.name, shared.node.clone(), now).await?
            {
                return Ok((firing, place));
            }
            // It has fired at this very moment: the next one will do.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Says that this node is at it, for as long as it is.
async fn hold(agent: &Agent, firing: &Key) -> Came {
    let shared = agent.shared();
    loop {
        tokio::time::sleep(shared.lease / 3).await;
        // Whoever takes it over meanwhile does nothing twice.
        let _ = shared.store.hold_firings(&shared.node, vec![firing.clone()], shared.now()).await;
    }
}
