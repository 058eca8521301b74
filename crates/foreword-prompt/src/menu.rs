//! The memory menu: which memories can be loaded, at which token cost, and how. It never contains the memories
//! themselves.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Deref;
use std::sync::Arc;

use crate::text::with_thousands;
use crate::tokens::TokenCounter;
use crate::trust::Trust;

/// One line of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuEntry {
    /// The argument of `memory_get`.
    pub path: Arc<str>,
    /// The tokens of the whole memory.
    pub tokens: usize,
    /// One line about it.
    pub description: Arc<str>,
}

impl MenuEntry {
    /// Appends the line to `out`, without a line feed. It starts with `-`, so that [`TokenCounter::units`] add up.
    pub(crate) fn write_line(&self, out: &mut String) {
        // Writing to a String can't fail.
        let _ = write!(out, "- {} ({} tok)", self.path, with_thousands(self.tokens));
        if !self.description.is_empty() {
            let _ = write!(out, " — {}", self.description);
        }
    }
}

/// The lines of a menu, with their cost under one token counter. Counted once for all prompts that list the same files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuLines {
    entries: Vec<MenuEntry>,
    counter: String,
    /// The units of the first lines, by their number, from 0.
    sums: Vec<u64>,
}

impl MenuLines {
    /// The lines, counted with `counter`.
    #[must_use]
    pub fn new(entries: Vec<MenuEntry>, counter: &dyn TokenCounter) -> Self {
        let sums = sums_of(&entries, counter);
        Self { entries, counter: counter.name().to_owned(), sums }
    }

    /// The units of the first lines, by their number, from 0. Each line includes the line feed after it.
    pub(crate) fn sums(&self, counter: &dyn TokenCounter) -> Cow<'_, [u64]> {
        if self.counter == counter.name() {
            Cow::Borrowed(&self.sums)
        } else {
            Cow::Owned(sums_of(&self.entries, counter))
        }
    }
}

impl Deref for MenuLines {
    type Target = [MenuEntry];

    fn deref(&self) -> &[MenuEntry] {
        &self.entries
    }
}

/// The units of the first of `entries`, by their number, from 0.
pub(crate) fn sums_of(entries: &[MenuEntry], counter: &dyn TokenCounter) -> Vec<u64> {
    let mut sums = Vec::with_capacity(entries.len() + 1);
    let (mut sum, mut line) = (0, String::new());
    sums.push(sum);
    for entry in entries {
        line.clear();
        entry.write_line(&mut line);
        line.push('\n');
        sum += counter.units(&line);
        sums.push(sum);
    }
    sums
}

/// The memory tools that the reader can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryTools {
    /// `memory_search(query)`.
    pub search: bool,
    /// `memory_get(path, from, lines)`.
    pub get: bool,
}

/// The menu for one reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// The trust of the reader.
    pub trust: Trust,
    /// Its lines, in a stable order.
    pub entries: Arc<MenuLines>,
    /// Lines added for this prompt: files that did not fit, or that are only listed.
    pub moved: Vec<MenuEntry>,
    /// How many tokens may still be loaded.
    pub remaining: Option<usize>,
    /// Which tools can be called.
    pub tools: MemoryTools,
}

impl Menu {
    /// The number of lines.
    #[must_use]
    pub fn len(&self) -> usize {
        self.moved.len() + self.entries.len()
    }

    /// Whether it has no lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The menu as the model reads it, with at most `lines` lines of files.
    ///
    /// ```
    /// use foreword_prompt::menu::{MemoryTools, Menu, MenuEntry, MenuLines};
    /// use foreword_prompt::tokens::Tokenizer;
    /// use foreword_prompt::trust::Trust;
    /// let people = MenuEntry { path: "social/people.md".into(), tokens: 1814, description: "who is who".into() };
    /// let menu = Menu {
    ///     trust: Trust::Familiar,
    ///     entries: MenuLines::new(vec![people], Tokenizer::Estimate.get()).into(),
    ///     moved: vec![],
    ///     remaining: Some(118_400),
    ///     tools: MemoryTools { search: true, get: true },
    /// };
    /// assert!(menu.render(10).contains("- social/people.md (1,814 tok) — who is who"));
    /// assert!(menu.render(10).contains("Remaining budget: ~118k tokens."));
    /// ```
    #[must_use]
    pub fn render(&self, lines: usize) -> String {
        let mut out = self.title();
        for entry in self.moved.iter().chain(self.entries.iter()).take(lines) {
            out.push('\n');
            entry.write_line(&mut out);
        }
        self.write_end(lines, &mut out);
        out
    }

    /// The first line.
    pub(crate) fn title(&self) -> String {
        format!("## Available Memory (trust: {})", self.trust)
    }

    /// Appends everything after the last of `lines` lines.
    pub(crate) fn write_end(&self, lines: usize, out: &mut String) {
        let hidden = self.len().saturating_sub(lines);
        if hidden > 0 {
            // Writing to a String can't fail.
            let _ = write!(out, "\n- … and {} more files", with_thousands(hidden));
            if self.tools.search {
                out.push_str(", which memory_search(query) finds");
            }
        }
        let footer = self.footer();
        if !footer.is_empty() {
            out.push_str("\n\n");
            out.push_str(&footer);
        }
    }

    fn footer(&self) -> String {
        let mut sentences = Vec::new();
        if let Some(remaining) = self.remaining {
            sentences.push(format!("Remaining budget: {} tokens.", roughly(remaining)));
        }
        sentences.extend(match (self.tools.search, self.tools.get) {
            (true, true) => Some(
                "Use memory_search(query) to find specific facts, or memory_get(path, from, lines) to load sections."
                    .to_owned(),
            ),
            (true, false) => Some("Use memory_search(query) to find specific facts.".to_owned()),
            (false, true) => Some("Use memory_get(path, from, lines) to load sections.".to_owned()),
            (false, false) => None,
        });
        sentences.join(" ")
    }
}

/// A size to the nearest thousand, so that it does not change with every message.
fn roughly(tokens: usize) -> String {
    if tokens < 1000 { format!("~{tokens}") } else { format!("~{}k", tokens / 1000) }
}
