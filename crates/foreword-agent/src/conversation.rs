//! A conversation as a task with a mailbox: one turn at a time, what arrives meanwhile in order behind it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreword_core::hand_over::HandOver;
use foreword_core::id::{CallId, ConversationId, MessageId};
use foreword_core::message::Message;
use foreword_core::turn::Asked;
use foreword_store::hand_overs::NewHandOver;
use foreword_store::turns::{Begin, BeginTurn, Begun, Take, TakenOver};
use tokio::sync::{mpsc, oneshot};

use crate::compaction;
use crate::driver::{Driver, ending};
use crate::error::AgentError;
use crate::feed::{Feed, Progress};
use crate::hand_over;
use crate::inbound::Occasion;
use crate::prepare::Placed;
use crate::read_ahead::ReadAhead;
use crate::readiness::Readiness;
use crate::recovery;
use crate::settling;
use crate::shared::Shared;

/// How long a conversation in which nothing happens stays in memory.
const IDLE: Duration = Duration::from_secs(60);
/// How soon to look again after another node was in the way.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What a conversation can be asked for.
pub(crate) enum Command {
    /// A turn has begun: run it.
    Run(Box<(Begun, Placed, ReadAhead)>),
    /// See whether anything waits.
    Look,
    /// Go on with a turn that was cut off.
    Resume(Box<TakenOver>),
    /// Stop the turn that runs.
    Cancel,
    /// The owner has answered.
    Owner { call: CallId, answer: Asked },
    /// Make the history shorter.
    Compact { placed: Box<Placed>, done: oneshot::Sender<Result<compaction::Shortened, AgentError>> },
    /// Give the conversation to another agent.
    HandOver { new: Box<NewHandOver>, done: oneshot::Sender<Result<HandOver, AgentError>> },
    /// Come to an end.
    Stop,
}

/// The way to a conversation's task.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) mailbox: mpsc::UnboundedSender<Command>,
    pub(crate) feed: Feed,
    pub(crate) occasions: Occasions,
    pub(crate) readiness: Readiness,
}

/// The occasions of messages that wait, as far as they came through this process.
#[derive(Clone, Default)]
pub(crate) struct Occasions(Arc<Mutex<BTreeMap<MessageId, Occasion>>>);

impl Occasions {
    pub(crate) fn keep(&self, message: MessageId, occasion: Occasion) {
        self.kept().insert(message, occasion);
    }

    pub(crate) fn forget(&self, message: &MessageId) {
        self.kept().remove(message);
    }

