//! The progress feed of a conversation: a bounded buffer of numbered events. A reader resumes at a number without loss.
//! A slow reader learns how many events it has missed and never blocks a turn.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use foreword_core::failure::{Failure, OwnerOnly};
use foreword_core::id::{CallId, ConversationId, MessageId, TurnId};
use foreword_core::message::Usage;
use foreword_core::money::Price;
use foreword_core::turn::Question;
use foreword_core::turn_journal::Outcome;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

/// The maximum number of buffered events.
const FEED_CAPACITY: usize = 16_384;
/// The maximum number of turns whose events are buffered.
const MAX_BUFFERED_TURNS: usize = 4;

/// A progress event of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// A turn has started.
    TurnStarted {
        turn: TurnId,
        /// The messages it answers.
        messages: Vec<MessageId>,
        /// The user, if known.
        user: Option<Arc<str>>,
        /// Its effective trust.
        trust: Trust,
        /// Whether it resumes after an interruption. It then repeats its text since the last tool result.
        resumed: bool,
    },
    /// More text of the answer.
    Text(String),
    /// A tool call has started.
    ToolCall { call: CallId, tool: String, arguments: Value },
    /// A tool call has ended.
    ToolResult {
        call: CallId,
        tool: String,
        /// The result.
        content: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// A status message, such as `Rate limited. Retrying in 3s...`.
    Status(String),
    /// An error outside of turns, for the owner only.
    Problem(OwnerOnly<String>),
    /// The turn waits for a confirmation by the owner.
    Question(Question),
    /// The history was compacted.
    Compacted,
    /// The turn can't continue in this process. This or another process resumes it later.
    TurnLeft { turn: TurnId, reason: OwnerOnly<String> },
    /// The turn was interrupted and is not repeated, because its side effects are unknown.
    TurnInterrupted {
        turn: TurnId,
        /// Its effective trust.
        trust: Trust,
        reason: String,
    },
    /// The turn has ended.
    TurnEnded {
        turn: TurnId,
        outcome: Outcome,
        /// The failure, if the turn failed.
        failure: Option<Failure>,
        /// The usage of all its model calls.
        usage: Usage,
        /// The cost of that usage.
        cost: Price,
    },
}

/// Observes the feeds of all conversations of an agent, in order per conversation. Turns wait for it, so it must not
/// block.
pub trait FeedObserver: Send + Sync {
    /// Handles an event.
    fn observe(&self, conversation: &ConversationId, progress: &Progress);

    /// The id of the question that a turn on another node waits for: no feed of this process reports it.
    fn remote_question<'a>(
        &'a self,
        _conversation: &'a ConversationId,
        _turn: &'a TurnId,
    ) -> Pin<Box<dyn Future<Output = Result<Option<String>, StoreError>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Completes when all observed events are processed. The agent waits for it on shutdown.
    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// The observer of an agent, once it is registered.
pub(crate) type ObserverSlot = Arc<OnceLock<Arc<dyn FeedObserver>>>;

/// The progress feed of one conversation. Clones share it.
#[derive(Debug, Clone)]
pub struct Feed(Arc<Inner>);

struct Inner {
    buffer: Mutex<Buffer>,
    last: watch::Sender<u64>,
    observed: Option<(ConversationId, ObserverSlot)>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("buffer", &self.buffer).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Buffer {
    /// The number of the first buffered event.
    first: u64,
    items: VecDeque<Arc<Progress>>,
    /// The numbers at which the last turns started.
    begins: VecDeque<u64>,
}

impl Buffer {
    /// Drops the events before the last turns, which are stored by now.
    fn start_turn(&mut self) {
        self.begins.push_back(self.first + self.items.len() as u64);
        if self.begins.len() > MAX_BUFFERED_TURNS {
            self.begins.pop_front();
            let keep_from = self.begins.front().copied().unwrap_or(self.first);
            self.drop_first(usize::try_from(keep_from.saturating_sub(self.first)).unwrap_or(0));
        }
    }

    fn drop_first(&mut self, count: usize) {
        let count = count.min(self.items.len());
        self.items.drain(..count);
        self.first += count as u64;
    }
}

/// A batch of events for a reader.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The number of events before these that were dropped unread.
    pub missed: u64,
    /// The events in order.
    pub items: Vec<Arc<Progress>>,
    /// The number to read from next.
    pub next: u64,
}

impl Default for Feed {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Feed {
    fn new(observed: Option<(ConversationId, ObserverSlot)>) -> Self {
        Self(Arc::new(Inner { buffer: Mutex::default(), last: watch::Sender::new(0), observed }))
    }

