//! Test requests with their text: an agent with tools, layers and a conversation, and its next turn.

use std::ops::Range;

use super::super::*;
use crate::price::CacheTtl;

pub(super) const KEY: ShapeKey = ShapeKey::from_bytes([42; 32]);
pub(super) const FIVE: Option<CacheTtl> = Some(CacheTtl::FiveMinutes);
pub(super) const HOUR: Option<CacheTtl> = Some(CacheTtl::OneHour);

/// A request with its text.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) model: String,
    pub(super) tools: Vec<(String, String)>,
    pub(super) settings: Vec<(String, Invalidates, String)>,
    pub(super) system: Vec<Block>,
    pub(super) messages: Vec<ScriptMessage>,
}

#[derive(Clone)]
pub(super) struct Block {
    pub(super) layers: Vec<(String, String)>,
    /// Whether the layer ranges are known; a proxy sees only the block.
    pub(super) known: bool,
    pub(super) breakpoint: Option<CacheTtl>,
}

#[derive(Clone)]
pub(super) struct ScriptMessage {
    pub(super) role: String,
    pub(super) text: String,
    pub(super) breakpoint: Option<CacheTtl>,
}

pub(super) fn message(role: &str, text: &str) -> ScriptMessage {
    let text = serde_json::json!([{ "type": "text", "text": text }]).to_string();
    ScriptMessage { role: role.to_owned(), text, breakpoint: None }
}

/// Prose of about this many bytes without repeated 64-byte chunks.
pub(super) fn prose(about: &str, bytes: usize) -> String {
    let mut text = format!("# {about}\n\n");
    let mut number = 1_u32;
    while text.len() < bytes {
        let topic = ["answers", "files", "people", "plans", "doubts", "tests"][number as usize % 6];
        text.push_str(&format!(
            "{number}. On {topic}, {about} says: weigh case {} before case {}.\n",
            number * 7,
            number * 3
        ));
        number += 1;
    }
    text
}

fn tool(name: &str, about: &str) -> (String, String) {
    let json = serde_json::json!({
        "name": name,
        "description": format!("{about} {}", prose(name, 400)),
        "input_schema": { "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] },
    });
    (name.to_owned(), json.to_string())
}

impl Script {
    /// An agent on an Anthropic model: a breakpoint behind each system block and the last message.
    pub(super) fn agent() -> Self {
        let layer = |id: &str, bytes: usize| (id.to_owned(), prose(id, bytes));
        let mut script = Self {
            model: "anthropic/claude-sonnet-5".to_owned(),
            tools: ["bash", "edit_file", "grep", "read_file", "web_fetch"]
                .map(|name| tool(name, "Use it well."))
                .into(),
            settings: vec![(
                "tool_choice".to_owned(),
                Invalidates::Messages,
                r#"{"type":"auto"}"#.to_owned(),
            )],
            system: vec![
                Block {
                    layers: vec![layer("identity", 6_000), layer("rules", 5_000)],
                    known: true,
                    breakpoint: FIVE,
                },
                Block {
                    layers: vec![layer("project", 4_000), layer("runtime", 1_500)],
                    known: true,
                    breakpoint: FIVE,
                },
            ],
            messages: Vec::new(),
        };
        for turn in 0..4 {
            script.messages.push(message("user", &prose(&format!("question {turn}"), 600)));
            script.messages.push(message("assistant", &prose(&format!("answer {turn}"), 1_500)));
        }
        script.messages.push(message("user", &prose("question 4", 600)));
        script.mark_last(FIVE);
        script
    }

    /// The same on a provider with automatic caching.
    pub(super) fn on_openai() -> Self {
        let mut script = Self { model: "openai/gpt-4o".to_owned(), ..Self::agent() };
        script.without_breakpoints();
        script
    }

    /// A client's request through a proxy: blocks without layers, the first of them a header.
    pub(super) fn through_a_proxy() -> Self {
        let mut script = Self::agent();
        script.system.iter_mut().for_each(|block| block.known = false);
        let header =
            ("header".to_owned(), "x-billing-header: client=2.1.0; entry=cli; cch=a81f3c;".to_owned());
        script.system.insert(0, Block { layers: vec![header], known: false, breakpoint: None });
        script
    }

    /// The next turn: one more answer and question, with the last breakpoint moved to the end.
    pub(super) fn next(&self) -> Self {
        let mut next = self.clone();
        let marked = next.messages.last_mut().and_then(|last| last.breakpoint.take());
        next.messages.push(message("assistant", &prose("the answer", 1_200)));
        next.messages.push(message("user", &prose("one more question", 500)));
        next.mark_last(marked);
        next
    }

    pub(super) fn mark_last(&mut self, breakpoint: Option<CacheTtl>) {
        if let Some(last) = self.messages.last_mut() {
            last.breakpoint = breakpoint;
        }
    }

    pub(super) fn without_breakpoints(&mut self) {
        self.system.iter_mut().for_each(|block| block.breakpoint = None);
        self.messages.iter_mut().for_each(|said| said.breakpoint = None);
    }

    /// Puts `value` into the middle of a layer.
    #[must_use]
    pub(super) fn with_in(mut self, layer: &str, value: &str) -> Self {
        let text = self.layer(layer);
        let middle = text.len() / 2;
        text.insert_str(middle, value);
        self
    }

    /// Puts `value` into the middle of a message.
    #[must_use]
    pub(super) fn with_in_message(mut self, index: usize, value: &str) -> Self {
        let text = &mut self.messages[index].text;
        let middle = text.len() / 2;
        text.insert_str(middle, value);
        self
    }

    pub(super) fn layer(&mut self, id: &str) -> &mut String {
        let mut layers = self.system.iter_mut().flat_map(|block| &mut block.layers);
        &mut layers.find(|(layer, _)| layer == id).expect("such a layer").1
    }

    pub(super) fn shape(&self) -> RequestShape {
        let mut builder = RequestShape::builder(&KEY, self.model.as_str());
        for (name, json) in &self.tools {
            builder = builder.tool(name, json.as_str());
        }
        for (name, voids, value) in &self.settings {
            builder = builder.settings(name, *voids, value.as_str());
        }
        for block in &self.system {
            let text = block.text();
            let mut at = 0;
            let spans: Vec<(&str, Range<usize>)> = block
                .layers
                .iter()
                .map(|(id, text)| {
                    at += text.len();
                    (id.as_str(), at - text.len()..at)
                })
                .collect();
            let known = if block.known { spans.as_slice() } else { &[] };
            builder = builder.system_block(text.as_str(), known, block.breakpoint);
        }
        for said in &self.messages {
            builder = builder.message(&said.role, said.text.as_str(), said.breakpoint);
        }
        builder.build()
    }

    /// The text of a section.
    pub(super) fn text_of(&self, section: &SectionName) -> Option<String> {
        match section {
            SectionName::Model => None,
            SectionName::Setting { name, .. } => self
                .settings
                .iter()
                .find(|(setting, _, _)| setting == name)
                .map(|(_, _, value)| value.clone()),
            SectionName::Tool(name) => {
                self.tools.iter().find(|(tool, _)| tool == name).map(|(_, json)| json.clone())
            }
            SectionName::System(index) => self.system.get(*index).map(Block::text),
            SectionName::Message { index, .. } => self.messages.get(*index).map(|said| said.text.clone()),
        }
    }
}

impl Block {
    pub(super) fn text(&self) -> String {
        self.layers.iter().map(|(_, text)| text.as_str()).collect()
    }
}
