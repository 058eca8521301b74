//! The memory menu: which memories can be loaded, at which token cost, and how. It never contains the memories
//! themselves.

use std::fmt::Write;
use std::sync::Arc;

use crate::text::with_thousands;
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
    pub entries: Arc<[MenuEntry]>,
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
    /// use foreword_prompt::menu::{MemoryTools, Menu, MenuEntry};
    /// use foreword_prompt::trust::Trust;
    /// let people = MenuEntry { path: "social/people.md".into(), tokens: 1814, description: "who is who".into() };
    /// let menu = Menu {
    ///     trust: Trust::Familiar,
    ///     entries: [people].into(),
    ///     moved: vec![],
    ///     remaining: Some(118_400),
    ///     tools: MemoryTools { search: true, get: true },
    /// };
    /// assert!(menu.render(10).contains("- social/people.md (1,814 tok) — who is who"));
    /// assert!(menu.render(10).contains("Remaining budget: ~118k tokens."));
    /// ```
    #[must_use]
    pub fn render(&self, lines: usize) -> String {
        let mut out = format!("## Available Memory (trust: {})", self.trust);
        for entry in self.moved.iter().chain(self.entries.iter()).take(lines) {
            // Writing to a String can't fail.
            let _ = write!(out, "\n- {} ({} tok)", entry.path, with_thousands(entry.tokens));
            if !entry.description.is_empty() {
                let _ = write!(out, " — {}", entry.description);
            }
        }
        let hidden = self.len().saturating_sub(lines);
        if hidden > 0 {
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
        out
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
