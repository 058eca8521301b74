//! The script of a fake provider.

use std::collections::VecDeque;
use std::fmt;

use crate::{Received, Reply};

/// The answers of a fake provider: a list, followed by a fixed answer or a closure.
///
/// ```
/// use foreword_testkit::{Reply, Script};
/// let _ = Script::from([Reply::status(529), Reply::text("back again")]).then_always(Reply::text("and so on"));
/// let _ = Script::answering(|request| Reply::text(format!("you are number {}", request.number)));
/// ```
#[derive(Default)]
pub struct Script {
    replies: VecDeque<Reply>,
    then: Then,
}

#[derive(Default)]
enum Then {
    #[default]
    Refuse,
    Always(Box<Reply>),
    Answering(Box<dyn FnMut(&Received) -> Reply + Send>),
}

impl Script {
    /// Answers computed from the request.
    #[must_use]
    pub fn answering(answer: impl FnMut(&Received) -> Reply + Send + 'static) -> Self {
        Self::default().then_answering(answer)
    }

    /// Computes the answers after the end of the list from the request.
    #[must_use]
    pub fn then_answering(mut self, answer: impl FnMut(&Received) -> Reply + Send + 'static) -> Self {
        self.then = Then::Answering(Box::new(answer));
        self
    }

    /// Sets the answer after the end of the list. By default it is a 500 with an explanation.
    #[must_use]
    pub fn then_always(mut self, reply: Reply) -> Self {
        self.then = Then::Always(Box::new(reply));
        self
    }

    pub(crate) fn push(&mut self, reply: Reply) {
        self.replies.push_back(reply);
    }

    pub(crate) fn next(&mut self, request: &Received) -> Reply {
        if let Some(reply) = self.replies.pop_front() {
            return reply;
        }
        match &mut self.then {
            Then::Refuse => Reply::status(500).message("the script has no answer left"),
            Then::Always(reply) => Reply::clone(reply),
            Then::Answering(answer) => answer(request),
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("replies", &self.replies).finish_non_exhaustive()
    }
}

impl<const N: usize> From<[Reply; N]> for Script {
    fn from(replies: [Reply; N]) -> Self {
        Self { replies: replies.into(), then: Then::default() }
    }
}

impl From<Vec<Reply>> for Script {
    fn from(replies: Vec<Reply>) -> Self {
        Self { replies: replies.into(), then: Then::default() }
    }
}

impl From<Reply> for Script {
    /// Always the same answer.
    fn from(reply: Reply) -> Self {
        Self::default().then_always(reply)
    }
}
