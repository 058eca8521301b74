//! Guarded expressions. A check is a filter after an expression; operators that build values become filters.

use minijinja::machinery::ast::{self, BinOpKind, CallArg, Expr, Spanned};

use super::tree::{
    builds_a_list, is_comparison, is_enclosed, is_literal, is_scalar, needs_parentheses, place_of, start_of,
};
use super::{Refusal, Writer};
use crate::diagnostic::did_you_mean;
use crate::jinja::nesting::range_of;
use crate::jinja::{filters, operators};

impl Writer<'_> {
    pub(super) fn expression(&mut self, expression: &Expr<'_>) -> Result<(), Refusal> {
        self.copy_to(start_of(expression));
        self.marked(place_of(expression), |writer| {
            let (before, after) = if is_enclosed(expression) { ("(", ")") } else { ("", "") };
            writer.put(before);
            writer.parts(expression)?;
            writer.copy_to(range_of(expression.span()).end);
            writer.put(after);
            if builds_a_list(expression) {
                writer.filter(operators::LITERAL);
            }
            Ok(())
        })
    }

    fn parts(&mut self, expression: &Expr<'_>) -> Result<(), Refusal> {
        match expression {
            Expr::Const(_) => Ok(()),
            Expr::Var(variable) => allowed_name(variable),
            Expr::Slice(slice) => self.slice(slice),
            Expr::UnaryOp(operation) => self.base(&operation.expr),
            Expr::BinOp(operation) => self.binary(operation),
            Expr::Compare(comparison) => {
                self.compared(&comparison.expr)?;
                comparison.ops.iter().try_for_each(|part| self.compared(&part.expr))
            }
            Expr::IfExpr(choice) => {
                self.expression(&choice.true_expr)?;
                self.expression(&choice.test_expr)?;
                choice.false_expr.iter().try_for_each(|otherwise| self.expression(otherwise))
            }
            Expr::Filter(filter) => {
                filter.expr.iter().try_for_each(|operand| self.expression(operand))?;
                known("filter", filter.name, filters::filter_names(), filter)?;
                self.arguments(&filter.args)
            }
            Expr::Test(test) => self.test(test),
            Expr::GetAttr(attribute) => self.base(&attribute.expr),
            Expr::GetItem(item) => self.item(item),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => list.items.iter().try_for_each(|item| self.expression(item)),
            Expr::Tuple(tuple) => tuple.items.iter().try_for_each(|item| self.expression(item)),
            Expr::Map(map) => {
                let mut parts = map.keys.iter().zip(&map.values).flat_map(|(key, value)| [key, value]);
                parts.try_for_each(|part| self.expression(part))
            }
        }
    }

    /// Applies a check to the expression before. The space separates it from a word that may follow.
    fn filter(&mut self, name: &str) {
        self.put("|");
        self.put(name);
        self.put(" ");
    }

    /// An expression with a check of its value.
    pub(super) fn checked(&mut self, expression: &Expr<'_>, check: &str) -> Result<(), Refusal> {
        if is_scalar(expression) {
            return self.expression(expression);
        }
        self.operand(expression)?;
        self.filter(check);
        Ok(())
    }

    fn compared(&mut self, operand: &Expr<'_>) -> Result<(), Refusal> {
        if is_literal(operand) { self.expression(operand) } else { self.checked(operand, operators::SEEN) }
    }

    /// An expression that a filter follows.
    fn operand(&mut self, expression: &Expr<'_>) -> Result<(), Refusal> {
        if needs_parentheses(expression) { self.enclosed(expression) } else { self.expression(expression) }
    }

    /// An expression that a name, an index or a call follows, or that an operator precedes.
    fn base(&mut self, expression: &Expr<'_>) -> Result<(), Refusal> {
        match expression {
            Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) | Expr::Slice(_) => self.enclosed(expression),
            _ => self.expression(expression),
        }
    }

    fn enclosed(&mut self, expression: &Expr<'_>) -> Result<(), Refusal> {
        self.copy_to(start_of(expression));
        self.put("(");
        self.expression(expression)?;
        self.put(")");
        Ok(())
    }

    fn binary(&mut self, operation: &Spanned<ast::BinOp<'_>>) -> Result<(), Refusal> {
        let (left, right) = (&operation.left, &operation.right);
        let has_literal = is_literal(left) || is_literal(right);
        match operation.op {
            BinOpKind::Concat => self.checked_operator(operation, "~", operators::CONCAT),
            BinOpKind::Add => self.checked_operator(operation, "+", operators::ADD),
            BinOpKind::Mul => self.checked_operator(operation, "*", operators::MULTIPLY),
            // A comparison with a literal costs at most the length of the literal; a search does not.
            operator if is_comparison(operator) && !has_literal || matches!(operator, BinOpKind::In) => {
                self.compared(left)?;
                self.compared(right)
            }
            _ => {
                self.expression(left)?;
                self.expression(right)
            }
        }
    }

    /// `a ~ b ~ c` as `a|__concat(b, c)`: one call for a whole chain, which thus does not nest.
    fn checked_operator(
        &mut self,
        operation: &Spanned<ast::BinOp<'_>>,
        sign: &str,
        name: &str,
    ) -> Result<(), Refusal> {
        let call = format!("|{name}(");
        for (index, operand) in self.chain(operation).into_iter().enumerate() {
            if index == 0 {
                self.operand(operand)?;
                continue;
            }
            self.expect(sign, if index == 1 { &call } else { "," })?;
            self.expression(operand)?;
        }
        self.copy_to(range_of(operation.span()).end);
        self.put(")");
        Ok(())
    }

    /// The operands of `a ~ b ~ c`, which the parser nests to the left. `(a ~ b) ~ c` has two.
    fn chain<'t, 'a>(&self, operation: &'t ast::BinOp<'a>) -> Vec<&'t Expr<'a>> {
        let mut operands = vec![&operation.right];
        let mut left = &operation.left;
        while let Expr::BinOp(inner) = left
            && std::mem::discriminant(&inner.op) == std::mem::discriminant(&operation.op)
            && !self.source[range_of(inner.span()).end..].trim_start().starts_with(')')
        {
            operands.push(&inner.right);
            left = &inner.left;
        }
        operands.push(left);
        operands.reverse();
        operands
    }

    /// `value[start:stop:step]` as `value|__slice(start, stop, step)`
    fn slice(&mut self, slice: &Spanned<ast::Slice<'_>>) -> Result<(), Refusal> {
        self.expression(&slice.expr)?;
        self.expect("[", &format!("|{}(", operators::SLICE))?;
        for (bound, separator) in [(&slice.start, ","), (&slice.stop, ","), (&slice.step, "")] {
            match bound {
                Some(bound) => self.expression(bound)?,
                None => self.put("none"),
            }
            if !self.replace(":", separator) {
                self.put(separator);
            }
        }
        self.expect("]", ")")
    }

    /// `value[subscript]`. Indexing into a long text and looking up a long key take time.
    fn item(&mut self, item: &ast::GetItem<'_>) -> Result<(), Refusal> {
        if is_quick(&item.subscript_expr) {
            self.base(&item.expr)?;
            return self.expression(&item.subscript_expr);
        }
        self.copy_to(start_of(&item.expr));
        self.put("(");
        self.checked(&item.expr, operators::COUNTED)?;
        self.put(")");
        self.compared(&item.subscript_expr)
    }

    fn test(&mut self, test: &Spanned<ast::Test<'_>>) -> Result<(), Refusal> {
        self.expression(&test.expr)?;
        known("test", test.name, filters::names_of_tests(), test)?;
        match test.args.as_slice() {
            // An argument without parentheses must not get a filter, which would apply to the whole test.
            [CallArg::Pos(value)] if !matches!(value, Expr::Var(_) | Expr::Const(_)) => self.enclosed(value),
            arguments => self.arguments(arguments),
        }
    }

    pub(super) fn call(&mut self, call: &Spanned<ast::Call<'_>>) -> Result<(), Refusal> {
        let method = if let Expr::GetAttr(attribute) = &call.expr { attribute.name } else { "" };
        let plain = call.args.iter().filter(|argument| matches!(argument, CallArg::Pos(_))).count();
        let refusal = match method {
            // The engine divides by the number of values.
            "cycle" if plain == 0 => Some("`cycle` needs at least one value"),
            "changed" if plain < call.args.len() => Some("`changed` takes plain values only"),
            _ => None,
        };
        if let Some(message) = refusal {
            return Err(Refusal { span: range_of(call.span()), message: message.to_owned(), help: None });
        }
        self.base(&call.expr)?;
        if method != "changed" {
            return self.arguments(&call.args);
        }
        // These are compared with the previous ones.
        call.args.iter().try_for_each(|argument| match argument {
            CallArg::Pos(value) => self.compared(value),
            _ => Ok(()),
        })
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) -> Result<(), Refusal> {
        arguments.iter().try_for_each(|argument| match argument {
            CallArg::Pos(value) | CallArg::Kwarg(_, value) => self.expression(value),
            CallArg::PosSplat(values) | CallArg::KwargSplat(values) => {
                self.checked(values, operators::SPREAD)
            }
        })
    }
}

/// The parser accepts a misplaced operator as a name; after a change before it, it would be an operator.
fn allowed_name(variable: &Spanned<ast::Var<'_>>) -> Result<(), Refusal> {
    if !matches!(variable.id, "not" | "and" | "or" | "if" | "else" | "in" | "is") {
        return Ok(());
    }
    let message = format!("syntax error: unexpected `{}`", variable.id);
    Err(Refusal { span: range_of(variable.span()), message, help: None })
}

fn known<T>(what: &str, name: &str, names: &[&str], place: &Spanned<T>) -> Result<(), Refusal> {
    if names.contains(&name) {
        return Ok(());
    }
    let help = did_you_mean(name, names.iter().copied()).map(|near| format!("did you mean `{near}`?"));
    Err(Refusal { span: range_of(place.span()), message: format!("unknown {what} `{name}`"), help })
}

/// A subscript that is a name or a small index.
fn is_quick(subscript: &Expr<'_>) -> bool {
    const NEAR: usize = 1_000;
    match subscript {
        Expr::Const(constant) => constant.value.as_usize().is_none_or(|index| index < NEAR),
        _ => false,
    }
}
