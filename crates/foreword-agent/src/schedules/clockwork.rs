//! The task that wakes up when something is due. One timer for all schedules: it looks when the next one is due, when
//! somebody says that something has changed, and every so often, because a clock can jump.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::schedule::Ended;
use foreword_core::timestamp::Timestamp;
use foreword_store::changes::Change;
use foreword_store::schedules::{Firing, TakeFirings};
use foreword_workspace::config::Schedule;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, broadcast, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::actions::Attempt;
use super::firing::{self, log_skipped};
use super::plan::Timetable;
use crate::agent::Agent;
use crate::error::AgentError;

/// How often to look whether the clock has jumped.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How long to wait for more when something has changed: a thousand firings that end are no thousand reasons to look.
const GATHER: Duration = Duration::from_millis(100);
/// How soon to look again when the store is away.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// How many firings run at once on a node.
const AT_ONCE: usize = 64;
/// How much news is kept for whoever is slow to listen.
const NEWS: usize = 4_096;
/// How many are claimed at once: so many that a thousand are claimed in time, so few that the first need not wait.
const CLAIMED_AT_ONCE: usize = 100;

/// What fires the schedules of an agent, until it is stopped.
pub struct Clockwork {
    stop: watch::Sender<bool>,
    news: broadcast::Sender<News>,
    task: JoinHandle<()>,
}

/// Something that happened on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A firing has begun.
    Fired {
        /// Of which schedule.
        schedule: String,
        /// When it was due.
        due_at: Timestamp,
    },
    /// A firing has ended, or was missed.
    Ended {
        /// Of which schedule.
        schedule: String,
        /// When it was due.
        due_at: Timestamp,
        /// How.
        end: Ended,
        /// How long it took.
        took: Duration,
    },
    /// Nothing can be fired now; it is tried again.
    Trouble(String),
}

impl Clockwork {
    /// Fires what is due from now on, and follows the configuration when it changes. The agent should have been told to
    /// [`Agent::recover`]: what another node has left half-way is gone on with.
    #[must_use]
    pub fn start(agent: &Agent) -> Self {
        Self::looking_every(agent, LOOK_EVERY)
    }

