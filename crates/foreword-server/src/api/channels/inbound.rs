//! Messages from bridges. The bridge asserts sender and place; the configuration decides their trust.

use std::sync::Arc;

use axum::extract::{Extension, State};
use foreword_agent::conversation::inbound::{Attendance, INBOX, Inbound, SYSTEM, TurnOrigin, is_shared};
use foreword_core::api_token::Scope;
use foreword_core::id::ConversationId;
use foreword_prompt::occasion::Channel;
use foreword_store::conversations::Conversation;
use foreword_store::deliveries::scope;
use foreword_store::messages::IdempotencyKey;
use foreword_workspace::speaker::Speaker;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::extract::{Json, Path};
use crate::app::App;
use crate::auth::{Asserted, Caller, Reader, turn_metering};
use crate::middleware::request_id::RequestId;
use crate::problem::Problem;

/// The prefix of the ids of channel conversations.
const ID_PREFIX: &str = "channel-";
const KEY_HEADER: &str = "idempotency-key";
/// The maximum length of a channel, sender or key.
const MAX_NAME_BYTES: usize = 200;

/// A message from a bridge.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BridgeMessage {
    /// The channel, as `family:identifier`. Each has one conversation.
    #[schema(example = "signal:group-7")]
    channel: String,
    /// The sender, without the family: `family:sender` is looked up in `users[].match`.
    #[schema(example = "+15550100")]
    sender: String,
    /// The situation, such as `group`. Default: that of the channel's conversation, or `dm` if it is new. A shared
    /// situation can't be changed.
    situation: Option<String>,
    /// The text of the message.
    text: String,
    /// The bridge's id of the message: a repeated one is answered once. May be sent as the header `idempotency-key`
    /// instead.
    idempotency_key: Option<String>,
}

/// An accepted message.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AcceptedMessage {
    /// The conversation of the channel.
    #[schema(value_type = String)]
    conversation: ConversationId,
    /// The message's id, which is the answer's `inReplyTo`.
    message: String,
    /// Whether it was accepted before. Then it is not answered again.
    seen_before: bool,
}

/// Accepts a message from a bridge. It is stored when this returns; the answer follows by webhook. With `chat` and
/// `assert`.
#[utoipa::path(post, path = "/api/v1/channels/{family}/messages", tag = "channels",
    params(("family" = String, Path, description = "The channel family, such as `signal`."),
        ("idempotency-key" = Option<String>, Header, description = "The idempotency key, if it is not in the body.")),
    request_body = BridgeMessage,
    responses((status = 202, body = AcceptedMessage), (status = 400, body = Problem), (status = 404, body = Problem),
        (status = 409, body = Problem), (status = 413, body = Problem), (status = 415, body = Problem),
        (status = 422, body = Problem)))]
pub(crate) async fn accept_message(
    State(app): State<App>,
    caller: Caller,
    Path(family): Path<String>,
    headers: HeaderMap,
    Extension(request): Extension<RequestId>,
    Json(message): Json<BridgeMessage>,
) -> Result<(StatusCode, axum::Json<AcceptedMessage>), Problem> {
    caller.require(Scope::Chat)?;
    caller.require(Scope::Assert)?;
    let key = key(&message, &headers)?;
    let origin = origin(&family, &message)?;
    let (conversation, known) = conversation(&app, &message.channel).await?;
    let situation = situation(&message, known.as_ref())?;
    let occasion = occasion(&app, &caller, origin, situation)?;
    let limits = app.config().server.limits;
    let reader = Reader::speaker(&occasion, &app.config()).trust();
    let permit = app.limits.begin_turn(caller.api_token(), &limits)?;
    let key = IdempotencyKey { scope: scope(&message.channel), key };
    let inbound =
        Inbound { conversation: conversation.clone(), origin: occasion, text: message.text, key: Some(key) };
    let receipt = Box::pin(app.agent.send_for(inbound, Some(&request.0))).await;
    let receipt = receipt.map_err(|error| Problem::of_agent(error, reader))?;
    let taken = AcceptedMessage {
        conversation,
        message: receipt.message.message.id.to_string(),
        seen_before: receipt.before,
    };
    turn_metering::meter_message(&app, permit, &receipt);
    Ok((StatusCode::ACCEPTED, axum::Json(taken)))
}

