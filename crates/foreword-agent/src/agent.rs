//! The agent: takes messages in, and sees to it that each is answered once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use foreword_core::id::{CallId, ConversationId};
use foreword_core::message::Provenance;
use foreword_core::turn::Asked;
use foreword_prompt::trust::Trust;
use foreword_workspace::request::Request;
use tokio::sync::{broadcast, oneshot};
use tokio::task::AbortHandle;

pub use crate::accepting::Receipt;
use crate::compaction::{self, Shortened};
use crate::conversation::{Command, Handle, start};
use crate::error::AgentError;
use crate::feed::{Feed, Onlooker};
use crate::inbound::{Occasion, provenance};
use crate::prepare::Placed;
use crate::recovery;
use crate::shared::{LEASE, Parts, Shared};
use crate::watching::{self, Reloaded};

/// How many conversations with waiting messages are looked up at once.
const LOOKED_UP: u32 = 100;

/// An agent. Clones are the same agent.
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

/// An agent that may be gone: what belongs to an agent holds it this way.
#[derive(Clone, Default)]
pub struct WeakAgent(Weak<Inner>);

impl WeakAgent {
    /// The agent, if it is still there.
    #[must_use]
    pub fn upgrade(&self) -> Option<Agent> {
        self.0.upgrade().map(Agent)
    }
}

struct Inner {
    shared: Arc<Shared>,
    conversations: Mutex<BTreeMap<ConversationId, Handle>>,
    watching: Mutex<Watching>,
}

/// What looks on in the background.
#[derive(Default)]
struct Watching {
    turns: Option<AbortHandle>,
    files: Option<AbortHandle>,
}

