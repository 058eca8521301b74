//! Whether a turn that failed over a message may have failed because of it. A wrong key or a provider that is down says
//! nothing against anybody's message.

use crate::model::ErrorKind;
use crate::turn_journal::{Outcome, TurnState};

/// Whose fault it was that a turn over the inbox failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The message's, for all that is known: whoever fails over it often enough sets it aside.
    Message,
    /// Nobody's who has written: the configuration, the provider, the network, or whoever ended the turn.
    Circumstances,
}

/// Whose fault it was, told from what every node can read of the turn: how it ended, whether the model was asked
/// anything, and the notice it left in its conversation. What is not known is the message's fault, or one that no turn
/// can answer would be tried for ever.
///
/// ```
/// use foreword_core::sender::{Fault, whose_fault};
/// use foreword_core::turn_journal::{Outcome, TurnState};
/// let failed = TurnState::Ended(Outcome::Failed);
/// let refused = whose_fault(failed, true, Some("This turn failed: request refused."));
/// assert_eq!(refused, Fault::Message);
/// let wrong_key = whose_fault(failed, true, Some("This turn failed: not authorised."));
/// assert_eq!(wrong_key, Fault::Circumstances);
/// ```
#[must_use]
pub fn whose_fault(state: TurnState, asked: bool, notice: Option<&str>) -> Fault {
    match state {
        TurnState::Ended(Outcome::Failed) if asked => {
            let of_circumstances = |kind: &ErrorKind| notice == Some(&format!("This turn failed: {kind}."));
            match CIRCUMSTANCES.iter().any(of_circumstances) {
                true => Fault::Circumstances,
                false => Fault::Message,
            }
        }
        // Its prompt could not be made, somebody has stopped it, or its node is gone.
        _ => Fault::Circumstances,
    }
}

/// What fails whatever a message says.
const CIRCUMSTANCES: [ErrorKind; 7] = [
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
    fn only_what_may_be_the_messages_own_counts_against_it() {
        let failed = TurnState::Ended(Outcome::Failed);
        for (state, asked, notice, expected) in [
            (failed, true, "This turn failed: not authorised.", Fault::Circumstances),
            (failed, true, "This turn failed: rate limited.", Fault::Circumstances),
            (failed, true, "This turn failed: provider unavailable.", Fault::Circumstances),
            (failed, true, "This turn failed: network error.", Fault::Circumstances),
            (failed, true, "This turn failed: no answer in time.", Fault::Circumstances),
            (failed, true, "This turn failed: unknown model.", Fault::Circumstances),
            (failed, true, "This turn failed: not configured.", Fault::Circumstances),
            (failed, true, "This turn failed: request refused.", Fault::Message),
            (failed, true, "This turn failed: the answer broke off.", Fault::Message),
            (failed, true, "This turn failed: the conversation is too long for the model.", Fault::Message),
            (failed, true, "This turn failed: the turn took longer than 5 seconds.", Fault::Message),
            (failed, false, "This turn failed: the prompt is too long.", Fault::Circumstances),
            (TurnState::Ended(Outcome::Cancelled), true, "This turn was cancelled.", Fault::Circumstances),
            (TurnState::Interrupted, true, "cut off", Fault::Circumstances),
        ] {
            assert_eq!(whose_fault(state, asked, Some(notice)), expected, "{state} {asked} {notice}");
        }
        assert_eq!(whose_fault(failed, true, None), Fault::Message);
    }
}
