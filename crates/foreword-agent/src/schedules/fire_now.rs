//! A schedule that somebody wants to fire now, whenever it is due.

use std::time::Duration;

use foreword_core::id::ConversationId;
use foreword_core::schedule::Ended;
use foreword_core::timestamp::Timestamp;
use foreword_store::schedules::{Firing, NewSchedule};
use foreword_workspace::config::Schedule;
use tokio::task::JoinHandle;

use super::actions::Attempt;
use super::at_work::{Key, Place};
use super::{conversation, firing};
use crate::agent::Agent;
use crate::error::AgentError;
use crate::feed::Feed;

/// A firing that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fired {
    /// When it was begun: by this it is found among the schedule's firings.
    pub due_at: Timestamp,
    /// What came of it.
    pub end: Ended,
}

/// A firing that somebody asked for, and that has begun. It goes on even if nobody waits for it.
pub struct FireNow {
    /// When it was begun.
    pub due_at: Timestamp,
    /// Where it speaks; `None` if it says nothing itself.
    pub heard: Option<Heard>,
    task: JoinHandle<Ended>,
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
        let end = (&mut self.task).await.map_err(|_| AgentError::Closed)?;
        Ok(Fired { due_at: self.due_at, end })
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
        let agent = self.clone();
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
        Ok(FireNow { due_at, heard, task })
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
async fn hold(agent: &Agent, firing: &Key) -> Ended {
    let shared = agent.shared();
    loop {
        tokio::time::sleep(shared.lease / 3).await;
        // Whoever takes it over meanwhile does nothing twice.
        let _ = shared.store.hold_firings(&shared.node, vec![firing.clone()], shared.now()).await;
    }
}
