//! A sans-IO, serialisable state machine for one agent turn. The driver calls [`Turn::step`] with an [`Input`],
//! executes the returned [`Step`], and calls again with the result. The turn awaits nothing, reads no clock and draws
//! no random numbers. Between two steps it can be stored and resumed in another process.
//!
//! ```
//! use foreword_core::model::{ModelEvent, StopReason};
//! use foreword_core::turn::{Input, TurnRules, Step, Turn, Wait};
//!
//! let now = "2026-11-16T08:00:00Z".parse().unwrap();
//! let mut turn = Turn::new(TurnRules::default(), now);
//! assert!(matches!(turn.step(now, Input::Begin), Step::CallModel(_)));
//! let words = ModelEvent::Text("Good morning.".to_owned());
//! assert_eq!(turn.step(now, Input::Model(words)), Step::Wait(Wait::ForModel));
//!
//! // Stored, and resumed elsewhere.
//! let stored = serde_json::to_string(&turn).unwrap();
//! let mut turn: Turn = serde_json::from_str(&stored).unwrap();
//! let Step::Done(ending) = turn.step(now, Input::Model(ModelEvent::Stopped(StopReason::EndTurn))) else { panic!() };
//! assert_eq!(ending.failure, None);
//! assert_eq!(turn.answer(), "Good morning.");
//! ```

mod admission;
mod calls;
mod message;
mod narrow;
mod partial_answer;
mod reminder;
mod rules;
mod step;
mod transitions;

#[cfg(test)]
mod narrow_tests;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::calls::Calls;
use self::partial_answer::PartialAnswer;
use crate::failure::Failure;
use crate::id::{CallId, InboxId};
use crate::message::Usage;
use crate::model::{ModelError, ModelEvent};
use crate::sender::SenderAddress;
use crate::taint::{Taint, TaintSource};
use crate::timestamp::Timestamp;

pub use admission::admit_step;
pub use message::TurnMessage;
pub use rules::{ToolRule, TurnAttendance, TurnRules};
pub use step::{CallModel, Ending, OwnerAnswer, Permit, Question, Refusal, RetryWait, Step, Wait};

/// A turn: from a user's message to the agent's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    rules: TurnRules,
    /// The inbox messages it has to answer, each with its sender.
    #[serde(default)]
    obligations: Vec<(InboxId, SenderAddress)>,
    /// When its time limit ends.
    deadline: Timestamp,
    phase: Phase,
    /// The messages the turn has added to the conversation, in order.
    said: Vec<TurnMessage>,
    /// The answer being received.
    collected: PartialAnswer,
    calls: Calls,
    counts: Counts,
    taint: Taint,
    usage: Usage,
}

/// The state of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Phase {
    /// Not started.
    New,
    /// A model call is running.
    Calling,
    /// Waiting before the next model call.
    Waiting(RetryWait),
    /// Waiting for the owner's decision about a tool call.
    Asking { since: Timestamp, until: Timestamp },
    /// Tools are running.
    Running,
    /// The history is being compacted.
    Compacting,
    /// Ended.
    Done(Ending),
}

/// Counters of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Counts {
    /// Model calls, without retries.
    rounds: u32,
    /// Retries of the current call.
    retries: u32,
    /// How often the message was requeued.
    requeues: u32,
    /// How often the history was compacted.
    compactions: u32,
    /// Requested tool calls.
    tool_calls: u32,
    /// How often the model was reminded of missing replies.
    #[serde(default)]
    reminders: u32,
}

/// An input of the state machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Start the turn.
    Begin,
    /// The turn was restored; its last step may not have been executed.
    Resumed,
    /// An event of the model's answer.
    Model(ModelEvent),
    /// The model call failed.
    ModelFailed {
        /// The error.
        error: ModelError,
        /// The jitter, from 0 to 1.
        chance: f64,
    },
    /// The model call was refused because of a budget.
    OverBudget(Failure),
    /// A tool call has ended.
    ToolEnded(ToolEnded),
    /// The owner has answered a question.
    OwnerSaid {
        /// The call.
        call: CallId,
        /// The answer.
        answer: OwnerAnswer,
    },
    /// The history was compacted, with the usage, or compaction failed.
    Compacted(Result<Usage, String>),
    /// Cancel the turn.
    Cancel,
    /// Time has passed.
    Tick,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolEnded {
    /// The call.
    pub call: CallId,
    /// The output for the model; text from outside is already framed.
    pub content: String,
    /// Whether it failed.
    pub is_error: bool,
    /// The source of the output, if it is from outside.
    pub from_outside: Option<TaintSource>,
}

