//! The agent's memory, as the caller's trust permits: the same results as the agent's memory tools.

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
use foreword_workspace::speaker::Speaker;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::error_responses::{BodyErrors, CommonErrors, NotFoundError};
use super::extract::{self, Query};
use super::pagination::PageQuery;
use super::permission::reads;
use crate::app::App;
use crate::auth::{Asserted, Caller};
use crate::problem::Problem;

/// The memory index.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MemoryIndex {
    /// The caller's trust.
    #[schema(value_type = String, example = "inner")]
    trust: Trust,
    /// The memory files, with their size in tokens.
    entries: Vec<MemoryEntry>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Number of notes, which are found by search.
    notes: u64,
}

/// A memory file.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MemoryEntry {
    /// Its path.
    #[schema(example = "shared/house.md")]
    path: String,
    /// Size in tokens.
    tokens: usize,
    /// A short description.
    description: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// The search terms.
    q: String,
}

/// Search results.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MemorySearchResults {
    /// The query.
    query: String,
    /// The stores that were searched, as the caller's trust permits.
    stores: Vec<&'static str>,
    /// Number of passages that match any of the terms.
    matches: usize,
    /// The best matches, in order.
    results: Vec<MemoryMatch>,
}

/// A matching passage of a note.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MemoryMatch {
    /// The path of the note.
    path: String,
    /// A short description of the note.
    description: String,
    /// The headings above the passage.
    heading: Option<String>,
    /// Its first line, from 1.
    from: usize,
    /// Number of lines.
    lines: usize,
    /// The text around the match.
    text: String,
    /// Size of the text in tokens.
    tokens: usize,
    /// Size of the passage in tokens.
    lines_tokens: usize,
    /// Size of the whole note in tokens.
    whole_tokens: usize,
    /// Whether the text may come from outside. Then it is data, not instructions.
    from_outside: bool,
}

impl From<Snippet> for MemoryMatch {
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

/// The lines to read.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct GetQuery {
    /// The path of the note.
    path: String,
    /// The first line, from 1. Default: 1.
    #[param(minimum = 1)]
    from: Option<usize>,
    /// Number of lines. Default: the maximum per request.
    #[param(minimum = 1)]
    lines: Option<usize>,
}

/// Lines of a note.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Passage {
    /// The path of the note.
    path: String,
    /// The first line.
    from: usize,
    /// The last line.
    to: usize,
    /// Number of lines of the note.
    of: usize,
    /// The lines.
    text: String,
    /// Size in tokens.
    tokens: usize,
    /// The first line after these, if there are more.
    next: Option<usize>,
    /// Whether the text may come from outside. Then it is data, not instructions.
    from_outside: bool,
}

/// A note to store.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    /// `private`, `shared` or `social`, as the caller's trust permits.
    #[schema(example = "shared")]
    store: String,
    /// A title of one line.
    #[schema(max_length = 200)]
    title: String,
    /// The text.
    text: String,
}

/// A stored note.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StoredNote {
    /// Its path.
    path: String,
    /// The store it is in.
    store: &'static str,
    /// Size of the text in bytes.
    bytes: usize,
    /// Whether it is marked as coming from outside.
    from_outside: bool,
}

/// Returns the memory index at the caller's trust. With `chat` or `observe`.
#[utoipa::path(get, path = "/api/v1/memory/index", tag = "memory", params(PageQuery),
    responses((status = 200, body = MemoryIndex), CommonErrors, NotFoundError))]
pub(crate) async fn get_memory_index(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageQuery>,
) -> Result<Json<MemoryIndex>, Problem> {
    reads(&caller)?;
    let config = app.config();
    let trust = caller.trust(&config);
    let occasion = caller.occasion(&Asserted::default(), &config)?;
    let marker = app.clock_and_rng.random().to_be_bytes();
    let request = Request {
        speaker: Speaker {
            user: occasion.speaker.user,
            channel: occasion.speaker.channel,
            ..Speaker::default()
        },
        ..Request::at(app.clock_and_rng.now(), marker)
    };
    let built = app.agent.prompt(request).await.map_err(|error| Problem::of_agent(error, trust))?;
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

/// Searches the memory. With `chat` or `observe`.
#[utoipa::path(get, path = "/api/v1/memory/search", tag = "memory", params(SearchQuery),
    responses((status = 200, body = MemorySearchResults), CommonErrors, NotFoundError))]
pub(crate) async fn search_memory(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<SearchQuery>,
) -> Result<Json<MemorySearchResults>, Problem> {
    reads(&caller)?;
    let found = app.memory.search(app.workspace.snapshot(), reader(&app, &caller), &query.q);
    let found = found.await.map_err(problem)?;
    Ok(Json(MemorySearchResults {
        query: found.query,
        stores: found.stores.iter().map(|store| store.as_str()).collect(),
        matches: found.matches,
        results: found.snippets.into_iter().map(MemoryMatch::from).collect(),
    }))
}

/// Returns lines of a note. A note that the caller may not see is not found. With `chat` or `observe`.
#[utoipa::path(get, path = "/api/v1/memory/get", tag = "memory", params(GetQuery),
    responses((status = 200, body = Passage), CommonErrors, NotFoundError))]
pub(crate) async fn read_memory(
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

/// Stores a note, as the caller's trust permits. Notes of other users than the owner are marked as coming from outside.
/// With `chat`.
#[utoipa::path(post, path = "/api/v1/memory/write", tag = "memory", request_body = Note,
    responses((status = 201, body = StoredNote), CommonErrors, NotFoundError, BodyErrors))]
pub(crate) async fn write_memory(
    State(app): State<App>,
    caller: Caller,
    extract::Json(note): extract::Json<Note>,
) -> Result<(StatusCode, Json<StoredNote>), Problem> {
    caller.require(Scope::Chat)?;
    let store: MemoryStore = note.store.parse().map_err(|_| {
        Problem::bad_request("unknown_store", "unknown memory store").help("use private, shared or social")
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
        random: app.clock_and_rng.random(),
    };
    let written = app.memory.write(new).await.map_err(problem)?;
    app.recorder.record(Event { user_id: Some(caller.user().into()), ..write_event(&written, now) });
    let store = written.store.as_str();
    let kept =
        StoredNote { path: written.path, store, bytes: written.bytes, from_outside: written.from_outside };
    Ok((StatusCode::CREATED, Json(kept)))
}

/// The caller as a reader of the memory, in a direct conversation.
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
        MemoryError::NoteNotFound { .. } => Problem::new(StatusCode::NOT_FOUND, "not_found", words.as_str())
            .help("`/api/v1/memory/index` and `/api/v1/memory/search` list the notes"),
        MemoryError::EmptyQuery => refused(StatusCode::BAD_REQUEST, "nothing_to_look_for"),
        MemoryError::NoSuchLines { .. } => refused(StatusCode::BAD_REQUEST, "no_such_lines"),
        MemoryError::AboveTrust { .. } => refused(StatusCode::FORBIDDEN, "above_trust"),
        MemoryError::Title { .. } => refused(StatusCode::UNPROCESSABLE_ENTITY, "bad_title"),
        MemoryError::Text { .. } => refused(StatusCode::UNPROCESSABLE_ENTITY, "bad_text"),
        MemoryError::IdTaken { .. } | MemoryError::Interrupted | MemoryError::NoStore => {
            refused(StatusCode::SERVICE_UNAVAILABLE, "memory_unavailable").retry_after(1)
        }
        // Details of a file error are for the owner.
        MemoryError::File(_) => {
            Problem::unavailable("memory_unavailable", "a memory file can't be read at the moment")
        }
    }
}
