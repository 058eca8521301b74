//! Why a token gets nothing now, and when it may ask again.

use std::time::Duration;

use foreword_core::money::Money;
use http::StatusCode;

use crate::problem::Problem;

/// How long to wait for a turn to end, as a first guess.
const TURN: Duration = Duration::from_secs(1);

/// Why a token gets nothing now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Refusal {
    /// It has asked too often.
    TooManyRequests {
        /// How often it may, in a minute.
        limit: u64,
        /// When it may again.
        wait: Duration,
    },
    /// Too many of its turns are under way.
    TooManyTurns {
        /// How many may be.
        limit: u64,
    },
    /// It has spent what it may in a day.
    Spent {
        /// How much that is, in US dollars.
        limit: f64,
        /// When the next day begins.
        wait: Duration,
    },
}

impl Refusal {
    /// A word for programs.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::TooManyRequests { .. } => "too_many_requests",
            Self::TooManyTurns { .. } => "too_many_turns",
            Self::Spent { .. } => "spent_for_today",
        }
    }

    /// What happened, for people.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::TooManyRequests { limit, .. } => format!("this token may ask {limit} times in a minute"),
            Self::TooManyTurns { limit } => format!("this token may have {limit} turns under way at a time"),
            Self::Spent { limit, .. } => {
                let limit = Money::from_dollars(*limit);
                format!("this token may spend {limit} in a day, and has")
            }
        }
    }

    /// After how many seconds to try again.
    pub(crate) fn retry_after(&self) -> u64 {
        let wait = match self {
            Self::TooManyRequests { wait, .. } | Self::Spent { wait, .. } => *wait,
            Self::TooManyTurns { .. } => TURN,
        };
        wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, refusal.code(), refusal.detail())
            .help("wait as long as `retry-after` says; the owner sets the limits in `server.limits`, or for one token")
            .retry_after(refusal.retry_after())
    }
}
