//! What memory gives out, in words a model can act on: each snippet with its place and its price, and the call that reads
//! more, exactly as it can be made. There is one way out, [`Given`], which says whether words in it may be from outside.

use std::fmt::Write;
use std::sync::Arc;

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::text::with_thousands;
use foreword_prompt::tokens::Counter;
use foreword_prompt::untrusted::single_line;
use foreword_workspace::memory_index::{Hit, Lines, Passage};
use foreword_workspace::snapshot::Snapshot;

/// The most characters of a title or heading.
const TITLE: usize = 120;
/// The most characters of a query that are repeated.
const QUERY: usize = 80;

/// Words for a model or a person. Whoever passes them on must frame them if they are from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The words.
    pub text: String,
    /// Whether some of them may come from outside.
    pub from_outside: bool,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// What was looked for.
    pub query: String,
    /// The stores that were searched: those the reader may see.
    pub stores: Vec<MemoryStore>,
    /// The best, in order.
    pub snippets: Vec<Snippet>,
    /// How many places have any of the words.
    pub matches: usize,
}

/// A place in a note that speaks of what was looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Snippet {
    /// The note's path, for `memory_get`.
    pub path: Arc<str>,
    /// What the note is about, on one line.
    pub description: String,
    /// The headings it stands under.
    pub heading: Option<Arc<str>>,
    /// The first line of the place, from 1.
    pub from: usize,
    /// How many lines it has.
    pub lines: usize,
    /// The words around what was looked for.
    pub text: String,
    /// What they weigh.
    pub tokens: usize,
    /// What the lines weigh.
    pub lines_tokens: usize,
    /// What the whole note weighs.
    pub whole_tokens: usize,
    /// How well it fits; only to be compared within one search.
    pub score: f32,
    /// Whether its words may come from outside.
    pub from_outside: bool,
}

impl Snippet {
    pub(super) fn priced(hit: Hit, snapshot: &Snapshot, counter: Counter) -> Self {
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
        // Writing to a String can't fail.
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
    /// The results as a model reads them.
    #[must_use]
    pub fn given(&self) -> Given {
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
                "\n\n{} more match less well; more telling words narrow it down.",
                with_thousands(more)
            );
        }
        Given { text, from_outside: self.snippets.iter().any(|snippet| snippet.from_outside) }
    }
}

/// Lines of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The note's path.
    pub path: String,
    /// The lines.
    pub passage: Passage,
    /// What they weigh.
    pub tokens: usize,
    /// Whether its words may come from outside.
    pub from_outside: bool,
}

impl Read {
    /// The lines as a model reads them.
    #[must_use]
    pub fn given(&self) -> Given {
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
            let _ = write!(text, "…\n\n[line {} is longer than can be given out at once]", passage.last);
        }
        if let Some(next) = passage.next {
            let _ = write!(text, "\n\n[go on with memory_get({}, {next})]", quoted(&self.path));
        }
        Given { text, from_outside: self.from_outside }
    }
}

fn lines_in_words(from: usize, count: usize) -> String {
    if count == 1 { format!("line {from}") } else { format!("lines {from}–{}", from + count - 1) }
}

/// A path as an argument, with whatever is in it.
fn quoted(path: &str) -> String {
    serde_json::Value::from(path).to_string()
}
