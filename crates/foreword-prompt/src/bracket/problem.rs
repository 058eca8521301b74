//! Converts parse problems into warnings: what, where, and what to write instead.

use std::ops::Range;

use super::lexer::VariableSpan;
use super::suggestion::{Misspelling, instead_of_name, instead_of_type, looks_like_a_tag};
use super::template::Mode;
use crate::diagnostic::{Diagnostic, Severity};

/// The maximum number of warnings, which bounds the cost of a hostile template.
const MAX_DIAGNOSTICS: usize = 100;
/// The maximum length of a quoted tag in a message.
const MAX_QUOTED: usize = 60;

/// A problem with the tag, or probable tag, at `span`.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) span: Range<usize>,
    pub(super) kind: ProblemKind,
}

#[derive(Debug)]
pub(super) enum ProblemKind {
    UnknownType { variable: VariableSpan, condition: bool },
    UnknownName { variable: VariableSpan },
    IfWithoutEnd,
    ElseOutside,
    SecondElse,
    EndIfOutside,
    Misspelt(Misspelling),
    Unclosed,
}

/// The warnings for `problems`, in source order.
pub(super) fn report(source: &str, mode: Mode, mut problems: Vec<Problem>) -> Vec<Diagnostic> {
    problems.sort_by_key(|problem| problem.span.start);
    let reporter = Reporter { source, mode };
    let mut diagnostics = Vec::new();
    for problem in &problems {
        let Some(diagnostic) = reporter.diagnostic(problem) else { continue };
        if diagnostics.len() == MAX_DIAGNOSTICS {
            diagnostics.push(Diagnostic {
                severity: Severity::Warning,
                code: "more_problems",
                message: format!("there are more problems after the first {MAX_DIAGNOSTICS}"),
                help: Some("fix these first, then check again".to_owned()),
                span: diagnostic.span,
            });
            break;
        }
        diagnostics.push(diagnostic);
    }
    diagnostics
}

struct Reporter<'s> {
    source: &'s str,
    mode: Mode,
}