fn key(message: &BridgeMessage, headers: &HeaderMap) -> Result<String, Problem> {
    let in_head = headers.get(KEY_HEADER).map(|key| key.to_str().unwrap_or_default());
    let key = match (message.idempotency_key.as_deref(), in_head) {
        (Some(one), Some(other)) if one != other => {
            return Err(Problem::bad_request("two_keys", "body and header have different idempotency keys"));
        }
        (Some(key), _) | (None, Some(key)) => key,
        (None, None) => {
            let detail =
                "`idempotencyKey` is missing: without it a message that is sent twice is answered twice";
            return Err(Problem::bad_request("key_missing", detail)
                .help("send the messenger's id of the message, such as its timestamp and sender"));
        }
    };
    name("idempotencyKey", key).map(str::to_owned)
}

/// The channel and sender of a message.
struct MessageOrigin {
    channel: Channel,
    sender: Channel,
}

fn origin(family: &str, message: &BridgeMessage) -> Result<MessageOrigin, Problem> {
    let channel = Channel::new(name("channel", &message.channel)?);
    let identifier = message.channel.strip_prefix(family).and_then(|rest| rest.strip_prefix(':'));
    if channel.family() != Some(family) || identifier.is_none_or(str::is_empty) {
        let detail = format!("`channel` does not belong to the family `{}`", family.escape_debug());
        return Err(Problem::bad_request("wrong_family", detail)
            .help("write it as `family:identifier`; a family is letters, digits, `-` and `_`"));
    }
    let sender = Channel::new(&format!("{family}:{}", name("sender", &message.sender)?));
    Ok(MessageOrigin { channel, sender })
}

/// The situation. A bridge that omits it for a group does not make it private, since all members read the answer.
fn situation(message: &BridgeMessage, known: Option<&Conversation>) -> Result<Option<Arc<str>>, Problem> {
    let began = known.map(|known| known.situation.as_str());
    let said = message.situation.as_deref();
    if let Some(situation) = said.filter(|situation| matches!(*situation, INBOX | SYSTEM)) {
        let detail = format!("`{situation}` is reserved for the agent");
        return Err(Problem::bad_request("unknown_situation", detail));
    }
    match (said, began) {
        (Some(said), Some(began)) if said != began && is_shared(began) => {
            let detail = format!("the conversation of this channel has the situation `{began}`");
            Err(Problem::conflict("other_situation", detail)
                .help("use that one, or omit `situation`; another place needs another `channel`"))
        }
        // `dm` is the default, so a repeated message stays the same.
        (said, began) => Ok(said.or(began.filter(|began| is_shared(began))).map(Into::into)),
    }
}

/// The occasion. Identity comes from the sender alone: a channel's name does not prove who writes.
fn occasion(
    app: &App,
    caller: &Caller,
    MessageOrigin { channel, sender }: MessageOrigin,
    situation: Option<Arc<str>>,
) -> Result<TurnOrigin, Problem> {
    let asserted = Asserted { user: None, channel: Some(channel), situation };
    let occasion = caller.occasion(&asserted, &app.config())?;
    Ok(TurnOrigin {
        speaker: Speaker { sender: Some(sender), ..occasion.speaker.clone() },
        attendance: Attendance::Unattended,
        ..occasion
    })
}

/// The channel's conversation, if it exists. Its id is derived from the channel; one of another channel with that id is
/// refused.
async fn conversation(app: &App, channel: &str) -> Result<(ConversationId, Option<Conversation>), Problem> {
    let hash = blake3::hash(channel.as_bytes()).to_hex();
    let id = ConversationId::new(format!("{ID_PREFIX}{}", &hash[..32]))
        .map_err(|error| Problem::bad_request("invalid_id", error.to_string()))?;
    match app.store.conversation(&id).await? {
        Some(found) if found.channel.as_deref() != Some(channel) => Err(Problem::conflict(
            "conversation_taken",
            "the id of this channel's conversation is used by another conversation",
        )),
        known => Ok((id, known)),
    }
}

/// Whether the id is that of a channel conversation.
pub(crate) fn is_of_channel(id: &ConversationId) -> bool {
    id.as_str().starts_with(ID_PREFIX)
}

/// Checks a name.
fn name<'n>(field: &str, text: &'n str) -> Result<&'n str, Problem> {
    let reason = match text {
        text if text.trim().is_empty() => "is empty",
        text if text.len() > MAX_NAME_BYTES => "is too long",
        text if text.chars().any(char::is_control) => "contains control characters",
        text => return Ok(text),
    };
    Err(Problem::bad_request("bad_name", format!("`{field}` {reason}")))
}
