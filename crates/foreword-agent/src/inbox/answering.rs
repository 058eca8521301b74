//! Answers what others leave in the inbox while the agent runs: when the store says that something has come, and now and
//! then without being told. While one batch waits for another attempt it goes on with others; once those fail as well it
//! waits. Never begins a turn of the agent's own.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::sender::{First, Streak};
use foreword_store::changes::Change;
use foreword_workspace::config::Config;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::agent::{Agent, WeakAgent};
use crate::error::AgentError;
use crate::inbound::INBOX;
use crate::inbox::Ticked;
use crate::inbox::picking::{Pick, Picked, pick_due};
use crate::shared::Shared;

/// How often the inbox is looked into though nothing was told. The store tells of what other processes write too, so this
/// is only for what it may have missed.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

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
    let mut streak = Streak::default();
    loop {
        let Some(running) = agent.upgrade() else { return };
        let done = next_batch(&running, streak.first(), &news).await.unwrap_or_else(|error| {
            trouble(&running, &error, &news);
            Done::NotBegun
        });
        drop(running);
        let goes_on = match done {
            Done::Well => {
                streak.ended();
                true
            }
            Done::Nothing => {
                streak.ended();
                something_comes(&mut changes, LOOK_AGAIN).await
            }
            Done::NotBefore(wait) => something_comes(&mut changes, wait.min(LOOK_AGAIN)).await,
            // What comes meanwhile waits as well: it would only fail too.
            Done::Failed => pause(streak.failed()).await,
            // A store that is away now may be back later.
            Done::NotBegun => pause(Some(streak.nothing_begun())).await,
        };
        if !goes_on {
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

/// Tells everybody that nothing can be answered now, and why.
fn trouble(agent: &Agent, error: &AgentError, news: &broadcast::Sender<InboxNews>) {
    let (shared, why) = (agent.shared(), error.cause().for_record().clone());
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
    /// All that wait are waiting for another attempt, so long.
    NotBefore(Duration),
    Well,
    Failed,
    NotBegun,
}

async fn next_batch(
    agent: &Agent,
    first: First,
    news: &broadcast::Sender<InboxNews>,
) -> Result<Done, AgentError> {
    let shared = agent.shared();
    let config = || Arc::clone(&shared.workspace.snapshot().config);
    if let Err(done) = due(shared, &config(), first).await? {
        return Ok(done);
    }
    // Whoever writes one message often writes another.
    sleep(config().inbox.gather).await;
    let config = config();
    let picked = match due(shared, &config, first).await? {
        Ok(picked) => picked,
        Err(done) => return Ok(done),
    };
    let Some(tick) = agent.begin_picked(&config, picked).await? else { return Ok(Done::Nothing) };
    let ticked = agent.end_tick(&tick).await?;
    let done = if ticked.is_well() { Done::Well } else { Done::Failed };
    // Nobody need listen.
    let _ = news.send(InboxNews::Batch(ticked));
    Ok(done)
}

/// The batch that is to be answered now, or else what came of looking.
async fn due(shared: &Shared, config: &Config, first: First) -> Result<Result<Picked, Done>, AgentError> {
    Ok(match pick_due(shared, config, first).await? {
        Pick::Now(picked) => Ok(*picked),
        Pick::NotBefore(due) => Err(Done::NotBefore(due.since(shared.now()))),
        Pick::Nothing => Err(Done::Nothing),
    })
}

/// Waits until something may have come, at most so long. Says whether that can still happen.
async fn something_comes(changes: &mut Receiver<Change>, most: Duration) -> bool {
    let told = async {
        loop {
            match changes.recv().await {
                Ok(Change::Inbox | Change::Anything) | Err(RecvError::Lagged(_)) => return true,
                Ok(_) => {}
                Err(RecvError::Closed) => return false,
            }
        }
    };
    timeout(most, told).await.unwrap_or(true)
}
