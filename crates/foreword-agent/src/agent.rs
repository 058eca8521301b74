//! The agent: accepts messages and answers each exactly once.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foreword_core::id::{CallId, ConversationId};
use foreword_core::message::Provenance;
use foreword_core::turn::OwnerAnswer;
use parking_lot::Mutex;
use tokio::sync::{broadcast, oneshot};
use tokio::task::AbortHandle;

use crate::background::compaction::{self, CompactionResult};
pub use crate::conversation::accept_message::Receipt;
use crate::conversation::feed::{Feed, FeedObserver};
use crate::conversation::inbound::{TurnOrigin, provenance};
use crate::conversation::mailbox::{Command, Handle, start};
use crate::error::AgentError;
use crate::prompt::workspace_reload::{self, Reloaded};
use crate::shared::{LEASE_DURATION, Parts, Shared};
use crate::spending::SpendTracker;
use crate::turn::recovery;
use crate::turn::scope::TurnScope;

/// How often a store on this machine is checked for turns of dead processes.
const LOCAL_RECOVERY_INTERVAL: Duration = Duration::from_secs(1);
/// The number of conversations with pending messages that one scan reads.
const MAX_CONVERSATIONS_PER_SCAN: u32 = 100;

/// A handle to an agent. Clones share its state.
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

/// A weak reference to an agent, for values that the agent itself owns.
#[derive(Clone, Default)]
pub struct WeakAgent(Weak<Inner>);

impl WeakAgent {
    /// The agent, unless it was dropped.
    #[must_use]
    pub fn upgrade(&self) -> Option<Agent> {
        self.0.upgrade().map(Agent)
    }
}

struct Inner {
    shared: Arc<Shared>,
    conversations: Mutex<BTreeMap<ConversationId, Handle>>,
    background: Mutex<BackgroundTasks>,
}

/// Background tasks of the agent.
#[derive(Default)]
struct BackgroundTasks {
    turns: Option<AbortHandle>,
    files: Option<AbortHandle>,
}

