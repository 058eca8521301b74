//! The course of a simulated conversation: number and size of turns, pauses, edits. Deterministic.

use std::str::FromStr;

/// The maximum number of turns: years of a busy conversation, still computed instantly.
pub const MAX_TURNS: usize = 100_000;
/// The maximum size of a message, answer or result, in tokens; more than any model accepts.
pub const MAX_TOKENS: usize = 10_000_000;
/// The maximum number of tool calls in a turn.
pub const MAX_ROUNDS: usize = 1_000;
/// The length of a night in seconds, longer than any cache retention.
pub const NIGHT_SECONDS: u64 = 8 * 3_600;

/// The course of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The number of user messages.
    pub turns: usize,
    /// The size of each message, in tokens.
    pub message: usize,
    /// The size of each answer.
    pub answer: usize,
    /// The number of tool calls per turn.
    pub tool_rounds: usize,
    /// The size of a tool call.
    pub tool_call: usize,
    /// The size of its result.
    pub tool_result: usize,
    /// The pauses between turns.
    pub pauses: Pauses,
    /// After how many turns a file of the workspace is edited, if ever.
    pub edit_every: Option<usize>,
    /// The request size that triggers compaction, if any.
    pub compact_above: Option<usize>,
    /// The size of the compaction prompt.
    pub summary_asked: usize,
    /// The size of the summary.
    pub summary: usize,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            turns: 100,
            message: 80,
            answer: 250,
            tool_rounds: 1,
            tool_call: 60,
            tool_result: 400,
            pauses: Pauses::every(90),
            edit_every: None,
            compact_above: None,
            summary_asked: 400,
            summary: 1_500,
        }
    }
}

impl Scenario {
    /// What a turn adds to the conversation, without changes to the workspace.
    #[must_use]
    pub fn turn_tokens(&self) -> usize {
        self.message + self.answer + self.tool_rounds * (self.tool_call + self.tool_result)
    }

    pub(super) fn check(&self) -> Result<(), BadScenario> {
        let tokens =
            [self.message, self.answer, self.tool_call, self.tool_result, self.summary_asked, self.summary];
        match self {
            _ if self.turns == 0 || self.turns > MAX_TURNS => Err(BadScenario::Turns { turns: self.turns }),
            _ if self.tool_rounds > MAX_ROUNDS => Err(BadScenario::Rounds { rounds: self.tool_rounds }),
            _ if self.edit_every == Some(0) => Err(BadScenario::EditEvery),
            _ => match tokens.into_iter().find(|tokens| *tokens > MAX_TOKENS) {
                Some(tokens) => Err(BadScenario::Tokens { tokens }),
                None => Ok(()),
            },
        }
    }
}

/// Why a conversation cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadScenario {
    /// No turn, or too many.
    #[error("{turns} turns can't be simulated: use 1 to {MAX_TURNS}")]
    Turns {
        /// The requested number.
        turns: usize,
    },
    /// Too many tool calls.
    #[error("{rounds} tool calls per turn can't be simulated: use at most {MAX_ROUNDS}")]
    Rounds {
        /// The requested number.
        rounds: usize,
    },
    /// A text larger than any model accepts.
    #[error("{tokens} tokens are more than any model accepts: use at most {MAX_TOKENS}")]
    Tokens {
        /// The requested number.
        tokens: usize,
    },
    /// Edits without a turn between them.
    #[error("an edit every 0 turns can't be simulated: use at least 1")]
    EditEvery,
    /// A request with breakpoints that a provider would reject.
    #[error(transparent)]
    Refused(#[from] super::BadRequest),
    /// A request beyond the context window.
    #[error("turn {turn} has {tokens} tokens, and the context window is {window}")]
    Overflow {
        /// The turn, counted from 1.
        turn: usize,
        /// The size of its request.
        tokens: usize,
        /// The context window.
        window: usize,
    },
}

/// The pauses between turns in seconds: constant, or a repeating sequence.
///
/// ```
/// use foreword_core::simulate::Pauses;
/// let pauses: Pauses = "10s..1m".parse()?;
/// let first: Vec<u64> = (0..7).map(|turn| pauses.before(turn)).collect();
/// assert_eq!(first, [0, 10, 20, 40, 60, 10, 20]);
/// # Ok::<(), foreword_core::simulate::BadPause>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pauses {
    row: Vec<u64>,
    night_every: Option<usize>,
}

