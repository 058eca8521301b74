//! Read-only helpers for the syntax tree: bodies, lengths, positions.

use std::ops::Range;

use minijinja::machinery::ast::{BinOpKind, Expr, Spanned, Stmt};

use crate::jinja::nesting::range_of;

/// The bytes of text that one pass through `body` can write, without those of nested loops, macros and blocks.
pub(super) fn text_len(body: &[Stmt<'_>]) -> usize {
    let of_statement = |statement: &Stmt<'_>| match statement {
        Stmt::EmitRaw(raw) => raw.raw.len(),
        Stmt::ForLoop(each) => text_len(&each.else_body),
        Stmt::IfCond(branch) => text_len(&branch.true_body) + text_len(&branch.false_body),
        Stmt::WithBlock(with) => text_len(&with.body),
        Stmt::SetBlock(set) => text_len(&set.body),
        Stmt::AutoEscape(escape) => text_len(&escape.body),
        Stmt::FilterBlock(filter) => text_len(&filter.body),
        Stmt::Template(_)
        | Stmt::Block(_)
        | Stmt::Macro(_)
        | Stmt::CallBlock(_)
        | Stmt::EmitExpr(_)
        | Stmt::Set(_)
        | Stmt::Import(_)
        | Stmt::FromImport(_)
        | Stmt::Extends(_)
        | Stmt::Include(_)
        | Stmt::Do(_) => 0,
    };
    body.iter().map(of_statement).sum()
}

/// A literal string, number, boolean or none.
pub(super) fn is_literal(expression: &Expr<'_>) -> bool {
    matches!(expression, Expr::Const(constant) if constant.value.as_object().is_none())
}

/// A list, tuple or map of anything but literals.
pub(super) fn builds_a_list(expression: &Expr<'_>) -> bool {
    match expression {
        Expr::List(list) => !list.items.iter().all(is_literal),
        Expr::Tuple(tuple) => !tuple.items.iter().all(is_literal),
        Expr::Map(map) => !map.keys.iter().chain(&map.values).all(is_literal),
        _ => false,
    }
}

pub(super) fn is_comparison(operator: BinOpKind) -> bool {
    use BinOpKind::{Eq, Gt, Gte, In, Lt, Lte, Ne};
    matches!(operator, Eq | Ne | Lt | Lte | Gt | Gte | In)
}

/// Whether an operator makes the value a number or a boolean, which need no checks.
pub(super) fn is_scalar(expression: &Expr<'_>) -> bool {
    use BinOpKind::{Add, Concat, Mul, ScAnd, ScOr};
    match expression {
        Expr::BinOp(operation) => !matches!(operation.op, Concat | Add | Mul | ScAnd | ScOr),
        Expr::UnaryOp(_) | Expr::Compare(_) | Expr::Test(_) => true,
        _ => false,
    }
}

/// Whether the guarded expression gets its own parentheses: a tuple without (`{% set a, b = 1, 2 %}`), and expressions
/// whose span starts at the token before, so that their errors would be traced to the expression around them.
pub(super) fn is_enclosed(expression: &Expr<'_>) -> bool {
    match expression {
        Expr::Compare(_) | Expr::IfExpr(_) => true,
        Expr::BinOp(operation) => is_comparison(operation.op),
        Expr::Tuple(tuple) => {
            tuple.items.first().is_some_and(|item| start_of(item) < range_of(tuple.span()).start)
        }
        _ => false,
    }
}

/// Whether a filter after the guarded expression would apply to a part of it only.
pub(super) fn needs_parentheses(expression: &Expr<'_>) -> bool {
    use BinOpKind::{Add, Concat, Mul};
    match expression {
        Expr::BinOp(operation) => !matches!(operation.op, Concat | Add | Mul) && !is_comparison(operation.op),
        Expr::UnaryOp(_) | Expr::Test(_) => true,
        _ => false,
    }
}

/// The range to report for `expression`. The parser's spans start too late in a chain and too early in a comparison.
pub(super) fn place_of(expression: &Expr<'_>) -> Range<usize> {
    let span = range_of(expression.span());
    match expression {
        Expr::Filter(_) | Expr::Test(_) => span,
        _ => start_of(expression)..span.end,
    }
}

/// Where `expression` starts, or one of the parentheses before it.
pub(super) fn start_of(expression: &Expr<'_>) -> usize {
    let start = range_of(expression.span()).start;
    match expression {
        Expr::BinOp(operation) => start_of(&operation.left),
        Expr::Compare(comparison) => start_of(&comparison.expr),
        Expr::IfExpr(choice) => start_of(&choice.true_expr),
        Expr::Test(test) => start_of(&test.expr),
        Expr::GetAttr(attribute) => start_of(&attribute.expr),
        Expr::GetItem(item) => start_of(&item.expr),
        Expr::Slice(slice) => start_of(&slice.expr),
        Expr::Call(call) => start_of(&call.expr),
        Expr::Filter(filter) => filter.expr.as_ref().map_or(start, start_of),
        Expr::UnaryOp(operation) => match &operation.expr {
            // `not x in y` and `x not in y` have the same spans. A start at `x` fits both.
            Expr::BinOp(inner) if matches!(inner.op, BinOpKind::In) => start_of(&inner.left),
            // In `x is not y`, the operator's span starts at `y`.
            operand => start.min(start_of(operand)),
        },
        // Without parentheses, the span starts at the second item.
        Expr::Tuple(tuple) => tuple.items.first().map_or(start, |item| start.min(start_of(item))),
        Expr::Var(_) | Expr::Const(_) | Expr::List(_) | Expr::Map(_) => start,
    }
}

/// The range to report for a statement: its tag without the body.
pub(super) fn tag_of<T>(statement: &Spanned<T>, source: &str) -> Range<usize> {
    let span = range_of(statement.span());
    let text = source.get(span.clone()).unwrap_or_default();
    let tag_len = text.find("%}").unwrap_or(text.len()).min(text.find('\n').unwrap_or(text.len()));
    span.start..span.start + text[..tag_len].trim_end().len()
}
