//! Puts what happens in conversations on record, and only then shows it: what a client has seen is there for every other
//! client, on every node, whatever becomes of this one. A first word is written at once; what comes while a write is under
//! way is gathered for the next, so that writes adapt to what the database can do. No turn ever waits for it.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreword_agent::feed::{Onlooker, Progress};
use foreword_agent::surroundings::Surroundings;
use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_store::streams::NewStreamItem;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::happening::{Draft, Happening, Within};
use super::hub::Hub;

/// How many conversations in which nothing happens are remembered.
const REMEMBERED: usize = 1_024;
/// The longest piece of text that more is added to, in bytes.
const LONGEST_PIECE: usize = 8 * 1024;
/// The most items of one write.
const TOGETHER: usize = 256;
/// The most that waits for a database that is away, in bytes for each conversation; more than any turn says.
const MOST_WAITING: usize = 8 * 1024 * 1024;
/// The pauses between attempts to write.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long the end of an agent waits for what is still to be written.
const SETTLE: Duration = Duration::from_secs(5);

const WAS_AWAY: &str = "The database was away for a while; what happened meanwhile follows.";
const WAS_LOST: &str = "The database was away so long that not everything that happened meanwhile is told here. What was \
     said is in the conversation.";

/// The record of what happens. Clones are the same.
#[derive(Clone)]
pub(crate) struct StreamLog(Arc<Inner>);

struct Inner {
    store: Store,
    hub: Hub,
    surroundings: Arc<dyn Surroundings>,
    runtime: Handle,
    lanes: Mutex<HashMap<ConversationId, Lane>>,
    /// How many lanes are being written.
    writing: watch::Sender<usize>,
}

/// What waits of one conversation.
#[derive(Default)]
struct Lane {
    within: Within,
    waiting: VecDeque<Draft>,
    bytes: usize,
    writing: bool,
    /// Whether something had to be let go.
    lost: bool,
}

impl Lane {
    fn add(&mut self, draft: Draft) {
        let size = weight(&draft.what);
        if self.bytes + size > MOST_WAITING && is_bulk(&draft.what) {
            self.lost = true;
            return;
        }
        self.bytes += size;
        if let (Happening::TextDelta { turn_id, text }, Some(last)) = (&draft.what, self.waiting.back_mut())
            && let Happening::TextDelta { turn_id: last_turn, text: last_text } = &mut last.what
            && (&*last_turn, last.trust) == (turn_id, draft.trust)
            && last_text.len() + text.len() <= LONGEST_PIECE
        {
            last_text.push_str(text);
            return;
        }
        self.waiting.push_back(draft);
    }

    fn take(&mut self) -> Vec<Draft> {
        let count = self.waiting.len().min(TOGETHER);
        let taken: Vec<Draft> = self.waiting.drain(..count).collect();
        let size: usize = taken.iter().map(|draft| weight(&draft.what)).sum();
        self.bytes = self.bytes.saturating_sub(size);
        taken
    }

    fn is_idle(&self) -> bool {
        !self.writing && self.within.turn.is_none()
    }

    /// Says that the database was away, before anything that came meanwhile.
    fn was_away(&mut self) {
        let text = if std::mem::take(&mut self.lost) { WAS_LOST } else { WAS_AWAY };
        let what = Happening::Status { turn_id: self.within.turn.clone(), message: text.to_owned() };
        self.waiting.push_front(Draft { trust: self.within.trust, what });
    }
}

impl StreamLog {
    /// A record in `store`, shown by `hub`. It writes on the runtime this is called on.
    pub(crate) fn new(store: Store, hub: Hub, surroundings: Arc<dyn Surroundings>) -> Self {
        let (lanes, writing, runtime) = (Mutex::default(), watch::Sender::new(0), Handle::current());
        Self(Arc::new(Inner { store, hub, surroundings, runtime, lanes, writing }))
    }

    /// Whether something of this conversation is being written here, and shown when it is.
    pub(super) fn is_writing(&self, conversation: &ConversationId) -> bool {
        self.lanes().get(conversation).is_some_and(|lane| lane.writing)
    }

