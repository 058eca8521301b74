//! Looking at the syntax tree: bodies, lengths, places. Changes nothing.

use std::ops::Range;

use minijinja::machinery::ast::{Expr, Spanned, Stmt};

use crate::jinja::nesting::range_of;

/// The statements inside a statement.
pub(crate) fn bodies<'t, 'a>(statement: &'t Stmt<'a>) -> [&'t [Stmt<'a>]; 2] {
    match statement {
        Stmt::Template(template) => [&template.children, &[]],
        Stmt::ForLoop(each) => [&each.body, &each.else_body],
        Stmt::IfCond(branch) => [&branch.true_body, &branch.false_body],
        Stmt::WithBlock(with) => [&with.body, &[]],
        Stmt::SetBlock(set) => [&set.body, &[]],
        Stmt::AutoEscape(escape) => [&escape.body, &[]],
        Stmt::FilterBlock(filter) => [&filter.body, &[]],
        Stmt::Block(block) => [&block.body, &[]],
        Stmt::Macro(declared) => [&declared.body, &[]],
        Stmt::CallBlock(call) => [&call.macro_decl.body, &[]],
        Stmt::EmitExpr(_)
        | Stmt::EmitRaw(_)
        | Stmt::Set(_)
        | Stmt::Import(_)
        | Stmt::FromImport(_)
        | Stmt::Extends(_)
        | Stmt::Include(_)
        | Stmt::Do(_) => [&[], &[]],
    }
}

/// The bytes of text one pass through `body` can write out. Loops, macros and blocks answer for their own.
pub(super) fn text_len(body: &[Stmt<'_>]) -> usize {
    let of_statement = |statement: &Stmt<'_>| match statement {
        Stmt::EmitRaw(raw) => raw.raw.len(),
        Stmt::ForLoop(each) => text_len(&each.else_body),
        Stmt::Macro(_) | Stmt::CallBlock(_) | Stmt::Block(_) => 0,
        other => bodies(other).into_iter().map(text_len).sum(),
    };
    body.iter().map(of_statement).sum()
}

/// The place to point at for `expression`. The parser's own spans start late in a chain and early in a comparison.
pub(super) fn place_of(expression: &Expr<'_>) -> Range<usize> {
    let span = range_of(expression.span());
    match expression {
        Expr::Filter(_) | Expr::Test(_) => span,
        _ => start_of(expression)..span.end,
    }
}

fn start_of(expression: &Expr<'_>) -> usize {
    match expression {
        Expr::BinOp(operation) => start_of(&operation.left),
        Expr::Compare(comparison) => start_of(&comparison.expr),
        Expr::IfExpr(choice) => start_of(&choice.true_expr),
        Expr::Test(test) => start_of(&test.expr),
        Expr::GetAttr(attribute) => start_of(&attribute.expr),
        Expr::GetItem(item) => start_of(&item.expr),
        Expr::Slice(slice) => start_of(&slice.expr),
        Expr::Call(call) => start_of(&call.expr),
        Expr::Filter(filter) => {
            filter.expr.as_ref().map_or_else(|| range_of(filter.span()).start, |operand| start_of(operand))
        }
        Expr::UnaryOp(operation) => range_of(operation.span()).start,
        Expr::Var(_) | Expr::Const(_) | Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => {
            range_of(expression.span()).start
        }
    }
}

/// The place to point at for a statement: its tag, not the body that follows.
pub(super) fn tag_of<T>(statement: &Spanned<T>, source: &str) -> Range<usize> {
    let span = range_of(statement.span());
    let text = source.get(span.clone()).unwrap_or_default();
    let tag_len = text.find("%}").unwrap_or(text.len()).min(text.find('\n').unwrap_or(text.len()));
    span.start..span.start + text[..tag_len].trim_end().len()
}
