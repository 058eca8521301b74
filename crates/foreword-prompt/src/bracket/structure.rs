//! Pairs tags and converts tokens into nodes. An unpaired tag stays text, so no repair is needed. Not recursive:
//! nesting may be as deep as the source is long.

use std::collections::BTreeMap;
use std::ops::Range;

use super::catalog::{is_known_kind, is_known_variable};
use super::lexer::{Token, TokenKind, VariableSpan};
use super::problem::{Problem, ProblemKind};
use super::template::Mode;
use super::variable::Variable;

/// A range of the source and its action. Nodes tile the source.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) action: Action,
}

/// The action of a node. Jump targets are node indices and always forward, so rendering terminates.
#[derive(Debug, Clone)]
pub(super) enum Action {
    /// Writes the source as it is.
    Text,
    /// Writes one `[`.
    Bracket,
    /// Writes the value of this reference.
    Insert { reference: usize },
    /// Continues if the reference exists (or, negated, does not), otherwise jumps.
    Test { reference: usize, negated: bool, otherwise: usize },
    /// Jumps to the end of the condition, from the branch before an `[else]`.
    Jump { to: usize },
    /// Writes nothing: an `[endif]`.
    Nothing,
}

/// Nodes, and the distinct variables they refer to in order of first appearance.
pub(super) struct Structure {
    pub(super) nodes: Vec<Node>,
    pub(super) references: Vec<Variable>,
}

/// Pairs the tags of `source`; adds unpaired tags and unknown variables to `problems`.
pub(super) fn structure(
    source: &str,
    mode: Mode,
    tokens: &[Token],
    problems: &mut Vec<Problem>,
) -> Structure {
    let mut pairing =
        Pairing { source, mode, nodes: Vec::with_capacity(tokens.len()), open: Vec::new(), problems };
    for token in tokens {
        pairing.token(token);
    }
    let mut nodes = pairing.finish();
    let references = number_references(source, tokens, &mut nodes);
    Structure { nodes, references }
}

/// An `[if]` whose `[endif]` has not been seen.
struct OpenIf {
    node: usize,
    span: Range<usize>,
    negated: bool,
    otherwise: Option<usize>,
    /// Has an unknown type, in bracket mode: it takes its `[else]` and `[endif]`, and all three stay text.
    literal: bool,
    /// The problem with its variable.
    problem: Option<Problem>,
}

struct Pairing<'s, 'p> {
    source: &'s str,
    mode: Mode,
    nodes: Vec<Node>,
    open: Vec<OpenIf>,
    problems: &'p mut Vec<Problem>,
}

impl Pairing<'_, '_> {
    fn token(&mut self, token: &Token) {
        let action = match &token.kind {
            TokenKind::Text => Action::Text,
            TokenKind::Escape => Action::Bracket,
            TokenKind::Variable(variable) => {
                self.problems.extend(self.problem_with(&token.span, variable, false));
                if self.is_literal(variable) { Action::Text } else { Action::Insert { reference: 0 } }
            }
            TokenKind::If { variable, negated } => {
                self.open.push(OpenIf {
                    node: self.nodes.len(),
                    span: token.span.clone(),
                    negated: *negated,
                    otherwise: None,
                    literal: self.is_literal(variable),
                    problem: self.problem_with(&token.span, variable, true),
                });
                Action::Text
            }
            TokenKind::Else => {
                self.otherwise(&token.span);
                Action::Text
            }
            TokenKind::EndIf => self.end(&token.span),
        };
        self.nodes.push(Node { span: token.span.clone(), action });
    }

    /// Whether a tag with this variable is text.
    fn is_literal(&self, variable: &VariableSpan) -> bool {
        self.mode == Mode::Bracket && !is_known_kind(&self.source[variable.kind.clone()])
    }

    /// The problem of a variable that is not in the catalogue.
    fn problem_with(&self, tag: &Range<usize>, variable: &VariableSpan, condition: bool) -> Option<Problem> {
        let (kind, name) = (&self.source[variable.kind.clone()], &self.source[variable.name.clone()]);
        if is_known_variable(kind, name) {
            return None;
        }
        let variable = variable.clone();
        let kind = match is_known_kind(kind) {
            true => ProblemKind::UnknownName { variable },
            false => ProblemKind::UnknownType { variable, condition },
        };
        Some(Problem { span: tag.clone(), kind })
    }

    fn otherwise(&mut self, tag: &Range<usize>) {
        let kind = match self.open.last_mut() {
            Some(open) if open.otherwise.is_none() => {
                open.otherwise = Some(self.nodes.len());
                return;
            }
            Some(_) => ProblemKind::SecondElse,
            None => ProblemKind::ElseOutside,
        };
        self.problems.push(Problem { span: tag.clone(), kind });
    }

    fn end(&mut self, tag: &Range<usize>) -> Action {
        let Some(open) = self.open.pop() else {
            self.problems.push(Problem { span: tag.clone(), kind: ProblemKind::EndIfOutside });
            return Action::Text;
        };
        self.problems.extend(open.problem);
        if open.literal {
            return Action::Text;
        }
        let end = self.nodes.len();
        if let Some(otherwise) = open.otherwise {
            self.nodes[otherwise].action = Action::Jump { to: end };
        }
        let otherwise = open.otherwise.map_or(end, |otherwise| otherwise + 1);
        self.nodes[open.node].action = Action::Test { reference: 0, negated: open.negated, otherwise };
        Action::Nothing
    }

    fn finish(self) -> Vec<Node> {
        // Report each unclosed `[if]` once, unless it is text anyway.
        self.problems.extend(self.open.into_iter().filter_map(|open| match open.literal {
            true => open.problem,
            false => Some(Problem { span: open.span, kind: ProblemKind::IfWithoutEnd }),
        }));
        self.nodes
    }
}

/// Numbers the references of all nodes. Runs after pairing, because the condition of an unpaired `[if]` is not a
/// reference.
fn number_references(source: &str, tokens: &[Token], nodes: &mut [Node]) -> Vec<Variable> {
    let mut numbers = BTreeMap::new();
    let mut references = Vec::new();
    for (token, node) in tokens.iter().zip(nodes) {
        let (reference, variable) = match (&mut node.action, &token.kind) {
            (Action::Insert { reference }, TokenKind::Variable(variable))
            | (Action::Test { reference, .. }, TokenKind::If { variable, .. }) => (reference, variable),
            _ => continue,
        };
        let (kind, name) = (&source[variable.kind.clone()], &source[variable.name.clone()]);
        *reference = *numbers.entry((kind, name)).or_insert_with(|| {
            references.push(Variable::new(kind, name));
            references.len() - 1
        });
    }
    references
}