    /// Writes what waits in a conversation until nothing does.
    async fn write(self, conversation: ConversationId) {
        while let Some(drafts) = self.next(&conversation) {
            let trusts: Vec<Trust> = drafts.iter().map(|draft| draft.trust).collect();
            // Texts, numbers and JSON have a JSON form.
            let items: Vec<String> = drafts
                .iter()
                .map(|draft| serde_json::to_string(&draft.what).unwrap_or_else(|_| "{}".to_owned()))
                .collect();
            let new = trusts
                .iter()
                .zip(&items)
                .map(|(trust, item)| NewStreamItem { trust: *trust, item: item.clone() });
            match self.append(&conversation, new.collect()).await {
                Some(first) => self.0.hub.show(&conversation, first, trusts.into_iter().zip(items)),
                // There is no such conversation any more, and nobody looks on.
                None => {
                    self.lanes().remove(&conversation);
                    break;
                }
            }
        }
        self.0.writing.send_modify(|writing| *writing -= 1);
    }

    /// Writes items, however long the database is away. `None` if there is nowhere to write them to.
    async fn append(&self, conversation: &ConversationId, items: Vec<NewStreamItem>) -> Option<u64> {
        let mut pause = FIRST_PAUSE;
        loop {
            let now = self.0.surroundings.timestamp();
            match self.0.store.append_stream(conversation, items.clone(), now).await {
                Ok(first) => {
                    if let Some(lane) = self.lanes().get_mut(conversation)
                        && (pause > FIRST_PAUSE || lane.lost)
                    {
                        lane.was_away();
                    }
                    return Some(first);
                }
                Err(StoreError::NotFound { .. }) => return None,
                Err(_) => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    fn next(&self, conversation: &ConversationId) -> Option<Vec<Draft>> {
        let mut lanes = self.lanes();
        let lane = lanes.get_mut(conversation)?;
        let drafts = lane.take();
        if drafts.is_empty() {
            lane.writing = false;
            return None;
        }
        Some(drafts)
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<ConversationId, Lane>> {
        // Nothing can fail while it is locked.
        self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Onlooker for StreamLog {
    fn saw(&self, conversation: &ConversationId, progress: &Progress) {
        let mut lanes = self.lanes();
        if lanes.len() >= REMEMBERED && !lanes.contains_key(conversation) {
            lanes.retain(|_, lane| !lane.is_idle());
        }
        let lane = lanes.entry(conversation.clone()).or_default();
        for draft in lane.within.told(progress) {
            lane.add(draft);
        }
        if !lane.waiting.is_empty() && !std::mem::replace(&mut lane.writing, true) {
            self.0.writing.send_modify(|writing| *writing += 1);
            self.0.runtime.spawn(self.clone().write(conversation.clone()));
        }
    }

    /// Everything that has happened is on record, if the database is not away for long: what is not is in the conversations
    /// all the same.
    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let mut writing = self.0.writing.subscribe();
            let _ = tokio::time::timeout(SETTLE, writing.wait_for(|writing| *writing == 0)).await;
        })
    }
}

/// About how much memory an item takes.
fn weight(what: &Happening) -> usize {
    match what {
        Happening::TextDelta { text, .. } => text.len(),
        Happening::Status { message, .. } => message.len(),
        Happening::ToolResult { content, .. } => content.len() + 100,
        Happening::ToolCall { arguments, .. } | Happening::Question { arguments, .. } => {
            arguments.to_string().len() + 100
        }
        Happening::Error { message, .. } => message.len() + 100,
        Happening::TurnStart { .. } | Happening::TurnEnd { .. } | Happening::SessionCompacted { .. } => 200,
    }
}

/// Whether it may be let go when too much waits: where turns begin and end is told in any case.
fn is_bulk(what: &Happening) -> bool {
    !matches!(what, Happening::TurnStart { .. } | Happening::TurnEnd { .. } | Happening::Error { .. })
}

#[cfg(test)]
mod tests;
