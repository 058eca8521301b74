//! Output limits of tools, and how omissions are reported.

use foreword_core::event::{Event, EventType};
use foreword_prompt::text::with_thousands;
use serde_json::json;

use crate::tool::{ToolCall, ToolOutput};

/// The output limits of a tool that returns lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// The maximum number of lines.
    pub lines: usize,
    /// The maximum number of bytes.
    pub bytes: usize,
}

impl Default for OutputLimits {
    /// About ten thousand tokens: enough for most files, and too little to fill a context window by accident.
    fn default() -> Self {
        Self { lines: 1_000, bytes: 40_000 }
    }
}

/// An event of a tool in this turn.
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

/// The event that `tool` produced `original` bytes, of which the model receives `kept`. Neither counts additions of the
/// tool, such as line numbers or the note about the omission.
pub(crate) fn truncated(call: &ToolCall, tool: &str, original: usize, kept: usize) -> Event {
    let metadata = json!({ "tool": tool, "originalSize": original, "truncatedSize": kept });
    event_of(EventType::ToolOutputTruncated, call, metadata)
}

/// As many of `lines` as fit, each with its line end; and how many were omitted.
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

/// The lines that fit, and a note about the others.
pub(super) fn limited(lines: Vec<String>, call: &ToolCall, tool: &str, limits: OutputLimits) -> ToolOutput {
    let whole: usize = lines.iter().map(|line| line.len() + 1).sum();
    let (text, left_out) = fitting(lines.into_iter(), limits);
    let mut output = ToolOutput::trusted(text);
    if left_out > 0 {
        let kept = output.text.len();
        output.text.push_str(&format!("[{} left out at the end]\n", counted(left_out, "line")));
        output.events.push(truncated(call, tool, whole, kept));
    }
    output
}

/// `1 byte`, `1,200 bytes`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", with_thousands(number), if number == 1 { "" } else { "s" })
}
