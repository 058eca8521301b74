//! What waits to be sent to a client. What has happened is taken only when nothing waits; but a client that asks and does not
//! read has answers waiting, and of those there may be only so many.

use std::collections::VecDeque;

use axum::extract::ws::Utf8Bytes;

/// How many texts may wait for a client that asks and does not read.
const MOST: usize = 256;
/// How long its answers may be, together.
const MOST_BYTES: usize = 1024 * 1024;

/// What waits to be sent, in order.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    waiting: VecDeque<Waiting>,
    /// How long the answers among them are.
    bytes: usize,
}

#[derive(Debug)]
enum Waiting {
    Answer(Utf8Bytes),
    Happening(Utf8Bytes),
}

/// More waits than may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

impl Outgoing {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds something that has happened.
    pub(super) fn tell(&mut self, text: Utf8Bytes) {
        self.waiting.push_back(Waiting::Happening(text));
    }

    /// Adds an answer.
    pub(super) fn answer(&mut self, text: Utf8Bytes) -> Result<(), TooMuch> {
        self.bytes += text.len();
        self.waiting.push_back(Waiting::Answer(text));
        if self.waiting.len() > MOST || self.bytes > MOST_BYTES { Err(TooMuch) } else { Ok(()) }
    }

    /// What is next.
    pub(super) fn take(&mut self) -> Option<Utf8Bytes> {
        match self.waiting.pop_front()? {
            Waiting::Happening(text) => Some(text),
            Waiting::Answer(text) => {
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
    fn answers_wait_up_to_a_number_and_a_length() {
        let mut many = Outgoing::default();
        assert!((0..MOST).all(|_| many.answer(text(1)).is_ok()));
        assert_eq!(many.answer(text(1)), Err(TooMuch));
        let mut long = Outgoing::default();
        assert_eq!(long.answer(text(MOST_BYTES)), Ok(()));
        assert_eq!(long.answer(text(1)), Err(TooMuch));
    }

    #[test]
    fn what_was_sent_and_what_has_happened_do_not_count() {
        let mut outgoing = Outgoing::default();
        for _ in 0..3 {
            outgoing.tell(text(MOST_BYTES));
            assert_eq!(outgoing.answer(text(MOST_BYTES)), Ok(()));
            assert!(outgoing.take().is_some() && outgoing.take().is_some());
        }
        assert!(outgoing.is_empty() && outgoing.take().is_none());
    }
}
