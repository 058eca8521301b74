//! A message from a bridge: who says it and where is what the bridge says, how far that is trusted is what the configuration
//! says.

use std::sync::Arc;

use axum::extract::{Extension, State};
use foreword_agent::inbound::{INBOX, Inbound, Occasion, SYSTEM, Watched, is_shared};
use foreword_core::api_token::Scope;
use foreword_core::id::ConversationId;
use foreword_prompt::occasion::Channel;
use foreword_store::conversations::Conversation;
use foreword_store::deliveries::scope;
use foreword_store::messages::IdempotencyKey;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::extract::{Json, Path};
use crate::app::App;
use crate::auth::{Asserted, Caller, Onlooker, turn_in_hand};
use crate::problem::Problem;
use crate::request_id::RequestId;

/// How the conversations of channels begin.
const CONVERSATION: &str = "channel-";
/// The header a key may come in.
const KEY_HEADER: &str = "idempotency-key";
/// The longest name of a channel, of somebody, or of a message.
const LONGEST: usize = 200;

/// A message from a bridge.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BridgeMessage {
    /// Where it was said, as `family:identifier`: one conversation each.
    #[schema(example = "signal:group-7")]
    channel: String,
    /// Who says it, without the family: `family:sender` is looked up in `users[].match`.
    #[schema(example = "+15550100")]
    sender: String,
    /// In which situation, such as `group`. Default: the one the channel's conversation began in, or `dm` if it is new. What
    /// began where several people listen stays there.
    situation: Option<String>,
    /// The words.
    text: String,
    /// What the bridge calls the message: the same again is answered once. May be the header `idempotency-key` instead.
    idempotency_key: Option<String>,
}

/// A message that was taken in.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TakenIn {
    /// The conversation of the channel.
    #[schema(value_type = String)]
    conversation: ConversationId,
    /// The message; the answer's `inReplyTo` is this.
    message: String,
    /// Whether it had been taken in before: then it is not answered again.
    seen_before: bool,
}

/// Takes in a message from a bridge. When this is answered the message is durable; the answer follows by webhook.
#[utoipa::path(post, path = "/api/v1/channels/{family}/messages", tag = "channels",
    params(("family" = String, Path, description = "Such as `signal`."),
        ("idempotency-key" = Option<String>, Header, description = "If it is not in the body.")),
    request_body = BridgeMessage,
    responses((status = 202, body = TakenIn), (status = 400, body = Problem), (status = 404, body = Problem),
        (status = 409, body = Problem), (status = 413, body = Problem), (status = 415, body = Problem),
        (status = 422, body = Problem)))]
pub(super) async fn take_in(
    State(app): State<App>,
    caller: Caller,
    Path(family): Path<String>,
    head: (HeaderMap, Extension<RequestId>),
    Json(message): Json<BridgeMessage>,
) -> Result<(StatusCode, axum::Json<TakenIn>), Problem> {
    let (headers, Extension(request)) = head;
    caller.needs(Scope::Chat)?;
    caller.needs(Scope::Assert)?;
    let key = key(&message, &headers)?;
    let place = place(&family, &message)?;
    let (conversation, known) = conversation(&app, &message.channel).await?;
    let situation = situation(&message, known.as_ref())?;
    let occasion = occasion(&app, &caller, place, situation)?;
    let limits = app.config().server.limits;
    let reader = Onlooker::speaker(&occasion, &app.config()).trust();
    let admitted = app.limits.begin_turn(caller.api_token(), &limits)?;
    let key = IdempotencyKey { scope: scope(&message.channel), key };
    let inbound =
        Inbound { conversation: conversation.clone(), occasion, text: message.text, key: Some(key) };
    let receipt = Box::pin(app.agent.send_for(inbound, Some(&request.0))).await;
    let receipt = receipt.map_err(|error| Problem::told(error, reader))?;
    let taken = TakenIn {
        conversation,
        message: receipt.message.message.id.to_string(),
        seen_before: receipt.before,
    };
    turn_in_hand::keep(&app, admitted, &receipt);
    Ok((StatusCode::ACCEPTED, axum::Json(taken)))
}

