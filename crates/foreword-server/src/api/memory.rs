//! What the agent remembers, as far as the caller may know of it: what the agent's own tools would give them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use foreword_agent::memory::{MemoryError, NewNote, Snippet, menu_of, write_event};
use foreword_core::api_token::Scope;
use foreword_core::event::Event;
use foreword_core::memory_store::MemoryStore;
use foreword_core::message::Provenance;
use foreword_prompt::trust::Trust;
use foreword_workspace::memory_index::{Lines, Reader};
use foreword_workspace::request::{DIRECT, Request};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{self, Query};
use super::paging::PageQuery;
use super::permission::reads;
use super::refusals::{Clashes, NotThere, Refusals};
use crate::app::App;
use crate::auth::{Asserted, Caller};
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(index))
        .routes(routes!(search))
        .routes(routes!(get))
        .routes(routes!(write))
}

/// What there is to remember.
#[derive(Debug, Serialize, ToSchema)]
struct MemoryIndex {
    /// The caller's trust.
    #[schema(value_type = String, example = "inner")]
    trust: Trust,
    /// The memory files, with prices.
    entries: Vec<MemoryEntry>,
    /// What to ask for `after` to get the rest, if this is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How many notes there are besides, which a search finds.
    notes: u64,
}

/// A line of the memory menu.
#[derive(Debug, Serialize, ToSchema)]
struct MemoryEntry {
    /// What to ask for.
    #[schema(example = "shared/house.md")]
    path: String,
    /// What it weighs.
    tokens: usize,
    /// What it is about.
    description: String,
}

/// What to look for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SearchQuery {
    /// The words.
    q: String,
}

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
struct Found {
    /// What was looked for.
    query: String,
    /// The stores that were searched: those the caller may see.
    stores: Vec<&'static str>,
    /// How many places have any of the words.
    matches: usize,
    /// The best, in order.
    results: Vec<Place>,
}

/// A place in a note that speaks of what was looked for.
#[derive(Debug, Serialize, ToSchema)]
struct Place {
    /// What to ask for.
    path: String,
    /// What the note is about.
    description: String,
    /// The headings the place stands under.
    heading: Option<String>,
    /// Its first line, from 1.
    from: usize,
    /// How many lines it has.
    lines: usize,
    /// The words around what was looked for.
    text: String,
    /// What they weigh.
    tokens: usize,
    /// What the lines weigh.
    lines_tokens: usize,
    /// What the whole note weighs.
    whole_tokens: usize,
    /// Whether the words may come from outside: then they are data, not instructions.
    from_outside: bool,
}

impl From<Snippet> for Place {
    fn from(snippet: Snippet) -> Self {
        Self {
            path: snippet.path.to_string(),
            description: snippet.description,
            heading: snippet.heading.as_deref().map(str::to_owned),
            from: snippet.from,
            lines: snippet.lines,
            text: snippet.text,
            tokens: snippet.tokens,
            lines_tokens: snippet.lines_tokens,
            whole_tokens: snippet.whole_tokens,
            from_outside: snippet.from_outside,
        }
    }
}

/// Which lines of which note.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct GetQuery {
    /// The note, as the index or a search calls it.
    path: String,
    /// The first line, from 1. Default: 1.
    #[param(minimum = 1)]
    from: Option<usize>,
    /// How many lines. Default: as many as are given out at once.
    #[param(minimum = 1)]
    lines: Option<usize>,
}

/// Lines of a note.
#[derive(Debug, Serialize, ToSchema)]
struct Passage {
    /// The note.
    path: String,
    /// The first line that is given.
    from: usize,
    /// The last.
    to: usize,
    /// How many lines the note has.
    of: usize,
    /// The lines.
    text: String,
    /// What they weigh.
    tokens: usize,
    /// Where to go on, if there is more.
    next: Option<usize>,
    /// Whether the words may come from outside: then they are data, not instructions.
    from_outside: bool,
}

/// A note to be kept.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Note {
    /// `private`, `shared` or `social`; none above the caller's trust.
    #[schema(example = "shared")]
    store: String,
    /// One line that stands for it.
    #[schema(max_length = 200)]
    title: String,
    /// What to remember.
    text: String,
}

/// A note that was kept.
#[derive(Debug, Serialize, ToSchema)]
struct Kept {
    /// What to ask for.
    path: String,
    /// The store it is in.
    store: &'static str,
    /// How many bytes of text it has.
    bytes: usize,
    /// Whether it is kept as words from outside, and will be shown as such.
    from_outside: bool,
}

/// The memory menu at the caller's trust. With `chat` or `observe`.
#[utoipa::path(get, path = "/api/v1/memory/index", tag = "memory", params(PageQuery),
    responses((status = 200, body = MemoryIndex), Refusals, NotThere))]
async fn index(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageQuery>,
) -> Result<Json<MemoryIndex>, Problem> {
    reads(&caller)?;
    let config = app.config();
    let trust = caller.trust(&config);
    let occasion = caller.occasion(&Asserted::default(), &config)?;
    let marker = app.surroundings.random().to_be_bytes();
    let request = Request {
        user: occasion.user,
        channel: occasion.channel,
        ..Request::at(app.surroundings.now(), marker)
    };
    let built = app.agent.prompt(request).await.map_err(|error| Problem::told(error, trust))?;
    let entry = |entry: foreword_prompt::menu::MenuEntry| MemoryEntry {
        path: entry.path.to_string(),
        tokens: entry.tokens,
        description: entry.description.to_string(),
    };
    let entries = menu_of(&app.workspace.snapshot(), &built).into_iter().map(entry).collect();
    let (entries, next) = page.cut(entries, |entry: &MemoryEntry| &entry.path)?;
    let notes = app.memory.note_count(trust).await.map_err(problem)?;
    Ok(Json(MemoryIndex { trust, entries, next, notes }))
}

