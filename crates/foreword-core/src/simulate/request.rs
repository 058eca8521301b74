//! One request as a cache sees it: a head (tools, then the system prompt), the messages, and the marks in them. A request that
//! a provider would refuse is refused here.

use super::chain::{Chain, Prefix, mix};
use crate::models::caching::MOST_MARKS;
use crate::price::CacheTtl;

/// A place up to which the provider is asked to cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// How many segments of the request stand before it.
    pub at: usize,
    /// For how long they are to be kept.
    pub ttl: CacheTtl,
}

/// Why a provider would refuse a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// More marks than any provider takes.
    #[error("{count} cache marks in one request: at most {MOST_MARKS} are taken")]
    TooManyMarks {
        /// How many there are.
        count: usize,
    },
    /// A mark behind the end, before the first segment, or not behind the mark before it.
    #[error("the cache mark behind {at} segments is out of place: marks stand within the request, in order")]
    OutOfPlace {
        /// Where it stands.
        at: usize,
    },
    /// What is kept for an hour must come before what is kept for five minutes.
    #[error("the cache mark behind {at} segments asks for an hour, and one before it for five minutes")]
    ShorterFirst {
        /// Where the longer one stands.
        at: usize,
    },
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    head: &'a Chain,
    messages: &'a Chain,
    marks: &'a [Mark],
}

impl<'a> Request<'a> {
    /// A request of a head, the messages behind it, and marks in order.
    ///
    /// # Errors
    /// If a provider would refuse it.
    ///
    /// ```
    /// use foreword_core::price::CacheTtl;
    /// use foreword_core::simulate::{BadRequest, Chain, Identity, Mark, Request, Segment};
    /// let head: Chain = (0..5).map(|name| Segment { identity: Identity(name), tokens: 100 }).collect();
    /// let marks: Vec<Mark> = (1..=5).map(|at| Mark { at, ttl: CacheTtl::FiveMinutes }).collect();
    /// let messages = Chain::default();
    /// assert_eq!(Request::new(&head, &messages, &marks).err(), Some(BadRequest::TooManyMarks { count: 5 }));
    /// assert!(Request::new(&head, &messages, &marks[..4]).is_ok());
    /// ```
    pub fn new(head: &'a Chain, messages: &'a Chain, marks: &'a [Mark]) -> Result<Self, BadRequest> {
        if marks.len() > MOST_MARKS {
            return Err(BadRequest::TooManyMarks { count: marks.len() });
        }
        let request = Self { head, messages, marks };
        let mut before = Mark { at: 0, ttl: CacheTtl::OneHour };
        for mark in marks {
            if mark.at <= before.at || mark.at > request.len() {
                return Err(BadRequest::OutOfPlace { at: mark.at });
            }
            if (before.ttl, mark.ttl) == (CacheTtl::FiveMinutes, CacheTtl::OneHour) {
                return Err(BadRequest::ShorterFirst { at: mark.at });
            }
            before = *mark;
        }
        Ok(request)
    }

    /// How many segments it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.head.len() + self.messages.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it weighs.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.head.tokens().saturating_add(self.messages.tokens())
    }

    /// The first `segments` of it. Messages are named by the whole head and their own chain, so that another head does not
    /// mean chaining a long conversation again.
    #[must_use]
    pub fn prefix(&self, segments: usize) -> Prefix {
        if segments <= self.head.len() {
            return self.head.prefix(segments);
        }
        let (head, said) =
            (self.head.prefix(self.head.len()), self.messages.prefix(segments - self.head.len()));
        Prefix { id: mix(head.id, said.id), tokens: head.tokens.saturating_add(said.tokens) }
    }

    pub(super) fn head(&self) -> &'a Chain {
        self.head
    }

    pub(super) fn messages(&self) -> &'a Chain {
        self.messages
    }

    pub(super) fn marks(&self) -> &'a [Mark] {
        self.marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Identity, Segment};

    const FIVE: CacheTtl = CacheTtl::FiveMinutes;
    const HOUR: CacheTtl = CacheTtl::OneHour;

    fn check(marks: &[(usize, CacheTtl)], expected: &str) {
        let segment = |name| Segment { identity: Identity(name), tokens: 1 };
        let (head, messages): (Chain, Chain) = ((0..3).map(segment).collect(), (3..6).map(segment).collect());
        let marks: Vec<Mark> = marks.iter().map(|&(at, ttl)| Mark { at, ttl }).collect();
        let found =
            Request::new(&head, &messages, &marks).map_or_else(|error| error.to_string(), |_| "taken".into());
        assert_eq!(found, expected, "{marks:?}");
    }

    #[test]
    fn marks_a_provider_would_refuse_are_refused() {
        check(&[], "taken");
        check(&[(1, HOUR), (2, HOUR), (3, FIVE), (6, FIVE)], "taken");
        check(
            &[(1, FIVE), (2, FIVE), (3, FIVE), (4, FIVE), (5, FIVE)],
            "5 cache marks in one request: at most 4 are taken",
        );
        let behind = "the cache mark behind";
        check(
            &[(7, FIVE)],
            &format!("{behind} 7 segments is out of place: marks stand within the request, in order"),
        );
        check(
            &[(0, FIVE)],
            &format!("{behind} 0 segments is out of place: marks stand within the request, in order"),
        );
        check(
            &[(3, FIVE), (2, FIVE)],
            &format!("{behind} 2 segments is out of place: marks stand within the request, in order"),
        );
        check(
            &[(1, FIVE), (2, HOUR)],
            &format!("{behind} 2 segments asks for an hour, and one before it for five minutes"),
        );
    }

    #[test]
    fn the_same_messages_behind_another_head_are_another_prefix() {
        let segment = |name| Segment { identity: Identity(name), tokens: 1 };
        let (one, other): (Chain, Chain) =
            ([segment(1)].into_iter().collect(), [segment(2)].into_iter().collect());
        let messages: Chain = [segment(3)].into_iter().collect();
        let id = |head| Request::new(head, &messages, &[]).map(|request| request.prefix(2).id);
        assert_ne!(id(&one), id(&other));
        assert_eq!(id(&one), id(&one));
    }
}
