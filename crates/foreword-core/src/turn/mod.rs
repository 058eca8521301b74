//! The turn as a value: it decides everything and does nothing. Whoever drives it calls [`Turn::step`] with what has
//! happened, does what the [`Step`] asks for, and calls again with what came of it. It awaits nothing, reads no clock
//! and makes no chance; between any two steps it can be stored, and go on in another process.
//!
//! ```
//! use foreword_core::model::{ModelEvent, StopReason};
//! use foreword_core::turn::{Input, Rules, Step, Turn, Wait};
//!
//! let now = "2026-11-16T08:00:00Z".parse().unwrap();
//! let mut turn = Turn::new(Rules::default(), now);
//! assert!(matches!(turn.step(now, Input::Begin), Step::CallModel(_)));
//! let words = ModelEvent::Text("Good morning.".to_owned());
//! assert_eq!(turn.step(now, Input::Model(words)), Step::Wait(Wait::ForModel));
//!
//! // Stored, and taken up elsewhere.
//! let stored = serde_json::to_string(&turn).unwrap();
//! let mut turn: Turn = serde_json::from_str(&stored).unwrap();
//! let Step::Done(ending) = turn.step(now, Input::Model(ModelEvent::Stopped(StopReason::EndTurn))) else { panic!() };
//! assert_eq!(ending.failure, None);
//! assert_eq!(turn.answer(), "Good morning.");
//! ```

mod admission;
mod calls;
mod collected;
mod failing;
mod narrowing;
mod reminder;
mod rules;
mod said;
mod step;

#[cfg(test)]
mod narrowing_tests;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::calls::Calls;
use self::collected::Collected;
use crate::failure::Failure;
use crate::id::{CallId, InboxId};
use crate::message::Usage;
use crate::model::{ModelError, ModelEvent};
use crate::sender::SenderAddress;
use crate::taint::{Taint, TaintSource};
use crate::timestamp::Timestamp;

pub use admission::admit_step;
pub use rules::{Presence, Rules, ToolRule};
pub use said::Said;
pub use step::{Asked, CallModel, Ending, Permit, Question, Refusal, Step, Wait, Waiting};

/// A turn: from what somebody said to the agent's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    rules: Rules,
    /// The inbox messages it has to answer, each with its sender.
    #[serde(default)]
    obligations: Vec<(InboxId, SenderAddress)>,
    /// When it has to be over.
    deadline: Timestamp,
    phase: Phase,
    /// What the turn has added to the conversation, in order.
    said: Vec<Said>,
    /// The answer that is coming in.
    collected: Collected,
    calls: Calls,
    counts: Counts,
    taint: Taint,
    usage: Usage,
}

/// Where a turn stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Phase {
    /// Nothing has been done.
    New,
    /// A model is answering.
    Calling,
    /// The next call has to wait.
    Waiting(Waiting),
    /// The owner is asked about a call of a tool.
    Asking { since: Timestamp, until: Timestamp },
    /// Tools are at work.
    Running,
    /// The history is being made shorter.
    Compacting,
    /// It has ended.
    Done(Ending),
}

/// How often things have been done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Counts {
    /// Answers asked for, each counted once however often it was tried.
    rounds: u32,
    /// Tries of this answer that failed since the last one that brought something.
    retries: u32,
    /// How often the message went back into its queue.
    requeues: u32,
    /// How often the history was made shorter.
    compactions: u32,
    /// Tools that were asked for.
    tool_calls: u32,
    /// How often the model was asked for missing replies.
    #[serde(default)]
    reminders: u32,
}

/// What has happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The turn begins.
    Begin,
    /// It goes on after it was stored: what it asked for last may not have been done.
    Resumed,
    /// A piece of an answer.
    Model(ModelEvent),
    /// The call failed. `chance`, from 0 to 1, spreads the tries of many.
    ModelFailed {
        /// Why.
        error: ModelError,
        /// Any number from 0 to 1.
        chance: f64,
    },
    /// The call was not made, because too much was spent: what whoever waits is told.
    OverBudget(Failure),
    /// A tool has ended.
    ToolEnded(ToolEnded),
    /// The owner has answered a question.
    OwnerSaid {
        /// About which call.
        call: CallId,
        /// What.
        answer: Asked,
    },
    /// The history is shorter now, with what that took, or why it is not.
    Compacted(Result<Usage, String>),
    /// Stop.
    Cancel,
    /// Time has passed.
    Tick,
}

/// What a call of a tool gave.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolEnded {
    /// Which call.
    pub call: CallId,
    /// What the model is to read; what comes from outside is framed already.
    pub content: String,
    /// Whether it failed.
    pub is_error: bool,
    /// Where words in it came from, if that was outside.
    pub from_outside: Option<TaintSource>,
}

impl Turn {
    /// A turn that begins at `now`.
    #[must_use]
    pub fn new(rules: Rules, now: Timestamp) -> Self {
        let (taint, deadline) = (rules.taint.clone(), now.plus(rules.limits.time));
        Self {
            rules,
            obligations: Vec::new(),
            deadline,
            phase: Phase::New,
            said: Vec::new(),
            collected: Collected::default(),
            calls: Calls::default(),
            counts: Counts::default(),
            taint,
            usage: Usage::default(),
        }
    }

