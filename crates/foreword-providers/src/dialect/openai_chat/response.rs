//! An answer as OpenAI sends it, and as others do in its name: chunks, or one JSON.

use foreword_core::message::ContentBlock;
use foreword_core::model::{ModelEvent, Note, StopReason, openai_usage, reported_cost};
use serde_json::{Value, json};

use super::super::call_ids::CallIds;
use super::super::framing::{Frame, MAX_HELD};
use super::super::{Decoded, Fault};
use super::REASONING;
use super::tool_calls::ToolCalls;
use crate::refusal;

/// What has been read of an answer.
#[derive(Debug)]
pub(in super::super) struct Answer {
    ids: CallIds,
    calls: ToolCalls,
    reasoning: String,
    /// What the server calls it.
    reasoning_field: &'static str,
    /// How much is held of calls and thoughts.
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
            return out.push(Err(Fault::broken("a chunk of the answer is broken JSON")));
        };
        let is_error = frame.name.as_deref() == Some("error") || chunk["object"] == "error";
        if is_error || !chunk["error"].is_null() {
            return out.push(Err(refusal::in_stream(&chunk)));
        }
        // Only one answer was asked for.
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
            return out.push(Err(refusal::in_stream(answer)));
        }
        self.message(&choice["message"], out);
        self.stop = Some(choice["finish_reason"].as_str().unwrap_or("stop").to_owned());
        count(&answer["usage"], out);
        self.stopped(out);
    }

    /// The bytes are at their end. Not everybody says `[DONE]`.
    pub(in super::super) fn end(&mut self, out: &mut Decoded) {
        if self.stop.is_some() {
            self.stopped(out);
        } else {
            out.push(Err(Fault::broken("the answer broke off before it was complete")));
        }
    }

    /// A message, or a piece of one.
    fn message(&mut self, message: &Value, out: &mut Decoded) {
        for field in [REASONING, "reasoning"] {
            if let Some(text) = message[field].as_str().filter(|text| !text.is_empty()) {
                // Who sends both, sends the same twice.
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
        // What came before there were several calls at once.
        if message["function_call"].is_object() {
            self.held += self.calls.add(&json!({ "index": 0, "function": message["function_call"] }));
        }
        if self.held > MAX_HELD {
            out.push(Err(Fault::broken(format!(
                "the answer holds more than {MAX_HELD} bytes besides its words"
            ))));
        }
    }

    fn stopped(&mut self, out: &mut Decoded) {
        let called = !self.calls.is_empty();
        // Those who want the thoughts back want them with the calls they led to; others never miss them.
        if called && !self.reasoning.is_empty() {
            let text = std::mem::take(&mut self.reasoning);
            let block = json!({ "type": REASONING, "field": self.reasoning_field, "text": text });
            out.push(Ok(ModelEvent::Block(ContentBlock::Other(block))));
        }
        let calls = self.calls.take(&mut self.ids);
        out.extend(calls.into_iter().map(|call| Ok(ModelEvent::Block(call))));
        let reason = match (self.stop.as_deref().unwrap_or("stop"), called) {
            _ if self.refused => StopReason::Refusal,
            // Many say `stop` where they mean a call.
            ("stop" | "tool_calls" | "function_call", true) => StopReason::ToolUse,
            ("stop" | "tool_calls" | "function_call" | "eos", false) => StopReason::EndTurn,
            ("length", _) => StopReason::MaxTokens,
            ("content_filter", _) => StopReason::Refusal,
            (other, _) => StopReason::Other(refusal::one_line(other, 100)),
        };
        out.push(Ok(ModelEvent::Stopped(reason)));
    }
}

/// Words, or parts with words in them.
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
