//! The schemas of WebSocket messages and server-sent events, one per message type, as they are on the wire.
//!
//! They are derived from the serialised types and completed here: [`Heading`](super::wire_event::Heading) adds
//! `sessionId` and `seq` to an event, [`Reply`] gets an `inReplyTo`, [`Request`] an `id`.

use utoipa::openapi::schema::{
    AdditionalProperties, Discriminator, KnownFormat, Object, ObjectBuilder, OneOf, SchemaFormat, SchemaType,
    Type,
};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::reply::Reply;
use super::request::Request;
use super::stream_event::StreamEvent;
use super::subscription::Missed;
use crate::problem::Problem;

/// A named schema.
type Named = (String, RefOr<Schema>);

/// The schemas of all messages, and their unions.
pub(crate) fn schemas() -> Vec<Named> {
    let (events, replies, requests) = (events(), replies(), requests());
    let mut all = Vec::new();
    StreamEvent::schemas(&mut all);
    Missed::schemas(&mut all);
    let in_streams = |reply: &&Message| matches!(reply.kind.as_str(), "accepted" | "waiting_for_approval");
    let in_streams = replies.iter().filter(in_streams);
    let unions = [
        union("StreamEvent", "The `data` of a server-sent event.", events.iter().chain(in_streams)),
        union("ServerMessage", "A WebSocket message of the server.", events.iter().chain(&replies)),
        union("ClientMessage", "A WebSocket message of a client.", requests.iter()),
    ];
    all.extend(unions);
    let messages = events.into_iter().chain(replies).chain(requests);
    all.extend(messages.map(|message| (message.name(), Schema::Object(message.schema).into())));
    all
}

/// The schema of a stream of server-sent events. OpenAPI 3.1 can't describe single events, but JSON Schema can describe
/// the content of a string.
pub(crate) fn event_stream_schema(beside_json: bool) -> RefOr<Schema> {
    // Some validators check the whole body against the schema, others each event as an object: so it has no type. Next
    // to a JSON response it has one, or generated clients would lose the type of that. It has no `contentMediaType`: the
    // response states the media type, and with the keyword some validators expect each event to be a string.
    let kind = if beside_json { SchemaType::Type(Type::String) } else { SchemaType::AnyValue };
    let text = ObjectBuilder::new()
        .schema_type(kind)
        .description(Some(
            "Server-sent events. The `data` of each is a `StreamEvent` as JSON, `event` is its type, `id` its number.",
        ))
        .content_schema(Some(Ref::from_schema_name("StreamEvent")));
    Schema::Object(text.build()).into()
}

/// One type of message.
struct Message {
    /// Its `type` on the wire.
    kind: String,
    /// The last part of its schema's name.
    suffix: &'static str,
    schema: Object,
}

impl Message {
    /// `turn_start` of the events is `TurnStartEvent`.
    fn name(&self) -> String {
        let words = self.kind.split('_').map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            first.to_ascii_uppercase() + rest
        });
        words.collect::<String>() + self.suffix
    }

    fn add(&mut self, name: &str, schema: ObjectBuilder, is_required: bool) {
        self.schema.properties.insert(name.to_owned(), Schema::Object(schema.build()).into());
        if is_required {
            self.schema.required.push(name.to_owned());
        }
    }
}

fn events() -> Vec<Message> {
    let mut events = messages::<StreamEvent>("Event");
    for event in &mut events {
        // The server's own status, and the repaired end of a turn, have no number.
        let is_numbered = !matches!(event.kind.as_str(), "status" | "turn_end");
        event.add("seq", number(), is_numbered);
        event.add("sessionId", text("The conversation."), event.kind != "status");
    }
    let missed = match Missed::schema() {
        RefOr::T(Schema::Object(schema)) => schema,
        _ => Object::new(),
    };
    let mut missed = Message { kind: "missed".to_owned(), suffix: "Event", schema: missed };
    let kind = ObjectBuilder::new().schema_type(SchemaType::Type(Type::String)).enum_values(Some(["missed"]));
    missed.add("type", kind, true);
    events.push(missed);
    events
}

/// The replies to requests. The server's own status has the schema of the event.
fn replies() -> Vec<Message> {
    let mut replies = messages::<Reply>("Reply");
    replies.retain(|reply| reply.kind != "status");
    for reply in &mut replies {
        reply.add("inReplyTo", text("The `id` of the request, if it had one."), false);
    }
    replies
}

fn requests() -> Vec<Message> {
    let mut requests = messages::<Request>("Request");
    for request in &mut requests {
        request.add("id", text("Returned as `inReplyTo`; at most 200 bytes."), false);
        request.schema.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
    }
    requests
}

/// The variants of a type that is tagged with `type`.
fn messages<T: PartialSchema>(suffix: &'static str) -> Vec<Message> {
    let RefOr::T(Schema::OneOf(union)) = T::schema() else { return Vec::new() };
    let objects = union.items.into_iter().filter_map(object);
    let message = |schema: Object| Some(Message { kind: kind(&schema)?, suffix, schema });
    objects.filter_map(message).collect()
}

/// A variant as one object. Of the flattened types there is only [`Problem`].
fn object(variant: RefOr<Schema>) -> Option<Object> {
    match variant {
        RefOr::T(Schema::Object(object)) => Some(object),
        RefOr::T(Schema::AllOf(parts)) => {
            let mut whole = Object::new();
            for part in parts.items {
                let part = object(part)?;
                whole.description = part.description.or(whole.description);
                whole.schema_type = part.schema_type;
                whole.properties.extend(part.properties);
                whole.required.extend(part.required);
            }
            Some(whole)
        }
        RefOr::Ref(_) => object(Problem::schema()),
        RefOr::T(_) => None,
    }
}

fn kind(schema: &Object) -> Option<String> {
    let RefOr::T(Schema::Object(kind)) = schema.properties.get("type")? else { return None };
    kind.enum_values.as_ref()?.first()?.as_str().map(str::to_owned)
}

fn number() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::Integer))
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .description(Some(
            "Its number in the conversation, from 1 and the same on every node. Missing numbers belong to events that this reader may not see.",
        ))
}

fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::Type(Type::String)).description(Some(description))
}

/// A union of messages, distinguished by `type`.
fn union<'a>(name: &str, description: &str, messages: impl Iterator<Item = &'a Message>) -> Named {
    let mut union = OneOf::default();
    let mut discriminator = Discriminator::new("type");
    for message in messages {
        let reference = Ref::from_schema_name(message.name());
        discriminator.mapping.insert(message.kind.clone(), reference.ref_location.clone());
        union.items.push(reference.into());
    }
    union.description = Some(description.to_owned());
    union.discriminator = Some(discriminator);
    (name.to_owned(), Schema::OneOf(union).into())
}

#[cfg(test)]
mod tests;