impl Agent {
    /// An agent made of these parts. Call [`Agent::recover`] to go on with what another process left.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self::with_lease(parts, LEASE)
    }

    /// The same, thought dead when it has been silent for `lease`: its turns are then gone on with by others.
    #[must_use]
    pub fn with_lease(parts: Parts, lease: Duration) -> Self {
        Self(Arc::new_cyclic(|host| {
            let shared = Arc::new(Shared::new(parts, lease, WeakAgent(Weak::clone(host))));
            Inner { shared, conversations: Mutex::default(), watching: Mutex::default() }
        }))
    }

    /// The same agent, held in a way that does not keep it.
    #[must_use]
    pub fn downgrade(&self) -> WeakAgent {
        WeakAgent(Arc::downgrade(&self.0))
    }

    /// What all its conversations share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    /// What happens in a conversation.
    #[must_use]
    pub fn feed(&self, conversation: &ConversationId) -> Feed {
        self.handle(conversation).feed
    }

    /// Shows `onlooker` what happens in every conversation from now on. There is one: whoever comes second sees nothing,
    /// and is told so by `false`.
    pub fn tell_all(&self, onlooker: Arc<dyn Onlooker>) -> bool {
        self.0.shared.onlooker.set(onlooker).is_ok()
    }

    /// Stops the turn that runs in a conversation, if one does. What was shown is kept. A summary that is being made is
    /// stopped too.
    pub fn cancel(&self, conversation: &ConversationId) {
        self.post(conversation, Command::Cancel);
    }

    /// The same, asked for by another node: where nothing happens here nothing is begun.
    pub fn cancel_here(&self, conversation: &ConversationId) {
        if let Some(handle) = unpoisoned(&self.0.conversations).get(conversation) {
            // A task that has come to an end runs no turn.
            let _ = handle.mailbox.send(Command::Cancel);
        }
    }

    /// An answer to a question. It counts only from the owner; says whether it does.
    pub fn answer(
        &self,
        conversation: &ConversationId,
        by: &Occasion,
        (call, answer): (CallId, Asked),
    ) -> bool {
        let shared = &self.0.shared;
        let request = request(shared, by);
        let snapshot = shared.workspace.snapshot();
        let is_owner = provenance(request.identify(&snapshot.config).user) == Provenance::Owner;
        if is_owner {
            self.post(conversation, Command::Owner { call, answer });
        }
        is_owner
    }

    /// An answer of the owner's that another node has passed on: where nothing happens here nothing is begun.
    pub fn answer_here(&self, conversation: &ConversationId, (call, answer): (CallId, Asked)) {
        if let Some(handle) = unpoisoned(&self.0.conversations).get(conversation) {
            // A task that has come to an end has asked nothing.
            let _ = handle.mailbox.send(Command::Owner { call, answer });
        }
    }

    /// Replaces the history of a conversation by its summary, which those can read whose conversation it is.
    ///
    /// # Errors
    /// If a turn runs, there is nothing to summarise, or the model can't do it: then nothing has changed.
    pub async fn compact(
        &self,
        conversation: &ConversationId,
        occasion: Occasion,
    ) -> Result<Shortened, AgentError> {
        self.compact_at(compaction::placed(&self.0.shared, conversation, occasion).await?).await
    }

    /// The same, where it is known already at which trust.
    pub(crate) async fn compact_at(&self, placed: Placed) -> Result<Shortened, AgentError> {
        let ((done, result), conversation) = (oneshot::channel(), placed.conversation.clone());
        self.post(&conversation, Command::Compact { placed: Box::new(placed), done });
        result.await.unwrap_or(Err(AgentError::Closed))
    }

    /// Goes on with turns that were cut off and answers what waits, now and from now on.
    ///
    /// # Errors
    /// If the store can't be read now.
    pub async fn recover(&self) -> Result<(), AgentError> {
        self.0.shared.calibrations.recall(&self.0.shared).await?;
        self.look().await?;
        // What they have left is taken over by now.
        self.0.shared.store.forget_dead_nodes().await?;
        let (weak, lease) = (Arc::downgrade(&self.0), self.0.shared.lease);
        let watching = tokio::spawn(async move {
            loop {
                tokio::time::sleep(lease / 2).await;
                let Some(inner) = weak.upgrade() else { return };
                // A store that is away now is asked again.
                let _ = Self(inner).look().await;
            }
        });
        unpoisoned(&self.0.watching).turns = Some(watching.abort_handle());
        Ok(())
    }

    /// Goes on with what was cut off or waits in one conversation, and leaves the others to whoever serves them.
    ///
    /// # Errors
    /// If the store can't be read now.
    pub async fn recover_conversation(&self, conversation: &ConversationId) -> Result<(), AgentError> {
        let shared = &self.0.shared;
        shared.calibrations.recall(shared).await?;
        if shared.store.conversation(conversation).await?.is_none() {
            return Ok(());
        }
        let unfinished = shared.store.unfinished_turns(shared.now()).await?;
        if let Some(turn) = unfinished.into_iter().find(|turn| turn.conversation == *conversation)
            && let Some(taken) = recovery::claim(shared, turn.id).await?
        {
            self.post(conversation, Command::Resume(Box::new(taken)));
        }
        self.post(conversation, Command::Look);
        Ok(())
    }

    async fn look(&self) -> Result<(), AgentError> {
        let shared = &self.0.shared;
        for turn in shared.store.unfinished_turns(shared.now()).await? {
            // One that can't be claimed is no reason to leave the others.
            if let Ok(Some(taken)) = recovery::claim(shared, turn.id).await {
                self.post(&taken.turn.conversation.clone(), Command::Resume(Box::new(taken)));
            }
        }
        for conversation in shared.store.conversations_with_pending(LOOKED_UP).await? {
            self.post(&conversation, Command::Look);
        }
        self.recover_runs().await
    }

    /// Looks for changed files from now on, and tells what became of them. A bad configuration never replaces a good one.
    #[must_use]
    pub fn watch_workspace(&self) -> broadcast::Receiver<Reloaded> {
        let told = self.0.shared.reloads.subscribe();
        let mut watching = unpoisoned(&self.0.watching);
        if watching.files.is_none() {
            watching.files =
                Some(tokio::spawn(watching::watch(Arc::downgrade(&self.0.shared))).abort_handle());
        }
        told
    }

    /// Stops every turn and lets the conversations come to an end. What was accepted is answered by whoever starts next.
    pub async fn shut_down(&self) {
        let Watching { turns, files } = std::mem::take(&mut *unpoisoned(&self.0.watching));
        turns.into_iter().chain(files).for_each(|task| task.abort());
        self.0.shared.runs.stop();
        let handles = std::mem::take(&mut *unpoisoned(&self.0.conversations));
        for handle in handles.values() {
            // A task that is gone needs no word.
            let _ = handle.mailbox.send(Command::Stop);
        }
        for handle in handles.into_values() {
            handle.mailbox.closed().await;
        }
        self.settled().await;
        if let Some(onlooker) = self.0.shared.onlooker.get() {
            onlooker.settled().await;
        }
    }

    /// Waits until no turn runs in this process. What waits for one does not count.
    pub async fn until_idle(&self) {
        self.0.shared.turns.none().await;
    }

    /// Waits until what is looked into beside the turns that have ended, why a cache was missed for example, is recorded.
    pub async fn settled(&self) {
        self.0.shared.cache_watch.settled().await;
    }

    /// Gives a command to a conversation, starting its task if there is none. Gives its feed, from before the command.
    pub(crate) fn post(&self, conversation: &ConversationId, mut command: Command) -> (Feed, u64) {
        loop {
            let handle = self.handle(conversation);
            let from = handle.feed.next();
            match handle.mailbox.send(command) {
                Ok(()) => return (handle.feed, from),
                // The task has just come to an end, having nothing to do.
                Err(refused) => {
                    command = refused.0;
                    unpoisoned(&self.0.conversations).remove(conversation);
                }
            }
        }
    }

    pub(crate) fn handle(&self, conversation: &ConversationId) -> Handle {
        let mut conversations = unpoisoned(&self.0.conversations);
        if let Some(handle) = conversations.get(conversation).filter(|handle| !handle.mailbox.is_closed()) {
            return handle.clone();
        }
        conversations.retain(|_, handle| !handle.mailbox.is_closed());
        let handle = start(Arc::clone(&self.0.shared), conversation.clone());
        conversations.insert(conversation.clone(), handle.clone());
        handle
    }
}

/// What the workspace is asked to find out who speaks.
pub(crate) fn request(shared: &Shared, occasion: &Occasion) -> Request {
    Request {
        user: occasion.user.clone(),
        channel: occasion.channel.clone(),
        sender: occasion.sender.clone(),
        situation: occasion.situation.clone(),
        agent: occasion.agent.clone(),
        strangers: occasion.strangers.unwrap_or(Trust::Public),
        model: occasion.model.clone(),
        audience: occasion.purpose.ceiling(),
        ..Request::at(shared.surroundings.now(), [0; 16])
    }
}

fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing can fail while it is locked.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