    /// The same, looking at least so often whether the clock has jumped.
    #[must_use]
    pub fn looking_every(agent: &Agent, every: Duration) -> Self {
        let (stop, stopped) = watch::channel(false);
        let news = broadcast::Sender::new(NEWS);
        let works = Works {
            agent: agent.clone(),
            every,
            timetable: None,
            running: JoinSet::new(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            held_at: Instant::now(),
            news: news.clone(),
        };
        Self { stop, news, task: tokio::spawn(works.run(stopped)) }
    }

    /// What happens on this node from now on.
    #[must_use]
    pub fn news(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }

    /// Fires nothing any more. What is under way is left to whoever comes next, and begun there with what was done.
    pub async fn stop(self) {
        // Whoever is gone need not be told, or waited for.
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

struct Works {
    agent: Agent,
    every: Duration,
    /// `None` until the store knows the configuration.
    timetable: Option<Timetable>,
    running: JoinSet<()>,
    places: Arc<Semaphore>,
    held_at: Instant,
    news: broadcast::Sender<News>,
}

impl Works {
    async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let mut changes = self.agent.shared().store.changes();
        let mut reloads = self.agent.watch_workspace();
        loop {
            let rest = self.look().await.unwrap_or_else(|error| {
                self.tell(News::Trouble(error.cause().for_record().clone()));
                TRY_AGAIN
            });
            let due = Instant::now() + rest;
            tokio::select! {
                () = told(&mut stopped) => break,
                () = tokio::time::sleep_until(due) => continue,
                () = concerning_schedules(&mut changes) => {}
                reloaded = reloads.recv() => {
                    if matches!(reloaded, Err(RecvError::Closed)) {
                        break;
                    }
                }
                Some(_) = self.running.join_next() => {}
            }
            tokio::time::sleep_until(due.min(Instant::now() + GATHER)).await;
            changes = changes.resubscribe();
        }
        self.running.shutdown().await;
        let shared = self.agent.shared();
        // If this can't be said, the others find out when the lease is over.
        let _ = shared.store.leave_firings(&shared.node).await;
    }

    /// Does what is to be done now, and says how long to rest.
    async fn look(&mut self) -> Result<Duration, AgentError> {
        while self.running.try_join_next().is_some() {}
        let shared = Arc::clone(self.agent.shared());
        let zoned = shared.surroundings.now();
        let now = Timestamp::from(zoned.timestamp());
        self.configure(zoned.time_zone(), now).await?;
        let lease = shared.lease;
        if !self.running.is_empty() && self.held_at.elapsed() >= lease / 3 {
            let firings = shared.firings.now().into_iter().collect();
            shared.store.hold_firings(&shared.node, firings, now).await?;
            self.held_at = Instant::now();
        }
        let unfinished = self.take_up(now).await?;
        let stored = shared.store.schedules().await?;
        let under_way: BTreeSet<String> = unfinished.into_iter().map(|firing| firing.schedule).collect();
        let Some(timetable) = &mut self.timetable else { return Ok(TRY_AGAIN) };
        let plan = timetable.plan(now, &stored, &under_way, &shared.node);
        for (name, from, candidates) in plan.pulls {
            shared.store.pull_back(&name, from, candidates).await?;
        }
        for claims in plan.claims.chunks(CLAIMED_AT_ONCE) {
            for firing in shared.store.claim_firings(claims.to_vec()).await? {
                self.begin(firing);
            }
        }
        let busy = !(self.running.is_empty() && under_way.is_empty());
        let longest = if busy { self.every.min(lease / 3) } else { self.every };
        let passed = shared.now();
        Ok(plan.next.map_or(longest, |next| longest.min(next.since(passed))))
    }

    /// Goes on with what others have left, and with what this node has and nobody is at: the store may have been away when
    /// it was about to say that it was got. Gives all that has not ended.
    async fn take_up(&mut self, now: Timestamp) -> Result<Vec<Firing>, AgentError> {
        let shared = Arc::clone(self.agent.shared());
        // One that ends while the store is asked is not left behind.
        let before = shared.firings.now();
        let unfinished = shared.store.unfinished_firings().await?;
        let left = |firing: &&Firing| {
            firing.node == shared.node && !before.contains(&(firing.schedule.clone(), firing.due_at))
        };
        let mut taken: Vec<Firing> = unfinished.iter().filter(left).cloned().collect();
        if unfinished.iter().any(|firing| firing.node != shared.node) {
            let wish = TakeFirings { node: shared.node.clone(), lease: shared.lease, now };
            taken.extend(shared.store.take_firings(wish).await?);
        }
        for firing in taken {
            // One that can't be ended now is tried again, and does not keep the others from going on.
            if let Err(error) = self.go_on_with(firing).await {
                self.tell(News::Trouble(error.cause().for_record().clone()));
            }
        }
        Ok(unfinished)
    }

    /// Tells the store what the configuration says, if that is news.
    async fn configure(&mut self, machine: &jiff::tz::TimeZone, now: Timestamp) -> Result<(), AgentError> {
        let shared = self.agent.shared();
        let config = Arc::clone(&shared.workspace.snapshot().config);
        if self.timetable.as_ref().is_some_and(|known| known.is_of(&config.schedules, machine)) {
            return Ok(());
        }
        let mut timetable = Timetable::new(&config.schedules, machine);
        shared.store.set_schedules(timetable.stored(now), now).await?;
        self.timetable = Some(timetable);
        Ok(())
    }

    fn schedule(&self, name: &str) -> Option<Schedule> {
        self.timetable.as_ref()?.schedule(name).cloned()
    }

    /// Does what was claimed, or tells of what was missed.
    fn begin(&mut self, firing: Firing) {
        let Some(schedule) = self.schedule(&firing.schedule) else { return };
        if firing.ended_at.is_some() {
            let Firing { schedule: name, due_at, note, .. } = firing.clone();
            let end = Ended::Skipped { note: note.unwrap_or_default() };
            self.tell(News::Ended { schedule: name, due_at, end, took: Duration::ZERO });
            return log_skipped(&self.agent, &schedule, &firing);
        }
        self.spawn(schedule, firing, Attempt::First);
    }

    /// Goes on with what was left.
    async fn go_on_with(&mut self, firing: Firing) -> Result<(), AgentError> {
        match self.schedule(&firing.schedule) {
            Some(schedule) => self.spawn(schedule, firing, Attempt::Again),
            None => firing::abandon(&self.agent, firing).await?,
        }
        Ok(())
    }

    fn spawn(&mut self, schedule: Schedule, firing: Firing, attempt: Attempt) {
        let (agent, places) = (self.agent.clone(), Arc::clone(&self.places));
        let (news, name, due_at) = (self.news.clone(), firing.schedule.clone(), firing.due_at);
        let Some(at_work) = agent.shared().firings.begin((name.clone(), due_at)) else { return };
        self.tell(News::Fired { schedule: name.clone(), due_at });
        self.running.spawn(async move {
            let began = Instant::now();
            // The semaphore is never closed.
            let _place = places.acquire().await.ok();
            let end = firing::run(agent, schedule, firing, attempt).await.end;
            drop(at_work);
            // Nobody has to listen.
            let _ = news.send(News::Ended { schedule: name, due_at, end, took: began.elapsed() });
        });
    }

    fn tell(&self, news: News) {
        // Nobody has to listen.
        let _ = self.news.send(news);
    }
}

/// Waits until it is to stop.
async fn told(stopped: &mut watch::Receiver<bool>) {
    // Whoever forgets the clockwork without a word wants it to stop too.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Waits until something has changed that schedules are about, or something was not told.
async fn concerning_schedules(changes: &mut broadcast::Receiver<Change>) {
    loop {
        match changes.recv().await {
            Ok(Change::Schedules | Change::Anything) | Err(RecvError::Lagged(_)) => return,
            Ok(_) => {}
            // The store is gone, and says so itself when it is asked.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}
