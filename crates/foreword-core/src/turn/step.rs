//! What a turn asks of whoever drives it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::id::CallId;
use crate::timestamp::Timestamp;
use crate::turn_journal::Outcome;
use crate::word::words;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Call the model with the conversation and what the turn has said so far, and pass on what comes.
    CallModel(CallModel),
    /// Run these tools, in this order, and say what came of each.
    RunTools(Vec<Permit>),
    /// Ask the owner.
    AskOwner(Question),
    /// Make the history shorter: the model can't read it all.
    Compact,
    /// Nothing, until something happens.
    Wait(Wait),
    /// The turn is over.
    Done(Ending),
}

/// Which call of the model it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallModel {
    /// Which answer of the turn; the first is 1.
    pub round: u32,
    /// How many tries of it have failed.
    pub attempt: u32,
    /// How often the message has been in its queue again.
    pub requeues: u32,
}

/// The right to run a tool once. Only a turn makes one, and [`super::admit_step`] by the same rules: the tool exists, its
/// arguments fit, and nothing forbids it.
#[derive(Debug, Clone, PartialEq)]
pub struct Permit {
    pub(super) call: CallId,
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) side_effects: bool,
    pub(super) confirmed: bool,
}

impl Permit {
    /// Which call.
    #[must_use]
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// What it is run with.
    #[must_use]
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Whether it changes something in the world.
    #[must_use]
    pub fn has_side_effects(&self) -> bool {
        self.side_effects
    }

    /// Whether the owner was asked about this call, and said yes.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.confirmed
    }
}

/// A call of a tool that the turn does not allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Which call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Why, as the model is told.
    pub reason: String,
}

/// A question to the owner: may this be done, although the turn has read text from outside?
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// About which call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// What it would be run with.
    pub arguments: Map<String, Value>,
    /// What the turn has read, in words.
    pub because: String,
}

words! {
    /// The owner's answer.
    Asked = "answer to a question" {
        /// Yes, this once.
        Once = "once",
        /// Yes, and everything else this turn wants.
        RestOfTurn = "rest_of_turn",
        /// No.
        No = "no",
    }
}

/// What a turn waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Wait {
    /// More of the answer.
    ForModel,
    /// Tools that are at work.
    ForTools,
    /// The owner's word.
    ForOwner {
        /// And for how long.
        until: Timestamp,
    },
    /// A shorter history.
    ForCompaction,
    /// A time; then it wants a tick.
    Until(Waiting),
}

/// Waiting for a time, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// When to go on.
    pub until: Timestamp,
    /// Whether the message is back in its queue, for nobody waits at a screen.
    pub queued: bool,
    /// What to tell whoever looks on.
    pub status: String,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// In one word.
    pub outcome: Outcome,
    /// Why it failed, if it did.
    #[serde(with = "crate::failure::record", default)]
    pub failure: Option<Failure>,
}
