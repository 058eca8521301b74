//! A request as a cache sees it: a head (tools, then the system prompt), the messages, and the breakpoints. Rejects
//! requests that a provider would reject.

use super::chain::{Chain, Prefix, mix};
use crate::models::cache_limits::MAX_BREAKPOINTS;
use crate::price::CacheTtl;

/// A cache breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheMarker {
    /// The number of segments before it.
    pub at: usize,
    /// The requested time to live.
    pub ttl: CacheTtl,
}

/// Why a provider would reject a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// More breakpoints than any provider accepts.
    #[error("{count} cache breakpoints in one request: at most {MAX_BREAKPOINTS} are allowed")]
    TooManyMarks {
        /// The number of breakpoints.
        count: usize,
    },
    /// A breakpoint that is out of range or not in order.
    #[error("the cache breakpoint after segment {at} is out of range or out of order")]
    OutOfPlace {
        /// Its position.
        at: usize,
    },
    /// One-hour breakpoints must come before five-minute ones.
    #[error("the cache breakpoint after segment {at} has a TTL of one hour but follows one of five minutes")]
    ShorterFirst {
        /// The position of the longer one.
        at: usize,
    },
}

/// A simulated request.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedRequest<'a> {
    head: &'a Chain,
    messages: &'a Chain,
    marks: &'a [CacheMarker],
}

impl<'a> SimulatedRequest<'a> {
    /// A request of a head, the messages after it, and breakpoints in order.
    ///
    /// # Errors
    /// If a provider would reject it.
    ///
    /// ```
    /// use foreword_core::price::CacheTtl;
    /// use foreword_core::simulate::{BadRequest, Chain, Identity, CacheMarker, SimulatedRequest, ChainSegment};
    /// let head: Chain = (0..5).map(|name| ChainSegment { identity: Identity(name), tokens: 100 }).collect();
    /// let marks: Vec<CacheMarker> = (1..=5).map(|at| CacheMarker { at, ttl: CacheTtl::FiveMinutes }).collect();
    /// let messages = Chain::default();
    /// assert_eq!(SimulatedRequest::new(&head, &messages, &marks).err(), Some(BadRequest::TooManyMarks { count: 5 }));
    /// assert!(SimulatedRequest::new(&head, &messages, &marks[..4]).is_ok());
    /// ```
    pub fn new(head: &'a Chain, messages: &'a Chain, marks: &'a [CacheMarker]) -> Result<Self, BadRequest> {
        if marks.len() > MAX_BREAKPOINTS {
            return Err(BadRequest::TooManyMarks { count: marks.len() });
        }
        let request = Self { head, messages, marks };
        let mut before = CacheMarker { at: 0, ttl: CacheTtl::OneHour };
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

    /// The number of segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.head.len() + self.messages.len()
    }

    /// Whether it has no segments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The size in tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.head.tokens().saturating_add(self.messages.tokens())
    }

    /// The prefix of the first `segments`. Message prefixes combine the id of the whole head with their own chain, so
    /// that a changed head does not require rehashing a long conversation.
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

    pub(super) fn marks(&self) -> &'a [CacheMarker] {
        self.marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{ChainSegment, Identity};

    const FIVE: CacheTtl = CacheTtl::FiveMinutes;
    const HOUR: CacheTtl = CacheTtl::OneHour;

    fn check(marks: &[(usize, CacheTtl)], expected: &str) {
        let segment = |name| ChainSegment { identity: Identity(name), tokens: 1 };
        let (head, messages): (Chain, Chain) = ((0..3).map(segment).collect(), (3..6).map(segment).collect());
        let marks: Vec<CacheMarker> = marks.iter().map(|&(at, ttl)| CacheMarker { at, ttl }).collect();
        let found = SimulatedRequest::new(&head, &messages, &marks)
            .map_or_else(|error| error.to_string(), |_| "taken".into());
        assert_eq!(found, expected, "{marks:?}");
    }

    #[test]
    fn invalid_breakpoints_are_rejected() {
        check(&[], "taken");
        check(&[(1, HOUR), (2, HOUR), (3, FIVE), (6, FIVE)], "taken");
        check(
            &[(1, FIVE), (2, FIVE), (3, FIVE), (4, FIVE), (5, FIVE)],
            "5 cache breakpoints in one request: at most 4 are allowed",
        );
        let after = "the cache breakpoint after segment";
        check(&[(7, FIVE)], &format!("{after} 7 is out of range or out of order"));
        check(&[(0, FIVE)], &format!("{after} 0 is out of range or out of order"));
        check(&[(3, FIVE), (2, FIVE)], &format!("{after} 2 is out of range or out of order"));
        check(
            &[(1, FIVE), (2, HOUR)],
            &format!("{after} 2 has a TTL of one hour but follows one of five minutes"),
        );
    }

    #[test]
    fn same_messages_after_another_prefix_differ() {
        let segment = |name| ChainSegment { identity: Identity(name), tokens: 1 };
        let (one, other): (Chain, Chain) =
            ([segment(1)].into_iter().collect(), [segment(2)].into_iter().collect());
        let messages: Chain = [segment(3)].into_iter().collect();
        let id = |head| SimulatedRequest::new(head, &messages, &[]).map(|request| request.prefix(2).id);
        assert_ne!(id(&one), id(&other));
        assert_eq!(id(&one), id(&one));
    }
}
