//! The steps a turn asks its driver to execute.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::id::CallId;
use crate::string_enum::string_enum;
use crate::timestamp::Timestamp;
use crate::turn_journal::Outcome;

/// The next step.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Call the model with the conversation and the turn's messages, and pass on its events.
    CallModel(CallModel),
    /// Run these tools, in this order, and report each result.
    RunTools(Vec<Permit>),
    /// Ask the owner.
    AskOwner(Question),
    /// Compact the history: it exceeds the context window.
    Compact,
    /// Wait for the next input.
    Wait(Wait),
    /// The turn has ended.
    Done(Ending),
}

/// Identifies a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallModel {
    /// The round of the turn, from 1.
    pub round: u32,
    /// The number of failed attempts.
    pub attempt: u32,
    /// How often the message was requeued.
    pub requeues: u32,
}

/// The permission to run a tool once. Only a turn and [`super::admit_step`] create one: the tool exists, its arguments
/// are valid, and no rule forbids it.
#[derive(Debug, Clone, PartialEq)]
pub struct Permit {
    pub(super) call: CallId,
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) side_effects: bool,
    pub(super) confirmed: bool,
}

impl Permit {
    /// The call.
    #[must_use]
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments.
    #[must_use]
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Whether it has side effects.
    #[must_use]
    pub fn has_side_effects(&self) -> bool {
        self.side_effects
    }

    /// Whether the owner has confirmed this call.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.confirmed
    }
}

/// A refused tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The reason, as the model reads it.
    pub reason: String,
}

/// A question to the owner: may this call run, although the turn has read text from outside?
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The text from outside that the turn has read.
    pub because: String,
}

string_enum! {
    /// The owner's answer.
    OwnerAnswer = "owner's answer" {
        /// Allow this call.
        Once = "once",
        /// Allow all calls of this turn.
        RestOfTurn = "rest_of_turn",
        /// Refuse the call.
        No = "no",
    }
}

/// What a turn waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Wait {
    /// The next event of the answer.
    ForModel,
    /// Running tools.
    ForTools,
    /// The owner's answer.
    ForOwner {
        /// The deadline.
        until: Timestamp,
    },
    /// Compaction.
    ForCompaction,
    /// A time, followed by a tick.
    Until(RetryWait),
}

/// A wait before the next attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryWait {
    /// When to continue.
    pub until: Timestamp,
    /// Whether the message was requeued, because no user waits.
    pub queued: bool,
    /// The status for clients.
    pub status: String,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The outcome.
    pub outcome: Outcome,
    /// The failure, if any.
    #[serde(with = "crate::failure::record", default)]
    pub failure: Option<Failure>,
}