impl Reporter<'_> {
    fn diagnostic(&self, problem: &Problem) -> Option<Diagnostic> {
        let tag = quoted(&self.source[problem.span.clone()]);
        let mut span = problem.span.clone();
        let (code, message, help) = match &problem.kind {
            ProblemKind::UnknownType { variable, condition } => {
                if !condition && self.mode == Mode::Bracket && !self.looks_like_a_tag(&problem.span, variable)
                {
                    return None;
                }
                span = variable.kind.clone();
                let message = self.unknown_type_message(variable, *condition, &tag);
                ("unknown_variable_type", message, self.unknown_type_help(variable, *condition))
            }
            ProblemKind::UnknownName { variable } => {
                span = variable.name.clone();
                let (message, help) = self.unknown_name(variable);
                ("unknown_variable_name", message, help)
            }
            ProblemKind::IfWithoutEnd => (
                "unmatched_tag",
                format!("`{tag}` has no `[endif]`: it stays text"),
                self.or_escape("add `[endif]`"),
            ),
            ProblemKind::ElseOutside => (
                "unmatched_tag",
                "`[else]` is in no `[if …]`: it stays text".to_owned(),
                self.or_escape("remove it, or add the `[if type:name]` it belongs to"),
            ),
            ProblemKind::SecondElse => (
                "unmatched_tag",
                "this `[if …]` has an `[else]` already: the second stays text".to_owned(),
                self.or_escape("remove one of them, or close an inner `[if …]` before it"),
            ),
            ProblemKind::EndIfOutside => (
                "unmatched_tag",
                "`[endif]` closes no `[if …]`: it stays text".to_owned(),
                self.or_escape("remove it, or add the `[if type:name]` it belongs to"),
            ),
            ProblemKind::Misspelt(misspelling) => self.misspelt(*misspelling, &tag),
            ProblemKind::Unclosed => (
                "unclosed_tag",
                format!("`{tag}` has no closing `]`: it stays text"),
                self.or_escape(match self.mode {
                    Mode::Bracket => "add `]`; a tag holds no brackets and ends on its line",
                    Mode::Compat => "add `]`; a tag holds no brackets",
                }),
            ),
        };
        Some(Diagnostic { severity: Severity::Warning, code, message, help: Some(help), span })
    }

    fn looks_like_a_tag(&self, tag: &Range<usize>, variable: &VariableSpan) -> bool {
        let as_written = &self.source[variable.kind.end + ":".len()..variable.name.end];
        let (before, after) = (&self.source[..tag.start], &self.source[tag.end..]);
        looks_like_a_tag(&self.source[variable.kind.clone()], as_written, before, after)
    }

    fn unknown_type_message(&self, variable: &VariableSpan, condition: bool, tag: &str) -> String {
        let kind = quoted(&self.source[variable.kind.clone()]);
        let consequence = match (self.mode, condition) {
            (Mode::Bracket, false) => format!("`{tag}` stays text"),
            (Mode::Bracket, true) => format!("`{tag}`, its `[else]` and its `[endif]` stay text"),
            (Mode::Compat, false) => format!("`{tag}` is replaced by nothing"),
            (Mode::Compat, true) => format!("`{tag}` tests something that never exists"),
        };
        format!("unknown variable type `{kind}`: {consequence}")
    }

    fn unknown_type_help(&self, variable: &VariableSpan, condition: bool) -> String {
        let (kind, name) = (&self.source[variable.kind.clone()], &self.source[variable.name.clone()]);
        let advice = match (instead_of_type(kind, name), self.mode) {
            (Some((kind, name)), _) => format!("did you mean `{}`?", quoted(&format!("{kind}:{name}"))),
            (None, Mode::Compat) if !condition => {
                "to keep it as text, use `dialect: bracket`; the types are `system`, `prompt`, `git` and `file`".to_owned()
            }
            (None, _) => "the types are `system`, `prompt`, `git` and `file`".to_owned(),
        };
        self.or_escape(&advice)
    }

    fn unknown_name(&self, variable: &VariableSpan) -> (String, String) {
        let (kind, name) = (&self.source[variable.kind.clone()], &self.source[variable.name.clone()]);
        let message = format!("`{kind}` has no variable `{}`: it never exists", quoted(name));
        let help = match instead_of_name(kind, name) {
            Some((kind, name)) => format!("did you mean `{kind}:{name}`?"),
            None => {
                let names: Vec<_> =
                    super::catalog::names_of(kind).map(|name| format!("`{kind}:{name}`")).collect();
                format!("there are {}", names.join(", "))
            }
        };
        (message, self.or_escape(&help))
    }

    fn misspelt(&self, misspelling: Misspelling, tag: &str) -> (&'static str, String, String) {
        let (message, help) = match misspelling {
            Misspelling::ConditionWithoutVariable => (
                format!("`{tag}` names no variable: it stays text"),
                "write `[if type:name]` or `[if !type:name]`",
            ),
            Misspelling::If => (format!("`{tag}` is not a tag: it stays text"), "write `if` in lower case"),
            Misspelling::Else => (format!("`{tag}` is not a tag: it stays text"), "did you mean `[else]`?"),
            Misspelling::EndIf => (format!("`{tag}` is not a tag: it stays text"), "did you mean `[endif]`?"),
            Misspelling::ElseIf => (
                format!("`{tag}` is not a tag: it stays text"),
                "write `[else][if type:name]…[endif]` before the outer `[endif]`",
            ),
            Misspelling::EmptyName => {
                (format!("`{tag}` names no variable: it stays text"), "write the name after the colon")
            }
            Misspelling::SpaceBeforeColon => {
                (format!("`{tag}` is not a tag: it stays text"), "remove the space before the colon")
            }
        };
        ("misspelt_tag", message, self.or_escape(help))
    }

    /// The advice, and how to escape the bracket, where the mode has an escape.
    fn or_escape(&self, advice: &str) -> String {
        match self.mode {
            Mode::Bracket => format!("{advice} (for a literal bracket write `[[`)"),
            Mode::Compat => advice.to_owned(),
        }
    }
}

/// A part of the source for a message: one line, no control characters, limited length.
fn quoted(text: &str) -> String {
    let mut shown = String::new();
    for (count, char) in text.chars().enumerate() {
        match char {
            _ if count == MAX_QUOTED => {
                shown.push('…');
                break;
            }
            '`' => shown.push('\''),
            _ if char.is_control() || is_invisible(char) => shown.extend(char.escape_unicode()),
            _ => shown.push(char),
        }
    }
    shown
}

/// Characters that reorder or hide what a terminal shows.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
