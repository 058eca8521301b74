//! Conversations: begin one, list and read them, send a message, make one shorter, see its frozen prompt. One that the caller
//! may not see looks like one that is not there.

mod body;
mod messages;
mod prompt;
mod saying;
mod settings;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use foreword_agent::beginning::{Beginning, is_agents_own};
use foreword_core::api_token::Scope;
use foreword_core::id::ConversationId;
use foreword_core::turn_journal::TurnState;
use foreword_prompt::occasion::Channel;
use foreword_store::conversation_settings::ConversationSettings;
use foreword_store::conversations::{ConversationPage, Created, FoundConversations, LookIn};
use foreword_store::proxied::is_passed_through;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::body::{ConversationBody, Shortened};
pub(super) use self::saying::idempotency_key;
pub(crate) use self::settings::{change, present, refused};
use super::cursor::{cursor, part, parts};
use super::etag::tagged;
use super::extract::{self, Path, Query};
use super::looking::log_written;
use super::paging::{Page, PageQuery, SearchQuery};
use super::permission::{conversation, conversation_id, is_an_agent, is_owner, reads};
use super::refusals::{Clashes, NotThere, Refusals};
use super::template::line;
use crate::app::App;
use crate::auth::{Asserted, Caller, has_settings, may_set};
use crate::channels::is_of_channel;
use crate::live::stop_turn;
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(read, delete))
        .routes(routes!(compact))
        .routes(routes!(cancel))
        .merge(messages::routes())
        .merge(saying::routes())
        .merge(settings::routes())
        .merge(prompt::routes())
}

/// A conversation to begin. Everything has a default.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct NewConversation {
    /// Its id; only the owner and those who may assert choose one. None like the server's own, such as `channel-…`,
    /// `schedule-…` or `workflow-…`. Default: a fresh one.
    id: Option<String>,
    /// A name for people; a line.
    #[schema(max_length = 500)]
    title: Option<String>,
    /// The agent, if there are several. Default: the first.
    agent: Option<String>,
    /// Whose it is; only with the scope `assert`. Default: the caller's.
    user: Option<String>,
    /// Where it takes place; only with the scope `assert`.
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
    context: Option<Map<String, Value>>,
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

/// Which conversations.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// Only those of this user; whoever is not the owner sees their own anyway.
    user: Option<String>,
    /// Only those that this agent talks in.
    agent: Option<String>,
}

/// Begins a conversation. With `chat`.
#[utoipa::path(post, path = "/api/v1/conversations", tag = "conversations", request_body = NewConversation,
    responses((status = 201, body = ConversationBody), Refusals, NotThere, Clashes))]
async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    extract::Json(mut new): extract::Json<NewConversation>,
) -> Result<(StatusCode, Json<ConversationBody>), Problem> {
    caller.needs(Scope::Chat)?;
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
        return Err(Problem::forbidden("may_not_choose_id", "only the owner chooses a conversation's id")
            .help("leave `id` out, and use the one in the answer"));
    }
    let agent = new.agent.as_deref();
    is_an_agent(&config, agent)?;
    occasion.agent = agent.map(Into::into);
    let id = new.id.as_deref().map(chosen_id).transpose()?;
    let title = new.title.as_deref().map(|words| line("title", words)).transpose()?;
    let settings = new.settings();
    if !settings.is_empty() {
        may_set(&caller, &config)?;
    }
    let created = Box::pin(app.agent.begin_conversation(Beginning { id, occasion, title, settings })).await;
    match created.map_err(|error| refused(error, &app, &caller))? {
        Created::New(made) => {
            let mut body = ConversationBody::from(made);
            show_settings(&app, &caller, &mut body).await?;
            Ok((StatusCode::CREATED, Json(body)))
        }
        Created::Before(there) => {
            let detail = format!("there is a conversation `{}` already", there.id);
            Err(Problem::conflict("used_before", detail).help("choose another id, or leave it out"))
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

/// An id that a client has chosen: none that the server makes itself, lest what it says there lands in somebody else's.
fn chosen_id(text: &str) -> Result<ConversationId, Problem> {
    let id = conversation_id(text)?;
    if is_agents_own(&id) || is_passed_through(&id) || is_of_channel(&id) {
        let detail = format!("`{id}` is like the ids of conversations that begin by themselves");
        return Err(Problem::bad_request("reserved_id", detail)
            .help("choose one that begins with another word, or leave `id` out"));
    }
    Ok(id)
}

/// The conversations by their last activity, the newest first: the owner's list has all, everybody else's those they began.
/// With `chat` or `observe`. `q` looks in the title, the id, the user, the channel and the agent; the owner's also in what was
/// said. A page of what is found may be short or empty and still have a `next`: so far was looked.
#[utoipa::path(get, path = "/api/v1/conversations", tag = "conversations", params(Filter, SearchQuery, PageQuery),
    responses((status = 200, body = Page<ConversationBody>), Refusals))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<Filter>,
    Query(search): Query<SearchQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<ConversationBody>>, Problem> {
    reads(&caller)?;
    let limit = u32::try_from(page.limit()?).unwrap_or(u32::MAX);
    let own = (!is_owner(&caller, &app.config())).then(|| caller.user().to_owned());
    // What was said above somebody's trust is not found by them, so only the owner looks there.
    let within = if own.is_none() { LookIn::WordsToo } else { LookIn::Names };
    let wanted = match (own, filter.user) {
        // Whether others have any is not told.
        (Some(own), Some(wanted)) if own != wanted => {
            return Ok(Json(Page { items: Vec::new(), next: None }));
        }
        (own, wanted) => own.or(wanted),
    };
    let words = search.words()?;
    // Of a list one more is asked for, to see whether there is; a search says how far it came.
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
    let FoundConversations { conversations, looked_up_to } = match words {
        Some(words) => app.store.search_conversations(asked.with_words(words, within)).await?,
        None => listed(&app, asked, limit as usize).await?,
    };
    let next = looked_up_to.map(|(at, id)| cursor(&[&at.to_string(), id.as_str()]));
    Ok(Json(Page { items: conversations.into_iter().map(ConversationBody::from).collect(), next }))
}

/// The first `limit` of a page that asks for one more.
async fn listed(app: &App, page: ConversationPage, limit: usize) -> Result<FoundConversations, Problem> {
    let mut conversations = app.store.conversations(page).await?;
    let more = conversations.len() > limit;
    conversations.truncate(limit);
    let last = conversations.last().filter(|_| more);
    let looked_up_to = last.map(|last| (last.last_activity_at, last.id.clone()));
    Ok(FoundConversations { conversations, looked_up_to })
}

/// A conversation. With `chat` or `observe`.
#[utoipa::path(get, path = "/api/v1/conversations/{id}", tag = "conversations",
    params(("id" = String, Path, description = "The conversation.")),
    responses((status = 200, body = ConversationBody), (status = 304, description = "Nothing has changed."),
        Refusals, NotThere))]