    /// The same turn, which has to answer these inbox messages. If it ends without a reply to some of the senders, the
    /// model is asked for the missing replies once.
    #[must_use]
    pub fn with_obligations(mut self, messages: Vec<(InboxId, SenderAddress)>) -> Self {
        self.obligations = messages;
        self
    }

    /// Takes in what has happened, and says what to do next. What does not belong to where the turn stands (a result
    /// that comes twice, a piece of an answer behind a cancel) changes nothing.
    pub fn step(&mut self, now: Timestamp, input: Input) -> Step {
        if let Phase::Done(ending) = &self.phase {
            return Step::Done(ending.clone());
        }
        if now >= self.deadline
            && !matches!(self.phase, Phase::Asking { .. } | Phase::Waiting(Waiting { queued: true, .. }))
        {
            return self.out_of_time();
        }
        match (&self.phase, input) {
            (_, Input::Cancel) => self.cancel(),
            (Phase::New, Input::Begin | Input::Resumed) => self.call_model(),
            (Phase::Calling, Input::Resumed) => {
                self.collected = Collected::default();
                self.outstanding()
            }
            (Phase::Calling, Input::Model(event)) => self.model_said(now, event),
            (Phase::Calling, Input::ModelFailed { error, chance }) => self.model_failed(now, error, chance),
            (Phase::Calling, Input::OverBudget(why)) => self.over_budget(why),
            (Phase::Waiting(waiting), Input::Tick | Input::Resumed) if now >= waiting.until => {
                self.phase = Phase::Calling;
                self.outstanding()
            }
            (Phase::Asking { .. }, Input::OwnerSaid { call, answer }) => self.owner_said(now, &call, answer),
            (Phase::Asking { until, .. }, Input::Tick | Input::Resumed) if now >= *until => {
                self.nobody_answered(now)
            }
            (Phase::Running, Input::ToolEnded(ended)) => self.tool_ended(ended),
            (Phase::Compacting, Input::Compacted(result)) => self.compacted(result),
            // Whether it was made shorter in time the next call shows; if not, it is too long again.
            (Phase::Compacting, Input::Resumed) => {
                self.phase = Phase::Calling;
                self.outstanding()
            }
            // What was allowed may have become less meanwhile.
            (Phase::Running | Phase::Asking { .. }, Input::Resumed) => self.take_up_calls(now),
            (_, Input::Resumed) => self.outstanding(),
            _ => self.wait(),
        }
    }

    /// What the turn has added to the conversation so far, in order. What a model was told of it never changes.
    #[must_use]
    pub fn said(&self) -> &[Said] {
        &self.said
    }

    /// The words of the answer so far, all of them that were shown.
    #[must_use]
    pub fn answer(&self) -> String {
        said::words(&self.said)
    }

    /// Whether the turn has read text from outside, and whose.
    #[must_use]
    pub fn taint(&self) -> &Taint {
        &self.taint
    }

    /// The calls of tools that were not allowed since this was last asked.
    pub fn take_refusals(&mut self) -> Vec<Refusal> {
        self.calls.take_refused()
    }

    /// What all its calls took together.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// How many tools it has asked for.
    #[must_use]
    pub fn tool_calls(&self) -> u32 {
        self.counts.tool_calls
    }

    /// When it has to be over.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// What it waits for, if nothing happens.
    #[must_use]
    pub fn waits_for(&self) -> Wait {
        match &self.phase {
            Phase::Waiting(waiting) => Wait::Until(waiting.clone()),
            Phase::Asking { until, .. } => Wait::ForOwner { until: *until },
            Phase::Running => Wait::ForTools,
            Phase::Compacting => Wait::ForCompaction,
            Phase::New | Phase::Calling | Phase::Done(_) => Wait::ForModel,
        }
    }

    /// Nobody was there to run it for so long: that time is not the turn's.
    pub fn was_away(&mut self, time: Duration) {
        self.deadline = self.deadline.plus(time);
    }

    /// The step that was asked for last, once more.
    fn outstanding(&mut self) -> Step {
        match &self.phase {
            Phase::New => self.call_model(),
            Phase::Calling => Step::CallModel(CallModel {
                round: self.counts.rounds,
                attempt: self.counts.retries,
                requeues: self.counts.requeues,
            }),
            Phase::Compacting => Step::Compact,
            Phase::Running | Phase::Asking { .. } | Phase::Waiting(_) => self.wait(),
            Phase::Done(ending) => Step::Done(ending.clone()),
        }
    }

    fn wait(&self) -> Step {
        Step::Wait(self.waits_for())
    }

    fn call_model(&mut self) -> Step {
        self.counts.rounds += 1;
        self.counts.retries = 0;
        self.collected = Collected::default();
        self.phase = Phase::Calling;
        self.outstanding()
    }

    fn model_said(&mut self, now: Timestamp, event: ModelEvent) -> Step {
        match event {
            ModelEvent::Stopped(reason) => self.answered(now, reason),
            other => {
                self.collected.add(other);
                self.wait()
            }
        }
    }
}
