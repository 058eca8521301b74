//! Stores the events of conversations, then publishes them: an event that a client has seen is available to all clients
//! on all nodes, even if this one crashes. The first event is written at once; those that arrive during a write are
//! batched for the next, so that the write rate adapts to the database. Turns never wait for it.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::clock_and_rng::ClockAndRng;
use foreword_agent::conversation::feed::{FeedObserver, Progress};
use foreword_core::backoff::Backoff;
use foreword_core::id::{ConversationId, TurnId};
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_store::streams::NewStreamItem;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::hub::Hub;
use super::open_question;
use super::stream_event::{CurrentTurn, StreamEvent, UnnumberedEvent};

/// The maximum number of idle conversations with state.
const MAX_IDLE_QUEUES: usize = 1_024;
/// The longest text that further text is appended to.
const MAX_TEXT_BYTES: usize = 8 * 1024;
/// The maximum number of events per write.
const MAX_BATCH: usize = 256;
/// The maximum size of a conversation's queue while the database is unavailable. More than any turn produces.
const MAX_QUEUED_BYTES: usize = 8 * 1024 * 1024;
/// The backoff between attempts to write.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(50), max: Duration::from_secs(5) };

/// How long a stopping agent waits for queued events.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

const OUTAGE_NOTICE: &str = "The database was unavailable for a while; the events of that time follow.";
const DROPPED_NOTICE: &str = "The database was unavailable for so long that some events were dropped. All messages are in the \
     conversation.";

/// The event log. Clones share it.
#[derive(Clone)]
pub(crate) struct StreamLog(Arc<Inner>);

struct Inner {
    store: Store,
    hub: Hub,
    clock_and_rng: Arc<dyn ClockAndRng>,
    runtime: Handle,
    queues: Mutex<HashMap<ConversationId, EventQueue>>,
    /// The number of conversations being written.
    writing: watch::Sender<usize>,
}

/// The queued events of a conversation.
#[derive(Default)]
struct EventQueue {
    current: CurrentTurn,
    waiting: VecDeque<UnnumberedEvent>,
    bytes: usize,
    writing: bool,
    /// Whether events were dropped.
    dropped: bool,
}

impl EventQueue {
    fn add(&mut self, draft: UnnumberedEvent) {
        let size = size(&draft.event);
        if self.bytes + size > MAX_QUEUED_BYTES && is_bulk(&draft.event) {
            self.dropped = true;
            return;
        }
        self.bytes += size;
        if let (StreamEvent::TextDelta { turn_id, text }, Some(last)) =
            (&draft.event, self.waiting.back_mut())
            && let StreamEvent::TextDelta { turn_id: last_turn, text: last_text } = &mut last.event
            && (&*last_turn, last.trust) == (turn_id, draft.trust)
            && last_text.len() + text.len() <= MAX_TEXT_BYTES
        {
            last_text.push_str(text);
            return;
        }
        self.waiting.push_back(draft);
    }

    fn take(&mut self) -> Vec<UnnumberedEvent> {
        let count = self.waiting.len().min(MAX_BATCH);
        let taken: Vec<UnnumberedEvent> = self.waiting.drain(..count).collect();
        let size: usize = taken.iter().map(|draft| size(&draft.event)).sum();
        self.bytes = self.bytes.saturating_sub(size);
        taken
    }

    fn is_idle(&self) -> bool {
        !self.writing && self.current.turn.is_none()
    }

    /// Queues a notice of the outage before all other events.
    fn push_outage_notice(&mut self) {
        let text = if std::mem::take(&mut self.dropped) { DROPPED_NOTICE } else { OUTAGE_NOTICE };
        let event = StreamEvent::Status { turn_id: self.current.turn.clone(), message: text.to_owned() };
        self.waiting.push_front(UnnumberedEvent { trust: self.current.trust, event });
    }
}

impl StreamLog {
    /// A log in `store`, published by `hub`. Writes on the current runtime.
    pub(crate) fn new(store: Store, hub: Hub, clock_and_rng: Arc<dyn ClockAndRng>) -> Self {
        let (queues, writing, runtime) = (Mutex::default(), watch::Sender::new(0), Handle::current());
        Self(Arc::new(Inner { store, hub, clock_and_rng, runtime, queues, writing }))
    }

    /// Whether events of this conversation are being written, and will be published.
    pub(super) fn is_writing(&self, conversation: &ConversationId) -> bool {
        self.0.queues.lock().get(conversation).is_some_and(|queue| queue.writing)
    }

