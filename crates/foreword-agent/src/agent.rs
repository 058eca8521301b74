//! The agent: takes messages in, and sees to it that each is answered once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use foreword_core::event::{Event, EventType};
use foreword_core::id::{CallId, ConversationId, MessageId};
use foreword_core::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role};
use foreword_core::turn::Asked;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::{Created, NewConversation};
use foreword_store::error::StoreError;
use foreword_store::messages::Accepted;
use foreword_store::turns::{AcceptAndBegin, Answer, Begin, Take};
use foreword_workspace::request::{Identified, Request, TERMINAL};
use serde_json::json;
use tokio::sync::{broadcast, oneshot};
use tokio::task::AbortHandle;

use crate::compaction::Shortened;
use crate::conversation::{Command, Handle, begin_turn, start};
use crate::error::AgentError;
use crate::feed::{Feed, Progress};
use crate::inbound::{Inbound, Occasion, is_shared, provenance};
use crate::inbox;
use crate::prepare::Placed;
use crate::recovery;
use crate::saved::SavedOccasion;
use crate::shared::{LEASE, Parts, Shared};
use crate::watching::{self, Reloaded};
use crate::whose;

/// The longest message, in bytes.
const LONGEST: usize = 1024 * 1024;
/// How many conversations with waiting messages are looked up at once.
const LOOKED_UP: u32 = 100;

/// How soon to look again whether another node has answered.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

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

/// A message that is taken in: durable, and going to be answered.
pub struct Receipt {
    /// The message.
    pub message: Message,
    /// Whether it had been taken in before: then its answer is there or on its way already.
    pub before: bool,
    /// What happens in the conversation.
    pub feed: Feed,
    /// Where in the feed to begin reading.
    pub from: u64,
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

    /// Takes a message in. When this returns it is durable; the answer follows in the feed.
    ///
    /// # Errors
    /// If there are no words, too many, or it can't be stored.
    pub async fn send(&self, inbound: Inbound) -> Result<Receipt, AgentError> {
        let shared = &self.0.shared;
        check(&inbound.text)?;
        whose::check(shared, &inbound).await?;
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let mut request = request(shared, &inbound.occasion);
        // Whoever has spoken in a shared place hears what is said there.
        if is_shared(inbound.occasion.situation()) {
            let heard = shared.store.audience(&inbound.conversation).await?;
            let lower = |one: Trust, other: Option<Trust>| other.map_or(one, |other| one.meet(other));
            request.audience = heard.map(|heard| lower(heard, request.audience)).or(request.audience);
        }
        let who = request.identify(&config);
        let placed = Placed {
            conversation: inbound.conversation.clone(),
            occasion: inbound.occasion.clone(),
            accepted_at: who.trust.effective(),
        };
        let message = self.message(&inbound, &who)?;
        // Before it is accepted: the turn that runs may find it as soon as it is, and begin the next.
        let handle = self.handle(&inbound.conversation);
        let from = handle.feed.next();
        handle.occasions.keep(message.id.clone(), inbound.occasion.clone());
        let id = message.id.clone();
        let begin = begin_turn(shared, &placed, Take::Nothing)?;
        // The disk takes its time: meanwhile the turn can read what it will need.
        let ahead = handle.readiness.take(&shared.store, &inbound.conversation);
        let accepted = self.accept(AcceptAndBegin { message, key: inbound.key, begin }, &who).await;
        if !matches!(accepted, Ok((Accepted::New(_), _))) {
            handle.occasions.forget(&id);
        }
        let (accepted, begun) = accepted?;
        let before = matches!(accepted, Accepted::Before(_));
        let message = accepted.message().clone();
        if !before && !inbox::is_own_words(&inbound.occasion.purpose) {
            self.log_received(&message, &who);
        }
        let command = match begun {
            Some(Begin::Begun(begun)) => Command::Run(Box::new((begun, placed, ahead))),
            _ => Command::Look,
        };
        let (feed, later) = self.post(&inbound.conversation, command);
        // A conversation's task that has just come to an end takes its feed with it.
        let from = if feed.is(&handle.feed) { from } else { later };
        Ok(Receipt { message, before, feed, from })
    }

    /// Stores the message, in a conversation that is made if it is not there.
    async fn accept(
        &self,
        both: AcceptAndBegin,
        who: &Identified<'_>,
    ) -> Result<(Accepted, Option<Begin>), AgentError> {
        let store = &self.0.shared.store;
        match store.accept_and_begin(both.clone()).await {
            Err(StoreError::NotFound { .. }) => {
                self.create(&both.message, who).await?;
                Ok(store.accept_and_begin(both).await?)
            }
            other => Ok(other?),
        }
    }

    /// Takes a message in and waits for what comes of it, whichever node answers.
    ///
    /// # Errors
    /// As [`Agent::send`], or if the store can't be read.
    pub async fn ask(&self, inbound: Inbound) -> Result<Answer, AgentError> {
        let receipt = self.send(inbound).await?;
        self.answer_to(&receipt).await
    }

