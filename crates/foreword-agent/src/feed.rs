//! What happens in a conversation while a turn runs, for whoever looks on. Each thing has a number, so that a reader who
//! comes back misses nothing; one who is too slow is told so, and never holds up a turn.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use foreword_core::failure::{Failure, OwnerOnly};
use foreword_core::id::{CallId, ConversationId, MessageId, TurnId};
use foreword_core::message::Usage;
use foreword_core::money::Price;
use foreword_core::turn::Question;
use foreword_core::turn_journal::Outcome;
use foreword_prompt::trust::Trust;
use serde_json::Value;
use tokio::sync::watch;

/// How many things are kept for readers.
const KEPT: usize = 16_384;
/// And of how many turns.
const KEPT_TURNS: usize = 4;

/// Something that happens in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// A turn has begun.
    TurnStarted {
        /// Which.
        turn: TurnId,
        /// The messages it answers.
        messages: Vec<MessageId>,
        /// For whom, if it is somebody known.
        user: Option<Arc<str>>,
        /// With which trust.
        trust: Trust,
        /// Whether it was cut off before and goes on now: what it said since its last tool has ended, it says anew.
        resumed: bool,
    },
    /// More words of the answer.
    Text(String),
    /// A tool is called.
    ToolCall {
        /// Which call.
        call: CallId,
        /// The tool.
        tool: String,
        /// What it is called with.
        arguments: Value,
    },
    /// A tool has ended.
    ToolResult {
        /// Which call.
        call: CallId,
        /// The tool.
        tool: String,
        /// What it gave.
        content: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// How it goes, such as `Rate limited. Retrying in 3s...`.
    Status(String),
    /// Something beside the turns failed. Only the owner reads it.
    Problem(OwnerOnly<String>),
    /// The owner is asked.
    Question(Question),
    /// The history was made shorter.
    Compacted,
    /// The turn can't go on here; what was accepted is not lost, and is taken up again here or elsewhere.
    TurnLeft {
        /// Which.
        turn: TurnId,
        /// Why.
        reason: OwnerOnly<String>,
    },
    /// The turn was cut off and is not run again, because nobody can tell what it has done.
    TurnInterrupted {
        /// Which.
        turn: TurnId,
        /// With which trust it ran.
        trust: Trust,
        /// Why.
        reason: String,
    },
    /// The turn is over.
    TurnEnded {
        /// Which.
        turn: TurnId,
        /// How.
        outcome: Outcome,
        /// Why it failed.
        failure: Option<Failure>,
        /// What all its calls took.
        usage: Usage,
        /// What that cost.
        cost: Price,
    },
}

/// Somebody who sees what happens in every conversation of an agent, in order for each of them. Turns wait for them: what
/// takes its time is done elsewhere.
pub trait Onlooker: Send + Sync {
    /// Something has happened.
    fn saw(&self, conversation: &ConversationId, progress: &Progress);

