//! What was said in a conversation, at the caller's trust: a line stands in the place of what was said above it.

use axum::Json;
use axum::extract::State;
use foreword_core::exposure::exposed;
use foreword_core::id::ConversationId;
use foreword_core::message::{ContentBlock, Kind, Message};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::messages::MessagePage;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::cursor::part;
use crate::api::extract::{Path, Query};
use crate::api::paging::{Page, PageQuery};
use crate::api::permission::conversation;
use crate::api::refusals::{NotThere, Refusals};
use crate::app::App;
use crate::auth::{Caller, Seen};
use crate::problem::Problem;

/// How many messages are read at once.
const AT_ONCE: u32 = 500;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Which of the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Oldest,
    Newest,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct MessagesQuery {
    /// Also what a summary stands for by now.
    #[serde(default)]
    all: bool,
    /// `oldest` or `newest` first. Default: `oldest`.
    #[serde(default)]
    #[param(inline)]
    order: Order,
}

/// A message.
#[derive(Debug, Serialize, ToSchema)]
struct MessageBody {
    /// Its place in the conversation.
    seq: u64,
    /// Its id.
    id: String,
    /// `user`, `assistant`, `tool` or `system`.
    #[schema(example = "user")]
    role: &'static str,
    /// `message`, `summary` or `notice`.
    #[schema(example = "message")]
    kind: &'static str,
    /// Who said it, by name.
    author: Option<String>,
    /// The trust it was said at.
    #[schema(value_type = String, example = "inner")]
    trust: Trust,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// The turn it is part of.
    turn: Option<String>,
    /// Whether a summary stands for it by now.
    covered: bool,
    /// What was said.
    content: Vec<Block>,
}

/// A piece of a message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// The agent calls a tool.
    ToolCall {
        /// Which call.
        id: String,
        /// The tool.
        name: String,
        /// What it is called with.
        input: Value,
    },
    /// What a tool gave.
    ToolResult {
        /// Which call.
        call: String,
        /// What it gave.
        content: String,
        /// Whether it failed.
        is_error: bool,
    },
}

/// What was said, page by page; what was said above the caller's trust is a line that says only that there is something. With
/// `chat` or `observe`.
#[utoipa::path(get, path = "/api/v1/conversations/{id}/messages", tag = "conversations",
    params(("id" = String, Path, description = "The conversation."), MessagesQuery, PageQuery),
    responses((status = 200, body = Page<MessageBody>), Refusals, NotThere))]
async fn list(
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
    // An older summary is covered by the newest, whichever place it has.
    let newest = history.messages.iter().rev().find(|message| message.message.kind == Kind::Summary);
    let (newest, covered_to) = (newest.map(|message| message.seq), history.covered_to);
    let mut messages = if query.all { everything(&app, &seen).await? } else { history.messages };
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
    let items: Vec<MessageBody> = rest.by_ref().take(limit).map(|one| told(covered(&one), one)).collect();
    let next = rest.next().and(items.last()).map(|last| last.seq.to_string());
    Ok(Json(Page { items, next }))
}

/// Everything that was ever said. What may be seen of a tool's result depends on its call, so all before it has to be read.
async fn everything(app: &App, seen: &Seen) -> Result<Vec<Message>, StoreError> {
    let id: &ConversationId = &seen.conversation.id;
    let mut all: Vec<Message> = Vec::new();
    loop {
        let after = all.last().map_or(0, |message| message.seq);
        let page = app.store.all_messages(id, MessagePage::after(after, AT_ONCE)).await?;
        if page.is_empty() {
            return Ok(exposed(all, seen.trust));
        }
        all.extend(page);
    }
}

fn told(covered: bool, Message { seq, message }: Message) -> MessageBody {
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
        // Notes for ourselves, and what only a provider understands.
        ContentBlock::Other(_) => None,
    }
}