    /// A feed with an observer.
    pub(crate) fn of(conversation: ConversationId, observer: ObserverSlot) -> Self {
        Self::new(Some((conversation, observer)))
    }

    /// Publishes an event to the observer and all readers.
    pub(crate) fn publish(&self, progress: Progress) {
        let mut buffer = self.0.buffer.lock();
        if let Some((conversation, observer)) = &self.0.observed
            && let Some(observer) = observer.get()
        {
            observer.observe(conversation, &progress);
        }
        if matches!(progress, Progress::TurnStarted { .. }) {
            buffer.start_turn();
        }
        buffer.items.push_back(Arc::new(progress));
        if buffer.items.len() > FEED_CAPACITY {
            buffer.drop_first(1);
        }
        let next = buffer.first + buffer.items.len() as u64;
        drop(buffer);
        self.0.last.send_replace(next);
    }

    /// Whether both handles share one feed.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The number of the next event, for readers that skip past events.
    #[must_use]
    pub fn next(&self) -> u64 {
        let buffer = self.0.buffer.lock();
        buffer.first + buffer.items.len() as u64
    }

    /// The question that the turn waits for, if the last event is one.
    #[must_use]
    pub fn open_question(&self) -> Option<Question> {
        let buffer = self.0.buffer.lock();
        let last = buffer.items.iter().rev().find(|item| !matches!(***item, Progress::Status(_)))?;
        match &**last {
            Progress::Question(question) => Some(question.clone()),
            _ => None,
        }
    }

    /// Waits for events from number `from` on and returns them.
    pub async fn read(&self, from: u64) -> Batch {
        let mut last = self.0.last.subscribe();
        // The feed owns the sender, so the channel is open.
        let _ = last.wait_for(|next| *next > from).await;
        let buffer = self.0.buffer.lock();
        let missed = buffer.first.saturating_sub(from);
        let skip = usize::try_from(from.saturating_sub(buffer.first)).unwrap_or(usize::MAX);
        let items: Vec<_> = buffer.items.iter().skip(skip).cloned().collect();
        Batch { missed, next: buffer.first + buffer.items.len() as u64, items }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(word: &str) -> Arc<Progress> {
        Arc::new(Progress::Text(word.to_owned()))
    }

    #[tokio::test]
    async fn reader_resumes_without_loss() {
        let feed = Feed::default();
        feed.publish(Progress::Text("one".to_owned()));
        let first = feed.read(0).await;
        assert_eq!(first, Batch { missed: 0, items: vec![text("one")], next: 1 });
        feed.publish(Progress::Text("two".to_owned()));
        feed.publish(Progress::Text("three".to_owned()));
        assert_eq!(feed.read(first.next).await.items, [text("two"), text("three")]);
    }

    #[test]
    fn question_is_open_until_the_next_event() {
        let feed = Feed::default();
        assert_eq!(feed.open_question(), None);
        let question = Question {
            call: CallId::new("call-1").unwrap(),
            tool: "bash".to_owned(),
            arguments: serde_json::Map::new(),
            because: "this turn has read outside text".to_owned(),
        };
        feed.publish(Progress::Question(question.clone()));
        feed.publish(Progress::Status("Still here.".to_owned()));
        assert_eq!(feed.open_question(), Some(question));
        feed.publish(Progress::Text("Thank you.".to_owned()));
        assert_eq!(feed.open_question(), None);
    }

    #[tokio::test]
    async fn events_of_old_turns_are_dropped() {
        let feed = Feed::default();
        let turn = foreword_core::id::TurnId::new("t-1").unwrap();
        for _ in 0..10 {
            let (turn, trust) = (turn.clone(), Trust::Full);
            feed.publish(Progress::TurnStarted {
                turn,
                messages: Vec::new(),
                user: None,
                trust,
                resumed: false,
            });
            feed.publish(Progress::Text("word".to_owned()));
        }
        let batch = feed.read(0).await;
        assert_eq!((batch.missed, batch.items.len(), batch.next), (12, 8, 20));
    }

    #[tokio::test]
    async fn slow_reader_gets_the_count_of_missed_events() {
        let feed = Feed::default();
        for number in 0..FEED_CAPACITY + 5 {
            feed.publish(Progress::Text(number.to_string()));
        }
        let batch = feed.read(0).await;
        assert_eq!((batch.missed, batch.items.len()), (5, FEED_CAPACITY));
        assert_eq!(batch.items[0], text("5"));
        assert_eq!(batch.next, feed.next());
    }
}