/// What memory has about something. With `chat` or `observe`.
#[utoipa::path(get, path = "/api/v1/memory/search", tag = "memory", params(SearchQuery),
    responses((status = 200, body = Found), Refusals, NotThere))]
async fn search(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<SearchQuery>,
) -> Result<Json<Found>, Problem> {
    reads(&caller)?;
    let found = app.memory.search(app.workspace.snapshot(), reader(&app, &caller), &query.q);
    let found = found.await.map_err(problem)?;
    Ok(Json(Found {
        query: found.query,
        stores: found.stores.iter().map(|store| store.as_str()).collect(),
        matches: found.matches,
        results: found.snippets.into_iter().map(Place::from).collect(),
    }))
}

/// Lines of a note. One that the caller may not see is not there. With `chat` or `observe`.
#[utoipa::path(get, path = "/api/v1/memory/get", tag = "memory", params(GetQuery),
    responses((status = 200, body = Passage), Refusals, NotThere))]
async fn get(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<GetQuery>,
) -> Result<Json<Passage>, Problem> {
    reads(&caller)?;
    let lines = Lines { from: query.from.unwrap_or(1), count: query.lines };
    let read = app.memory.get(app.workspace.snapshot(), reader(&app, &caller), &query.path, lines);
    let read = read.await.map_err(problem)?;
    let passage = read.passage;
    Ok(Json(Passage {
        path: read.path,
        from: passage.first,
        to: passage.last,
        of: passage.of,
        text: passage.text,
        tokens: read.tokens,
        next: passage.next,
        from_outside: read.from_outside,
    }))
}

/// Keeps a note, in a store that the caller's trust opens. Words of others than the owner are kept as such. With `chat`.
#[utoipa::path(post, path = "/api/v1/memory/write", tag = "memory", request_body = Note,
    responses((status = 201, body = Kept), Refusals, NotThere, Clashes))]
async fn write(
    State(app): State<App>,
    caller: Caller,
    extract::Json(note): extract::Json<Note>,
) -> Result<(StatusCode, Json<Kept>), Problem> {
    caller.needs(Scope::Chat)?;
    let store: MemoryStore = note.store.parse().map_err(|_| {
        Problem::bad_request("unknown_store", "there is no such store").help("use private, shared or social")
    })?;
    let config = app.config();
    let (user, now) = (config.user(caller.user()), app.now());
    let new = NewNote {
        store,
        title: note.title,
        text: note.text,
        trust: caller.trust(&config),
        provenance: match user {
            Some(user) if user.trust == Trust::Full => Provenance::Owner,
            Some(_) => Provenance::User,
            None => Provenance::Outside,
        },
        tainted: false,
        conversation: None,
        turn: None,
        author: user.map(|user| user.name.to_string()),
        at: now,
        random: app.surroundings.random(),
    };
    let written = app.memory.write(new).await.map_err(problem)?;
    app.recorder.record(Event { user_id: Some(caller.user().into()), ..write_event(&written, now) });
    let store = written.store.as_str();
    let kept = Kept { path: written.path, store, bytes: written.bytes, from_outside: written.from_outside };
    Ok((StatusCode::CREATED, Json(kept)))
}

/// Who reads: somebody who came over HTTP and speaks in private.
fn reader(app: &App, caller: &Caller) -> Reader {
    let config = app.config();
    Reader {
        trust: caller.trust(&config),
        user: config.user(caller.user()).map(|user| Arc::clone(&user.name)),
        family: Some("http".into()),
        situation: Some(DIRECT.into()),
    }
}

fn problem(error: MemoryError) -> Problem {
    let (words, advice) = (error.to_string(), error.advice());
    let refused = |status, code| Problem::new(status, code, words.as_str()).help(advice.as_str());
    match error {
        MemoryError::Store(error) => error.into(),
        MemoryError::NoMemory { .. } => Problem::new(StatusCode::NOT_FOUND, "no_memory", words.as_str()),
        MemoryError::NotThere { .. } => Problem::new(StatusCode::NOT_FOUND, "not_found", words.as_str())
            .help("`/api/v1/memory/index` and `/api/v1/memory/search` say what there is"),
        MemoryError::NothingToLookFor => refused(StatusCode::BAD_REQUEST, "nothing_to_look_for"),
        MemoryError::NoSuchLines { .. } => refused(StatusCode::BAD_REQUEST, "no_such_lines"),
        MemoryError::AboveTrust { .. } => refused(StatusCode::FORBIDDEN, "above_trust"),
        MemoryError::Title { .. } => refused(StatusCode::UNPROCESSABLE_ENTITY, "bad_title"),
        MemoryError::Text { .. } => refused(StatusCode::UNPROCESSABLE_ENTITY, "bad_text"),
        MemoryError::IdTaken { .. } | MemoryError::Interrupted | MemoryError::NoStore => {
            refused(StatusCode::SERVICE_UNAVAILABLE, "memory_unavailable").retry_after(1)
        }
        // What can't be read there is the owner's business.
        MemoryError::File(_) => Problem::unavailable("memory_unavailable", "a memory file can't be read now"),
    }
}
