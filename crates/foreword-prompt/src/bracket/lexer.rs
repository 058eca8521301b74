//! Splits a template into tags and text in one pass: every byte belongs to exactly one token. Does not pair tags; see
//! `structure`.

use std::ops::Range;

use super::problem::{Problem, ProblemKind};
use super::suggestion::{misspelling, opens_a_known_tag};
use super::template::Mode;
use super::variable::split_variable;

/// A piece of the source.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) span: Range<usize>,
    pub(super) kind: TokenKind,
}

/// The kind of a token.
#[derive(Debug)]
pub(super) enum TokenKind {
    Text,
    /// `[[`, in bracket mode.
    Escape,
    Variable(VariableSpan),
    If {
        variable: VariableSpan,
        negated: bool,
    },
    Else,
    EndIf,
}

/// The byte ranges of a variable's type and name.
#[derive(Debug, Clone)]
pub(super) struct VariableSpan {
    pub(super) kind: Range<usize>,
    pub(super) name: Range<usize>,
}

/// The tokens of `source`, which tile it, and the problems of malformed tags.
pub(super) fn lex(source: &str, mode: Mode) -> (Vec<Token>, Vec<Problem>) {
    let mut lexer = Lexer { source, mode, text_start: 0, tokens: Vec::new(), problems: Vec::new() };
    let mut at = 0;
    while let Some(offset) = source[at..].find('[') {
        at = lexer.bracket(at + offset);
    }
    lexer.end_text(source.len());
    (lexer.tokens, lexer.problems)
}

struct Lexer<'s> {
    source: &'s str,
    mode: Mode,
    /// The start of the text not yet covered by a token.
    text_start: usize,
    tokens: Vec<Token>,
    problems: Vec<Problem>,
}

impl Lexer<'_> {
    /// Lexes from the `[` at `open`. Returns the next position.
    fn bracket(&mut self, open: usize) -> usize {
        if self.mode == Mode::Bracket && self.source[open + 1..].starts_with('[') {
            self.tag(open..open + 2, TokenKind::Escape);
            return open + 2;
        }
        let stop = self.end_of_body(open + 1);
        let body = trimmed(self.source, open + 1..stop);
        if !self.source[stop..].starts_with(']') {
            if opens_a_known_tag(&self.source[body.clone()]) {
                self.problems.push(Problem { span: open..body.end, kind: ProblemKind::Unclosed });
            }
            return stop;
        }
        let span = open..stop + 1;
        match classify(self.source, &body) {
            Some(kind) => self.tag(span, kind),
            None => {
                let misspelt = misspelling(&self.source[body]).map(ProblemKind::Misspelt);
                self.problems.extend(misspelt.map(|kind| Problem { span, kind }));
            }
        }
        stop + 1
    }

    /// A body ends at the next bracket of either kind; in bracket mode also at the end of the line, so that a
    /// forgotten `]` can't swallow paragraphs. Stopping at `[` is also what keeps lexing linear.
    fn end_of_body(&self, from: usize) -> usize {
        let one_line = self.mode == Mode::Bracket;
        let ends = |byte: &u8| matches!(byte, b'[' | b']') || (one_line && *byte == b'\n');
        let length = self.source.as_bytes()[from..].iter().position(ends);
        length.map_or(self.source.len(), |length| from + length)
    }

    fn tag(&mut self, span: Range<usize>, kind: TokenKind) {
        self.end_text(span.start);
        self.text_start = span.end;
        self.tokens.push(Token { span, kind });
    }

    fn end_text(&mut self, end: usize) {
        if self.text_start < end {
            self.tokens.push(Token { span: self.text_start..end, kind: TokenKind::Text });
        }
    }
}

/// The tag with this body, if it is one.
fn classify(source: &str, body: &Range<usize>) -> Option<TokenKind> {
    let text = &source[body.clone()];
    match text {
        "else" => return Some(TokenKind::Else),
        "endif" => return Some(TokenKind::EndIf),
        _ => {}
    }
    if !text.strip_prefix("if").is_some_and(|rest| rest.starts_with(char::is_whitespace)) {
        return variable_in(source, body).map(TokenKind::Variable);
    }
    let mut condition = trimmed(source, body.start + "if".len()..body.end);
    let negated = source[condition.clone()].starts_with('!');
    if negated {
        condition = trimmed(source, condition.start + 1..condition.end);
    }
    variable_in(source, &condition).map(|variable| TokenKind::If { variable, negated })
}

/// `range` must be trimmed, so that type and name are at its ends.
fn variable_in(source: &str, range: &Range<usize>) -> Option<VariableSpan> {
    let (kind, name) = split_variable(&source[range.clone()])?;
    Some(VariableSpan {
        kind: range.start..range.start + kind.len(),
        name: range.end - name.len()..range.end,
    })
}

fn trimmed(source: &str, range: Range<usize>) -> Range<usize> {
    let text = &source[range.clone()];
    let start = range.start + (text.len() - text.trim_start().len());
    start..start + text.trim().len()
}
