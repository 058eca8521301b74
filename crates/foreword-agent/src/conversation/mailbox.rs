//! The task of a conversation and its mailbox. The task runs one turn at a time and handles commands in order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use foreword_core::hand_over::HandOver;
use foreword_core::id::{CallId, ConversationId, MessageId};
use foreword_core::message::Message;
use foreword_core::turn::OwnerAnswer;
use foreword_store::hand_overs::NewHandOver;
use foreword_store::turns::{BeginOutcome, BeginTurn, StartedTurn, TakeMessages, TakenOver};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::background::compaction;
use crate::conversation::feed::{Feed, Progress};
use crate::conversation::hand_over;
use crate::conversation::inbound::TurnOrigin;
use crate::error::AgentError;
use crate::shared::Shared;
use crate::turn::await_tool_servers;
use crate::turn::driver::{Driver, finish};
use crate::turn::read_ahead::ReadAhead;
use crate::turn::recovery;
use crate::turn::scope::TurnScope;

/// The task of an idle conversation ends after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// The polling interval while another node runs a turn of the conversation.
const BUSY_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// A command to the task of a conversation.
pub(crate) enum Command {
    /// Run a turn that has begun.
    Run(Box<BegunTurn>),
    /// Answer pending messages.
    AnswerPending,
    /// Resume an interrupted turn.
    Resume(Box<TakenOver>),
    /// Cancel the running turn.
    Cancel,
    /// Pass the answer of the owner to the running turn.
    Owner { call: CallId, answer: OwnerAnswer },
    /// Compact the history.
    Compact { scope: Box<TurnScope>, done: oneshot::Sender<Result<compaction::CompactionResult, AgentError>> },
    /// Hand the conversation over to another agent.
    HandOver { new: Box<NewHandOver>, done: oneshot::Sender<Result<HandOver, AgentError>> },
    /// End the task.
    Stop,
}

/// A turn that has begun, and the inputs read ahead for it.
pub(crate) struct BegunTurn {
    pub(crate) begun: StartedTurn,
    pub(crate) scope: TurnScope,
    pub(crate) ahead: ReadAhead,
}

/// A handle to the task of a conversation.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) mailbox: mpsc::UnboundedSender<Command>,
    pub(crate) feed: Feed,
    pub(crate) origins: PendingOrigins,
}

/// The origins of pending messages that this process has accepted.
#[derive(Clone, Default)]
pub(crate) struct PendingOrigins(Arc<Mutex<BTreeMap<MessageId, TurnOrigin>>>);

impl PendingOrigins {
    pub(crate) fn insert(&self, message: MessageId, origin: TurnOrigin) {
        self.0.lock().insert(message, origin);
    }

    pub(crate) fn remove(&self, message: &MessageId) {
        self.0.lock().remove(message);
    }

    fn get(&self, message: &MessageId) -> Option<TurnOrigin> {
        self.0.lock().get(message).cloned()
    }
}

/// The receiver of commands, with two queues of deferred commands.
pub(crate) struct Mailbox {
    incoming: mpsc::UnboundedReceiver<Command>,
    /// Commands to handle after the running turn.
    deferred: VecDeque<Command>,
    /// Commands for the turn that is about to run.
    for_turn: VecDeque<Command>,
}

impl Mailbox {
    /// The next command. `None` when the channel is closed.
    pub(crate) async fn next(&mut self) -> Option<Command> {
        // A stop takes precedence over all other commands.
        if self.is_stopping() {
            return Some(Command::Stop);
        }
        match self.deferred.pop_front() {
            Some(command) => Some(command),
            None => self.incoming().await,
        }
    }

    /// The next command that is not deferred.
    pub(crate) async fn incoming(&mut self) -> Option<Command> {
        match self.for_turn.pop_front() {
            Some(command) => Some(command),
            None => self.incoming.recv().await,
        }
    }

    /// Waits for a cancel or stop before the turn runs. Keeps all received commands for the turn.
    pub(crate) async fn stop_requested(&mut self) {
        let is_end = |command: &Command| matches!(command, Command::Cancel | Command::Stop);
        while !self.for_turn.iter().any(is_end) {
            let Some(command) = self.incoming.recv().await else { return };
            self.for_turn.push_back(command);
        }
    }

    /// Waits for a cancel or stop of the running turn. Defers all other commands.
    pub(crate) async fn cancelled(&mut self) {
        loop {
            match self.incoming().await {
                Some(Command::Cancel) | None => return,
                Some(Command::Stop) => return self.defer(Command::Stop),
                Some(other) => self.defer(other),
            }
        }
    }

