//! WebSocket messages of clients.

use foreword_core::template_context::TemplateContext;
use std::fmt;

use foreword_core::turn::OwnerAnswer;
use serde::de::value::MapDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::api::present;
use crate::problem::Problem;

/// The maximum length of an idempotency key.
pub(crate) const MAX_KEY_LENGTH: usize = 200;
/// The maximum length of a message's `id`.
const MAX_ID_BYTES: usize = 200;
/// The maximum length of a parse error in a reply.
const MAX_ERROR_CHARS: usize = 500;

/// A request with its id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClientMessage {
    /// Comes back as `inReplyTo`. At most 200 bytes.
    pub(super) id: Option<String>,
    pub(super) request: Request,
}

/// A request of a client.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// Sends a message. The events of its conversation follow.
    #[serde(rename_all = "camelCase")]
    Message {
        /// The conversation; a new one if absent.
        session_id: Option<String>,
        text: String,
        /// Idempotency key: a message sent twice under one key is answered once.
        key: Option<String>,
        /// The user who speaks; only with the scope `assert`.
        user: Option<String>,
        /// The channel, as `family:identifier`; only with the scope `assert`.
        channel: Option<String>,
        /// The situation; only with the scope `assert`.
        situation: Option<String>,
        /// Instructions for a new conversation alone; without `sessionId`. Only for the owner, or with the scope `assert`.
        session_instructions: Option<String>,
        /// The working directory of a new conversation; without `sessionId`. Only for the owner, or with the scope `assert`.
        cwd: Option<String>,
        /// Values for templates in a new conversation; without `sessionId`. Only for the owner, or with the scope `assert`.
        #[schema(value_type = Option<Object>)]
        context: Option<TemplateContext>,
    },
    /// Changes the settings of a conversation. What is left out stays as it is; `null` removes it. Only for the owner, or with
    /// the scope `assert`.
    #[serde(rename_all = "camelCase")]
    Update {
        session_id: String,
        #[serde(default, deserialize_with = "present")]
        #[schema(value_type = Option<String>, required = false)]
        session_instructions: Option<Option<String>>,
        #[serde(default, deserialize_with = "present")]
        #[schema(value_type = Option<String>, required = false)]
        cwd: Option<Option<String>>,
        #[serde(default, deserialize_with = "present")]
        #[schema(value_type = Option<Object>, required = false)]
        context: Option<Option<TemplateContext>>,
    },
    /// Stops the running turn. Its messages are kept.
    #[serde(rename_all = "camelCase")]
    Cancel { session_id: String },
    /// Subscribes to the events of a conversation.
    #[serde(rename_all = "camelCase")]
    Subscribe {
        session_id: String,
        /// The number of the last event that was read; only new events follow if absent.
        after: Option<u64>,
    },
    /// Ends a subscription.
    #[serde(rename_all = "camelCase")]
    Unsubscribe { session_id: String },
    /// The owner's answer to a `question`.
    #[serde(rename_all = "camelCase")]
    Answer {
        session_id: String,
        call_id: String,
        /// `once`, `rest_of_turn` or `no`.
        #[schema(value_type = String)]
        answer: OwnerAnswer,
    },
    /// Asks for a `pong`; for clients that can't send pings of the protocol.
    Ping {},
}

/// The fields of an object in their order, duplicates included. Their values are not parsed yet, so a template context
/// keeps its order.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Fields<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

impl ClientMessage {
    /// The id of a message that is otherwise invalid, for the error reply.
    pub(super) fn id_in(text: &str) -> Option<String> {
        let message: serde_json::Value = serde_json::from_str(text).ok()?;
        message["id"].as_str().filter(|id| id.len() <= MAX_ID_BYTES).map(str::to_owned)
    }

    /// Parses a message.
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let message = Self::parse(text).map_err(|error| {
            // The error is sent as JSON, so it needs no escaping.
            let error: String = error.to_string().chars().take(MAX_ERROR_CHARS).collect();
            Problem::bad_request("bad_message", format!("invalid message: {error}")).help(
                "send JSON with a `type`: message, update, cancel, subscribe, unsubscribe, answer or ping",
            )
        })?;
        if message.id.as_ref().is_some_and(|id| id.len() > MAX_ID_BYTES) {
            let detail = format!("`id` may have at most {MAX_ID_BYTES} bytes");
            return Err(Problem::bad_request("bad_message", detail));
        }
        Ok(message)
    }

    /// Only `id` and the fields of the request are accepted. Serde can't reject unknown fields of a flattened type, so `id` is
    /// taken out first.
    fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let Fields(fields) = serde_json::from_str(text)?;
        let (ids, rest): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(name, _)| name == "id");
        if ids.len() > 1 {
            return Err(serde_json::Error::custom("duplicate field `id`"));
        }
        let id = ids.first().map(|(_, id)| serde_json::from_str(id.get())).transpose()?.flatten();
        let request = Request::deserialize(MapDeserializer::new(rest.into_iter()))?;
        Ok(Self { id, request })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_and_repeated_fields_are_rejected() {
        for (text, reason) in [
            (r#"{"type":"ping","extra":1}"#, "unknown field `extra`"),
            (r#"{"type":"message","text":"x","session_id":"c-1"}"#, "unknown field `session_id`"),
            (r#"{"type":"cancel","sessionId":"c-1","after":3}"#, "unknown field `after`"),
            (r#"{"type":"cancel","sessionId":"c-1","sessionId":"c-2"}"#, "duplicate field `sessionId`"),
            (r#"{"id":"1","id":"2","type":"ping"}"#, "duplicate field `id`"),
            (r#"{"type":"leave"}"#, "unknown variant `leave`"),
            (r#"["ping"]"#, "expected an object"),
        ] {
            let problem = ClientMessage::read(text).unwrap_err();
            assert!(problem.detail().contains(reason), "{text}: {}", problem.detail());
        }
    }

    #[test]
    fn id_is_optional_and_may_be_anywhere() {
        let cancel = Request::Cancel { session_id: "c-1".to_owned() };
        for (text, id) in [
            (r#"{"type":"cancel","sessionId":"c-1"}"#, None),
            (r#"{"type":"cancel","sessionId":"c-1","id":null}"#, None),
            (r#"{"type":"cancel","id":"7","sessionId":"c-1"}"#, Some("7".to_owned())),
        ] {
            assert_eq!(ClientMessage::read(text).unwrap(), ClientMessage { id, request: cancel.clone() });
        }
        assert!(ClientMessage::read(r#"{"id":7,"type":"ping"}"#).is_err());
    }
}