fn key(message: &BridgeMessage, headers: &HeaderMap) -> Result<String, Problem> {
    let in_head = headers.get(KEY_HEADER).map(|key| key.to_str().unwrap_or_default());
    let key = match (message.idempotency_key.as_deref(), in_head) {
        (Some(one), Some(other)) if one != other => {
            return Err(Problem::bad_request("two_keys", "body and header name two different keys"));
        }
        (Some(key), _) | (None, Some(key)) => key,
        (None, None) => {
            let detail =
                "`idempotencyKey` is missing: without it a message that is sent twice is answered twice";
            return Err(Problem::bad_request("key_missing", detail)
                .help("send what the messenger calls the message, such as its timestamp and sender"));
        }
    };
    name("idempotencyKey", key).map(str::to_owned)
}

/// Where it is said.
struct Place {
    channel: Channel,
    sender: Channel,
}

fn place(family: &str, message: &BridgeMessage) -> Result<Place, Problem> {
    let channel = Channel::new(name("channel", &message.channel)?);
    let identifier = message.channel.strip_prefix(family).and_then(|rest| rest.strip_prefix(':'));
    if channel.family() != Some(family) || identifier.is_none_or(str::is_empty) {
        let detail = format!("`channel` is no channel of the family `{}`", family.escape_debug());
        return Err(Problem::bad_request("wrong_family", detail)
            .help("write it as `family:identifier`; a family is letters, digits, `-` and `_`"));
    }
    let sender = Channel::new(&format!("{family}:{}", name("sender", &message.sender)?));
    Ok(Place { channel, sender })
}

/// In which situation. A bridge that forgets to say so in a group makes no private place of it: the answer goes to everybody.
fn situation(message: &BridgeMessage, known: Option<&Conversation>) -> Result<Option<Arc<str>>, Problem> {
    let began = known.map(|known| known.situation.as_str());
    let said = message.situation.as_deref();
    if let Some(situation) = said.filter(|situation| matches!(*situation, INBOX | SYSTEM)) {
        let detail = format!("`{situation}` is the agent's own situation, nobody speaks in it");
        return Err(Problem::bad_request("unknown_situation", detail));
    }
    match (said, began) {
        (Some(said), Some(began)) if said != began && is_shared(began) => {
            let detail = format!("the conversation of this channel is in the situation `{began}`");
            Err(Problem::conflict("other_situation", detail)
                .help("say that one, or leave `situation` out; another place is another `channel`"))
        }
        // A private place goes without saying: the same message sent again has to be the same.
        (said, began) => Ok(said.or(began.filter(|began| is_shared(began))).map(Into::into)),
    }
}

/// On which occasion it is said. Identity comes from the sender alone: in a group the channel is everybody's, and even where
/// two talk the name of the channel is no proof of who does.
fn occasion(
    app: &App,
    caller: &Caller,
    Place { channel, sender }: Place,
    situation: Option<Arc<str>>,
) -> Result<Occasion, Problem> {
    let asserted = Asserted { user: None, channel: Some(channel), situation };
    let occasion = caller.occasion(&asserted, &app.config())?;
    Ok(Occasion { sender: Some(sender), watched: Watched::ByNobody, ..occasion })
}

/// The conversation of a channel, as it is if it has begun. Its id follows from the channel; should somebody else's have it, it
/// is not gone on with.
async fn conversation(app: &App, channel: &str) -> Result<(ConversationId, Option<Conversation>), Problem> {
    let hash = blake3::hash(channel.as_bytes()).to_hex();
    let id = ConversationId::new(format!("{CONVERSATION}{}", &hash[..32]))
        .map_err(|error| Problem::bad_request("bad_id", error.to_string()))?;
    match app.store.conversation(&id).await? {
        Some(found) if found.channel.as_deref() != Some(channel) => Err(Problem::conflict(
            "conversation_taken",
            "the conversation of this channel is somebody else's",
        )),
        known => Ok((id, known)),
    }
}

/// Whether a conversation is called like one of a channel.
pub(crate) fn is_of_channel(id: &ConversationId) -> bool {
    id.as_str().starts_with(CONVERSATION)
}

/// A name on one line, of a sensible length.
fn name<'n>(field: &str, text: &'n str) -> Result<&'n str, Problem> {
    let reason = match text {
        text if text.trim().is_empty() => "is empty",
        text if text.len() > LONGEST => "is too long",
        text if text.chars().any(char::is_control) => "has control characters in it",
        text => return Ok(text),
    };
    Err(Problem::bad_request("bad_name", format!("`{field}` {reason}")))
}
