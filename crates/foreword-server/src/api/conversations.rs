//! Conversations: create, list, read, delete, compact, cancel. A conversation that the caller may not see is not found.

mod body;
pub(crate) mod messages;
pub(crate) mod post_message;
pub(crate) mod prompt;
pub(crate) mod settings;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use foreword_agent::conversation::create::{ConversationSpec, is_agents_own};
use foreword_core::api_token::Scope;
use foreword_core::id::ConversationId;
use foreword_core::template_context::TemplateContext;
use foreword_core::turn_journal::TurnState;
use foreword_prompt::occasion::Channel;
use foreword_store::conversation_settings::ConversationSettings;
use foreword_store::conversations::{ConversationPage, Created, FoundConversations, SearchScope};
use foreword_store::proxied::is_proxied;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use self::body::{ConversationBody, Shortened};
pub(super) use self::post_message::idempotency_key;
pub(crate) use self::settings::{change, present, refused};
use super::cursor::{cursor, part, parts};
use super::error_responses::{BodyErrors, CommonErrors, NotFoundError};
use super::etag::json_with_etag;
use super::extract::{self, Path, Query};
use super::pagination::{Page, PageQuery, SearchQuery};
use super::permission::{conversation, conversation_id, is_an_agent, is_owner, reads};
use super::template::line;
use super::viewer::flush_events;
use crate::api::channels::is_of_channel;
use crate::app::App;
use crate::auth::{Asserted, Caller, has_settings, may_set};
use crate::live::stop_turn;
use crate::problem::Problem;

/// A conversation to create. All fields have defaults.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NewConversation {
    /// The id; only the owner and tokens with `assert` may choose one. Reserved are prefixes of the server such as
    /// `channel-…`, `schedule-…` or `workflow-…`. Default: generated.
    id: Option<String>,
    /// A title of one line.
    #[schema(max_length = 500)]
    title: Option<String>,
    /// The agent, if there are several. Default: the first.
    agent: Option<String>,
    /// The user; only with the scope `assert`. Default: the caller.
    user: Option<String>,
    /// The channel; only with the scope `assert`.
    channel: Option<String>,
    /// The situation; only with the scope `assert`. Default: `dm`.
    situation: Option<String>,
    /// Instructions for this conversation alone, at most 64 KiB; only for the owner, or with the scope `assert`.
    session_instructions: Option<String>,
    /// The working directory: relative to the workspace, or absolute and below one of `conversations.cwd_roots`; only for the
    /// owner, or with the scope `assert`.
    cwd: Option<String>,
    /// Values for templates, at most 64 KiB of JSON; only for the owner, or with the scope `assert`.
    #[schema(value_type = Option<Object>)]
    context: Option<TemplateContext>,
}

impl NewConversation {
    fn settings(&mut self) -> ConversationSettings {
        ConversationSettings {
            session_instructions: self.session_instructions.take(),
            cwd: self.cwd.take(),
            context: self.context.take(),
        }
    }
}

/// Filters of conversations.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Only those of this user. Users other than the owner only see their own.
    user: Option<String>,
    /// Only those of this agent.
    agent: Option<String>,
}

/// Creates a conversation. With `chat`.
#[utoipa::path(post, path = "/api/v1/conversations", tag = "conversations", request_body = NewConversation,
    responses((status = 201, body = ConversationBody), CommonErrors, NotFoundError, BodyErrors))]
