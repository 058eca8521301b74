//! Payloads for the lines of a log at level `debug`: what was said, what a model was sent and answered, what a tool gave. They
//! go nowhere else; secrets are taken out of them as out of every line.

use foreword_core::event::{Category, Event};
use foreword_core::model::{ModelRequest, RequestRole};
use foreword_core::timestamp::Timestamp;
use serde_json::{Value, json};

/// A message as it came in.
pub(crate) const MESSAGE: &str = "message_payload";
/// A request to a model.
pub(crate) const API_REQUEST: &str = "api_request";
/// The answer of a model.
pub(crate) const API_RESPONSE: &str = "api_response";
/// All that a tool gave.
pub(crate) const TOOL_OUTPUT: &str = "tool_output";

/// A payload of this name.
pub(crate) fn payload(name: &'static str, metadata: Value, at: Timestamp) -> Event {
    let category = match name {
        API_REQUEST | API_RESPONSE => Category::Provider,
        TOOL_OUTPUT => Category::Tool,
        _ => Category::Channel,
    };
    Event { category, metadata: Some(metadata), ..Event::new(name.into(), at) }
}

/// A request to a model, whatever dialect it is sent in.
pub(crate) fn request(request: &ModelRequest) -> Value {
    let role = |role: RequestRole| match role {
        RequestRole::User => "user",
        RequestRole::Assistant => "assistant",
        RequestRole::Tool => "tool",
    };
    let messages =
        request.messages.iter().map(|one| json!({ "role": role(one.role), "content": one.content }));
    json!({
        "model": request.model.as_str(),
        "maxOutput": request.max_output,
        "tools": request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        "system": request.system.iter().map(|block| &*block.text).collect::<Vec<_>>(),
        "messages": messages.collect::<Vec<_>>(),
    })
}