    /// Is done with everything that was seen so far; an agent that shuts down waits for it.
    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// Where whoever looks on at an agent is found, once there is somebody.
pub(crate) type OnlookerPlace = Arc<OnceLock<Arc<dyn Onlooker>>>;

/// What happens in one conversation. Clones share it.
#[derive(Debug, Clone)]
pub struct Feed(Arc<Inner>);

struct Inner {
    kept: Mutex<Kept>,
    last: watch::Sender<u64>,
    seen_by: Option<(ConversationId, OnlookerPlace)>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("kept", &self.kept).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Kept {
    /// The number of the first that is kept.
    first: u64,
    items: VecDeque<Arc<Progress>>,
    /// Where the last turns began.
    begins: VecDeque<u64>,
}

impl Kept {
    /// What happened before the last turns is in the conversation by now.
    fn turn_begins(&mut self) {
        self.begins.push_back(self.first + self.items.len() as u64);
        if self.begins.len() > KEPT_TURNS {
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

/// What a reader gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// How many came before these that the reader was too slow for.
    pub missed: u64,
    /// What happened, in order.
    pub items: Vec<Arc<Progress>>,
    /// The number to ask for next.
    pub next: u64,
}

impl Default for Feed {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Feed {
    fn new(seen_by: Option<(ConversationId, OnlookerPlace)>) -> Self {
        Self(Arc::new(Inner { kept: Mutex::default(), last: watch::Sender::new(0), seen_by }))
    }

    /// That of a conversation whose agent somebody may look on at.
    pub(crate) fn of(conversation: ConversationId, onlooker: OnlookerPlace) -> Self {
        Self::new(Some((conversation, onlooker)))
    }

    /// Tells everybody.
    pub(crate) fn tell(&self, progress: Progress) {
        let mut kept = self.kept();
        if let Some((conversation, onlooker)) = &self.0.seen_by
            && let Some(onlooker) = onlooker.get()
        {
            onlooker.saw(conversation, &progress);
        }
        if matches!(progress, Progress::TurnStarted { .. }) {
            kept.turn_begins();
        }
        kept.items.push_back(Arc::new(progress));
        if kept.items.len() > KEPT {
            kept.drop_first(1);
        }
        let next = kept.first + kept.items.len() as u64;
        drop(kept);
        self.0.last.send_replace(next);
    }

    /// Whether it is the very same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The number of the next thing that will happen: where to begin for a reader who wants nothing of the past.
    #[must_use]
    pub fn next(&self) -> u64 {
        let kept = self.kept();
        kept.first + kept.items.len() as u64
    }

    /// The question to the owner that the turn waits for, if it waits for one: nothing has happened since it was asked.
    #[must_use]
    pub fn open_question(&self) -> Option<Question> {
        let kept = self.kept();
        let last = kept.items.iter().rev().find(|item| !matches!(***item, Progress::Status(_)))?;
        match &**last {
            Progress::Question(question) => Some(question.clone()),
            _ => None,
        }
    }

    /// Everything from number `from` on, as soon as there is something.
    pub async fn read(&self, from: u64) -> Batch {
        let mut last = self.0.last.subscribe();
        // The sender lives as long as this feed does.
        let _ = last.wait_for(|next| *next > from).await;
        let kept = self.kept();
        let missed = kept.first.saturating_sub(from);
        let skip = usize::try_from(from.saturating_sub(kept.first)).unwrap_or(usize::MAX);
        let items: Vec<_> = kept.items.iter().skip(skip).cloned().collect();
        Batch { missed, next: kept.first + kept.items.len() as u64, items }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nothing can fail while it is locked.
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(word: &str) -> Arc<Progress> {
        Arc::new(Progress::Text(word.to_owned()))
    }

    #[tokio::test]
    async fn a_reader_who_comes_back_misses_nothing() {
        let feed = Feed::default();
        feed.tell(Progress::Text("one".to_owned()));
        let first = feed.read(0).await;
        assert_eq!(first, Batch { missed: 0, items: vec![said("one")], next: 1 });
        feed.tell(Progress::Text("two".to_owned()));
        feed.tell(Progress::Text("three".to_owned()));
        assert_eq!(feed.read(first.next).await.items, [said("two"), said("three")]);
    }

    #[test]
    fn a_question_is_open_until_something_else_happens() {
        let feed = Feed::default();
        assert_eq!(feed.open_question(), None);
        let question = Question {
            call: CallId::new("call-1").unwrap(),
            tool: "bash".to_owned(),
            arguments: serde_json::Map::new(),
            because: "this turn has read outside text".to_owned(),
        };
        feed.tell(Progress::Question(question.clone()));
        feed.tell(Progress::Status("Still here.".to_owned()));
        assert_eq!(feed.open_question(), Some(question));
        feed.tell(Progress::Text("Thank you.".to_owned()));
        assert_eq!(feed.open_question(), None);
    }

    #[tokio::test]
    async fn what_happened_several_turns_ago_is_let_go() {
        let feed = Feed::default();
        let turn = foreword_core::id::TurnId::new("t-1").unwrap();
        for _ in 0..10 {
            let (turn, trust) = (turn.clone(), Trust::Full);
            feed.tell(Progress::TurnStarted {
                turn,
                messages: Vec::new(),
                user: None,
                trust,
                resumed: false,
            });
            feed.tell(Progress::Text("word".to_owned()));
        }
        let batch = feed.read(0).await;
        assert_eq!((batch.missed, batch.items.len(), batch.next), (12, 8, 20));
    }

    #[tokio::test]
    async fn a_reader_who_is_too_slow_is_told_how_much_was_missed() {
        let feed = Feed::default();
        for number in 0..KEPT + 5 {
            feed.tell(Progress::Text(number.to_string()));
        }
        let batch = feed.read(0).await;
        assert_eq!((batch.missed, batch.items.len()), (5, KEPT));
        assert_eq!(batch.items[0], said("5"));
        assert_eq!(batch.next, feed.next());
    }
}