pub(crate) async fn create_conversation(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    extract::Json(mut new): extract::Json<NewConversation>,
) -> Result<(StatusCode, Json<ConversationBody>), Problem> {
    caller.require(Scope::Chat)?;
    let config = app.config();
    let said = Asserted::of(&headers)?;
    let asserted = Asserted {
        user: new.user.as_deref().map(Into::into).or(said.user),
        channel: new.channel.as_deref().map(Channel::new).or(said.channel),
        situation: new.situation.as_deref().map(Into::into).or(said.situation),
    };
    let mut occasion = caller.occasion(&asserted, &config)?;
    let may_choose = is_owner(&caller, &config) || caller.scopes().contains(&Scope::Assert);
    if new.id.is_some() && !may_choose {
        return Err(Problem::forbidden(
            "may_not_choose_id",
            "only the owner, or a token with the scope `assert`, may choose a conversation's id",
        )
        .help("omit `id`, and use the one in the response"));
    }
    let agent = new.agent.as_deref();
    is_an_agent(&config, agent)?;
    occasion.speaker.agent = agent.map(Into::into);
    let id = new.id.as_deref().map(chosen_id).transpose()?;
    let title = new.title.as_deref().map(|words| line("title", words)).transpose()?;
    let settings = new.settings();
    if !settings.is_empty() {
        may_set(&caller, &config)?;
    }
    let created =
        Box::pin(app.agent.create_conversation(ConversationSpec { id, origin: occasion, title, settings }))
            .await;
    match created.map_err(|error| refused(error, &app, &caller))? {
        Created::New(made) => {
            let mut body = ConversationBody::from(made);
            show_settings(&app, &caller, &mut body).await?;
            Ok((StatusCode::CREATED, Json(body)))
        }
        Created::Before(there) => {
            let detail = format!("conversation `{}` already exists", there.id);
            Err(Problem::conflict("already_exists", detail).help("choose another id, or omit it"))
        }
    }
}

/// Adds the settings of a conversation, if the caller may see them.
async fn show_settings(app: &App, caller: &Caller, body: &mut ConversationBody) -> Result<(), Problem> {
    if has_settings(caller, &app.config()) {
        body.show(app.store.conversation_settings(&conversation_id(&body.id)?).await?);
    }
    Ok(())
}

/// Checks a client's id. The server's own ids are reserved, since a message could end up in another conversation.
fn chosen_id(text: &str) -> Result<ConversationId, Problem> {
    let id = conversation_id(text)?;
    if is_agents_own(&id) || is_proxied(&id) || is_of_channel(&id) {
        let detail = format!("`{id}` has a prefix that is reserved for the server's own conversations");
        return Err(Problem::bad_request("reserved_id", detail)
            .help("choose an id with another prefix, or omit `id`"));
    }
    Ok(id)
}

/// Lists conversations, most recently active first: all for the owner, their own for other users. With `chat` or
/// `observe`. `q` searches title, id, user, channel and agent; for the owner also the messages. A page of search
/// results may be short or empty and still have a `next`.
#[utoipa::path(get, path = "/api/v1/conversations", tag = "conversations", params(Filter, SearchQuery, PageQuery),
    responses((status = 200, body = Page<ConversationBody>), CommonErrors))]
pub(crate) async fn list_conversations(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<Filter>,
    Query(search): Query<SearchQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<ConversationBody>>, Problem> {
    reads(&caller)?;
    let limit = u32::try_from(page.limit()?).unwrap_or(u32::MAX);
    let own = (!is_owner(&caller, &app.config())).then(|| caller.user().to_owned());
    // Users must not find messages above their trust, so only the owner searches them.
    let within = if own.is_none() { SearchScope::NamesAndMessages } else { SearchScope::Names };
    let wanted = match (own, filter.user) {
        // Other users' conversations are not revealed.
        (Some(own), Some(wanted)) if own != wanted => {
            return Ok(Json(Page { items: Vec::new(), next: None }));
        }
        (own, wanted) => own.or(wanted),
    };
    let words = search.text()?;
    // A list reads one more to know whether there is a next page. A search returns how far it got.
    let mut asked = ConversationPage::first(if words.is_some() { limit } else { limit + 1 });
    if let Some(user) = wanted {
        asked = asked.of_user(user);
    }
    if let Some(agent) = filter.agent {
        asked = asked.of_agent(agent);
    }
    if let Some(after) = page.after() {
        let [at, id] = parts::<2>(after)?;
        asked = asked.behind(part(&at)?, part(&id)?);
    }
    let FoundConversations { conversations, scanned_to } = match words {
        Some(words) => app.store.search_conversations(asked.matching(words, within)).await?,
        None => listed(&app, asked, limit as usize).await?,
    };
    let next = scanned_to.map(|(at, id)| cursor(&[&at.to_string(), id.as_str()]));
    Ok(Json(Page { items: conversations.into_iter().map(ConversationBody::from).collect(), next }))
}

/// The first `limit` of a page that reads one more.
async fn listed(app: &App, page: ConversationPage, limit: usize) -> Result<FoundConversations, Problem> {
    let mut conversations = app.store.conversations(page).await?;
    let more = conversations.len() > limit;
    conversations.truncate(limit);
    let last = conversations.last().filter(|_| more);
    let scanned_to = last.map(|last| (last.last_activity_at, last.id.clone()));
    Ok(FoundConversations { conversations, scanned_to })
}

/// Returns a conversation. With `chat` or `observe`.
#[utoipa::path(get, path = "/api/v1/conversations/{id}", tag = "conversations",
    params(("id" = String, Path, description = "The conversation.")),
    responses((status = 200, body = ConversationBody), (status = 304, description = "Not modified."),
        CommonErrors, NotFoundError))]
