//! Events of a streamed model response.

use serde::{Deserialize, Serialize};

use crate::message::{ContentBlock, Usage};
use crate::money::Money;

/// An event of a streamed response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelEvent {
    /// More text of the answer, to be shown at once.
    Text(String),
    /// A complete block that is not text: a tool call, or an opaque block that the provider wants back (signed
    /// thinking, for example). It follows the text received so far.
    ///
    /// A tool call whose arguments are not valid JSON has them as a JSON string.
    Block(ContentBlock),
    /// The usage so far; a later event replaces it.
    Usage(Usage),
    /// Metadata about the answer.
    Note(Note),
    /// The answer is complete. This is the last event.
    Stopped(StopReason),
}

/// Metadata a provider sends with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The provider's id of the answer.
    Id(String),
    /// The provider's reason for a cache miss, verbatim.
    CacheMiss(String),
    /// The charge for the call, as reported by the provider.
    Cost(Money),
    /// The bytes of unfinished blocks so far, such as thinking or the arguments of a tool call.
    Buffered(usize),
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It finished its answer.
    EndTurn,
    /// It wants to call tools.
    ToolUse,
    /// It reached the maximum number of output tokens.
    MaxTokens,
    /// It declined to answer.
    Refusal,
    /// Another reason, verbatim.
    Other(String),
}
