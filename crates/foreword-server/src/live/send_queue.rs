//! The send queue of a client. Events are only queued when it is empty; replies to a client that does not read are
//! limited.

use std::collections::VecDeque;

use axum::extract::ws::Utf8Bytes;

/// The maximum number of queued messages.
const MAX_QUEUED: usize = 256;
/// The maximum size of queued replies.
const MAX_BYTES: usize = 1024 * 1024;

/// The queued messages, in order.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    queue: VecDeque<Queued>,
    /// The size of the queued replies.
    bytes: usize,
}

#[derive(Debug)]
enum Queued {
    Reply(Utf8Bytes),
    Event(Utf8Bytes),
}

/// The queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueueFull;

impl Outgoing {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn push_event(&mut self, text: Utf8Bytes) {
        self.queue.push_back(Queued::Event(text));
    }

    pub(super) fn push_reply(&mut self, text: Utf8Bytes) -> Result<(), QueueFull> {
        self.bytes += text.len();
        self.queue.push_back(Queued::Reply(text));
        if self.queue.len() > MAX_QUEUED || self.bytes > MAX_BYTES { Err(QueueFull) } else { Ok(()) }
    }

    pub(super) fn take(&mut self) -> Option<Utf8Bytes> {
        match self.queue.pop_front()? {
            Queued::Event(text) => Some(text),
            Queued::Reply(text) => {
                self.bytes -= text.len();
                Some(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(length: usize) -> Utf8Bytes {
        "x".repeat(length).into()
    }

    #[test]
    fn replies_are_limited_by_count_and_bytes() {
        let mut many = Outgoing::default();
        assert!((0..MAX_QUEUED).all(|_| many.push_reply(text(1)).is_ok()));
        assert_eq!(many.push_reply(text(1)), Err(QueueFull));
        let mut long = Outgoing::default();
        assert_eq!(long.push_reply(text(MAX_BYTES)), Ok(()));
        assert_eq!(long.push_reply(text(1)), Err(QueueFull));
    }

    #[test]
    fn sent_replies_and_events_do_not_count() {
        let mut outgoing = Outgoing::default();
        for _ in 0..3 {
            outgoing.push_event(text(MAX_BYTES));
            assert_eq!(outgoing.push_reply(text(MAX_BYTES)), Ok(()));
            assert!(outgoing.take().is_some() && outgoing.take().is_some());
        }
        assert!(outgoing.is_empty() && outgoing.take().is_none());
    }
}