impl Agent {
    /// Creates an agent. Call [`Agent::recover`] to resume the turns of processes that have ended.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self::with_lease(parts, LEASE_DURATION)
    }

    /// As [`Agent::new`], with leases of this duration. When a lease expires, another node takes the turn over.
    #[must_use]
    pub fn with_lease(parts: Parts, lease: Duration) -> Self {
        Self(Arc::new_cyclic(|host| {
            let shared = Arc::new(Shared::new(parts, lease, WeakAgent(Weak::clone(host))));
            Inner { shared, conversations: Mutex::default(), background: Mutex::default() }
        }))
    }

    /// A weak reference to this agent.
    #[must_use]
    pub fn downgrade(&self) -> WeakAgent {
        WeakAgent(Arc::downgrade(&self.0))
    }

    /// The state that all conversations share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    /// Decides about spending, and records it.
    #[must_use]
    pub fn spending(&self) -> &SpendTracker {
        &self.0.shared.spending
    }

    /// The progress feed of a conversation.
    #[must_use]
    pub fn feed(&self, conversation: &ConversationId) -> Feed {
        self.handle(conversation).feed
    }

    /// Registers the observer of all conversations. Returns `false` if the agent already has one.
    pub fn set_observer(&self, observer: Arc<dyn FeedObserver>) -> bool {
        self.0.shared.observer.set(observer).is_ok()
    }

    /// Cancels the running turn or compaction of a conversation. Partial output of the turn is stored.
    pub fn cancel(&self, conversation: &ConversationId) {
        self.post(conversation, Command::Cancel);
    }

    /// As [`Agent::cancel`], requested by another node. Does not start a task for the conversation.
    pub fn cancel_here(&self, conversation: &ConversationId) {
        if let Some(handle) = self.0.conversations.lock().get(conversation) {
            // A task that has ended runs no turn.
            let _ = handle.mailbox.send(Command::Cancel);
        }
    }

    /// Answers a confirmation question. Returns `false` and ignores the answer unless it is from the owner.
    pub fn answer(
        &self,
        conversation: &ConversationId,
        by: &TurnOrigin,
        call: CallId,
        answer: OwnerAnswer,
    ) -> bool {
        let shared = &self.0.shared;
        let is_owner = provenance(&by.principal(shared)) == Provenance::Owner;
        if is_owner {
            self.post(conversation, Command::Owner { call, answer });
        }
        is_owner
    }

    /// As [`Agent::answer`], forwarded by another node. Does not start a task for the conversation.
    pub fn answer_here(&self, conversation: &ConversationId, call: CallId, answer: OwnerAnswer) {
        if let Some(handle) = self.0.conversations.lock().get(conversation) {
            // A task that has ended has no open question.
            let _ = handle.mailbox.send(Command::Owner { call, answer });
        }
    }

    /// Compacts a conversation: replaces its history by a summary that its participants can read.
    ///
    /// # Errors
    /// If a turn runs, there is nothing to summarise, or the model call fails. The conversation is then unchanged.
    pub async fn compact(
        &self,
        conversation: &ConversationId,
        origin: TurnOrigin,
    ) -> Result<CompactionResult, AgentError> {
        self.compact_at(compaction::turn_scope(&self.0.shared, conversation, origin).await?).await
    }

    /// As [`Agent::compact`], at a trust that is already resolved.
    pub(crate) async fn compact_at(&self, scope: TurnScope) -> Result<CompactionResult, AgentError> {
        let ((done, result), conversation) = (oneshot::channel(), scope.conversation.clone());
        self.post(&conversation, Command::Compact { scope: Box::new(scope), done });
        result.await.unwrap_or(Err(AgentError::Closed))
    }

    /// Resumes interrupted turns and answers pending messages, now and periodically.
    pub async fn recover(&self) -> Result<(), AgentError> {
        self.0.shared.calibrations.recall(&self.0.shared).await?;
        self.recover_once().await?;
        // The turns of dead nodes are taken over by now.
        self.0.shared.store.remove_dead_nodes().await?;
        let weak = Arc::downgrade(&self.0);
        // In a store on this machine, file locks show dead processes long before their leases expire.
        let lease = self.0.shared.lease / 2;
        let interval =
            if self.0.shared.store.is_shared() { lease } else { lease.min(LOCAL_RECOVERY_INTERVAL) };
        let watching = tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                let Some(inner) = weak.upgrade() else { return };
                // The next scan retries after a store error.
                let _ = Self(inner).recover_once().await;
            }
        });
        self.0.background.lock().turns = Some(watching.abort_handle());
        Ok(())
    }

    /// As [`Agent::recover`], once and for one conversation.
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
        self.post(conversation, Command::AnswerPending);
        Ok(())
    }

    async fn recover_once(&self) -> Result<(), AgentError> {
        let shared = &self.0.shared;
        for turn in shared.store.unfinished_turns(shared.now()).await? {
            // Skip a turn that can't be claimed.
            if let Ok(Some(taken)) = recovery::claim(shared, turn.id).await {
                self.post(&taken.turn.conversation.clone(), Command::Resume(Box::new(taken)));
            }
        }
        for conversation in shared.store.conversations_with_pending(MAX_CONVERSATIONS_PER_SCAN).await? {
            self.post(&conversation, Command::AnswerPending);
        }
        self.recover_runs().await
    }

    /// Starts watching the workspace files. The receiver gets the result of each reload. An invalid configuration never
    /// replaces a valid one.
    #[must_use]
    pub fn watch_workspace(&self) -> broadcast::Receiver<Reloaded> {
        let reloads = self.0.shared.reloads.subscribe();
        let mut watching = self.0.background.lock();
        if watching.files.is_none() {
            watching.files =
                Some(tokio::spawn(workspace_reload::watch(Arc::downgrade(&self.0.shared))).abort_handle());
        }
        reloads
    }

    /// Shuts down gracefully: stops all turns and conversation tasks. The next process answers the pending messages.
    pub async fn shut_down(&self) {
        let BackgroundTasks { turns, files } = std::mem::take(&mut *self.0.background.lock());
        turns.into_iter().chain(files).for_each(|task| task.abort());
        self.0.shared.runs.stop();
        let handles = std::mem::take(&mut *self.0.conversations.lock());
        for handle in handles.values() {
            // The task may have ended already.
            let _ = handle.mailbox.send(Command::Stop);
        }
        for handle in handles.into_values() {
            handle.mailbox.closed().await;
        }
        self.settled().await;
        if let Some(observer) = self.0.shared.observer.get() {
            observer.settled().await;
        }
    }

    /// Waits until no turn runs in this process. Pending messages do not count.
    pub async fn until_idle(&self) {
        self.0.shared.turns.wait_idle().await;
    }

    /// Waits until the background analysis of ended turns, such as cache diagnosis, is recorded.
    pub async fn settled(&self) {
        self.0.shared.cache_diagnosis_worker.settled().await;
    }

    /// Sends a command to the task of a conversation and starts the task if necessary. Returns the feed and its
    /// position before the command.
    pub(crate) fn post(&self, conversation: &ConversationId, mut command: Command) -> (Feed, u64) {
        loop {
            let handle = self.handle(conversation);
            let from = handle.feed.next();
            match handle.mailbox.send(command) {
                Ok(()) => return (handle.feed, from),
                // The task has just ended because it was idle.
                Err(refused) => {
                    command = refused.0;
                    self.0.conversations.lock().remove(conversation);
                }
            }
        }
    }

    pub(crate) fn handle(&self, conversation: &ConversationId) -> Handle {
        let mut conversations = self.0.conversations.lock();
        if let Some(handle) = conversations.get(conversation).filter(|handle| !handle.mailbox.is_closed()) {
            return handle.clone();
        }
        conversations.retain(|_, handle| !handle.mailbox.is_closed());
        let handle = start(Arc::clone(&self.0.shared), conversation.clone());
        conversations.insert(conversation.clone(), handle.clone());
        handle
    }
}
