//! How much a tool gives back at once, and how what is left out is told.

use foreword_core::event::{Event, EventType};
use foreword_prompt::text::with_thousands;
use serde_json::json;

use crate::tool::ToolCall;

/// How much a tool that gives lines gives at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// The most lines.
    pub lines: usize,
    /// The most bytes.
    pub bytes: usize,
}

impl Default for OutputLimits {
    /// About ten thousand tokens: enough for most files, and too little to fill a window by accident.
    fn default() -> Self {
        Self { lines: 1_000, bytes: 40_000 }
    }
}

/// An event of a tool, of this turn.
pub(crate) fn event_of(event_type: EventType, call: &ToolCall, metadata: serde_json::Value) -> Event {
    Event {
        session_id: Some(call.conversation.clone()),
        agent_id: Some(call.agent.clone()),
        user_id: call.user.clone(),
        turn_id: Some(call.turn.clone()),
        metadata: Some(metadata),
        ..Event::new(event_type, call.now)
    }
}

/// That `tool` gave more than fits: `original` bytes, of which the model reads `kept`. Both count the same bytes: what the tool
/// adds, such as line numbers or a note of what is left out, is in neither.
pub(crate) fn truncated(call: &ToolCall, tool: &str, original: usize, kept: usize) -> Event {
    let metadata = json!({ "tool": tool, "originalSize": original, "truncatedSize": kept });
    event_of(EventType::ToolOutputTruncated, call, metadata)
}

/// As many of `lines` as fit, each with its end; and how many were left out.
pub(super) fn fitting(lines: impl Iterator<Item = String>, limits: OutputLimits) -> (String, usize) {
    let (mut text, mut kept, mut left_out) = (String::new(), 0, 0);
    for line in lines {
        if left_out > 0 || kept >= limits.lines || text.len() + line.len() + 1 > limits.bytes {
            left_out += 1;
            continue;
        }
        kept += 1;
        text.push_str(&line);
        text.push('\n');
    }
    (text, left_out)
}

/// `1 byte`, `1,200 bytes`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", with_thousands(number), if number == 1 { "" } else { "s" })
}
