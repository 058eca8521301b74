//! Rejects expressions whose nesting or chaining could overflow the stack of the recursive parser or compiler. Examines
//! only tokens, before parsing.

use std::ops::Range;

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;

/// The maximum depth of operators, brackets and branches in one expression.
const MAX_DEPTH: usize = 200;
/// The maximum number of branches of one `if`.
const MAX_BRANCHES: usize = 100;

/// The position at which `source` is too deep, if any.
pub(super) fn too_deep(source: &str, syntax: &SyntaxConfig) -> Option<Range<usize>> {
    let mut depth = Depth::default();
    for token in tokenize(source, false, syntax.clone()) {
        // Invalid tokens are left to the parser, which has a better message.
        let Ok((token, span)) = token else { return None };
        depth.step(&token);
        if depth.current > MAX_DEPTH || depth.branches > MAX_BRANCHES {
            return Some(range_of(span));
        }
    }
    None
}

pub(super) fn range_of(span: Span) -> Range<usize> {
    span.start_offset as usize..span.end_offset as usize
}

/// The depth at one point of the token stream. A comma does not nest.
#[derive(Default)]
struct Depth {
    current: usize,
    open_brackets: Vec<usize>,
    branches: usize,
    open_ifs: Vec<usize>,
    at_tag_start: bool,
}

impl Depth {
    fn step(&mut self, token: &Token<'_>) {
        let first_of_tag = std::mem::replace(&mut self.at_tag_start, matches!(token, Token::BlockStart));
        match token {
            Token::VariableStart | Token::BlockStart | Token::VariableEnd | Token::BlockEnd => {
                self.current = 0;
                self.open_brackets.clear();
            }
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => {
                self.current += 1;
                self.open_brackets.push(self.current);
            }
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                // A closed group still counts once: `f(a)(b)(c)` is a chain.
                self.current = self.open_brackets.pop().unwrap_or(self.current);
            }
            Token::Comma => self.current = self.open_brackets.last().copied().unwrap_or(0),
            Token::Ident(word) if first_of_tag => self.statement(word),
            Token::Ident("not" | "and" | "or" | "if" | "else" | "is" | "in") => self.current += 1,
            Token::Ident(_)
            | Token::Str(_)
            | Token::String(_)
            | Token::Int(_)
            | Token::Int128(_)
            | Token::Float(_)
            | Token::Colon
            | Token::Assign
            | Token::TemplateData(_) => {}
            _ => self.current += 1,
        }
    }

    fn statement(&mut self, word: &str) {
        match word {
            "if" => self.open_ifs.push(self.branches),
            "elif" => self.branches += 1,
            "endif" => self.branches = self.open_ifs.pop().unwrap_or(0),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: bool) {
        assert_eq!(too_deep(source, &SyntaxConfig::default()).is_some(), expected, "{}", &source[..40]);
    }

    #[test]
    fn long_list_is_not_deep() {
        check(&format!("{{{{ [{}] }}}}", "a.b|upper ~ c, ".repeat(5_000)), false);
    }

    #[test]
    fn many_shallow_tags_are_not_deep() {
        check(&"{{ a.b|upper ~ c }}{% if a %}{% elif b %}{% endif %}".repeat(5_000), false);
    }

    #[test]
    fn deep_chains_and_nests_are_detected() {
        for link in ["not ", "-", "a ~ ", "a.", "a|b|", "(", "[", "a if b else ", "f()(1, ", "a == "] {
            check(&format!("{{{{ {} x }}}}", link.repeat(5_000)), true);
        }
        check(&format!("{{{{ f{} }}}}", "()".repeat(5_000)), true);
        check(&format!("{{% if a %}}{}{{% endif %}}", "{% elif b %}".repeat(5_000)), true);
        check(&format!("{{{{ {} }}}}", "[1, not not not not ".repeat(100)), true);
    }
}
