//! Payload events for the log at level `debug`: messages, model requests and responses, and tool outputs. Only the log
//! file receives them, with secrets redacted.

use foreword_core::event::{Category, Event};
use foreword_core::model::{ModelRequest, RequestRole};
use foreword_core::timestamp::Timestamp;
use serde_json::{Value, json};

/// An inbound message.
pub(crate) const MESSAGE: &str = "message_payload";
/// A request to a model.
pub(crate) const API_REQUEST: &str = "api_request";
/// A response of a model.
pub(crate) const API_RESPONSE: &str = "api_response";
pub(crate) const TOOL_OUTPUT: &str = "tool_output";

/// A payload event with this name.
pub(crate) fn payload(name: &'static str, metadata: Value, at: Timestamp) -> Event {
    let category = match name {
        API_REQUEST | API_RESPONSE => Category::Provider,
        TOOL_OUTPUT => Category::Tool,
        _ => Category::Channel,
    };
    Event { category, metadata: Some(metadata), ..Event::new(name.into(), at) }
}

/// A model request as JSON, independent of the API dialect.
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