    /// Whether a stop is deferred.
    pub(crate) fn is_stopping(&self) -> bool {
        self.deferred.iter().any(|command| matches!(command, Command::Stop))
    }

    /// Whether a deferred command takes precedence over pending messages.
    fn has_priority_command(&self) -> bool {
        let first = |command: &Command| {
            matches!(command, Command::Run(_) | Command::Resume(_) | Command::HandOver { .. } | Command::Stop)
        };
        self.deferred.iter().any(first)
    }

    /// Defers a command.
    pub(crate) fn defer(&mut self, command: Command) {
        self.deferred.push_back(command);
    }
}

/// The task of one conversation.
pub(crate) struct Task {
    shared: Arc<Shared>,
    id: ConversationId,
    mailbox: Mailbox,
    feed: Feed,
    origins: PendingOrigins,
    stopping: bool,
}

/// Starts the task of a conversation.
pub(crate) fn start(shared: Arc<Shared>, id: ConversationId) -> Handle {
    let (sender, incoming) = mpsc::unbounded_channel();
    let mailbox = Mailbox { incoming, deferred: VecDeque::new(), for_turn: VecDeque::new() };
    let handle = Handle {
        mailbox: sender,
        feed: Feed::of(id.clone(), Arc::clone(&shared.observer)),
        origins: PendingOrigins::default(),
    };
    let Handle { feed, origins, .. } = handle.clone();
    let task = Task { shared, id, mailbox, feed, origins, stopping: false };
    tokio::spawn(task.run());
    handle
}

impl Task {
    async fn run(mut self) {
        loop {
            let command = match tokio::time::timeout(IDLE_TIMEOUT, self.mailbox.next()).await {
                Ok(Some(command)) => command,
                Ok(None) => return,
                Err(_) => {
                    // Later senders find the channel closed and start a new task. Handle a command that is already
                    // queued.
                    self.mailbox.incoming.close();
                    match self.mailbox.incoming.try_recv() {
                        Ok(command) => command,
                        Err(_) => return,
                    }
                }
            };
            // Boxed, so that an idle task is small.
            Box::pin(self.handle(command)).await;
            if self.stopping {
                return;
            }
        }
    }

    /// Publishes an error in the feed. The task continues.
    fn report(&self, done: Result<(), AgentError>) {
        if let Err(error) = done {
            self.feed.publish(Progress::Problem(error.cause()));
        }
    }

    async fn handle(&mut self, command: Command) {
        match command {
            Command::Run(run) => {
                Box::pin(self.run_turn(*run)).await;
                let done = self.answer_pending().await;
                self.report(done);
            }
            Command::AnswerPending => {
                let done = self.answer_pending().await;
                self.report(done);
            }
            Command::Resume(taken) => {
                let shared = Arc::clone(&self.shared);
                let running = shared.turns.begin();
                let done =
                    Box::pin(recovery::resume(&self.shared, *taken, &mut self.mailbox, &self.feed)).await;
                drop(running);
                self.report(done);
                let done = self.answer_pending().await;
                self.report(done);
            }
            Command::Compact { scope, done } => {
                let result = compaction::on_request(&self.shared, &scope, &mut self.mailbox).await;
                if result.is_ok() {
                    self.feed.publish(Progress::Compacted);
                }
                // The requester may have disconnected.
                let _ = done.send(result);
            }
            Command::HandOver { new, done } => {
                self.shared.prefetched.clear(&self.id);
                let result = Box::pin(hand_over::perform(&self.shared, *new, &self.feed)).await;
                // The requester may have disconnected.
                let _ = done.send(result);
                // The new agent answers the pending messages.
                self.mailbox.defer(Command::AnswerPending);
            }
            // No turn is running.
            Command::Cancel | Command::Owner { .. } => {}
            Command::Stop => self.stopping = true,
        }
    }