    fn get(&self, message: &MessageId) -> Option<Occasion> {
        self.kept().get(message).cloned()
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<MessageId, Occasion>> {
        // Nothing can fail while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A mailbox, and what was taken out of it too early.
pub(crate) struct Mailbox {
    incoming: mpsc::UnboundedReceiver<Command>,
    put_back: VecDeque<Command>,
    /// What came before the turn was there that it is for.
    unheard: VecDeque<Command>,
}

impl Mailbox {
    /// The next command; `None` when nobody can send any more.
    pub(crate) async fn next(&mut self) -> Option<Command> {
        // Whoever is to come to an end begins nothing new.
        if self.is_to_stop() {
            return Some(Command::Stop);
        }
        match self.put_back.pop_front() {
            Some(command) => Some(command),
            None => self.incoming().await,
        }
    }

    /// The next command that is not one put back.
    pub(crate) async fn incoming(&mut self) -> Option<Command> {
        match self.unheard.pop_front() {
            Some(command) => Some(command),
            None => self.incoming.recv().await,
        }
    }

    /// Waits until the turn that is about to run is to be stopped. That, and whatever comes before it, the turn itself
    /// hears when it runs.
    pub(crate) async fn hurried(&mut self) {
        let is_end = |command: &Command| matches!(command, Command::Cancel | Command::Stop);
        while !self.unheard.iter().any(is_end) {
            let Some(command) = self.incoming.recv().await else { return };
            self.unheard.push_back(command);
        }
    }

    /// Waits until the turn that runs is to be stopped; whatever else comes is left for later.
    pub(crate) async fn called_off(&mut self) {
        loop {
            match self.incoming().await {
                Some(Command::Cancel) | None => return,
                Some(Command::Stop) => return self.put_back(Command::Stop),
                Some(other) => self.put_back(other),
            }
        }
    }

    /// Whether the conversation is to come to an end.
    pub(crate) fn is_to_stop(&self) -> bool {
        self.put_back.iter().any(|command| matches!(command, Command::Stop))
    }

    /// Whether something waits in it that comes before messages: a turn that has begun, another agent, or the end.
    fn goes_first(&self) -> bool {
        let first = |command: &Command| {
            matches!(command, Command::Run(_) | Command::Resume(_) | Command::HandOver { .. } | Command::Stop)
        };
        self.put_back.iter().any(first)
    }

    /// Leaves a command for later.
    pub(crate) fn put_back(&mut self, command: Command) {
        self.put_back.push_back(command);
    }
}

/// The task of one conversation.
pub(crate) struct Task {
    shared: Arc<Shared>,
    id: ConversationId,
    mailbox: Mailbox,
    feed: Feed,
    occasions: Occasions,
    readiness: Readiness,
    stopping: bool,
}

/// Starts the task of a conversation.
pub(crate) fn start(shared: Arc<Shared>, id: ConversationId) -> Handle {
    let (sender, incoming) = mpsc::unbounded_channel();
    let mailbox = Mailbox { incoming, put_back: VecDeque::new(), unheard: VecDeque::new() };
    let handle = Handle {
        mailbox: sender,
        feed: Feed::of(id.clone(), Arc::clone(&shared.onlooker)),
        occasions: Occasions::default(),
        readiness: Readiness::default(),
    };
    let Handle { feed, occasions, readiness, .. } = handle.clone();
    let task = Task { shared, id, mailbox, feed, occasions, readiness: readiness.clone(), stopping: false };
    tokio::spawn(async move {
        // It is too large to stand in the task that waits for it.
        Box::pin(task.run()).await;
        readiness.forget();
    });
    handle
}

impl Task {
    async fn run(mut self) {
        loop {
            let command = match tokio::time::timeout(IDLE, self.mailbox.next()).await {
                Ok(Some(command)) => command,
                Ok(None) => return,
                Err(_) => {
                    // Whoever sends next finds the mailbox closed, and starts another task; what came before that is done.
                    self.mailbox.incoming.close();
                    match self.mailbox.incoming.try_recv() {
                        Ok(command) => command,
                        Err(_) => return,
                    }
                }
            };
            self.obey(command).await;
            if self.stopping {
                return;
            }
        }
    }

    /// What fails is told, and is no reason to leave others waiting.
    fn tell(&self, done: Result<(), AgentError>) {
        if let Err(error) = done {
            self.feed.tell(Progress::Problem(error.cause()));
        }
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::Run(run) => {
                let (begun, placed, ahead) = *run;
                Box::pin(self.turn(begun, placed, ahead)).await;
                let done = self.pending().await;
                self.tell(done);
            }
            Command::Look => {
                let done = self.pending().await;
                self.tell(done);
            }
            Command::Resume(taken) => {
                let shared = Arc::clone(&self.shared);
                let running = shared.turns.begin();
                let done =
                    Box::pin(recovery::go_on(&self.shared, *taken, &mut self.mailbox, &self.feed)).await;
                drop(running);
                self.tell(done);
                let done = self.pending().await;
                self.tell(done);
            }
            Command::Compact { placed, done } => {
                let result = compaction::on_request(&self.shared, &placed, &mut self.mailbox).await;
                if result.is_ok() {
                    self.feed.tell(Progress::Compacted);
                }
                // Whoever asked may be gone.
                let _ = done.send(result);
            }
            Command::HandOver { new, done } => {
                self.readiness.forget();
                let result = Box::pin(hand_over::give(&self.shared, *new, &self.feed)).await;
                // Whoever asked may be gone.
                let _ = done.send(result);
                // What has waited meanwhile is the new agent's.
                self.mailbox.put_back(Command::Look);
            }
            // There is no turn to stop and no question to answer.
            Command::Cancel | Command::Owner { .. } => {}
            Command::Stop => self.stopping = true,
        }
    }

    async fn turn(&mut self, begun: Begun, placed: Placed, ahead: ReadAhead) {
        let shared = Arc::clone(&self.shared);
        let _running = shared.turns.begin();
        for message in &begun.messages {
            self.occasions.forget(&message.message.id);
        }
        let (turn, next) = (begun.hold.turn.clone(), placed.clone());
        let settled = settling::wait(&self.shared, &begun.hold, &mut self.mailbox).await;
        let driver = match settled {
            Ok(()) => Driver::begin(&self.shared, begun, (placed, ahead), &self.feed).await,
            Err(error) => Err(error),
        };
        match driver {
            Ok(Some(driver)) => driver.run(&mut self.mailbox).await,
            Ok(None) => {}
            Err(error) => {
                ending::log_left(&self.shared, &next, &turn, &error);
                self.feed.tell(Progress::TurnLeft { turn, reason: error.cause() });
            }
        }
        compaction::after_turn(&self.shared, &next, &mut self.mailbox, &self.feed).await;
        self.readiness.renew(&self.shared, next);
    }

    /// Answers what waits, in order: what one person said in a row together.
    async fn pending(&mut self) -> Result<(), AgentError> {
        loop {
            self.sort_mail();
            if self.mailbox.goes_first() {
                return Ok(());
            }
            let pending = self.shared.store.pending(&self.id).await?;
            let Some(first) = pending.first() else { return Ok(()) };
            let occasion = self.occasion_of(first).await?;
            let batch: Vec<MessageId> = pending
                .iter()
                .take_while(|next| self.goes_with(first, next, &occasion))
                .map(|message| message.message.id.clone())
                .collect();
            let accepted_at = first.message.trust;
            let placed = Placed { conversation: self.id.clone(), occasion, accepted_at };
            let begin = begin_turn(&self.shared, &placed, Take::Messages(batch))?;
            match self.shared.store.begin_turn(begin).await? {
                Begin::Begun(begun) => Box::pin(self.turn(begun, placed, ReadAhead::Nothing)).await,
                Begin::NothingToTake => {}
                Begin::Unfinished { turn } => {
                    if let Some(taken) = recovery::claim(&self.shared, turn).await? {
                        Box::pin(recovery::go_on(&self.shared, taken, &mut self.mailbox, &self.feed)).await?;
                    }
                }
                // Another node runs a turn here, and looks for what waits when it is done. Should it die, its lease ends.
                Begin::Busy { .. } => {
                    if self.waits_for_other_node().await {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Waits a while for another node. Says whether the task should end instead.
    async fn waits_for_other_node(&mut self) -> bool {
        match tokio::time::timeout(LOOK_AGAIN, self.mailbox.incoming()).await {
            Ok(Some(Command::Stop)) | Ok(None) => {
                self.stopping = true;
                true
            }
            Ok(Some(command)) => {
                self.mailbox.put_back(command);
                false
            }
            Err(_) => false,
        }
    }

    /// Takes note of what waits, before looking for it.
    fn sort_mail(&mut self) {
        self.mailbox.put_back.extend(std::mem::take(&mut self.mailbox.unheard));
        while let Ok(command) = self.mailbox.incoming.try_recv() {
            self.mailbox.put_back.push_back(command);
        }
        for command in std::mem::take(&mut self.mailbox.put_back) {
            if !matches!(command, Command::Look) {
                self.mailbox.put_back.push_back(command);
            }
        }
    }

    /// On which occasion a message was said; if this process has not heard it, what the conversation says of itself.
    async fn occasion_of(&self, message: &Message) -> Result<Occasion, AgentError> {
        if let Some(occasion) = self.occasions.get(&message.message.id) {
            return Ok(occasion);
        }
        let conversation = self.shared.store.conversation(&self.id).await?;
        Ok(recovery::occasion_of(conversation.as_ref(), message))
    }

    fn goes_with(&self, first: &Message, next: &Message, occasion: &Occasion) -> bool {
        let said = |message: &Message| (message.message.author.clone(), message.message.trust);
        let known = self.occasions.get(&next.message.id);
        said(first) == said(next) && known.is_none_or(|known| known == *occasion)
    }
}

/// A turn to be begun at `placed`.
pub(crate) fn begin_turn(shared: &Shared, placed: &Placed, take: Take) -> Result<BeginTurn, AgentError> {
    let trust = placed.trust(shared);
    Ok(BeginTurn {
        turn: shared.surroundings.id("t")?,
        conversation: placed.conversation.clone(),
        node: shared.node.clone(),
        trust,
        take,
        lease: shared.lease,
        now: shared.now(),
    })
}
