//! Decodes answers from Anthropic: a stream of content blocks (start, delta, stop), or one JSON object.

use std::collections::BTreeMap;

use foreword_core::message::ContentBlock;
use foreword_core::model::{AnthropicUsage, ModelEvent, Note, StopReason, reported_cost};
use serde_json::Value;

use super::super::call_ids::CallIds;
use super::super::frame_decoder::{Frame, MAX_HELD, report_buffered};
use super::super::{DecodeError, Decoded, sanitize};
use crate::error_response;

/// The decoding state of one answer.
#[derive(Debug)]
pub(in super::super) struct Answer {
    ids: CallIds,
    /// The open blocks, by index.
    open: BTreeMap<u64, Open>,
    /// The number of buffered bytes.
    held: usize,
    usage: AnthropicUsage,
    called: bool,
    stop: Option<String>,
}

/// A block that has not been closed.
#[derive(Debug)]
enum Open {
    /// Text deltas are emitted at once.
    Text,
    Call {
        id: String,
        name: String,
        input: Value,
        written: String,
    },
    /// A block type that only the provider understands.
    Opaque {
        block: Value,
        written: String,
    },
}

impl Answer {
    pub(in super::super) fn new(ids: CallIds) -> Self {
        let (open, held, usage) = (BTreeMap::new(), 0, AnthropicUsage::default());
        Self { ids, open, held, usage, called: false, stop: None }
    }

    pub(in super::super) fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    pub(in super::super) fn read(&mut self, frame: &Frame, out: &mut Decoded) {
        let Ok(data) = serde_json::from_str::<Value>(&frame.data) else {
            if frame.name.as_deref().is_none_or(is_known) && !frame.data.trim().is_empty() {
                out.push(Err(DecodeError::broken("an event of the answer is broken JSON")));
            }
            return;
        };
        let index = data["index"].as_u64().unwrap_or_default();
        match data["type"].as_str().or(frame.name.as_deref()).unwrap_or_default() {
            "message_start" => {
                notes(&data["message"], out);
                self.count(&data["message"]["usage"], out);
            }
            "content_block_start" => self.start(index, &data["content_block"], out),
            "content_block_delta" => self.add(index, &data["delta"], out),
            "content_block_stop" => self.close(index, out),
            "message_delta" => {
                notes(&data["delta"], out);
                self.count(&data["usage"], out);
                if let Some(reason) = data["delta"]["stop_reason"].as_str() {
                    self.stop = Some(reason.to_owned());
                }
            }
            "message_stop" => self.stopped(out),
            "error" => out.push(Err(error_response::in_stream(&data))),
            _ => {}
        }
    }

    pub(in super::super) fn read_whole(&mut self, answer: &Value, out: &mut Decoded) {
        let Some(blocks) = answer["content"].as_array() else {
            return out.push(Err(error_response::in_stream(answer)));
        };
        notes(answer, out);
        self.count(&answer["usage"], out);
        for (index, block) in (0..).zip(blocks) {
            self.start(index, block, out);
            self.close(index, out);
        }
        self.stop = Some(answer["stop_reason"].as_str().unwrap_or("end_turn").to_owned());
        self.stopped(out);
    }

    /// Handles the end of the body.
    pub(in super::super) fn end(&mut self, out: &mut Decoded) {
        if self.stop.is_some() {
            self.stopped(out);
        } else {
            out.push(Err(DecodeError::broken("the answer broke off before it was complete")));
        }
    }

    fn start(&mut self, index: u64, block: &Value, out: &mut Decoded) {
        // Some servers do not close a block before they reuse its index.
        self.close(index, out);
        let text = |field: &str| block[field].as_str().unwrap_or_default().to_owned();
        let open = match block["type"].as_str() {
            Some("text") => {
                say(&text("text"), out);
                Open::Text
            }
            Some("tool_use") => Open::Call {
                id: text("id"),
                name: text("name"),
                input: block["input"].clone(),
                written: String::new(),
            },
            Some(_) => Open::Opaque { block: block.clone(), written: String::new() },
            None => return,
        };
        self.hold(64, out);
        self.open.insert(index, open);
    }

