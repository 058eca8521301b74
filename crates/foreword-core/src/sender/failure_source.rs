//! Decides whether a turn failed because of a message. A wrong API key or an unavailable provider does not count
//! against the message.

use crate::model::ErrorKind;
use crate::turn_journal::{Outcome, TurnState};

/// What made an inbox turn fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureSource {
    /// Possibly the message. After enough such failures it is set aside.
    Message,
    /// The configuration, the provider, the network, or a cancellation.
    Environment,
}

/// The source of a failure, from data that every node can read: the state of the turn, whether the model was called,
/// and the notice in the conversation. An unknown failure counts against the message, otherwise an unanswerable message
/// would be retried forever.
///
/// ```
/// use foreword_core::sender::{FailureSource, failure_source};
/// use foreword_core::turn_journal::{Outcome, TurnState};
/// let failed = TurnState::Ended(Outcome::Failed);
/// let refused = failure_source(failed, true, Some("This turn failed: request refused."));
/// assert_eq!(refused, FailureSource::Message);
/// let wrong_key = failure_source(failed, true, Some("This turn failed: not authorised."));
/// assert_eq!(wrong_key, FailureSource::Environment);
/// ```
#[must_use]
pub fn failure_source(state: TurnState, asked: bool, notice: Option<&str>) -> FailureSource {
    match state {
        TurnState::Ended(Outcome::Failed) if asked => {
            let of_circumstances = |kind: &ErrorKind| notice == Some(&format!("This turn failed: {kind}."));
            match ENVIRONMENT_ERRORS.iter().any(of_circumstances) {
                true => FailureSource::Environment,
                false => FailureSource::Message,
            }
        }
        // The prompt could not be built, the turn was cancelled, or its node died.
        _ => FailureSource::Environment,
    }
}

/// Errors that do not depend on the message.
const ENVIRONMENT_ERRORS: [ErrorKind; 7] = [
    ErrorKind::RateLimited,
    ErrorKind::Unavailable,
    ErrorKind::Network,
    ErrorKind::Timeout,
    ErrorKind::Authentication,
    ErrorKind::UnknownModel,
    ErrorKind::NotConfigured,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_errors_do_not_count_against_messages() {
        let failed = TurnState::Ended(Outcome::Failed);
        for (state, asked, notice, expected) in [
            (failed, true, "This turn failed: not authorised.", FailureSource::Environment),
            (failed, true, "This turn failed: rate limited.", FailureSource::Environment),
            (failed, true, "This turn failed: provider unavailable.", FailureSource::Environment),
            (failed, true, "This turn failed: network error.", FailureSource::Environment),
            (failed, true, "This turn failed: no answer in time.", FailureSource::Environment),
            (failed, true, "This turn failed: unknown model.", FailureSource::Environment),
            (failed, true, "This turn failed: not configured.", FailureSource::Environment),
            (failed, true, "This turn failed: request refused.", FailureSource::Message),
            (failed, true, "This turn failed: the answer broke off.", FailureSource::Message),
            (
                failed,
                true,
                "This turn failed: the conversation is too long for the model.",
                FailureSource::Message,
            ),
            (failed, true, "This turn failed: the turn took longer than 5 seconds.", FailureSource::Message),
            (failed, false, "This turn failed: the prompt is too long.", FailureSource::Environment),
            (
                TurnState::Ended(Outcome::Cancelled),
                true,
                "This turn was cancelled.",
                FailureSource::Environment,
            ),
            (TurnState::Interrupted, true, "cut off", FailureSource::Environment),
        ] {
            assert_eq!(failure_source(state, asked, Some(notice)), expected, "{state} {asked} {notice}");
        }
        assert_eq!(failure_source(failed, true, None), FailureSource::Message);
    }
}
