//! Where those who look on at a conversation are told that there is more. What was shown last is kept once for all of them;
//! each reads at its own pace, and one who falls behind reads from the record. So nobody holds up anybody, and a reader costs
//! a number.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use tokio::sync::Notify;

use super::shown::{Heading, Shown};

/// How much of a conversation is kept for those who look on.
const KEPT: usize = 256;
const KEPT_BYTES: usize = 256 * 1024;
/// How much is read at once.
pub(super) const PAGE: usize = 64;

/// All conversations that somebody looks on at here. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Hub(Arc<Mutex<HashMap<ConversationId, Weak<Channel>>>>);

/// A conversation that somebody looks on at.
pub(super) struct Channel {
    pub(super) conversation: ConversationId,
    pub(super) heading: Heading,
    state: Mutex<State>,
    /// Held while what other nodes have written is read.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    items: VecDeque<Shown>,
    bytes: usize,
    /// The last number that is known of, kept or not.
    last: u64,
    listeners: Vec<Arc<Notify>>,
}

impl Hub {
    /// The channel of a conversation, which is there as long as somebody holds it.
    pub(super) fn channel(&self, conversation: &ConversationId) -> Arc<Channel> {
        let mut channels = self.channels();
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

    /// The channel, if somebody looks on.
    pub(super) fn existing(&self, conversation: &ConversationId) -> Option<Arc<Channel>> {
        self.channels().get(conversation).and_then(Weak::upgrade)
    }

    /// The channel, and the last number on record. What is shown while that is asked for is not missed: whoever asks first and
    /// listens then would.
    pub(super) async fn join(
        &self,
        store: &Store,
        conversation: &ConversationId,
    ) -> Result<(Arc<Channel>, u64), StoreError> {
        let channel = self.channel(conversation);
        let last = store.stream(conversation, 0, 0).await?.last;
        channel.reached(last);
        Ok((channel, last))
    }

    /// All there are.
    pub(super) fn all(&self) -> Vec<Arc<Channel>> {
        self.channels().values().filter_map(Weak::upgrade).collect()
    }

    /// Shows items that are on record from number `first` on.
    pub(super) fn show(
        &self,
        conversation: &ConversationId,
        first: u64,
        items: impl Iterator<Item = (Trust, String)>,
    ) {
        if let Some(channel) = self.existing(conversation) {
            let heading = &channel.heading;
            let items = (first..).zip(items).map(|(seq, (trust, item))| heading.show(seq, trust, &item));
            channel.add(items.collect());
        }
    }

    fn channels(&self) -> MutexGuard<'_, HashMap<ConversationId, Weak<Channel>>> {
        // Nothing can fail while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Channel {
    /// The last number that is known of.
    pub(super) fn last(&self) -> u64 {
        self.state().last
    }

    /// Tells `listener` from now on when there is more.
    pub(super) fn listen(&self, listener: &Arc<Notify>) {
        self.state().listeners.push(Arc::clone(listener));
    }

    /// Lets go of a listener.
    pub(super) fn leave(&self, listener: &Arc<Notify>) {
        let mut state = self.state();
        if let Some(place) = state.listeners.iter().position(|other| Arc::ptr_eq(other, listener)) {
            state.listeners.swap_remove(place);
        }
    }

    /// Notes that there is something up to number `last` on record.
    pub(super) fn reached(&self, last: u64) {
        let mut state = self.state();
        if state.last < last {
            state.last = last;
            state.listeners.iter().for_each(|listener| listener.notify_one());
        }
    }

    /// What is kept behind number `after`; `None` if the next is not.
    pub(super) fn kept_after(&self, after: u64) -> Option<Vec<Shown>> {
        let state = self.state();
        let first = state.items.front()?.seq;
        let skip = usize::try_from((after + 1).checked_sub(first)?).ok()?;
        let items: Vec<Shown> = state.items.iter().skip(skip).take(PAGE).cloned().collect();
        (!items.is_empty()).then_some(items)
    }

    /// Whether what follows number `after` was kept, and is not any more.
    pub(super) fn has_passed(&self, after: u64) -> bool {
        self.state().items.front().is_some_and(|first| first.seq > after + 1)
    }

    /// Whether the last that was shown is not the end of a turn.
    pub(super) fn is_amid_a_turn(&self) -> bool {
        self.state().items.back().is_some_and(|last| !last.text.contains("\"type\":\"turn_end\""))
    }

    /// Keeps what is new of items that follow each other.
    fn add(&self, items: Vec<Shown>) {
        let mut state = self.state();
        for item in items {
            match state.items.back().map(|newest| newest.seq) {
                Some(newest) if item.seq <= newest => continue,
                Some(newest) if item.seq > newest + 1 => {
                    // What lies between is on record.
                    state.items.clear();
                    state.bytes = 0;
                }
                _ => {}
            }
            state.bytes += item.text.len();
            state.last = state.last.max(item.seq);
            state.items.push_back(item);
        }
        while state.items.len() > KEPT || (state.bytes > KEPT_BYTES && state.items.len() > 1) {
            let gone = state.items.pop_front();
            state.bytes -= gone.map_or(0, |gone| gone.text.len());
        }
        state.listeners.iter().for_each(|listener| listener.notify_one());
    }

    /// Reads once for all what others have written up to number `last`.
    pub(super) async fn fetch(&self, store: &Store, last: u64) -> Result<(), StoreError> {
        let _alone = self.fetching.lock().await;
        loop {
            let newest = {
                let state = self.state();
                state.items.back().map_or(state.last, |newest| newest.seq)
            };
            if newest >= last {
                return Ok(());
            }
            let page =
                store.stream(&self.conversation, newest, u32::try_from(PAGE).unwrap_or(u32::MAX)).await?;
            if page.items.is_empty() {
                self.reached(page.last);
                return Ok(());
            }
            let show = |item: &foreword_store::streams::StreamItem| {
                self.heading.show(item.seq, item.trust, &item.item)
            };
            self.add(page.items.iter().map(show).collect());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing can fail while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
