//! What happens in a conversation, as numbers: how many turns, how long they are, how much time lies between them, what is
//! edited meanwhile. Nothing in it is left to chance.

use std::str::FromStr;

/// The most turns that are simulated: years of a busy conversation, and still done at once.
pub const MOST_TURNS: usize = 100_000;
/// The largest message, answer or result, in tokens: more than any model takes.
pub const MOST_TOKENS: usize = 10_000_000;
/// The most calls of tools in a turn.
pub const MOST_ROUNDS: usize = 1_000;
/// How long a night is, in seconds: longer than any cache lasts.
pub const NIGHT: u64 = 8 * 3_600;

/// What happens in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// How many messages somebody writes.
    pub turns: usize,
    /// What each of them weighs, in tokens.
    pub message: usize,
    /// What each answer weighs.
    pub answer: usize,
    /// How often the model calls a tool before it answers.
    pub tool_rounds: usize,
    /// What the call of a tool weighs.
    pub tool_call: usize,
    /// What its result weighs.
    pub tool_result: usize,
    /// How much time lies between two turns.
    pub pauses: Pauses,
    /// After how many turns a file of the workspace has been edited again, if ever.
    pub edit_every: Option<usize>,
    /// What a request may weigh before the conversation is summed up, if it is.
    pub compact_above: Option<usize>,
    /// What the instruction to sum it up weighs.
    pub summary_asked: usize,
    /// What the summary weighs.
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
    /// What a turn adds to the conversation, without what is told of the workspace.
    #[must_use]
    pub fn turn_tokens(&self) -> usize {
        self.message + self.answer + self.tool_rounds * (self.tool_call + self.tool_result)
    }

    pub(super) fn check(&self) -> Result<(), BadScenario> {
        let tokens =
            [self.message, self.answer, self.tool_call, self.tool_result, self.summary_asked, self.summary];
        match self {
            _ if self.turns == 0 || self.turns > MOST_TURNS => Err(BadScenario::Turns { turns: self.turns }),
            _ if self.tool_rounds > MOST_ROUNDS => Err(BadScenario::Rounds { rounds: self.tool_rounds }),
            _ if self.edit_every == Some(0) => Err(BadScenario::EditEvery),
            _ => match tokens.into_iter().find(|tokens| *tokens > MOST_TOKENS) {
                Some(tokens) => Err(BadScenario::Tokens { tokens }),
                None => Ok(()),
            },
        }
    }
}

/// Why a conversation can't be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadScenario {
    /// No turn, or too many.
    #[error("{turns} turns can't be simulated: from 1 to {MOST_TURNS} can")]
    Turns {
        /// How many were asked for.
        turns: usize,
    },
    /// Too many calls of tools.
    #[error("{rounds} calls of tools in a turn can't be simulated: at most {MOST_ROUNDS} can")]
    Rounds {
        /// How many were asked for.
        rounds: usize,
    },
    /// Something larger than any model takes.
    #[error("{tokens} tokens are more than any model takes: at most {MOST_TOKENS} can be simulated")]
    Tokens {
        /// How many were asked for.
        tokens: usize,
    },
    /// Edits without any turn between them.
    #[error("an edit every 0 turns can't be simulated: every turn is 1")]
    EditEvery,
    /// A request with marks that a provider would refuse.
    #[error(transparent)]
    Refused(#[from] super::BadRequest),
    /// A request that the model would refuse.
    #[error("turn {turn} weighs {tokens} tokens, and the model takes {window}")]
    Overflow {
        /// The turn, counted from 1.
        turn: usize,
        /// What its request weighs.
        tokens: usize,
        /// What the model takes.
        window: usize,
    },
}

/// How much time lies between turns, in seconds: always the same, or a row of pauses that begins again.
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
    /// The same pause each time.
    #[must_use]
    pub fn every(seconds: u64) -> Self {
        Self { row: vec![seconds], night_every: None }
    }

    /// From `shortest` to `longest`, each twice as long as the one before, then from `shortest` again.
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

    /// The same, with a night in place of every so manieth pause.
    #[must_use]
    pub fn with_a_night_every(self, turns: Option<usize>) -> Self {
        Self { night_every: turns.filter(|turns| *turns > 0), ..self }
    }

    /// The seconds before a turn, counted from 0. There are none before the first.
    #[must_use]
    pub fn before(&self, turn: usize) -> u64 {
        let Some(pause) = turn.checked_sub(1) else { return 0 };
        match self.night_every {
            Some(every) if turn.is_multiple_of(every) => NIGHT,
            _ => self.row.get(pause % self.row.len().max(1)).copied().unwrap_or(0),
        }
    }
}

/// A text that says no pause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no pause: write 90s, 5m, 2h or 1d, or a shortest and a longest one as in 10s..20m")]
pub struct BadPause {
    /// What was written.
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

/// `90s`, `5m`, `2h`, `1d` in seconds; a year at most.
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
    fn pauses_are_the_same_each_time_or_a_row_that_doubles() {
        check("90s", &[0, 90, 90]);
        check("0s", &[0, 0, 0]);
        check("5m..5m", &[0, 300, 300]);
        check("0s..3s", &[0, 0, 1, 2, 3, 0, 1]);
        check("10m..1h", &[0, 600, 1_200, 2_400, 3_600, 600]);
    }

    #[test]
    fn a_night_takes_the_place_of_every_so_manieth_pause() {
        let pauses = Pauses::every(60).with_a_night_every(Some(3));
        let found: Vec<u64> = (0..7).map(|turn| pauses.before(turn)).collect();
        assert_eq!(found, [0, 60, 60, NIGHT, 60, 60, NIGHT]);
        assert_eq!(Pauses::every(60).with_a_night_every(Some(0)), Pauses::every(60));
    }

    #[test]
    fn what_says_no_pause_is_refused_with_what_does() {
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
            assert!(error.starts_with(&format!("`{wrong}` is no pause: write 90s, 5m,")), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_simulated_is_refused_with_what_can() {
        let refused = |scenario: Scenario| scenario.check().unwrap_err().to_string();
        let usual = Scenario::default();
        assert_eq!(usual.check(), Ok(()));
        for turns in [0, 1_000_000_000] {
            let error = refused(Scenario { turns, ..usual.clone() });
            assert_eq!(error, format!("{turns} turns can't be simulated: from 1 to 100000 can"));
        }
        assert!(refused(Scenario { edit_every: Some(0), ..usual.clone() }).contains("every turn is 1"));
        assert!(
            refused(Scenario { answer: usize::MAX, ..usual.clone() }).contains("more than any model takes")
        );
        assert!(refused(Scenario { tool_rounds: 1_001, ..usual }).contains("at most 1000"));
    }
}