impl Turn {
    /// A turn that starts at `now`.
    #[must_use]
    pub fn new(rules: TurnRules, now: Timestamp) -> Self {
        let (taint, deadline) = (rules.taint.clone(), now.plus(rules.limits.time));
        Self {
            rules,
            obligations: Vec::new(),
            deadline,
            phase: Phase::New,
            said: Vec::new(),
            collected: PartialAnswer::default(),
            calls: Calls::default(),
            counts: Counts::default(),
            taint,
            usage: Usage::default(),
        }
    }

    /// Sets the inbox messages the turn has to answer. If it ends without a reply to some of the senders, the model is
    /// reminded once.
    #[must_use]
    pub fn with_obligations(mut self, messages: Vec<(InboxId, SenderAddress)>) -> Self {
        self.obligations = messages;
        self
    }

    /// Handles an input and returns the next step. Inputs that do not fit the state (a repeated result, an event after
    /// a cancellation) are ignored.
    pub fn step(&mut self, now: Timestamp, input: Input) -> Step {
        if let Phase::Done(ending) = &self.phase {
            return Step::Done(ending.clone());
        }
        if now >= self.deadline
            && !matches!(self.phase, Phase::Asking { .. } | Phase::Waiting(RetryWait { queued: true, .. }))
        {
            return self.time_limit_reached();
        }
        match (&self.phase, input) {
            (_, Input::Cancel) => self.cancel(),
            (Phase::New, Input::Begin | Input::Resumed) => self.call_model(),
            (Phase::Calling, Input::Resumed) => {
                self.collected = PartialAnswer::default();
                self.outstanding()
            }
            (Phase::Calling, Input::Model(event)) => self.model_event(now, event),
            (Phase::Calling, Input::ModelFailed { error, chance }) => self.model_failed(now, error, chance),
            (Phase::Calling, Input::OverBudget(why)) => self.over_budget(why),
            (Phase::Waiting(waiting), Input::Tick | Input::Resumed) if now >= waiting.until => {
                self.phase = Phase::Calling;
                self.outstanding()
            }
            (Phase::Asking { .. }, Input::OwnerSaid { call, answer }) => {
                self.owner_answered(now, &call, answer)
            }
            (Phase::Asking { until, .. }, Input::Tick | Input::Resumed) if now >= *until => {
                self.owner_timed_out(now)
            }
            (Phase::Running, Input::ToolEnded(ended)) => self.tool_ended(ended),
            (Phase::Compacting, Input::Compacted(result)) => self.compacted(result),
            // The next call shows whether compaction succeeded; if not, the request is too long again.
            (Phase::Compacting, Input::Resumed) => {
                self.phase = Phase::Calling;
                self.outstanding()
            }
            // The rules may have become stricter meanwhile.
            (Phase::Running | Phase::Asking { .. }, Input::Resumed) => self.resume_calls(now),
            (_, Input::Resumed) => self.outstanding(),
            _ => self.wait(),
        }
    }

    /// The messages the turn has added to the conversation so far, in order. Existing messages never change.
    #[must_use]
    pub fn messages(&self) -> &[TurnMessage] {
        &self.said
    }

    /// The text of the answer so far.
    #[must_use]
    pub fn answer(&self) -> String {
        message::text(&self.said)
    }

    /// Whether the turn has read text from outside, and its sources.
    #[must_use]
    pub fn taint(&self) -> &Taint {
        &self.taint
    }

    /// The refused tool calls since the last call of this function.
    pub fn take_refusals(&mut self) -> Vec<Refusal> {
        self.calls.take_refused()
    }

    /// The total usage.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The number of requested tool calls.
    #[must_use]
    pub fn tool_calls(&self) -> u32 {
        self.counts.tool_calls
    }

    /// When its time limit ends.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// What it waits for.
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

    /// Extends the deadline by the time in which no node ran the turn.
    pub fn extend_deadline(&mut self, time: Duration) {
        self.deadline = self.deadline.plus(time);
    }

    /// The last step again.
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
        self.collected = PartialAnswer::default();
        self.phase = Phase::Calling;
        self.outstanding()
    }

    fn model_event(&mut self, now: Timestamp, event: ModelEvent) -> Step {
        match event {
            ModelEvent::Stopped(reason) => self.answered(now, reason),
            other => {
                self.collected.add(other);
                self.wait()
            }
        }
    }
}
