//! Notifies subscribers of new events. The latest events of a conversation are buffered once for all subscribers; each
//! reads at its own pace, and a slow one reads from the store. A slow subscriber delays no one, and a subscription is
//! cheap.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::wire_event::{Heading, WireEvent};

/// The buffer size of a conversation.
const MAX_BUFFERED_EVENTS: usize = 256;
const MAX_BUFFERED_BYTES: usize = 256 * 1024;
/// The number of events read at once.
pub(super) const PAGE_SIZE: usize = 64;

/// All conversations with subscribers on this node. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Hub(Arc<Mutex<HashMap<ConversationId, Weak<Channel>>>>);

/// A conversation with subscribers.
pub(super) struct Channel {
    pub(super) conversation: ConversationId,
    pub(super) heading: Heading,
    state: Mutex<State>,
    /// Held while events of other nodes are read.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    items: VecDeque<WireEvent>,
    bytes: usize,
    /// The last known number, buffered or not.
    last: u64,
    listeners: Vec<Arc<Notify>>,
}

impl Hub {
    /// The channel of a conversation. It exists for as long as it is referenced.
    pub(super) fn channel(&self, conversation: &ConversationId) -> Arc<Channel> {
        let mut channels = self.0.lock();
        if let Some(channel) = channels.get(conversation).and_then(Weak::upgrade) {
            return channel;
        }
        channels.retain(|_, channel| channel.strong_count() > 0);
        let channel = Arc::new(Channel {
            conversation: conversation.clone(),
            heading: Heading::of(conversation),
            state: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
        });
        channels.insert(conversation.clone(), Arc::downgrade(&channel));
        channel
    }

    /// The channel, if there are subscribers.
    pub(super) fn existing(&self, conversation: &ConversationId) -> Option<Arc<Channel>> {
        self.0.lock().get(conversation).and_then(Weak::upgrade)
    }

    /// The channel and the last stored number. The channel is created first, so that no event published in between is
    /// missed.
    pub(super) async fn join(
        &self,
        store: &Store,
        conversation: &ConversationId,
    ) -> Result<(Arc<Channel>, u64), StoreError> {
        let channel = self.channel(conversation);
        let last = store.stream(conversation, 0, 0).await?.last;
        channel.advance_to(last);
        Ok((channel, last))
    }

    pub(super) fn all(&self) -> Vec<Arc<Channel>> {
        self.0.lock().values().filter_map(Weak::upgrade).collect()
    }

    /// Publishes stored events, numbered from `first` on.
    pub(super) fn publish(
        &self,
        conversation: &ConversationId,
        first: u64,
        items: impl Iterator<Item = (Trust, String)>,
    ) {
        if let Some(channel) = self.existing(conversation) {
            let heading = &channel.heading;
            let items = (first..).zip(items).map(|(seq, (trust, item))| heading.encode(seq, trust, &item));
            channel.add(items.collect());
        }
    }
}

impl Channel {
    pub(super) fn last(&self) -> u64 {
        self.state.lock().last
    }

    /// Adds a listener, which is notified of new events.
    pub(super) fn listen(&self, listener: &Arc<Notify>) {
        self.state.lock().listeners.push(Arc::clone(listener));
    }

    /// Removes a listener.
    pub(super) fn unlisten(&self, listener: &Arc<Notify>) {
        let mut state = self.state.lock();
        if let Some(place) = state.listeners.iter().position(|other| Arc::ptr_eq(other, listener)) {
            state.listeners.swap_remove(place);
        }
    }

    /// Sets the last stored number and notifies the listeners.
    pub(super) fn advance_to(&self, last: u64) {
        let mut state = self.state.lock();
        if state.last < last {
            state.last = last;
            state.listeners.iter().for_each(|listener| listener.notify_one());
        }
    }

    /// The buffered events after `after`; `None` if the next one is not buffered.
    pub(super) fn buffered_after(&self, after: u64) -> Option<Vec<WireEvent>> {
        let state = self.state.lock();
        let first = state.items.front()?.seq;
        let skip = usize::try_from((after + 1).checked_sub(first)?).ok()?;
        let items: Vec<WireEvent> = state.items.iter().skip(skip).take(PAGE_SIZE).cloned().collect();
        (!items.is_empty()).then_some(items)
    }

    /// Whether the event after `after` has left the buffer.
    pub(super) fn has_evicted(&self, after: u64) -> bool {
        self.state.lock().items.front().is_some_and(|first| first.seq > after + 1)
    }

    /// Whether the last event is not the end of a turn.
    pub(super) fn is_mid_turn(&self) -> bool {
        self.state.lock().items.back().is_some_and(|last| !last.text.contains("\"type\":\"turn_end\""))
    }

    /// Buffers consecutive events, without those already buffered.
    fn add(&self, items: Vec<WireEvent>) {
        let mut state = self.state.lock();
        for item in items {
            match state.items.back().map(|newest| newest.seq) {
                Some(newest) if item.seq <= newest => continue,
                Some(newest) if item.seq > newest + 1 => {
                    // The events in between are in the store.
                    state.items.clear();
                    state.bytes = 0;
                }
                _ => {}
            }
            state.bytes += item.text.len();
            state.last = state.last.max(item.seq);
            state.items.push_back(item);
        }
        while state.items.len() > MAX_BUFFERED_EVENTS
            || (state.bytes > MAX_BUFFERED_BYTES && state.items.len() > 1)
        {
            let gone = state.items.pop_front();
            state.bytes -= gone.map_or(0, |gone| gone.text.len());
        }
        state.listeners.iter().for_each(|listener| listener.notify_one());
    }

    /// Reads events of other nodes up to `last`, once for all subscribers.
    pub(super) async fn fetch(&self, store: &Store, last: u64) -> Result<(), StoreError> {
        let _alone = self.fetching.lock().await;
        loop {
            let newest = {
                let state = self.state.lock();
                state.items.back().map_or(state.last, |newest| newest.seq)
            };
            if newest >= last {
                return Ok(());
            }
            let page = store
                .stream(&self.conversation, newest, u32::try_from(PAGE_SIZE).unwrap_or(u32::MAX))
                .await?;
            if page.items.is_empty() {
                self.advance_to(page.last);
                return Ok(());
            }
            let encode = |item: &foreword_store::streams::StreamItem| {
                self.heading.encode(item.seq, item.trust, &item.item)
            };
            self.add(page.items.iter().map(encode).collect());
        }
    }
}