pub(crate) async fn get_conversation(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let seen = conversation(&app, &caller, &id).await?;
    let mut body = ConversationBody::from(seen.conversation.clone());
    // The size would reveal messages that the caller may not see.
    if is_owner(&caller, &app.config()) {
        body.extent = Some(app.store.conversation_size(&seen.conversation.id).await?.into());
    }
    // The metrics are sums of events, so pending ones are stored first.
    flush_events(&app).await;
    body.metrics = Some(app.store.conversation_metrics(&seen.conversation.id, seen.trust).await?.into());
    show_settings(&app, &caller, &mut body).await?;
    Ok(json_with_etag(&headers, &body))
}

/// Deletes a conversation with all its data. Owner only, with `admin`; not while a turn runs.
#[utoipa::path(delete, path = "/api/v1/conversations/{id}", tag = "conversations",
    params(("id" = String, Path, description = "The conversation.")),
    responses((status = 204, description = "Deleted."),
        (status = 409, body = Problem, content_type = "application/problem+json"), CommonErrors, NotFoundError))]
pub(crate) async fn delete_conversation(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    caller.require_owner(Scope::Admin, &app.config())?;
    let id = conversation_id(&id)?;
    let newest = app.store.turns(&id, None, 1).await?;
    if newest.first().is_some_and(|turn| turn.state == TurnState::Running) {
        return Err(Problem::conflict("busy", format!("a turn is running in conversation `{id}`"))
            .help("wait for it, or cancel it")
            .retry_after(1));
    }
    if app.store.delete_conversation(&id).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Problem::not_found("conversation", id.as_str()))
}

/// Replaces the history by a summary, which the participants can read. With `chat`; counts as a turn. A failure changes
/// nothing.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/compact", tag = "conversations",
    params(("id" = String, Path, description = "The conversation.")),
    responses((status = 200, body = Shortened), CommonErrors, NotFoundError, BodyErrors,
        (status = 502, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn compact_conversation(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Shortened>, Problem> {
    caller.require(Scope::Chat)?;
    let context = post_message::MessageContext::of(&app, &caller, &id, &headers).await?;
    let reader = context.reader.trust();
    let admitted = app.limits.begin_turn(caller.api_token(), &app.config().server.limits)?;
    let agent = app.agent.clone();
    // Continues, and is charged, if the client disconnects.
    let task = tokio::spawn(async move {
        let shortened = agent.compact(&context.seen.conversation.id, context.occasion).await;
        let cost = shortened.as_ref().ok().and_then(|shortened| shortened.cost.known());
        cost.into_iter().for_each(|cost| admitted.account.charge(cost));
        shortened
    });
    match task.await {
        Ok(Ok(shortened)) => Ok(Json(shortened.into())),
        Ok(Err(error)) => Err(Problem::of_agent(error, reader)),
        Err(_) => Err(Problem::unavailable("stopping", "the summary was interrupted").retry_after(1)),
    }
}

/// Cancels the running turn, if any, on any node. Its messages are kept. With `chat`.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/cancel", tag = "conversations",
    params(("id" = String, Path, description = "The conversation.")),
    responses((status = 202, description = "The turn is being cancelled."), CommonErrors, NotFoundError))]
pub(crate) async fn cancel_turn(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    caller.require(Scope::Chat)?;
    let seen = conversation(&app, &caller, &id).await?;
    stop_turn(&app, &seen).await?;
    Ok(StatusCode::ACCEPTED)
}