    /// Waits for what comes of a message that was taken in, whichever node answers.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn answer_to(&self, receipt: &Receipt) -> Result<Answer, AgentError> {
        let store = &self.0.shared.store;
        let mut from = receipt.from;
        loop {
            let answer = store.answer_to(&receipt.message.message.id).await?;
            if let Some(answer) = answer.filter(|answer| answer.turn.ended_at.is_some()) {
                return Ok(answer);
            }
            from = self.next_end(receipt, from).await;
        }
    }

    /// Waits until a turn of the conversation has ended here, or so long that one may have ended elsewhere.
    async fn next_end(&self, receipt: &Receipt, mut from: u64) -> u64 {
        let ended = async {
            loop {
                let batch = receipt.feed.read(from).await;
                from = batch.next;
                let ends = |progress: &Arc<Progress>| {
                    matches!(**progress, Progress::TurnEnded { .. } | Progress::TurnLeft { .. })
                };
                if batch.items.iter().any(ends) {
                    return;
                }
            }
        };
        // The end of a wait is no failure: the store is asked again.
        let _ = tokio::time::timeout(LOOK_AGAIN, ended).await;
        from
    }

    /// What happens in a conversation.
    #[must_use]
    pub fn feed(&self, conversation: &ConversationId) -> Feed {
        self.handle(conversation).feed
    }

    /// Stops the turn that runs in a conversation, if one does. What was shown is kept. A summary that is being made is
    /// stopped too.
    pub fn cancel(&self, conversation: &ConversationId) {
        self.post(conversation, Command::Cancel);
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

    /// Replaces the history of a conversation by its summary.
    ///
    /// # Errors
    /// If a turn runs, there is nothing to summarise, or the model can't do it: then nothing has changed.
    pub async fn compact(
        &self,
        conversation: &ConversationId,
        occasion: Occasion,
    ) -> Result<Shortened, AgentError> {
        self.compact_at(Placed::at(&self.0.shared, conversation.clone(), occasion)).await
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

    fn handle(&self, conversation: &ConversationId) -> Handle {
        let mut conversations = unpoisoned(&self.0.conversations);
        if let Some(handle) = conversations.get(conversation).filter(|handle| !handle.mailbox.is_closed()) {
            return handle.clone();
        }
        conversations.retain(|_, handle| !handle.mailbox.is_closed());
        let handle = start(Arc::clone(&self.0.shared), conversation.clone());
        conversations.insert(conversation.clone(), handle.clone());
        handle
    }

    /// Makes the conversation a first message is said in.
    async fn create(&self, first: &NewMessage, who: &Identified<'_>) -> Result<(), AgentError> {
        let (shared, id, at) = (&self.0.shared, &first.conversation, first.at);
        let occasion = &who.occasion;
        let channel = occasion.channel.as_ref().map(|channel| channel.as_str().to_owned());
        let new = NewConversation {
            user: occasion.user.as_deref().map(str::to_owned),
            channel: channel.clone(),
            ..NewConversation::new(id.clone(), &*occasion.agent, &*occasion.situation, at)
        };
        if let Created::New(_) = shared.store.create_conversation(new).await? {
            shared.log(Event {
                session_id: Some(id.clone()),
                user_id: occasion.user.clone(),
                metadata: Some(json!({ "source": channel, "situation": &*occasion.situation })),
                ..Event::new(EventType::SessionCreated, at)
            });
        }
        Ok(())
    }

    fn message(&self, inbound: &Inbound, who: &Identified<'_>) -> Result<NewMessage, AgentError> {
        let shared = &self.0.shared;
        let own = inbox::is_own_words(&inbound.occasion.purpose);
        let author = match who.user {
            _ if own => None,
            Some(user) => Some(user.name.to_string()),
            None => Some(stranger(inbound)),
        };
        Ok(NewMessage {
            id: shared.surroundings.id::<MessageId>("m")?,
            conversation: inbound.conversation.clone(),
            role: Role::User,
            kind: Kind::Message,
            content: content(inbound),
            trust: who.trust.effective(),
            provenance: if own {
                Provenance::Agent
            } else if inbound.occasion.purpose.is_tainted() {
                Provenance::Outside
            } else {
                provenance(who.user)
            },
            author,
            turn: None,
            usage: None,
            at: shared.now(),
        })
    }

    fn log_received(&self, message: &Message, who: &Identified<'_>) {
        let message = &message.message;
        let length: usize = message
            .content
            .iter()
            .map(|block| match block {
                ContentBlock::Text { text } => text.len(),
                _ => 0,
            })
            .sum();
        self.0.shared.log(Event {
            session_id: Some(message.conversation.clone()),
            user_id: who.occasion.user.clone(),
            channel: who.occasion.channel.as_ref().map(|channel| channel.as_str().into()),
            metadata: Some(json!({ "message": message.id.as_str(), "length": length })),
            ..Event::new(EventType::MessageReceived, message.at)
        });
    }
}

/// The words, and the occasion: whoever answers may be another process.
fn content(inbound: &Inbound) -> Vec<ContentBlock> {
    let occasion = SavedOccasion::from(&inbound.occasion).block();
    [ContentBlock::text(inbound.text.clone())].into_iter().chain(occasion).collect()
}

/// What somebody is called who is not known. Never a user's name: those have no colon.
fn stranger(inbound: &Inbound) -> String {
    match inbound.occasion.channel.as_ref().map(|channel| channel.as_str()) {
        Some(channel) if channel.contains(':') => channel.to_owned(),
        Some(channel) => format!("{channel}:unknown"),
        None => TERMINAL.to_owned(),
    }
}

fn check(text: &str) -> Result<(), AgentError> {
    match text {
        text if text.trim().is_empty() => Err(AgentError::NoWords),
        text if text.len() > LONGEST => Err(AgentError::TooLong { size: text.len(), limit: LONGEST }),
        _ => Ok(()),
    }
}

/// What the workspace is asked to find out who speaks.
pub(crate) fn request(shared: &Shared, occasion: &Occasion) -> Request {
    Request {
        user: occasion.user.clone(),
        channel: occasion.channel.clone(),
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
