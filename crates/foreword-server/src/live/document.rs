//! The schemas of what goes over the WebSocket and in server-sent events, one for each type of message, as they are on the wire.
//!
//! They are made from the types that are serialised, and complete them: [`Heading`](super::shown::Heading) adds `sessionId` and
//! `seq` to an event, [`Reply`] gets an `inReplyTo`, [`Request`] an `id`.

use utoipa::openapi::schema::{
    AdditionalProperties, Discriminator, KnownFormat, Object, ObjectBuilder, OneOf, SchemaFormat, SchemaType,
    Type,
};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::happening::Happening;
use super::reply::Reply;
use super::request::Request;
use super::subscription::Missed;
use crate::problem::Problem;

/// A named schema.
type Named = (String, RefOr<Schema>);

/// The schemas of all messages, and of the unions that they form.
pub(crate) fn schemas() -> Vec<Named> {
    let (events, replies, requests) = (events(), replies(), requests());
    let mut all = Vec::new();
    Happening::schemas(&mut all);
    Missed::schemas(&mut all);
    let in_streams = |reply: &&Message| matches!(reply.kind.as_str(), "accepted" | "waiting_for_approval");
    let in_streams = replies.iter().filter(in_streams);
    let unions = [
        union(
            "StreamEvent",
            "What a stream of server-sent events carries as `data`.",
            events.iter().chain(in_streams),
        ),
        union("ServerMessage", "What the server sends over the WebSocket.", events.iter().chain(&replies)),
        union("ClientMessage", "What a client sends over the WebSocket.", requests.iter()),
    ];
    all.extend(unions);
    let messages = events.into_iter().chain(replies).chain(requests);
    all.extend(messages.map(|message| (message.name(), Schema::Object(message.schema).into())));
    all
}

/// The body of a stream of server-sent events. OpenAPI 3.1 has no schema for the single event, but JSON Schema has one for what a
/// text contains.
pub(crate) fn event_stream(beside_json: bool) -> RefOr<Schema> {
    // Some readers check the whole body against the schema, others each event as an object: so it has no type. Beside a JSON answer
    // it has one, or generated clients would lose the type of that.
    let kind = if beside_json { SchemaType::Type(Type::String) } else { SchemaType::AnyValue };
    let text = ObjectBuilder::new()
        .schema_type(kind)
        .description(Some(
            "Server-sent events. The `data` of each is a `StreamEvent` as JSON, `event` is its type, `id` its number.",
        ))
        .content_media_type("text/event-stream")
        .content_schema(Some(Ref::from_schema_name("StreamEvent")));
    Schema::Object(text.build()).into()
}

/// One type of message.
struct Message {
    /// Its `type` on the wire.
    kind: String,
    /// The last word of its name.
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
    let mut events = messages::<Happening>("Event");
    for event in &mut events {
        // The server reports its own status, and a turn that ended unreported, without a number.
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

/// The answers to requests. The server's own status has the form of an event's.
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
        request.add("id", text("Comes back as `inReplyTo`; at most 200 bytes."), false);
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
            "Its number in the conversation, from 1 and the same on every node. Numbers that are left out belong to events that \
             this reader may not see.",
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
