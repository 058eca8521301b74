//! A bounded, non-blocking queue to the exporter. Items that do not fit are counted as dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use super::span::Span;
use crate::redact::Redacted;

/// An item of the queue.
pub(super) enum Item {
    Event(Redacted),
    /// A finished library span.
    Library(Box<Span>),
    /// No items follow.
    Stop,
}

/// The sending side. Clones share one queue.
#[derive(Clone)]
pub(super) struct Queue {
    pub(super) items: mpsc::Sender<Item>,
    pub(super) dropped: Arc<AtomicU64>,
}

impl Queue {
    pub(super) fn put(&self, item: Item) {
        if self.items.try_send(item).is_err() {
            self.count_dropped(1);
        }
    }

    pub(super) fn count_dropped(&self, number: u64) {
        self.dropped.fetch_add(number, Ordering::Relaxed);
    }
}
