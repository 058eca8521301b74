//! The cron scheduler task. One timer serves all schedules: the task wakes up when the next one is due, when the store or
//! the configuration changes, and at an interval, because the clock can jump.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::schedule::FiringEnd;
use foreword_core::timestamp::Timestamp;
use foreword_store::changes::StoreChange;
use foreword_store::schedules::{Firing, TakeFirings};
use foreword_workspace::config::Schedule;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, broadcast, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::actions::Attempt;
use super::fire::{self, log_skipped};
use super::timetable::Timetable;
use crate::agent::Agent;
use crate::error::AgentError;

/// Maximum time between two polls, so that clock jumps are noticed.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
/// How long to wait for further changes after one, so that many firings that end together cause one poll.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// How soon to poll again after a store error.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// How many firings run concurrently on a node.
const MAX_CONCURRENT_FIRINGS: usize = 64;
/// Capacity of the event channel.
const EVENT_CAPACITY: usize = 4_096;
/// How many firings are claimed in one transaction: large enough for throughput, small enough for a fast first start.
const CLAIM_BATCH: usize = 100;

/// Fires the schedules of an agent until it is stopped.
pub struct Scheduler {
    stop: watch::Sender<bool>,
    events: broadcast::Sender<ScheduleEvent>,
    task: JoinHandle<()>,
}

/// An event of the scheduler on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleEvent {
    /// A firing has started.
    Fired {
        /// The schedule's name.
        schedule: String,
        /// When it was due.
        due_at: Timestamp,
    },
    /// A firing has ended, or was missed.
    Ended {
        /// The schedule's name.
        schedule: String,
        /// When it was due.
        due_at: Timestamp,
        /// The result.
        end: FiringEnd,
        /// How long it took.
        took: Duration,
    },
    /// Polling failed; the scheduler retries.
    Error(String),
}

impl Scheduler {
    /// Starts the scheduler. It follows configuration changes. Call [`Agent::recover`] first, so that interrupted turns
    /// are resumed.
    #[must_use]
    pub fn start(agent: &Agent) -> Self {
        Self::start_with_interval(agent, POLL_INTERVAL)
    }