async fn read(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let seen = conversation(&app, &caller, &id).await?;
    let mut body = ConversationBody::from(seen.conversation.clone());
    // What is withheld is not counted either.
    if is_owner(&caller, &app.config()) {
        body.extent = Some(app.store.extent(&seen.conversation.id).await?.into());
    }
    // Sums of events: what has happened so far is written first.
    log_written(&app).await;
    body.metrics = Some(app.store.conversation_metrics(&seen.conversation.id, seen.trust).await?.into());
    show_settings(&app, &caller, &mut body).await?;
    Ok(tagged(&headers, &body))
}

/// Deletes a conversation with everything in it. For the owner, with `admin`; not while a turn runs.
#[utoipa::path(delete, path = "/api/v1/conversations/{id}", tag = "conversations",
    params(("id" = String, Path, description = "The conversation.")),
    responses((status = 204, description = "It is gone."),
        (status = 409, body = Problem, content_type = "application/problem+json"), Refusals, NotThere))]
async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    caller.needs_owner(Scope::Admin, &app.config())?;
    let id = conversation_id(&id)?;
    let newest = app.store.turns(&id, None, 1).await?;
    if newest.first().is_some_and(|turn| turn.state == TurnState::Running) {
        return Err(Problem::conflict("busy", format!("a turn is under way in conversation `{id}`"))
            .help("wait for it, or cancel it")
            .retry_after(1));
    }
    if app.store.delete_conversation(&id).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Problem::not_found("conversation", id.as_str()))
}

/// Replaces what was said so far by a summary that those can read whose conversation it is. With `chat`; counts as a turn. What
/// fails changes nothing.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/compact", tag = "conversations",
    params(("id" = String, Path, description = "The conversation.")),
    responses((status = 200, body = Shortened), Refusals, NotThere, Clashes,
        (status = 502, body = Problem, content_type = "application/problem+json")))]
async fn compact(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Shortened>, Problem> {
    caller.needs(Scope::Chat)?;
    let spoken = saying::Spoken::of(&app, &caller, &id, &headers).await?;
    let reader = spoken.who.trust();
    let admitted = app.limits.begin_turn(caller.api_token(), &app.config().server.limits)?;
    let agent = app.agent.clone();
    // It goes on if the client goes away, and is paid for all the same.
    let task = tokio::spawn(async move {
        let shortened = agent.compact(&spoken.seen.conversation.id, spoken.occasion).await;
        let cost = shortened.as_ref().ok().and_then(|shortened| shortened.cost.known());
        cost.into_iter().for_each(|cost| admitted.spent(cost));
        shortened
    });
    match task.await {
        Ok(Ok(shortened)) => Ok(Json(shortened.into())),
        Ok(Err(error)) => Err(Problem::told(error, reader)),
        Err(_) => Err(Problem::unavailable("stopping", "the summary was cut off").retry_after(1)),
    }
}

/// Stops the turn that runs, if one does, on whichever node. What was said is kept. With `chat`.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/cancel", tag = "conversations",
    params(("id" = String, Path, description = "The conversation.")),
    responses((status = 202, description = "It is being stopped."), Refusals, NotThere))]
async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    caller.needs(Scope::Chat)?;
    let seen = conversation(&app, &caller, &id).await?;
    stop_turn(&app, &seen).await?;
    Ok(StatusCode::ACCEPTED)
}
