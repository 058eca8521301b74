//! The way to the exporter: bounded, and never waited on. What does not fit is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use super::span::Span;
use crate::redact::Redacted;

/// What waits for the exporter.
pub(super) enum Item {
    Event(Redacted),
    /// A library's span that is over.
    Library(Box<Span>),
    /// Nothing comes after this.
    Stop,
}

/// The way in. Clones share one.
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
