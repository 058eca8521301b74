//! Guarded expressions. Whatever is written here can stand anywhere: operators come in parentheses, and only a
//! filter needs them when something is attached to it.

use minijinja::Value;
use minijinja::machinery::ast::{self, BinOpKind, Expr, Spanned, UnaryOpKind};
use minijinja::value::ValueKind;

use super::tree::place_of;
use super::{Refusal, Writer};
use crate::jinja::nesting::range_of;
use crate::jinja::operators;

impl Writer<'_> {
    pub(super) fn expression(&mut self, expression: &Expr<'_>) -> Result<(), Refusal> {
        self.marked(place_of(expression), |writer| writer.unmarked(expression))
    }

    fn unmarked(&mut self, expression: &Expr<'_>) -> Result<(), Refusal> {
        match expression {
            Expr::Var(variable) => self.variable(variable)?,
            Expr::Const(constant) => self.constant(constant),
            Expr::Slice(slice) => self.slice(slice)?,
            Expr::UnaryOp(operation) => self.unary(operation)?,
            Expr::BinOp(operation) => self.binary(operation)?,
            Expr::Compare(comparison) => self.comparison(comparison)?,
            Expr::IfExpr(choice) => self.choice(choice)?,
            Expr::Filter(filter) => self.filter(filter)?,
            Expr::Test(test) => self.test(test)?,
            Expr::GetAttr(attribute) => {
                self.base(&attribute.expr)?;
                self.put(".");
                self.put(attribute.name);
            }
            Expr::GetItem(item) => self.item(item)?,
            Expr::Call(call) => self.call(call)?,
            Expr::List(list) => self.literal("[", &list.items, "]")?,
            Expr::Tuple(tuple) => self.literal("(", &tuple.items, ")")?,
            Expr::Map(map) => self.map(map)?,
        }
        Ok(())
    }

    fn variable(&mut self, variable: &Spanned<ast::Var<'_>>) -> Result<(), Refusal> {
        // The parser takes a misplaced operator for a name; written out again it would be an operator after all.
        if matches!(variable.id, "not" | "and" | "or" | "if" | "else" | "in" | "is") {
            let message = format!("syntax error: unexpected `{}`", variable.id);
            return Err(Refusal { span: range_of(variable.span()), message, help: None });
        }
        self.put(variable.id);
        Ok(())
    }

    /// Numbers as they were written, since not every number prints as what it is read from.
    fn constant(&mut self, constant: &Spanned<ast::Const>) {
        match constant.value.kind() {
            ValueKind::String => self.quoted(constant.value.as_str().unwrap_or_default()),
            ValueKind::Bool => self.put(if constant.value.is_true() { "true" } else { "false" }),
            ValueKind::Number => {
                let written = self.source.get(range_of(constant.span())).unwrap_or_default();
                self.text.push_str(written);
            }
            _ => self.put("none"),
        }
    }

    /// `value[subscript]`. Counting through a long text, and looking up a long key, takes its time.
    fn item(&mut self, item: &ast::GetItem<'_>) -> Result<(), Refusal> {
        if is_quick(&item.subscript_expr) {
            self.base(&item.expr)?;
            self.put("[");
            self.expression(&item.subscript_expr)?;
        } else {
            self.put("(");
            self.expression(&item.expr)?;
            self.put("|");
            self.put(operators::COUNTED);
            self.put(")[");
            self.compared(&item.subscript_expr, false)?;
        }
        self.put("]");
        Ok(())
    }

    /// An expression that something is attached to.
    pub(super) fn base(&mut self, expression: &Expr<'_>) -> Result<(), Refusal> {
        let attaches = match expression {
            Expr::Var(_) | Expr::GetAttr(_) | Expr::GetItem(_) | Expr::Call(_) => true,
            Expr::Const(constant) => constant.value.kind() == ValueKind::String,
            _ => false,
        };
        if attaches {
            return self.expression(expression);
        }
        self.put("(");
        self.expression(expression)?;
        self.put(")");
        Ok(())
    }

    fn unary(&mut self, operation: &ast::UnaryOp<'_>) -> Result<(), Refusal> {
        match operation.op {
            UnaryOpKind::Not => {
                self.put("(not ");
                self.expression(&operation.expr)?;
            }
            UnaryOpKind::Neg => {
                self.put("(-");
                self.base(&operation.expr)?;
            }
        }
        self.put(")");
        Ok(())
    }

    fn binary(&mut self, operation: &ast::BinOp<'_>) -> Result<(), Refusal> {
        let sign = match operation.op {
            BinOpKind::Concat => return self.checked_operator(operators::CONCAT, operation),
            BinOpKind::Add => return self.checked_operator(operators::ADD, operation),
            BinOpKind::Mul => return self.checked_operator(operators::MULTIPLY, operation),
            BinOpKind::Eq => return self.pair(&operation.left, " == ", &operation.right),
            BinOpKind::Ne => return self.pair(&operation.left, " != ", &operation.right),
            BinOpKind::Lt => return self.pair(&operation.left, " < ", &operation.right),
            BinOpKind::Lte => return self.pair(&operation.left, " <= ", &operation.right),
            BinOpKind::Gt => return self.pair(&operation.left, " > ", &operation.right),
            BinOpKind::Gte => return self.pair(&operation.left, " >= ", &operation.right),
            BinOpKind::In => return self.pair(&operation.left, " in ", &operation.right),
            BinOpKind::ScAnd => " and ",
            BinOpKind::ScOr => " or ",
            BinOpKind::Sub => " - ",
            BinOpKind::Div => " / ",
            BinOpKind::FloorDiv => " // ",
            BinOpKind::Rem => " % ",
            BinOpKind::Pow => " ** ",
        };
        self.put("(");
        for (index, operand) in chain(operation).into_iter().enumerate() {
            if index > 0 {
                self.put(sign);
            }
            self.expression(operand)?;
        }
        self.put(")");
        Ok(())
    }

    /// `a ~ b ~ c` as `a|__concat(b, c)`: one call for a whole chain, which thus does not nest.
    fn checked_operator(&mut self, name: &str, operation: &ast::BinOp<'_>) -> Result<(), Refusal> {
        for (index, operand) in chain(operation).into_iter().enumerate() {
            match index {
                0 => {}
                1 => {
                    self.put("|");
                    self.put(name);
                    self.put("(");
                }
                _ => self.put(", "),
            }
            self.expression(operand)?;
        }
        self.put(")");
        Ok(())
    }

    fn pair(&mut self, left: &Expr<'_>, sign: &str, right: &Expr<'_>) -> Result<(), Refusal> {
        self.put("(");
        // Next to a literal, a comparison costs no more than the literal is long; a search does.
        let costs_little = sign != " in " && (is_literal(left) || is_literal(right));
        for (operand, before) in [(left, ""), (right, sign)] {
            self.put(before);
            self.compared(operand, costs_little)?;
        }
        self.put(")");
        Ok(())
    }

    pub(super) fn compared(&mut self, operand: &Expr<'_>, costs_little: bool) -> Result<(), Refusal> {
        self.expression(operand)?;
        if !costs_little && !is_literal(operand) {
            self.put("|");
            self.put(operators::SEEN);
        }
        Ok(())
    }

    fn comparison(&mut self, comparison: &ast::Compare<'_>) -> Result<(), Refusal> {
        self.put("(");
        self.compared(&comparison.expr, false)?;
        for part in &comparison.ops {
            self.put(match part.op {
                ast::CompareOpKind::Eq => " == ",
                ast::CompareOpKind::Ne => " != ",
                ast::CompareOpKind::Lt => " < ",
                ast::CompareOpKind::Lte => " <= ",
                ast::CompareOpKind::Gt => " > ",
                ast::CompareOpKind::Gte => " >= ",
                ast::CompareOpKind::In => " in ",
                ast::CompareOpKind::NotIn => " not in ",
            });
            self.compared(&part.expr, false)?;
        }
        self.put(")");
        Ok(())
    }

    fn choice(&mut self, choice: &ast::IfExpr<'_>) -> Result<(), Refusal> {
        self.put("(");
        self.expression(&choice.true_expr)?;
        self.put(" if ");
        self.expression(&choice.test_expr)?;
        if let Some(otherwise) = &choice.false_expr {
            self.put(" else ");
            self.expression(otherwise)?;
        }
        self.put(")");
        Ok(())
    }

    fn slice(&mut self, slice: &ast::Slice<'_>) -> Result<(), Refusal> {
        self.expression(&slice.expr)?;
        self.put("|");
        self.put(operators::SLICE);
        for (bound, before) in [(&slice.start, "("), (&slice.stop, ", "), (&slice.step, ", ")] {
            self.put(before);
            match bound {
                Some(bound) => self.expression(bound)?,
                None => self.put("none"),
            }
        }
        self.put(")");
        Ok(())
    }
}

/// Text, a number, a truth value or none, written out.
pub(super) fn is_literal(expression: &Expr<'_>) -> bool {
    match expression {
        Expr::Const(constant) => Value::as_object(&constant.value).is_none(),
        _ => false,
    }
}

/// A subscript that is a name, or a place near the start.
fn is_quick(subscript: &Expr<'_>) -> bool {
    const NEAR: usize = 1_000;
    match subscript {
        Expr::Const(constant) => constant.value.as_usize().is_none_or(|index| index < NEAR),
        _ => false,
    }
}

/// The operands of `a ~ b ~ c`, which the parser nests to the left.
fn chain<'t, 'a>(operation: &'t ast::BinOp<'a>) -> Vec<&'t Expr<'a>> {
    let mut operands = vec![&operation.right];
    let mut left = &operation.left;
    while let Expr::BinOp(inner) = left
        && std::mem::discriminant(&inner.op) == std::mem::discriminant(&operation.op)
    {
        operands.push(&inner.right);
        left = &inner.left;
    }
    operands.push(left);
    operands.reverse();
    operands
}