    async fn run_turn(&mut self, turn: BegunTurn) {
        let BegunTurn { begun, scope, ahead } = turn;
        let shared = Arc::clone(&self.shared);
        let _running = shared.turns.begin();
        for message in &begun.messages {
            self.origins.remove(&message.message.id);
        }
        let (turn, next) = (begun.hold.turn.clone(), scope.clone());
        let settled = await_tool_servers::wait(&self.shared, &begun.hold, &mut self.mailbox).await;
        let driver = match settled {
            Ok(()) => Driver::begin(&self.shared, begun, scope, ahead, &self.feed).await,
            Err(error) => Err(error),
        };
        match driver {
            Ok(Some(driver)) => driver.run(&mut self.mailbox).await,
            Ok(None) => {}
            Err(error) => {
                finish::log_left(&self.shared, &next, &turn, &error);
                self.feed.publish(Progress::TurnLeft { turn, reason: error.cause() });
            }
        }
        compaction::after_turn(&self.shared, &next, &mut self.mailbox, &self.feed).await;
        self.shared.prefetched.prefetch(&self.shared, next);
    }

    /// Answers pending messages in order. Consecutive messages of one author share a turn.
    async fn answer_pending(&mut self) -> Result<(), AgentError> {
        loop {
            self.drain();
            if self.mailbox.has_priority_command() {
                return Ok(());
            }
            let pending = self.shared.store.pending(&self.id).await?;
            let Some(first) = pending.first() else { return Ok(()) };
            let origin = self.origin_of(first).await?;
            let batch: Vec<MessageId> = pending
                .iter()
                .take_while(|next| self.is_same_batch(first, next, &origin))
                .map(|message| message.message.id.clone())
                .collect();
            let accepted_at = first.message.trust;
            let scope = TurnScope { conversation: self.id.clone(), origin, accepted_at };
            let begin = begin_turn(&self.shared, &scope, TakeMessages::Messages(batch))?;
            match self.shared.store.begin_turn(begin).await? {
                BeginOutcome::Begun(begun) => {
                    let turn = BegunTurn { begun, scope, ahead: ReadAhead::Nothing };
                    Box::pin(self.run_turn(turn)).await;
                }
                BeginOutcome::NothingToTake => {}
                BeginOutcome::Unfinished { turn } => {
                    if let Some(taken) = recovery::claim(&self.shared, turn).await? {
                        Box::pin(recovery::resume(&self.shared, taken, &mut self.mailbox, &self.feed))
                            .await?;
                    }
                }
                // Another node runs a turn and then answers pending messages. If it dies, its lease expires.
                BeginOutcome::Busy { .. } => {
                    if self.wait_for_other_node().await {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Waits one polling interval for another node. Returns whether the task must end.
    async fn wait_for_other_node(&mut self) -> bool {
        match tokio::time::timeout(BUSY_POLL_INTERVAL, self.mailbox.incoming()).await {
            Ok(Some(Command::Stop)) | Ok(None) => {
                self.stopping = true;
                true
            }
            Ok(Some(command)) => {
                self.mailbox.defer(command);
                false
            }
            Err(_) => false,
        }
    }

    /// Drains the channel into the deferred commands. Drops requests to answer pending messages, which the caller does
    /// next.
    fn drain(&mut self) {
        self.mailbox.deferred.extend(std::mem::take(&mut self.mailbox.for_turn));
        while let Ok(command) = self.mailbox.incoming.try_recv() {
            self.mailbox.deferred.push_back(command);
        }
        for command in std::mem::take(&mut self.mailbox.deferred) {
            if !matches!(command, Command::AnswerPending) {
                self.mailbox.deferred.push_back(command);
            }
        }
    }

    /// The origin of a message: from memory, or else as stored with the message or conversation.
    async fn origin_of(&self, message: &Message) -> Result<TurnOrigin, AgentError> {
        if let Some(origin) = self.origins.get(&message.message.id) {
            return Ok(origin);
        }
        let conversation = self.shared.store.conversation(&self.id).await?;
        Ok(recovery::origin_of(conversation.as_ref(), message))
    }

    fn is_same_batch(&self, first: &Message, next: &Message, origin: &TurnOrigin) -> bool {
        let author = |message: &Message| (message.message.author.clone(), message.message.trust);
        let known = self.origins.get(&next.message.id);
        author(first) == author(next) && known.is_none_or(|known| known == *origin)
    }
}

/// The record of a turn to begin in `scope`.
pub(crate) fn begin_turn(
    shared: &Shared,
    scope: &TurnScope,
    take: TakeMessages,
) -> Result<BeginTurn, AgentError> {
    let trust = scope.trust(shared);
    Ok(BeginTurn {
        turn: shared.clock_and_rng.id("t")?,
        conversation: scope.conversation.clone(),
        node: shared.node.clone(),
        trust,
        take,
        lease: shared.lease,
        now: shared.now(),
    })
}
