//! What a model sends while it answers, piece by piece.

use serde::{Deserialize, Serialize};

use crate::message::{ContentBlock, Usage};
use crate::money::Money;

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelEvent {
    /// More words of the answer, to be shown at once.
    Text(String),
    /// A whole block that is not text: a call of a tool, or something only the provider understands and wants back
    /// (signed thinking, for example). It stands behind the words that came before it.
    ///
    /// A call whose arguments are no JSON has them as a JSON string.
    Block(ContentBlock),
    /// What the call has taken so far; a later one replaces it.
    Usage(Usage),
    /// Something about the answer that is no part of it.
    Note(Note),
    /// The answer is complete. Nothing comes after it.
    Stopped(StopReason),
}

/// What a provider says about an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The name it gave to the answer.
    Id(String),
    /// Why it could not read more from its cache, in its own words.
    CacheMiss(String),
    /// What it charges for the call, by its own account.
    Cost(Money),
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It has said what it had to say.
    EndTurn,
    /// It wants tools to be called.
    ToolUse,
    /// It reached the most tokens an answer may have.
    MaxTokens,
    /// It declined to answer.
    Refusal,
    /// Something else, in the provider's words.
    Other(String),
}
