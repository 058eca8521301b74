//! Rewrites a parsed template into one that can't build more than the limits allow: operators, literals and loops
//! that could are replaced by versions that check first (see `operators`). The result is template text again, for
//! the engine to compile, and a map from each of its pieces to what the author wrote. Output and order of
//! evaluation stay the same. Decides nothing about sizes.

mod calls;
mod declarations;
mod expressions;
mod statements;
pub(super) mod tree;

use std::ops::Range;

use minijinja::machinery::ast::Stmt;

use super::source_map::SourceMap;

/// A template the engine may compile.
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) text: String,
    pub(super) map: SourceMap,
}

/// Something the engine would accept, or stumble over, and we don't.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// Whether a template's own text is written out once, or as often as another file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Root,
    Included,
}

pub(super) fn guard(source: &str, template: &Stmt<'_>, role: Role) -> Result<Guarded, Refusal> {
    let mut writer =
        Writer { source, text: String::with_capacity(source.len() + 64), line: 1, map: SourceMap::default() };
    let Stmt::Template(template) = template else {
        return Ok(Guarded { text: String::new(), map: SourceMap::default() });
    };
    if role == Role::Included {
        writer.charge_for_text(&template.children, 0..0);
    }
    writer.body(&template.children)?;
    Ok(Guarded { text: writer.text, map: writer.map })
}

/// Writes guarded text. Every tag stands on a line of its own making, so that an error that knows only its line can
/// be traced to a tag; nothing else in a tag breaks the line.
struct Writer<'s> {
    source: &'s str,
    text: String,
    line: usize,
    map: SourceMap,
}

impl Writer<'_> {
    /// Syntax of our own: no line breaks.
    fn put(&mut self, syntax: &str) {
        self.text.push_str(syntax);
    }

    /// Opens a tag that stands for `written`.
    fn open(&mut self, opener: &str, written: Range<usize>) {
        self.put(opener);
        self.text.push('\n');
        self.line += 1;
        self.map.tag(self.line, written);
    }

    /// Text outside of tags, as the author wrote it.
    fn literal_text(&mut self, text: &str, written: Range<usize>) {
        let has_marker = ["{{", "{%", "{#"].iter().any(|marker| text.contains(marker));
        if has_marker || text.ends_with('{') {
            let start = self.text.len();
            self.put("{{ ");
            self.quoted(text);
            self.put(" }}");
            self.map.mark(start..self.text.len(), written);
        } else {
            self.line += text.bytes().filter(|byte| *byte == b'\n').count();
            self.text.push_str(text);
        }
    }

    /// A string literal on one line.
    fn quoted(&mut self, text: &str) {
        self.text.push('"');
        for letter in text.chars() {
            match letter {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                other => self.text.push(other),
            }
        }
        self.text.push('"');
    }

    /// Whatever `write` writes stands for `written`.
    fn marked(
        &mut self,
        written: Range<usize>,
        write: impl FnOnce(&mut Self) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let start = self.text.len();
        write(self)?;
        self.map.mark(start..self.text.len(), written);
        Ok(())
    }
}
