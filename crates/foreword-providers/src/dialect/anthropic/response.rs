//! An answer as Anthropic sends it: blocks that are opened, filled and closed, or one JSON.

use std::collections::BTreeMap;

use foreword_core::message::ContentBlock;
use foreword_core::model::{AnthropicUsage, ModelEvent, Note, StopReason, reported_cost};
use serde_json::Value;

use super::super::call_ids::CallIds;
use super::super::framing::{Frame, MAX_HELD};
use super::super::{Decoded, Fault, odd_values};
use crate::refusal;

/// What has been read of an answer.
#[derive(Debug)]
pub(in super::super) struct Answer {
    ids: CallIds,
    /// The blocks that are open, by their index.
    open: BTreeMap<u64, Open>,
    /// How much is held of them.
    held: usize,
    usage: AnthropicUsage,
    called: bool,
    stop: Option<String>,
}

/// A block that is not at its end.
#[derive(Debug)]
enum Open {
    /// Words are passed on at once.
    Text,
    Call {
        id: String,
        name: String,
        input: Value,
        written: String,
    },
    /// Something only the provider understands.
    Theirs {
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
                out.push(Err(Fault::broken("an event of the answer is broken JSON")));
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
            "error" => out.push(Err(refusal::in_stream(&data))),
            _ => {}
        }
    }

    pub(in super::super) fn read_whole(&mut self, answer: &Value, out: &mut Decoded) {
        let Some(blocks) = answer["content"].as_array() else {
            return out.push(Err(refusal::in_stream(answer)));
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

    /// The bytes are at their end.
    pub(in super::super) fn end(&mut self, out: &mut Decoded) {
        if self.stop.is_some() {
            self.stopped(out);
        } else {
            out.push(Err(Fault::broken("the answer broke off before it was complete")));
        }
    }

    fn start(&mut self, index: u64, block: &Value, out: &mut Decoded) {
        // Some servers forget to close a block before they open the next in its place.
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
            Some(_) => Open::Theirs { block: block.clone(), written: String::new() },
            None => return,
        };
        self.hold(64, out);
        self.open.insert(index, open);
    }

    fn add(&mut self, index: u64, delta: &Value, out: &mut Decoded) {
        let text = |field: &str| delta[field].as_str().unwrap_or_default();
        let held = match (self.open.get_mut(&index), delta["type"].as_str()) {
            // Words are words, even if nobody opened a block for them.
            (None | Some(Open::Text), Some("text_delta")) => {
                say(text("text"), out);
                0
            }
            (Some(Open::Call { written, .. } | Open::Theirs { written, .. }), Some("input_json_delta")) => {
                written.push_str(text("partial_json"));
                text("partial_json").len()
            }
            (Some(Open::Theirs { block, .. }), _) => grow(block, delta),
            _ => 0,
        };
        self.hold(held, out);
    }

    fn hold(&mut self, bytes: usize, out: &mut Decoded) {
        self.held += bytes;
        if self.held > MAX_HELD {
            out.push(Err(Fault::broken(format!(
                "the answer holds more than {MAX_HELD} bytes besides its words"
            ))));
        }
    }

    fn close(&mut self, index: u64, out: &mut Decoded) {
        match self.open.remove(&index) {
            None | Some(Open::Text) => {}
            Some(Open::Call { id, name, input, written }) => {
                self.called = true;
                // A call may come whole, with nothing written afterwards.
                let whole = written.is_empty() && input.is_object();
                let input = if whole { input } else { odd_values::arguments(&written) };
                let id = self.ids.take(&id);
                out.push(Ok(ModelEvent::Block(ContentBlock::ToolCall { id, name, input })));
            }
            Some(Open::Theirs { mut block, written }) => {
                if !written.is_empty() {
                    block["input"] = odd_values::as_object(&odd_values::arguments(&written)).into_owned();
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
            (other, _) => StopReason::Other(refusal::one_line(other, 100)),
        };
        out.push(Ok(ModelEvent::Stopped(reason)));
    }

    /// What is not mentioned stays as it was.
    fn count(&mut self, said: &Value, out: &mut Decoded) {
        out.extend(self.usage.add(said).map(|usage| Ok(ModelEvent::Usage(usage))));
        out.extend(reported_cost(said).map(|cost| Ok(ModelEvent::Note(Note::Cost(cost)))));
    }
}

/// What is said about the answer. The reason for a missed cache has a type, and more fields in some cases.
fn notes(said: &Value, out: &mut Decoded) {
    if let Some(id) = said["id"].as_str() {
        out.push(Ok(ModelEvent::Note(Note::Id(refusal::one_line(id, 200)))));
    }
    if let Some(reason) = said["diagnostics"]["cache_miss_reason"]["type"].as_str() {
        out.push(Ok(ModelEvent::Note(Note::CacheMiss(refusal::one_line(reason, 200)))));
    }
}

fn say(words: &str, out: &mut Decoded) {
    if !words.is_empty() {
        out.push(Ok(ModelEvent::Text(words.to_owned())));
    }
}

/// Adds a piece to a block whatever it is: texts grow, lists get one more, the rest is taken as it is.
fn grow(block: &mut Value, delta: &Value) -> usize {
    let (Some(fields), Some(pieces)) = (block.as_object_mut(), delta.as_object()) else { return 0 };
    for (field, piece) in pieces.iter().filter(|(field, _)| *field != "type") {
        match (fields.get_mut(field), piece) {
            (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more.iter().cloned()),
            // Each citation comes alone, for a list that is called after them.
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
