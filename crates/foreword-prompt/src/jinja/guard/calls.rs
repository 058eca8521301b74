//! Guarded calls, filters, tests and literals: the expressions that are made of a list of others.

use minijinja::machinery::ast::{self, CallArg, Expr, Spanned};

use super::expressions::is_literal;
use super::{Refusal, Writer};
use crate::diagnostic::did_you_mean;
use crate::jinja::nesting::range_of;
use crate::jinja::{filters, operators};

impl Writer<'_> {
    /// A filter with what it is applied to; in a `{% filter %}` tag that is left out.
    pub(super) fn filter(&mut self, filter: &Spanned<ast::Filter<'_>>) -> Result<(), Refusal> {
        if let Some(operand) = &filter.expr {
            self.expression(operand)?;
            self.put("|");
        }
        self.known("filter", filter.name, (filters::filter_names(), range_of(filter.span())))?;
        self.put(filter.name);
        if !filter.args.is_empty() {
            self.arguments(&filter.args, false)?;
        }
        Ok(())
    }

    pub(super) fn test(&mut self, test: &Spanned<ast::Test<'_>>) -> Result<(), Refusal> {
        self.put("(");
        self.expression(&test.expr)?;
        self.put(" is ");
        self.known("test", test.name, (filters::names_of_tests(), range_of(test.span())))?;
        self.put(test.name);
        if !test.args.is_empty() {
            self.arguments(&test.args, false)?;
        }
        self.put(")");
        Ok(())
    }

    fn known(
        &self,
        what: &str,
        name: &str,
        (names, span): (&[&str], std::ops::Range<usize>),
    ) -> Result<(), Refusal> {
        if names.contains(&name) {
            return Ok(());
        }
        let help = did_you_mean(name, names.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        Err(Refusal { span, message: format!("unknown {what} `{name}`"), help })
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
        self.arguments(&call.args, method == "changed")
    }

    /// The arguments in parentheses. Those of `loop.changed` are compared with the ones before.
    fn arguments(&mut self, arguments: &[CallArg<'_>], compared: bool) -> Result<(), Refusal> {
        self.put("(");
        for (index, argument) in arguments.iter().enumerate() {
            if index > 0 {
                self.put(", ");
            }
            match argument {
                CallArg::Pos(value) if compared => self.compared(value, false)?,
                CallArg::Pos(value) => self.expression(value)?,
                CallArg::Kwarg(name, value) => {
                    self.put(name);
                    self.put("=");
                    self.expression(value)?;
                }
                CallArg::PosSplat(values) => {
                    self.put("*");
                    self.expression(values)?;
                    self.put("|");
                    self.put(operators::SPREAD);
                }
                CallArg::KwargSplat(values) => {
                    self.put("**");
                    self.expression(values)?;
                    self.put("|");
                    self.put(operators::SPREAD);
                }
            }
        }
        self.put(")");
        Ok(())
    }

    pub(super) fn literal(&mut self, open: &str, items: &[Expr<'_>], close: &str) -> Result<(), Refusal> {
        self.put(open);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.put(", ");
            }
            self.expression(item)?;
        }
        if open == "(" && items.len() == 1 {
            self.put(",");
        }
        self.put(close);
        if !items.iter().all(is_literal) {
            self.put("|");
            self.put(operators::LITERAL);
        }
        Ok(())
    }

    pub(super) fn map(&mut self, map: &ast::Map<'_>) -> Result<(), Refusal> {
        self.put("{");
        for (index, (key, value)) in map.keys.iter().zip(&map.values).enumerate() {
            if index > 0 {
                self.put(", ");
            }
            self.expression(key)?;
            self.put(": ");
            self.expression(value)?;
        }
        self.put("}");
        if !map.keys.iter().chain(&map.values).all(is_literal) {
            self.put("|");
            self.put(operators::LITERAL);
        }
        Ok(())
    }
}