    fn add(&mut self, index: u64, delta: &Value, out: &mut Decoded) {
        let text = |field: &str| delta[field].as_str().unwrap_or_default();
        let held = match (self.open.get_mut(&index), delta["type"].as_str()) {
            // Accept text deltas without an open block.
            (None | Some(Open::Text), Some("text_delta")) => {
                say(text("text"), out);
                0
            }
            (Some(Open::Call { written, .. } | Open::Opaque { written, .. }), Some("input_json_delta")) => {
                written.push_str(text("partial_json"));
                text("partial_json").len()
            }
            (Some(Open::Opaque { block, .. }), _) => grow(block, delta),
            _ => 0,
        };
        self.hold(held, out);
    }

    fn hold(&mut self, bytes: usize, out: &mut Decoded) {
        report_buffered(self.held, bytes, out);
        self.held += bytes;
        if self.held > MAX_HELD {
            out.push(Err(DecodeError::broken(format!(
                "the answer holds more than {MAX_HELD} bytes besides its words"
            ))));
        }
    }

    fn close(&mut self, index: u64, out: &mut Decoded) {
        match self.open.remove(&index) {
            None | Some(Open::Text) => {}
            Some(Open::Call { id, name, input, written }) => {
                self.called = true;
                // The input may be complete in the start event, without deltas.
                let whole = written.is_empty() && input.is_object();
                let input = if whole { input } else { sanitize::arguments(&written) };
                let id = self.ids.take(&id);
                out.push(Ok(ModelEvent::Block(ContentBlock::ToolCall { id, name, input })));
            }
            Some(Open::Opaque { mut block, written }) => {
                if !written.is_empty() {
                    block["input"] = sanitize::as_object(&sanitize::arguments(&written)).into_owned();
                }
                out.push(Ok(ModelEvent::Block(ContentBlock::Other(block))));
            }
        }
    }

    fn stopped(&mut self, out: &mut Decoded) {
        while let Some(index) = self.open.keys().next().copied() {
            self.close(index, out);
        }
        let reason = match (self.stop.as_deref().unwrap_or("end_turn"), self.called) {
            ("end_turn" | "stop_sequence" | "tool_use", true) => StopReason::ToolUse,
            ("end_turn" | "stop_sequence" | "tool_use", false) => StopReason::EndTurn,
            ("max_tokens", _) => StopReason::MaxTokens,
            ("refusal", _) => StopReason::Refusal,
            (other, _) => StopReason::Other(error_response::one_line(other, 100)),
        };
        out.push(Ok(ModelEvent::Stopped(reason)));
    }

    /// Fields that are absent keep their value.
    fn count(&mut self, said: &Value, out: &mut Decoded) {
        out.extend(self.usage.add(said).map(|usage| Ok(ModelEvent::Usage(usage))));
        out.extend(reported_cost(said).map(|cost| Ok(ModelEvent::Note(Note::Cost(cost)))));
    }
}

/// Emits notes on the answer, such as the reason for a cache miss; a reason has a type and sometimes further fields.
fn notes(said: &Value, out: &mut Decoded) {
    if let Some(id) = said["id"].as_str() {
        out.push(Ok(ModelEvent::Note(Note::Id(error_response::one_line(id, 200)))));
    }
    if let Some(reason) = said["diagnostics"]["cache_miss_reason"]["type"].as_str() {
        out.push(Ok(ModelEvent::Note(Note::CacheMiss(error_response::one_line(reason, 200)))));
    }
}

fn say(words: &str, out: &mut Decoded) {
    if !words.is_empty() {
        out.push(Ok(ModelEvent::Text(words.to_owned())));
    }
}

/// Merges a delta into a block of unknown type: strings are appended, arrays extended, other values replaced. Returns
/// the number of bytes added.
fn grow(block: &mut Value, delta: &Value) -> usize {
    let (Some(fields), Some(pieces)) = (block.as_object_mut(), delta.as_object()) else { return 0 };
    for (field, piece) in pieces.iter().filter(|(field, _)| *field != "type") {
        match (fields.get_mut(field), piece) {
            (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more.iter().cloned()),
            // Each citation arrives alone and belongs into the `citations` array.
            _ if field == "citation" => match fields.get_mut("citations") {
                Some(Value::Array(list)) => list.push(piece.clone()),
                _ => drop(fields.insert("citations".to_owned(), Value::Array(vec![piece.clone()]))),
            },
            _ => drop(fields.insert(field.clone(), piece.clone())),
        }
    }
    delta.to_string().len()
}

fn is_known(event: &str) -> bool {
    event.starts_with("message_") || event.starts_with("content_block_") || event == "error"
}
