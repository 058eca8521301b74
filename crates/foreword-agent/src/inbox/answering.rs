//! Answers what others leave in the inbox while the agent runs: when the store says that something has come, and now and
//! then without being told. Never begins a turn of the agent's own.

use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_store::changes::Change;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::agent::{Agent, WeakAgent};
use crate::error::AgentError;
use crate::inbound::INBOX;
use crate::inbox::Ticked;

/// How often the inbox is looked into though nothing was told. The store tells of what other processes write too, so this
/// is only for what it may have missed.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// How long is waited after a batch that failed; each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// How much of what happened is kept for listeners who are slow.
const NEWS: usize = 64;

/// Something that happened to the inbox on this node.
#[derive(Debug, Clone, PartialEq)]
pub enum InboxNews {
    /// A batch has been dealt with, well or not.
    Batch(Ticked),
    /// Nothing can be answered now; it is tried again.
    Trouble(String),
}

/// The task that answers the inbox. It ends when this is dropped.
pub struct Answering {
    news: broadcast::Sender<InboxNews>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Answering {
    /// Answers the agent's inbox from now on.
    #[must_use]
    pub fn start(agent: &Agent) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let changes = agent.shared().store.changes();
        let agent = agent.downgrade();
        let news = broadcast::Sender::new(NEWS);
        let told = news.clone();
        let task = tokio::spawn(async move {
            tokio::select! {
                () = answer(agent, changes, told) => {}
                // Whoever could say so is gone, or has said so.
                _ = stopped.wait_for(|stop| *stop) => {}
            }
        });
        Self { news, stop, task }
    }

    /// What comes of each batch from now on.
    #[must_use]
    pub fn news(&self) -> Receiver<InboxNews> {
        self.news.subscribe()
    }

    /// Begins no further batch. One that is under way goes on as long as the agent runs.
    pub async fn stop(mut self) {
        // A task that has ended needs no word.
        let _ = self.stop.send(true);
        let _ = (&mut self.task).await;
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(agent: WeakAgent, mut changes: Receiver<Change>, news: broadcast::Sender<InboxNews>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(running) = agent.upgrade() else { return };
        match next_batch(&running, &news).await {
            Ok(Done::Nothing) => {
                drop(running);
                pause = FIRST_PAUSE;
                if !something_comes(&mut changes).await {
                    return;
                }
            }
            Ok(Done::Well) => pause = FIRST_PAUSE,
            failed => {
                // A store that is away now may be back later.
                if let Err(error) = failed {
                    trouble(&running, &error, &news);
                }
                drop(running);
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Tells everybody that nothing can be answered now, and why.
fn trouble(agent: &Agent, error: &AgentError, news: &broadcast::Sender<InboxNews>) {
    let (shared, why) = (agent.shared(), error.to_string());
    shared.log(Event {
        level: Level::Error,
        channel: Some(INBOX.into()),
        error: Some(why.clone()),
        ..Event::new(EventType::ChannelError, shared.now())
    });
    // Nobody need listen.
    let _ = news.send(InboxNews::Trouble(why));
}

/// What came of looking.
enum Done {
    Nothing,
    Well,
    Failed,
}

async fn next_batch(agent: &Agent, news: &broadcast::Sender<InboxNews>) -> Result<Done, AgentError> {
    let shared = agent.shared();
    if shared.store.waiting(1).await?.is_empty() {
        return Ok(Done::Nothing);
    }
    // Whoever writes one message often writes another.
    sleep(shared.workspace.snapshot().config.inbox.gather).await;
    let Some(tick) = agent.begin_batch().await? else { return Ok(Done::Nothing) };
    let ticked = agent.end_tick(&tick).await?;
    let done = if ticked.is_well() { Done::Well } else { Done::Failed };
    // Nobody need listen.
    let _ = news.send(InboxNews::Batch(ticked));
    Ok(done)
}

/// Waits until something may have come. Says whether that can still happen.
async fn something_comes(changes: &mut Receiver<Change>) -> bool {
    let told = async {
        loop {
            match changes.recv().await {
                Ok(Change::Inbox | Change::Anything) | Err(RecvError::Lagged(_)) => return true,
                Ok(_) => {}
                Err(RecvError::Closed) => return false,
            }
        }
    };
    timeout(LOOK_AGAIN, told).await.unwrap_or(true)
}
