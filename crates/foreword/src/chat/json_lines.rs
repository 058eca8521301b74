//! The progress of a turn as JSON lines, with the same event types as on the WebSocket.

use foreword_agent::conversation::feed::Progress;
use foreword_core::turn_journal::TurnState;
use serde_json::{Value, json};

use crate::failure::at_terminal;

/// The lines for `progress`, number `seq` in conversation `session`. A failed turn gets an `error` line before its
/// `turn_end`.
pub(crate) fn lines(progress: &Progress, session: &str, seq: u64) -> Vec<Value> {
    let error = match progress {
        Progress::TurnEnded { turn, failure: Some(failure), .. } => {
            Some(json!({ "type": "error", "turn": turn.as_str(), "message": at_terminal(&failure.detail) }))
        }
        _ => None,
    };
    let mut lines: Vec<Value> = error.into_iter().chain([event(progress)]).collect();
    for line in &mut lines {
        line["sessionId"] = json!(session);
        line["seq"] = json!(seq);
    }
    lines
}

fn event(progress: &Progress) -> Value {
    match progress {
        Progress::TurnStarted { turn, user, trust, .. } => {
            json!({ "type": "turn_start", "turn": turn.as_str(), "user": user, "trust": trust.as_str() })
        }
        Progress::Text(text) => json!({ "type": "text_delta", "text": text }),
        Progress::ToolCall { call, tool, arguments } => {
            json!({ "type": "tool_call", "call": call.as_str(), "tool": tool, "arguments": arguments })
        }
        Progress::ToolResult { call, tool, content, is_error } => json!({
            "type": "tool_result", "call": call.as_str(), "tool": tool, "content": content, "isError": is_error,
        }),
        Progress::Status(message) => json!({ "type": "status", "message": message }),
        Progress::Question(question) => json!({
            "type": "question", "call": question.call.as_str(), "tool": question.tool,
            "arguments": question.arguments, "because": question.because,
        }),
        Progress::Problem(cause) => json!({ "type": "status", "message": at_terminal(cause) }),
        Progress::TurnLeft { turn, reason } => {
            json!({ "type": "error", "turn": turn.as_str(), "message": at_terminal(reason) })
        }
        Progress::TurnInterrupted { turn, reason, .. } => {
            json!({ "type": "error", "turn": turn.as_str(), "message": reason })
        }
        Progress::Compacted => json!({ "type": "session_compacted" }),
        Progress::TurnEnded { turn, outcome, failure, usage, cost } => json!({
            "type": "turn_end", "turn": turn.as_str(), "outcome": TurnState::Ended(*outcome).as_str(),
            "error": failure.as_ref().map(|failure| at_terminal(&failure.detail)),
            "usage": usage, "cost": cost,
        }),
    }
}
