//! The messages of a conversation, as the caller's trust permits. Others are replaced by a placeholder.

use axum::Json;
use axum::extract::State;
use foreword_core::history_visibility::visible_history;
use foreword_core::id::ConversationId;
use foreword_core::message::{ContentBlock, Kind, Message};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::messages::MessagePage;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::api::cursor::part;
use crate::api::error_responses::{CommonErrors, NotFoundError};
use crate::api::extract::{Path, Query};
use crate::api::pagination::{Page, PageQuery};
use crate::api::permission::conversation;
use crate::app::App;
use crate::auth::{Caller, VisibleConversation};
use crate::problem::Problem;

const PAGE_SIZE: u32 = 500;

/// The sort order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    #[default]
    Oldest,
    Newest,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct MessagesQuery {
    /// Include messages that a summary has replaced.
    #[serde(default)]
    all: bool,
    /// `oldest` or `newest` first. Default: `oldest`.
    #[serde(default)]
    #[param(inline)]
    order: Order,
}

/// A message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessageBody {
    /// The message's number in the conversation.
    seq: u64,
    /// Its id.
    id: String,
    /// `user`, `assistant`, `tool` or `system`.
    #[schema(example = "user")]
    role: &'static str,
    /// `message`, `summary` or `notice`.
    #[schema(example = "message")]
    kind: &'static str,
    /// The author's name.
    author: Option<String>,
    /// The trust of the message.
    #[schema(value_type = String, example = "inner")]
    trust: Trust,
    /// When it was sent.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// The turn it is part of.
    turn: Option<String>,
    /// Whether a summary has replaced it.
    covered: bool,
    /// The content blocks.
    content: Vec<Block>,
}

/// A content block.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Block {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A tool call.
    ToolCall {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments.
        input: Value,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        call: String,
        /// The result.
        content: String,
        /// Whether the call failed.
        is_error: bool,
    },
}

/// Lists messages. Those above the caller's trust are replaced by a placeholder. With `chat` or `observe`.
#[utoipa::path(get, path = "/api/v1/conversations/{id}/messages", tag = "conversations",
    params(("id" = String, Path, description = "The conversation."), MessagesQuery, PageQuery),
    responses((status = 200, body = Page<MessageBody>), CommonErrors, NotFoundError))]
pub(crate) async fn list_messages(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<MessagesQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<MessageBody>>, Problem> {
    let seen = conversation(&app, &caller, &id).await?;
    let limit = usize::try_from(page.limit()?).unwrap_or(usize::MAX);
    let after = page.after().map(part::<u64>).transpose()?;
    let history = app.store.history_at(&seen.conversation.id, seen.trust).await?;
    // The newest summary covers older ones, regardless of their number.
    let newest = history.messages.iter().rev().find(|message| message.message.kind == Kind::Summary);
    let (newest, covered_to) = (newest.map(|message| message.seq), history.covered_to);
    let mut messages = if query.all { all_messages(&app, &seen).await? } else { history.messages };
    messages.retain(|message| message.message.kind != Kind::Sent);
    messages.sort_by_key(|message| message.seq);
    if query.order == Order::Newest {
        messages.reverse();
    }
    let behind = |message: &Message| match (after, query.order) {
        (None, _) => true,
        (Some(after), Order::Oldest) => message.seq > after,
        (Some(after), Order::Newest) => message.seq < after,
    };
    let mut rest = messages.into_iter().filter(behind);
    let covered = |message: &Message| match message.message.kind {
        Kind::Summary => Some(message.seq) != newest,
        _ => message.seq <= covered_to,
    };
    let items: Vec<MessageBody> =
        rest.by_ref().take(limit).map(|one| message_body(covered(&one), one)).collect();
    let next = rest.next().and(items.last()).map(|last| last.seq.to_string());
    Ok(Json(Page { items, next }))
}

/// All messages, including replaced ones. The visibility of a tool result depends on its call, so everything before it
/// is read.
async fn all_messages(app: &App, seen: &VisibleConversation) -> Result<Vec<Message>, StoreError> {
    let id: &ConversationId = &seen.conversation.id;
    let mut all: Vec<Message> = Vec::new();
    loop {
        let after = all.last().map_or(0, |message| message.seq);
        let page = app.store.all_messages(id, MessagePage::after(after, PAGE_SIZE)).await?;
        if page.is_empty() {
            return Ok(visible_history(all, seen.trust));
        }
        all.extend(page);
    }
}

fn message_body(covered: bool, Message { seq, message }: Message) -> MessageBody {
    MessageBody {
        seq,
        id: message.id.to_string(),
        role: message.role.as_str(),
        kind: message.kind.as_str(),
        author: message.author,
        trust: message.trust,
        at: message.at,
        turn: message.turn.map(|turn| turn.to_string()),
        covered,
        content: message.content.into_iter().filter_map(block).collect(),
    }
}

fn block(block: ContentBlock) -> Option<Block> {
    match block {
        ContentBlock::Text { text } => Some(Block::Text { text }),
        ContentBlock::ToolCall { id, name, input } => {
            Some(Block::ToolCall { id: id.to_string(), name, input })
        }
        ContentBlock::ToolResult { call, content, is_error } => {
            Some(Block::ToolResult { call: call.to_string(), content, is_error })
        }
        // Internal notes and provider-specific blocks.
        ContentBlock::Other(_) => None,
    }
}