    /// Writes the queued events of a conversation.
    async fn write(self, conversation: ConversationId) {
        while let Some(drafts) = self.next(&conversation) {
            let trusts: Vec<Trust> = drafts.iter().map(|draft| draft.trust).collect();
            // Serialising strings, numbers and JSON can't fail.
            let items: Vec<String> = drafts
                .iter()
                .map(|draft| serde_json::to_string(&draft.event).unwrap_or_else(|_| "{}".to_owned()))
                .collect();
            let new = trusts
                .iter()
                .zip(&items)
                .map(|(trust, item)| NewStreamItem { trust: *trust, item: item.clone() });
            match self.append(&conversation, new.collect()).await {
                Some(first) => self.0.hub.publish(&conversation, first, trusts.into_iter().zip(items)),
                // The conversation was deleted and has no subscribers.
                None => {
                    self.0.queues.lock().remove(&conversation);
                    break;
                }
            }
        }
        self.0.writing.send_modify(|writing| *writing -= 1);
    }

    /// Appends events, retrying while the database is unavailable. `None` if the conversation does not exist.
    async fn append(&self, conversation: &ConversationId, items: Vec<NewStreamItem>) -> Option<u64> {
        let mut failures = 0;
        loop {
            let now = self.0.clock_and_rng.timestamp();
            match self.0.store.append_stream(conversation, items.clone(), now).await {
                Ok(first) => {
                    if let Some(queue) = self.0.queues.lock().get_mut(conversation)
                        && (failures > 0 || queue.dropped)
                    {
                        queue.push_outage_notice();
                    }
                    return Some(first);
                }
                Err(StoreError::NotFound { .. }) => return None,
                Err(_) => {
                    failures += 1;
                    tokio::time::sleep(BACKOFF.delay(failures)).await;
                }
            }
        }
    }

    fn next(&self, conversation: &ConversationId) -> Option<Vec<UnnumberedEvent>> {
        let mut queues = self.0.queues.lock();
        let queue = queues.get_mut(conversation)?;
        let drafts = queue.take();
        if drafts.is_empty() {
            queue.writing = false;
            return None;
        }
        Some(drafts)
    }
}

impl FeedObserver for StreamLog {
    fn observe(&self, conversation: &ConversationId, progress: &Progress) {
        let mut queues = self.0.queues.lock();
        if queues.len() >= MAX_IDLE_QUEUES && !queues.contains_key(conversation) {
            queues.retain(|_, queue| !queue.is_idle());
        }
        let queue = queues.entry(conversation.clone()).or_default();
        for draft in queue.current.events_for(progress) {
            queue.add(draft);
        }
        if !queue.waiting.is_empty() && !std::mem::replace(&mut queue.writing, true) {
            self.0.writing.send_modify(|writing| *writing += 1);
            self.0.runtime.spawn(self.clone().write(conversation.clone()));
        }
    }

    fn remote_question<'a>(
        &'a self,
        conversation: &'a ConversationId,
        turn: &'a TurnId,
    ) -> Pin<Box<dyn Future<Output = Result<Option<String>, StoreError>> + Send + 'a>> {
        Box::pin(open_question::in_stream(&self.0.store, conversation, turn))
    }

    /// Waits until all events are stored, with a timeout. Messages are stored separately.
    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let mut writing = self.0.writing.subscribe();
            let _ = tokio::time::timeout(FLUSH_TIMEOUT, writing.wait_for(|writing| *writing == 0)).await;
        })
    }
}

/// The approximate size in memory.
fn size(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::TextDelta { text, .. } => text.len(),
        StreamEvent::Status { message, .. } => message.len(),
        StreamEvent::ToolResult { content, .. } => content.len() + 100,
        StreamEvent::ToolCall { arguments, .. } | StreamEvent::Question { arguments, .. } => {
            arguments.to_string().len() + 100
        }
        StreamEvent::Error { message, .. } => message.len() + 100,
        StreamEvent::TurnStart { .. }
        | StreamEvent::TurnEnd { .. }
        | StreamEvent::SessionCompacted { .. } => 200,
    }
}

/// Whether the event may be dropped from a full queue. Start and end of turns may not.
fn is_bulk(event: &StreamEvent) -> bool {
    !matches!(event, StreamEvent::TurnStart { .. } | StreamEvent::TurnEnd { .. } | StreamEvent::Error { .. })
}

#[cfg(test)]
mod tests;