impl Pauses {
    /// A constant pause.
    #[must_use]
    pub fn every(seconds: u64) -> Self {
        Self { row: vec![seconds], night_every: None }
    }

    /// From `shortest` to `longest`, doubling each time, then from `shortest` again.
    #[must_use]
    pub fn between(shortest: u64, longest: u64) -> Self {
        let mut row = Vec::new();
        let mut pause = shortest;
        while pause < longest {
            row.push(pause);
            pause = pause.saturating_mul(2).max(1);
        }
        row.push(longest.max(shortest));
        Self { row, night_every: None }
    }

    /// Replaces every n-th pause with a night.
    #[must_use]
    pub fn with_a_night_every(self, turns: Option<usize>) -> Self {
        Self { night_every: turns.filter(|turns| *turns > 0), ..self }
    }

    /// The seconds before a turn, counted from 0; 0 before the first.
    #[must_use]
    pub fn before(&self, turn: usize) -> u64 {
        let Some(pause) = turn.checked_sub(1) else { return 0 };
        match self.night_every {
            Some(every) if turn.is_multiple_of(every) => NIGHT_SECONDS,
            _ => self.row.get(pause % self.row.len().max(1)).copied().unwrap_or(0),
        }
    }
}

/// An invalid pause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a valid pause: write 90s, 5m, 2h or 1d, or a shortest and a longest one as in 10s..20m"
)]
pub struct BadPause {
    /// The given text.
    pub text: String,
}

impl FromStr for Pauses {
    type Err = BadPause;

    fn from_str(text: &str) -> Result<Self, BadPause> {
        let bad = || BadPause { text: text.escape_debug().take(60).collect() };
        match text.split_once("..") {
            None => Ok(Self::every(seconds(text).ok_or_else(bad)?)),
            Some((shortest, longest)) => match (seconds(shortest), seconds(longest)) {
                (Some(shortest), Some(longest)) if shortest <= longest => {
                    Ok(Self::between(shortest, longest))
                }
                _ => Err(bad()),
            },
        }
    }
}

/// Parses `90s`, `5m`, `2h`, `1d` to seconds; at most a year.
#[must_use]
pub fn seconds(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    number.checked_mul(seconds).filter(|seconds| *seconds <= 366 * 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[u64]) {
        let pauses: Pauses = text.parse().unwrap();
        let found: Vec<u64> = (0..expected.len()).map(|turn| pauses.before(turn)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn pauses_are_constant_or_doubling() {
        check("90s", &[0, 90, 90]);
        check("0s", &[0, 0, 0]);
        check("5m..5m", &[0, 300, 300]);
        check("0s..3s", &[0, 0, 1, 2, 3, 0, 1]);
        check("10m..1h", &[0, 600, 1_200, 2_400, 3_600, 600]);
    }

    #[test]
    fn night_replaces_every_nth_pause() {
        let pauses = Pauses::every(60).with_a_night_every(Some(3));
        let found: Vec<u64> = (0..7).map(|turn| pauses.before(turn)).collect();
        assert_eq!(found, [0, 60, 60, NIGHT_SECONDS, 60, 60, NIGHT_SECONDS]);
        assert_eq!(Pauses::every(60).with_a_night_every(Some(0)), Pauses::every(60));
    }

    #[test]
    fn invalid_pauses_are_rejected_with_examples() {
        for wrong in [
            "",
            "90",
            "s",
            "-5m",
            "5 m",
            "5x",
            "1.5h",
            "2h..1h",
            "..",
            "1s..",
            "99999999999999999999s",
            "9999d",
        ] {
            let error = wrong.parse::<Pauses>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{wrong}` is not a valid pause: write 90s, 5m,")), "{error}");
        }
    }

    #[test]
    fn invalid_scenarios_are_rejected_with_limits() {
        let refused = |scenario: Scenario| scenario.check().unwrap_err().to_string();
        let usual = Scenario::default();
        assert_eq!(usual.check(), Ok(()));
        for turns in [0, 1_000_000_000] {
            let error = refused(Scenario { turns, ..usual.clone() });
            assert_eq!(error, format!("{turns} turns can't be simulated: use 1 to 100000"));
        }
        assert!(refused(Scenario { edit_every: Some(0), ..usual.clone() }).contains("use at least 1"));
        assert!(
            refused(Scenario { answer: usize::MAX, ..usual.clone() }).contains("more than any model accepts")
        );
        assert!(refused(Scenario { tool_rounds: 1_001, ..usual }).contains("at most 1000"));
    }
}
