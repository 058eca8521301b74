//! The shape of a [`ModelRequest`], and access to its text. Sections are hashed in a canonical JSON form, not in the
//! provider's format: equal here means equal on the wire.

use std::ops::Range;

use foreword_prompt::tool::ToolSpec;
use serde::Serialize;

use super::key::ShapeKey;
use super::shape::{RequestShape, SectionName};
use crate::model::{ModelRequest, RequestMessage, RequestRole};
use crate::price::CacheTtl;
use crate::tools::ParametersSchema;

/// What the request does not contain: layer ranges in system blocks, and the breakpoints set by the dialect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestPlaces {
    /// The layers of each system block, with their byte ranges.
    pub layers: Vec<Vec<(String, Range<usize>)>>,
    /// The system blocks with a breakpoint at their end.
    pub system: Vec<(usize, CacheTtl)>,
    /// The messages with a breakpoint at their end.
    pub messages: Vec<(usize, CacheTtl)>,
}

/// The shape of `request`.
#[must_use]
pub fn shape_of_request(key: &ShapeKey, request: &ModelRequest, places: &RequestPlaces) -> RequestShape {
    let mut builder = RequestShape::builder(key, request.model.as_str());
    for tool in request.tools.iter() {
        builder = builder.tool(&tool.name, tool_bytes(tool).as_slice());
    }
    for (index, block) in request.system.iter().enumerate() {
        let layers = places.layers.get(index).map(Vec::as_slice).unwrap_or_default();
        let layers: Vec<(&str, Range<usize>)> =
            layers.iter().map(|(id, range)| (id.as_str(), range.clone())).collect();
        builder = builder
            .system_block(&*block.text, &layers, breakpoint(&places.system, index))
            .tokens(block.tokens);
    }
    for (index, message) in request.messages.iter().enumerate() {
        let bytes = message_bytes(message);
        builder = builder
            .message(role(message.role), bytes.as_slice(), breakpoint(&places.messages, index))
            .blocks(message.content.len());
    }
    builder.build()
}

/// Bytes of a section of `request`, in the form that [`shape_of_request`] hashes.
#[must_use]
pub fn peek_into_request(
    request: &ModelRequest,
    section: &SectionName,
    range: Range<usize>,
) -> Option<Vec<u8>> {
    let bytes = match section {
        SectionName::Model | SectionName::Setting { .. } => return None,
        SectionName::Tool(name) => tool_bytes(request.tools.iter().find(|tool| tool.name == *name)?),
        SectionName::System(index) => request.system.get(*index)?.text.as_bytes().to_vec(),
        SectionName::Message { index, .. } => message_bytes(request.messages.get(*index)?),
    };
    bytes.get(range.start..range.end.min(bytes.len())).map(<[u8]>::to_vec)
}

fn breakpoint(places: &[(usize, CacheTtl)], index: usize) -> Option<CacheTtl> {
    places.iter().find(|(at, _)| *at == index).map(|(_, ttl)| *ttl)
}

#[derive(Serialize)]
struct ToolForm<'a> {
    name: &'a str,
    description: &'a str,
    parameters: ParametersSchema<'a>,
}

fn tool_bytes(tool: &ToolSpec) -> Vec<u8> {
    let form =
        ToolForm { name: &tool.name, description: &tool.description, parameters: ParametersSchema::of(tool) };
    // Serialising strings cannot fail.
    serde_json::to_vec(&form).unwrap_or_default()
}

fn message_bytes(message: &RequestMessage) -> Vec<u8> {
    serde_json::to_vec(&message.content).unwrap_or_default()
}

fn role(role: RequestRole) -> &'static str {
    match role {
        RequestRole::User => "user",
        RequestRole::Assistant => "assistant",
        RequestRole::Tool => "tool",
    }
}
