//! The background task that answers the inbox: woken by store changes, and by polling. While one batch waits for a
//! retry it continues with others; if those fail as well it backs off. Never starts autonomous turns.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::sender::{BatchOrder, FailureStreak};
use foreword_store::changes::StoreChange;
use foreword_workspace::config::Config;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::agent::{Agent, WeakAgent};
use crate::background::inbox::TickOutcome;
use crate::background::inbox::batch::{BatchChoice, PlannedBatch, due_batch};
use crate::conversation::inbound::INBOX;
use crate::error::AgentError;
use crate::shared::Shared;

/// Maximum time between two polls. The store also reports changes of other processes, so polling only covers lost ones.
const POLL_INTERVAL: Duration = Duration::from_secs(30);

/// Capacity of the event channel.
const EVENT_CAPACITY: usize = 64;

/// An event of the inbox worker on this node.
#[derive(Debug, Clone, PartialEq)]
pub enum InboxEvent {
    /// A batch has ended, successfully or not.
    Batch(TickOutcome),
    /// No batch could be started; the worker retries.
    Error(String),
}

/// The task that answers the inbox. Aborted on drop.
pub struct InboxWorker {
    events: broadcast::Sender<InboxEvent>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl InboxWorker {
    /// Starts answering the agent's inbox.
    #[must_use]
    pub fn start(agent: &Agent) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let changes = agent.shared().store.changes();
        let agent = agent.downgrade();
        let events = broadcast::Sender::new(EVENT_CAPACITY);
        let sender = events.clone();
        let task = tokio::spawn(async move {
            tokio::select! {
                () = answer(agent, changes, sender) => {}
                // Stopped, or the handle was dropped.
                _ = stopped.wait_for(|stop| *stop) => {}
            }
        });
        Self { events, stop, task }
    }

    /// Subscribes to the worker's events.
    #[must_use]
    pub fn events(&self) -> Receiver<InboxEvent> {
        self.events.subscribe()
    }

    /// Starts no further batch. The current one continues as long as the agent runs.
    pub async fn stop(mut self) {
        // Fails if the task has already ended.
        let _ = self.stop.send(true);
        let _ = (&mut self.task).await;
    }
}

impl Drop for InboxWorker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(agent: WeakAgent, mut changes: Receiver<StoreChange>, events: broadcast::Sender<InboxEvent>) {
    let mut streak = FailureStreak::default();
    loop {
        let Some(running) = agent.upgrade() else { return };
        let done = next_batch(&running, streak.first(), &events).await.unwrap_or_else(|error| {
            report_error(&running, &error, &events);
            BatchResult::NotBegun
        });
        drop(running);
        let continues = match done {
            BatchResult::Well => {
                streak.ended();
                true
            }
            BatchResult::Nothing => {
                streak.ended();
                wait_for_change(&mut changes, POLL_INTERVAL).await
            }
            BatchResult::NotBefore(wait) => wait_for_change(&mut changes, wait.min(POLL_INTERVAL)).await,
            // New messages wait as well: they would probably fail too.
            BatchResult::Failed => pause(streak.failed()).await,
            // The store may be available again later.
            BatchResult::NotBegun => pause(Some(streak.start_failed())).await,
        };
        if !continues {
            return;
        }
    }
}

async fn pause(long: Option<Duration>) -> bool {
    if let Some(long) = long {
        sleep(long).await;
    }
    true
}

/// Logs and emits an error.
fn report_error(agent: &Agent, error: &AgentError, events: &broadcast::Sender<InboxEvent>) {
    let (shared, why) = (agent.shared(), error.cause().for_record().clone());
    shared.log(Event {
        level: Level::Error,
        channel: Some(INBOX.into()),
        error: Some(why.clone()),
        ..Event::new(EventType::ChannelError, shared.now())
    });
    // Fails without subscribers.
    let _ = events.send(InboxEvent::Error(why));
}

/// The result of one iteration.
enum BatchResult {
    Nothing,
    /// All pending messages wait for a retry, for this long.
    NotBefore(Duration),
    Well,
    Failed,
    NotBegun,
}

async fn next_batch(
    agent: &Agent,
    first: BatchOrder,
    events: &broadcast::Sender<InboxEvent>,
) -> Result<BatchResult, AgentError> {
    let shared = agent.shared();
    let config = || Arc::clone(&shared.workspace.snapshot().config);
    if let Err(done) = due(shared, &config(), first).await? {
        return Ok(done);
    }
    // Senders often write several messages in a row.
    sleep(config().inbox.gather).await;
    let config = config();
    let planned = match due(shared, &config, first).await? {
        Ok(planned) => planned,
        Err(done) => return Ok(done),
    };
    let Some(tick) = agent.begin_planned(&config, planned).await? else { return Ok(BatchResult::Nothing) };
    let ticked = agent.end_tick(&tick).await?;
    let done = if ticked.succeeded() { BatchResult::Well } else { BatchResult::Failed };
    // Fails without subscribers.
    let _ = events.send(InboxEvent::Batch(ticked));
    Ok(done)
}

/// The batch to answer now, or the result of the iteration.
async fn due(
    shared: &Shared,
    config: &Config,
    first: BatchOrder,
) -> Result<Result<PlannedBatch, BatchResult>, AgentError> {
    Ok(match due_batch(shared, config, first).await? {
        BatchChoice::Now(planned) => Ok(*planned),
        BatchChoice::NotBefore(due) => Err(BatchResult::NotBefore(due.since(shared.now()))),
        BatchChoice::Nothing => Err(BatchResult::Nothing),
    })
}

/// Waits for a change of the inbox, at most `longest`. Returns false if the store is closed.
async fn wait_for_change(changes: &mut Receiver<StoreChange>, longest: Duration) -> bool {
    let change = async {
        loop {
            match changes.recv().await {
                Ok(StoreChange::Inbox | StoreChange::Anything) | Err(RecvError::Lagged(_)) => return true,
                Ok(_) => {}
                Err(RecvError::Closed) => return false,
            }
        }
    };
    timeout(longest, change).await.unwrap_or(true)
}
