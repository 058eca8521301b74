//! A parsed template: its references, its warnings, and its output for given values.

use std::ops::Range;
use std::sync::Arc;

use super::lexer::lex;
use super::problem::report;
use super::structure::{Action, Node, Structure, structure};
use super::variable::{Values, Variable};
use crate::diagnostic::Diagnostic;

/// The default template.
pub const DEFAULT_TEMPLATE: &str = "\
You are a helpful coding assistant.
[if file:AGENTS.md]
[file:AGENTS.md]
[endif]
The current working directory is [prompt:cwd].";

/// The parsing rules. The module documentation lists the differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Tags of an unknown type are text, and `[[` is a literal bracket.
    Bracket,
    /// Every `[type:name]` is a variable, whatever its type. No escape exists.
    Compat,
}

/// A template, parsed once and rendered any number of times. It keeps its source; cloning it is not free but copies
/// no text.
#[derive(Debug, Clone)]
pub struct Template {
    source: Arc<str>,
    mode: Mode,
    nodes: Vec<Node>,
    references: Vec<Variable>,
    diagnostics: Vec<Diagnostic>,
}

impl Template {
    /// Parses a template. Never fails: anything that cannot be a tag is text, and probable mistakes are reported by
    /// [`diagnostics`](Self::diagnostics). Takes linear time.
    ///
    /// ```
    /// use foreword_prompt::bracket::{Mode, Template, Values};
    /// let template = Template::parse("Today is [sytem:date].", Mode::Bracket);
    /// assert_eq!(template.render(&Values::new()), "Today is [sytem:date].");
    /// let problem = &template.diagnostics()[0];
    /// assert_eq!(problem.message, "unknown variable type `sytem`: `[sytem:date]` stays text");
    /// ```
    pub fn parse(source: impl Into<Arc<str>>, mode: Mode) -> Self {
        let source = source.into();
        let (tokens, mut problems) = lex(&source, mode);
        let Structure { nodes, references } = structure(&source, mode, &tokens, &mut problems);
        let diagnostics = report(&source, mode, problems);
        Self { source, mode, nodes, references, diagnostics }
    }

    /// The text this template was parsed from.
    #[must_use]
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// The rules it was parsed by.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether it contains only white space, which means that no prompt is wanted.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.source.trim().is_empty()
    }

    /// The distinct variables it refers to, conditions included, in order of first appearance. Nothing else is ever
    /// looked up in the [`Values`].
    ///
    /// ```
    /// use foreword_prompt::bracket::{DEFAULT_TEMPLATE, Mode, Template, Variable};
    /// let template = Template::parse(DEFAULT_TEMPLATE, Mode::Bracket);
    /// assert_eq!(template.references(), [Variable::new("file", "AGENTS.md"), Variable::new("prompt", "cwd")]);
    /// ```
    #[must_use]
    pub fn references(&self) -> &[Variable] {
        &self.references
    }

    /// Probable mistakes, in source order. All are warnings. Limited to the first hundred; one more reports that there
    /// are others.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The text for these values. Values are inserted byte for byte and never expanded again.
    #[must_use]
    pub fn render(&self, values: &Values) -> String {
        self.render_with(|variable| values.get(variable).cloned())
    }

    /// The text for values found on demand. Calls `resolve` once for each variable in a taken branch, in the order of
    /// the template.
    ///
    /// ```
    /// use foreword_prompt::bracket::{Mode, Template};
    /// let template = Template::parse("[if file:A][file:B][else][file:C][endif]", Mode::Bracket);
    /// let mut asked = Vec::new();
    /// template.render_with(|variable| {
    ///     asked.push(variable.to_string());
    ///     None
    /// });
    /// assert_eq!(asked, ["file:A", "file:C"]);
    /// ```
    pub fn render_with(&self, resolve: impl FnMut(&Variable) -> Option<Arc<str>>) -> String {
        let resolved = self.resolve_taken(resolve);
        let mut text = String::with_capacity(self.length_of(&resolved));
        self.walk(
            |reference| resolved[reference].is_some(),
            |piece| text.push_str(self.text_of(&piece, &resolved)),
        );
        text
    }

    /// How many bytes [`render`](Self::render) would write, without writing them: a short template can insert a long
    /// value very often.
    ///
    /// ```
    /// use foreword_prompt::bracket::{Mode, Template, Values};
    /// let template = Template::parse("[file:A], [file:A]", Mode::Bracket);
    /// assert_eq!(template.rendered_len(&Values::new().with("file", "A", "four")), 10);
    /// ```
    #[must_use]
    pub fn rendered_len(&self, values: &Values) -> usize {
        self.length_of(&self.resolve_taken(|variable| values.get(variable).cloned()))
    }

    /// The values of the reached references, by number; `None` for absent and unreached ones.
    fn resolve_taken(&self, mut resolve: impl FnMut(&Variable) -> Option<Arc<str>>) -> Vec<Option<Arc<str>>> {
        let mut slots: Vec<Option<Option<Arc<str>>>> = vec![None; self.references.len()];
        let exists = |reference: usize| {
            slots[reference].get_or_insert_with(|| resolve(&self.references[reference])).is_some()
        };
        self.walk(exists, |_| {});
        slots.into_iter().map(Option::flatten).collect()
    }

    fn length_of(&self, resolved: &[Option<Arc<str>>]) -> usize {
        let mut length = 0_usize;
        self.walk(
            |reference| resolved[reference].is_some(),
            |piece| length = length.saturating_add(self.text_of(&piece, resolved).len()),
        );
        length
    }

    fn text_of<'a>(&'a self, piece: &Piece<'_>, resolved: &'a [Option<Arc<str>>]) -> &'a str {
        match piece {
            Piece::Source(span) => &self.source[(*span).clone()],
            Piece::Bracket => "[",
            Piece::Value(reference) => resolved[*reference].as_deref().unwrap_or_default(),
        }
    }

    /// Visits the output in order. Calls `exists` for every reached reference.
    fn walk(&self, mut exists: impl FnMut(usize) -> bool, mut write: impl FnMut(Piece<'_>)) {
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            at += 1;
            match &node.action {
                Action::Text => write(Piece::Source(&node.span)),
                Action::Bracket => write(Piece::Bracket),
                Action::Insert { reference } => {
                    if exists(*reference) {
                        write(Piece::Value(*reference));
                    }
                }
                Action::Test { reference, negated, otherwise } => {
                    if exists(*reference) == *negated {
                        at = *otherwise;
                    }
                }
                Action::Jump { to } => at = *to,
                Action::Nothing => {}
            }
        }
    }

    /// The spans of the nodes, which tile the source.
    #[cfg(test)]
    pub(super) fn spans(&self) -> impl Iterator<Item = Range<usize>> {
        self.nodes.iter().map(|node| node.span.clone())
    }
}

/// A part of the output.
enum Piece<'a> {
    Source(&'a Range<usize>),
    Bracket,
    Value(usize),
}
