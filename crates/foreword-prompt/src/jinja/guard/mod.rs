//! Adds checks to a parsed template so that it cannot exceed the limits: operators, literals and loops that could are
//! replaced by checked versions (see `operators`). The result is template text for the engine, with a map from each
//! part to the author's text. Output and evaluation order are unchanged. Contains no size checks itself.
//!
//! The author's text is copied, and changed only where a check is needed. The engine offers no smaller place for the
//! checks: fuel counts instructions but not bytes, the formatter and the output writer see only what is printed,
//! values cannot overload operators, and an included file is compiled from text only, so that neither its syntax tree
//! nor its instructions can be replaced.

mod expressions;
mod statements;
mod tree;

use std::ops::Range;

use minijinja::machinery::ast::Stmt;

use super::source_map::SourceMap;

/// A template the engine may compile.
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) text: String,
    pub(super) map: SourceMap,
    pub(super) references: Vec<Reference>,
}

/// An `include`, `import`, `from` or `extends`.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) names: Vec<String>,
    pub(super) ignore_missing: bool,
    pub(super) span: Range<usize>,
}

/// A construct that we reject although the engine would accept it, or fail on it.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// Whether a template's text is written once, or as often as another file uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Root,
    Included,
}

pub(super) fn guard(source: &str, template: &Stmt<'_>, role: Role) -> Result<Guarded, Refusal> {
    let mut writer = Writer {
        source,
        copied: 0,
        text: String::with_capacity(source.len() + 64),
        line: 1,
        map: SourceMap::default(),
        references: Vec::new(),
    };
    if let Stmt::Template(template) = template {
        if role == Role::Included {
            writer.charge_for_text(&template.children, 0..0, "}}");
        }
        writer.body(&template.children)?;
    }
    writer.copy_to(source.len());
    Ok(Guarded { text: writer.text, map: writer.map, references: writer.references })
}

/// Copies the author's text and inserts checks. Every tag starts a new line, so that an error that knows only its line
/// can be traced to a tag.
///
/// An opening parenthesis may be inserted anywhere in a run of them: the result is the same text. Hence it does not
/// matter that the parser drops the parentheses around an expression.
struct Writer<'s> {
    source: &'s str,
    /// How much of `source` has been copied or replaced.
    copied: usize,
    text: String,
    line: usize,
    map: SourceMap,
    references: Vec<Reference>,
}

impl Writer<'_> {
    /// Copies the author's text up to `end`, unless it was copied before.
    fn copy_to(&mut self, end: usize) {
        let text = self.source.get(self.copied..end).unwrap_or_default();
        self.line += text.bytes().filter(|byte| *byte == b'\n').count();
        self.text.push_str(text);
        self.copied = self.copied.max(end);
    }

    /// Inserts generated syntax, without line breaks.
    fn put(&mut self, syntax: &str) {
        self.text.push_str(syntax);
    }

    /// Replaces the author's next token by generated syntax, if it is `token`. Closing parentheses are copied: they belong
    /// to the expression before.
    fn replace(&mut self, token: &str, syntax: &str) -> bool {
        let rest = self.source.get(self.copied..).unwrap_or_default();
        let next = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ')');
        self.copy_to(self.source.len() - next.len());
        if !next.starts_with(token) {
            return false;
        }
        self.copied += token.len();
        self.put(syntax);
        true
    }

    /// Replaces a token that has to be there, since the parser accepted it.
    fn expect(&mut self, token: &str, syntax: &str) -> Result<(), Refusal> {
        if self.replace(token, syntax) {
            return Ok(());
        }
        let message = format!("syntax error: expected `{token}`");
        Err(Refusal { span: self.copied..self.copied, message, help: None })
    }

    /// Starts a line inside of a tag that corresponds to `written`.
    fn start_line(&mut self, written: Range<usize>) {
        self.text.push('\n');
        self.line += 1;
        self.map.tag(self.line, written);
    }

    /// Maps the output of `write` to `written`.
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