    /// Like [`Scheduler::start`], with another poll interval.
    #[must_use]
    pub fn start_with_interval(agent: &Agent, every: Duration) -> Self {
        let (stop, stopped) = watch::channel(false);
        let events = broadcast::Sender::new(EVENT_CAPACITY);
        let task = SchedulerTask {
            agent: agent.clone(),
            every,
            timetable: None,
            running: JoinSet::new(),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_FIRINGS)),
            renewed_at: Instant::now(),
            events: events.clone(),
        };
        Self { stop, events, task: tokio::spawn(task.run(stopped)) }
    }

    /// Subscribes to the events of this node.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<ScheduleEvent> {
        self.events.subscribe()
    }

    /// Stops firing and releases the running firings, so that another node or process can resume them.
    pub async fn stop(self) {
        // Errors mean that the task has already ended.
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

struct SchedulerTask {
    agent: Agent,
    every: Duration,
    /// `None` until the configuration is stored.
    timetable: Option<Timetable>,
    running: JoinSet<()>,
    permits: Arc<Semaphore>,
    renewed_at: Instant,
    events: broadcast::Sender<ScheduleEvent>,
}

impl SchedulerTask {
    async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let mut changes = self.agent.shared().store.changes();
        let mut reloads = self.agent.watch_workspace();
        loop {
            let rest = self.poll().await.unwrap_or_else(|error| {
                self.emit(ScheduleEvent::Error(error.cause().for_record().clone()));
                RETRY_INTERVAL
            });
            let due = Instant::now() + rest;
            tokio::select! {
                () = stop_requested(&mut stopped) => break,
                () = tokio::time::sleep_until(due) => continue,
                () = schedule_change(&mut changes) => {}
                reloaded = reloads.recv() => {
                    if matches!(reloaded, Err(RecvError::Closed)) {
                        break;
                    }
                }
                Some(_) = self.running.join_next() => {}
            }
            tokio::time::sleep_until(due.min(Instant::now() + DEBOUNCE)).await;
            changes = changes.resubscribe();
        }
        self.running.shutdown().await;
        let shared = self.agent.shared();
        // If this fails, other nodes take over when the lease expires.
        let _ = shared.store.release_firings(&shared.node).await;
    }

    /// Renews leases, resumes and starts firings, and returns the time until the next poll.
    async fn poll(&mut self) -> Result<Duration, AgentError> {
        while self.running.try_join_next().is_some() {}
        let shared = Arc::clone(self.agent.shared());
        let zoned = shared.clock_and_rng.now();
        let now = Timestamp::from(zoned.timestamp());
        self.configure(zoned.time_zone(), now).await?;
        let lease = shared.lease;
        if !self.running.is_empty() && self.renewed_at.elapsed() >= lease / 3 {
            let firings = shared.firings.now().into_iter().collect();
            shared.store.renew_firings(&shared.node, firings, now).await?;
            self.renewed_at = Instant::now();
        }
        let unfinished = self.resume_unfinished(now).await?;
        let stored = shared.store.schedules().await?;
        let under_way: BTreeSet<String> = unfinished.into_iter().map(|firing| firing.schedule).collect();
        let Some(timetable) = &mut self.timetable else { return Ok(RETRY_INTERVAL) };
        let plan = timetable.plan(now, &stored, &under_way, &shared.node);
        for (name, from, candidates) in plan.pulls {
            shared.store.pull_back(&name, from, candidates).await?;
        }
        for claims in plan.claims.chunks(CLAIM_BATCH) {
            for firing in shared.store.claim_firings(claims.to_vec()).await? {
                self.begin(firing);
            }
        }
        let busy = !(self.running.is_empty() && under_way.is_empty());
        let longest = if busy { self.every.min(lease / 3) } else { self.every };
        let passed = shared.now();
        Ok(plan.next.map_or(longest, |next| longest.min(next.since(passed))))
    }

    /// Resumes the firings of dead nodes, and those that the store assigns to this node but that don't run: the
    /// connection may have failed after a claim was committed. Returns all unfinished firings.
    async fn resume_unfinished(&mut self, now: Timestamp) -> Result<Vec<Firing>, AgentError> {
        let shared = Arc::clone(self.agent.shared());
        // Read before the query, so that a firing that ends meanwhile is not resumed.
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
            // A failure is retried with the next poll and does not affect the other firings.
            if let Err(error) = self.resume(firing).await {
                self.emit(ScheduleEvent::Error(error.cause().for_record().clone()));
            }
        }
        Ok(unfinished)
    }

    /// Stores the configured schedules if they have changed.
    async fn configure(&mut self, machine: &jiff::tz::TimeZone, now: Timestamp) -> Result<(), AgentError> {
        let shared = self.agent.shared();
        let config = Arc::clone(&shared.workspace.snapshot().config);
        if self.timetable.as_ref().is_some_and(|known| known.matches(&config.schedules, machine)) {
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

    /// Starts a claimed firing, or reports a missed one.
    fn begin(&mut self, firing: Firing) {
        let Some(schedule) = self.schedule(&firing.schedule) else { return };
        if firing.ended_at.is_some() {
            let Firing { schedule: name, due_at, note, .. } = firing.clone();
            let end = FiringEnd::Skipped { note: note.unwrap_or_default() };
            self.emit(ScheduleEvent::Ended { schedule: name, due_at, end, took: Duration::ZERO });
            return log_skipped(&self.agent, &schedule, &firing);
        }
        self.spawn(schedule, firing, Attempt::First);
    }

    /// Resumes a firing, or ends it if its schedule is gone.
    async fn resume(&mut self, firing: Firing) -> Result<(), AgentError> {
        match self.schedule(&firing.schedule) {
            Some(schedule) => self.spawn(schedule, firing, Attempt::Again),
            None => fire::abandon(&self.agent, firing).await?,
        }
        Ok(())
    }

    fn spawn(&mut self, schedule: Schedule, firing: Firing, attempt: Attempt) {
        let (agent, permits) = (self.agent.clone(), Arc::clone(&self.permits));
        let (events, name, due_at) = (self.events.clone(), firing.schedule.clone(), firing.due_at);
        let Some(guard) = agent.shared().firings.begin((name.clone(), due_at)) else { return };
        self.emit(ScheduleEvent::Fired { schedule: name.clone(), due_at });
        self.running.spawn(async move {
            let began = Instant::now();
            // The semaphore is never closed.
            let _permit = permits.acquire().await.ok();
            let end = fire::run(agent, schedule, firing, attempt).await.end;
            drop(guard);
            // Fails without subscribers.
            let _ = events.send(ScheduleEvent::Ended { schedule: name, due_at, end, took: began.elapsed() });
        });
    }

    fn emit(&self, event: ScheduleEvent) {
        // Fails without subscribers.
        let _ = self.events.send(event);
    }
}

/// Waits for the stop signal.
async fn stop_requested(stopped: &mut watch::Receiver<bool>) {
    // A dropped sender also means stop.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Waits for a store change that concerns schedules, or for a lagged receiver.
async fn schedule_change(changes: &mut broadcast::Receiver<StoreChange>) {
    loop {
        match changes.recv().await {
            Ok(StoreChange::Schedules | StoreChange::Anything) | Err(RecvError::Lagged(_)) => return,
            Ok(_) => {}
            // The store is closed; the next query returns that error.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}
