//! Decodes answers from OpenAI and compatible servers: a stream of chunks, or one JSON object.

use foreword_core::message::ContentBlock;
use foreword_core::model::{ModelEvent, Note, StopReason, openai_usage, reported_cost};
use serde_json::{Value, json};

use super::super::call_ids::CallIds;
use super::super::frame_decoder::{Frame, MAX_HELD, report_buffered};
use super::super::{DecodeError, Decoded};
use super::REASONING;
use super::tool_calls::ToolCalls;
use crate::error_response;

/// The decoding state of one answer.
#[derive(Debug)]
pub(in super::super) struct Answer {
    ids: CallIds,
    calls: ToolCalls,
    reasoning: String,
    /// The field in which the server sends reasoning.
    reasoning_field: &'static str,
    /// The number of buffered bytes of calls and reasoning.
    held: usize,
    refused: bool,
    stop: Option<String>,
}

impl Answer {
    pub(in super::super) fn new(ids: CallIds) -> Self {
        let (calls, reasoning) = (ToolCalls::default(), String::new());
        Self { ids, calls, reasoning, reasoning_field: REASONING, held: 0, refused: false, stop: None }
    }

    pub(in super::super) fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    pub(in super::super) fn read(&mut self, frame: &Frame, out: &mut Decoded) {
        let data = frame.data.trim();
        if data == "[DONE]" {
            return self.stopped(out);
        }
        if data.is_empty() {
            return;
        }
        let Ok(chunk) = serde_json::from_str::<Value>(data) else {
            return out.push(Err(DecodeError::broken("a chunk of the answer is broken JSON")));
        };
        let is_error = frame.name.as_deref() == Some("error") || chunk["object"] == "error";
        if is_error || !chunk["error"].is_null() {
            return out.push(Err(error_response::in_stream(&chunk)));
        }
        // The request asks for one choice.
        let choice = &chunk["choices"][0];
        self.message(&choice["delta"], out);
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.stop = Some(reason.to_owned());
        }
        count(&chunk["usage"], out);
    }

    pub(in super::super) fn read_whole(&mut self, answer: &Value, out: &mut Decoded) {
        let choice = &answer["choices"][0];
        if !choice["message"].is_object() {
            return out.push(Err(error_response::in_stream(answer)));
        }
        self.message(&choice["message"], out);
        self.stop = Some(choice["finish_reason"].as_str().unwrap_or("stop").to_owned());
        count(&answer["usage"], out);
        self.stopped(out);
    }

    /// Handles the end of the body. Some servers omit `[DONE]`.
    pub(in super::super) fn end(&mut self, out: &mut Decoded) {
        if self.stop.is_some() {
            self.stopped(out);
        } else {
            out.push(Err(DecodeError::broken("the answer broke off before it was complete")));
        }
    }

    /// Decodes a message or a delta.
    fn message(&mut self, message: &Value, out: &mut Decoded) {
        let held = self.held;
        for field in [REASONING, "reasoning"] {
            if let Some(text) = message[field].as_str().filter(|text| !text.is_empty()) {
                // Servers that send both fields repeat the same text.
                if self.reasoning.is_empty() || self.reasoning_field == field {
                    self.reasoning_field = field;
                    self.reasoning.push_str(text);
                    self.held += text.len();
                }
            }
        }
        say(&message["content"], out);
        if let Some(words) = message["refusal"].as_str().filter(|words| !words.is_empty()) {
            self.refused = true;
            out.push(Ok(ModelEvent::Text(words.to_owned())));
        }
        for piece in message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default() {
            self.held += self.calls.add(piece);
        }
        // The deprecated field for a single call.
        if message["function_call"].is_object() {
            self.held += self.calls.add(&json!({ "index": 0, "function": message["function_call"] }));
        }
        report_buffered(held, self.held - held, out);
        if self.held > MAX_HELD {
            out.push(Err(DecodeError::broken(format!(
                "the answer holds more than {MAX_HELD} bytes besides its words"
            ))));
        }
    }

    fn stopped(&mut self, out: &mut Decoded) {
        let called = !self.calls.is_empty();
        // Servers that expect reasoning back expect it with the tool calls it led to; others do not need it.
        if called && !self.reasoning.is_empty() {
            let text = std::mem::take(&mut self.reasoning);
            let block = json!({ "type": REASONING, "field": self.reasoning_field, "text": text });
            out.push(Ok(ModelEvent::Block(ContentBlock::Other(block))));
        }
        let calls = self.calls.take(&mut self.ids);
        out.extend(calls.into_iter().map(|call| Ok(ModelEvent::Block(call))));
        let reason = match (self.stop.as_deref().unwrap_or("stop"), called) {
            _ if self.refused => StopReason::Refusal,
            // Many servers send `stop` for tool calls.
            ("stop" | "tool_calls" | "function_call", true) => StopReason::ToolUse,
            ("stop" | "tool_calls" | "function_call" | "eos", false) => StopReason::EndTurn,
            ("length", _) => StopReason::MaxTokens,
            ("content_filter", _) => StopReason::Refusal,
            (other, _) => StopReason::Other(error_response::one_line(other, 100)),
        };
        out.push(Ok(ModelEvent::Stopped(reason)));
    }
}

/// Emits text, given as a string or as content parts.
fn say(content: &Value, out: &mut Decoded) {
    match content {
        Value::String(words) if !words.is_empty() => out.push(Ok(ModelEvent::Text(words.clone()))),
        Value::Array(parts) => parts.iter().for_each(|part| say(&part["text"], out)),
        _ => {}
    }
}

fn count(said: &Value, out: &mut Decoded) {
    out.extend(openai_usage(said).map(|usage| Ok(ModelEvent::Usage(usage))));
    out.extend(reported_cost(said).map(|cost| Ok(ModelEvent::Note(Note::Cost(cost)))));
}
