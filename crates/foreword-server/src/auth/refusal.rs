//! Rate limit errors of a token.

use std::time::Duration;

use foreword_core::money::Money;
use http::StatusCode;

use crate::problem::Problem;

/// The `Retry-After` for a running turn.
const TURN_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Why a token is limited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Refusal {
    TooManyRequests {
        /// Requests per minute.
        limit: u64,
        wait: Duration,
    },
    TooManyTurns {
        /// Concurrent turns.
        limit: u64,
    },
    Spent {
        /// US dollars per day.
        limit: f64,
        wait: Duration,
    },
}

impl Refusal {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::TooManyRequests { .. } => "too_many_requests",
            Self::TooManyTurns { .. } => "too_many_turns",
            Self::Spent { .. } => "daily_budget_exceeded",
        }
    }

    pub(crate) fn detail(&self) -> String {
        match self {
            Self::TooManyRequests { limit, .. } => {
                format!("this token is limited to {limit} requests per minute")
            }
            Self::TooManyTurns { limit } => format!("this token is limited to {limit} concurrent turns"),
            Self::Spent { limit, .. } => {
                let limit = Money::from_dollars(*limit);
                format!("this token has spent its limit of {limit} per day")
            }
        }
    }

    pub(crate) fn retry_after(&self) -> u64 {
        let wait = match self {
            Self::TooManyRequests { wait, .. } | Self::Spent { wait, .. } => *wait,
            Self::TooManyTurns { .. } => TURN_RETRY_AFTER,
        };
        wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, refusal.code(), refusal.detail())
            .help("wait for the time in `retry-after`; the owner sets the limits in `server.limits`, or for each token")
            .retry_after(refusal.retry_after())
    }
}
