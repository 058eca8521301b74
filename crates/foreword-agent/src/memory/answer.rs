//! Formats results of memory for a model: each snippet with its location and size in tokens, and the exact call that
//! reads more. The only output type is [`MemoryAnswer`], which records whether its text may be from outside.

use std::fmt::Write;
use std::sync::Arc;

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::text::with_thousands;
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::untrusted::single_line;
use foreword_workspace::memory_index::{Hit, Lines, Passage};
use foreword_workspace::snapshot::Snapshot;

/// The maximum length of a title or heading, in characters.
const TITLE: usize = 120;
/// The maximum length of a query that is repeated, in characters.
const QUERY: usize = 80;

/// Text for a model or a person. The caller must delimit it if it is from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryAnswer {
    pub text: String,
    /// Whether some of it may be from outside.
    pub from_outside: bool,
}

/// The results of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    pub query: String,
    /// The searched stores: those the reader may see.
    pub stores: Vec<MemoryStore>,
    /// The best snippets in order.
    pub snippets: Vec<Snippet>,
    /// The total number of matches.
    pub matches: usize,
}

/// A match in a note.
#[derive(Debug, Clone, PartialEq)]
pub struct Snippet {
    /// The note's path, for `memory_get`.
    pub path: Arc<str>,
    /// The note's one-line description.
    pub description: String,
    /// The enclosing headings.
    pub heading: Option<Arc<str>>,
    /// The first line, from 1.
    pub from: usize,
    /// The number of lines.
    pub lines: usize,
    /// The text around the match.
    pub text: String,
    /// The tokens of the text.
    pub tokens: usize,
    pub lines_tokens: usize,
    /// The tokens of the whole note.
    pub whole_tokens: usize,
    /// The score, comparable only within one search.
    pub score: f32,
    /// Whether its text may be from outside.
    pub from_outside: bool,
}

impl Snippet {
    pub(super) fn priced(hit: Hit, snapshot: &Snapshot, counter: Tokenizer) -> Self {
        let document = &hit.document;
        let (from, lines) = (hit.lines.0, hit.lines.1 - hit.lines.0 + 1);
        let passage = Passage::of(&document.text, Lines { from, count: Some(lines) });
        let count = |text: &str| counter.get().count(text);
        Self {
            path: Arc::clone(&document.path),
            description: single_line(&document.description, TITLE),
            from,
            lines,
            tokens: count(&hit.snippet),
            lines_tokens: passage.map_or(0, |passage| count(&passage.text)),
            whole_tokens: snapshot.files().tokens(counter, document.hash, &document.text),
            from_outside: document.from_outside,
            heading: hit.heading,
            text: hit.snippet,
            score: hit.score,
        }
    }

    /// The call that reads the lines.
    #[must_use]
    pub fn call(&self) -> String {
        format!("memory_get({}, {}, {})", quoted(&self.path), self.from, self.lines)
    }

    fn render(&self, number: usize, out: &mut String) {
        // Writing to a `String` cannot fail.
        let _ = write!(out, "\n\n{number}. {}, {}", self.path, lines_in_words(self.from, self.lines));
        if !self.description.is_empty() {
            let _ = write!(out, " — {}", self.description);
        }
        if !self.text.is_empty() {
            let _ = write!(out, "\n   {}", self.text);
        }
        let _ = write!(
            out,
            "\n   ({} tok; {} costs {} tok, the whole note {} tok)",
            with_thousands(self.tokens),
            self.call(),
            with_thousands(self.lines_tokens),
            with_thousands(self.whole_tokens),
        );
    }
}

impl Results {
    /// Formats the results for a model.
    #[must_use]
    pub fn answer(&self) -> MemoryAnswer {
        let stores: Vec<&str> = self.stores.iter().map(|store| store.as_str()).collect();
        let stores = stores.join(", ");
        let mut text = String::new();
        if self.snippets.is_empty() {
            let query = single_line(&self.query, QUERY);
            let _ = write!(text, "Nothing about \"{query}\" in {stores}. Other words may find it.");
        } else {
            let count = self.snippets.len();
            let plural = if count == 1 { "" } else { "s" };
            let _ = write!(text, "{count} result{plural} from {stores}, the best first:");
        }
        for (number, snippet) in (1..).zip(&self.snippets) {
            snippet.render(number, &mut text);
        }
        let more = self.matches.saturating_sub(self.snippets.len());
        if more > 0 {
            let _ = write!(
                text,
                "\n\n{} more match less well; use more specific terms to narrow them down.",
                with_thousands(more)
            );
        }
        MemoryAnswer { text, from_outside: self.snippets.iter().any(|snippet| snippet.from_outside) }
    }
}

/// Lines of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The note's path.
    pub path: String,
    /// The lines.
    pub passage: Passage,
    /// The tokens of the lines.
    pub tokens: usize,
    /// Whether its text may be from outside.
    pub from_outside: bool,
}

impl Read {
    /// Formats the lines for a model.
    #[must_use]
    pub fn answer(&self) -> MemoryAnswer {
        let passage = &self.passage;
        let count = (passage.last + 1).saturating_sub(passage.first);
        let lines = if count == 0 { "empty".to_owned() } else { lines_in_words(passage.first, count) };
        let of = with_thousands(passage.of);
        let path = single_line(&self.path, usize::MAX);
        let mut text = format!("{path}, {lines} of {of} ({} tok)", with_thousands(self.tokens));
        if count > 0 {
            let _ = write!(text, ":\n\n{}", passage.text);
        }
        if passage.cut {
            let _ = write!(text, "…\n\n[line {} exceeds the output limit]", passage.last);
        }
        if let Some(next) = passage.next {
            let _ = write!(text, "\n\n[continue with memory_get({}, {next})]", quoted(&self.path));
        }
        MemoryAnswer { text, from_outside: self.from_outside }
    }
}

fn lines_in_words(from: usize, count: usize) -> String {
    if count == 1 { format!("line {from}") } else { format!("lines {from}–{}", from + count - 1) }
}

/// A path as a quoted argument.
fn quoted(path: &str) -> String {
    serde_json::Value::from(path).to_string()
}
