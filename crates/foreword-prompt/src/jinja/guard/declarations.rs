//! Guarded assignments and macros: the statements that give names to things.

use minijinja::machinery::ast::{self, Expr, Spanned};

use super::tree::{place_of, tag_of};
use super::{Refusal, Writer};
use crate::jinja::operators;

impl Writer<'_> {
    pub(super) fn with(&mut self, with: &ast::WithBlock<'_>) -> Result<(), Refusal> {
        self.put("with ");
        for (index, (target, value)) in with.assignments.iter().enumerate() {
            if index > 0 {
                self.put(", ");
            }
            self.nested_target(target);
            self.put(" = ");
            self.expression(value)?;
        }
        self.enclosed(&with.body, "endwith")
    }

    pub(super) fn set(&mut self, set: &ast::Set<'_>) -> Result<(), Refusal> {
        self.put("set ");
        self.target(&set.target);
        self.put(" = ");
        self.marked(place_of(&set.expr), |writer| {
            writer.expression(&set.expr)?;
            if has_attribute(&set.target) {
                writer.put("|");
                writer.put(operators::STORED);
            }
            Ok(())
        })?;
        self.put(" %}");
        Ok(())
    }

    pub(super) fn set_block(&mut self, set: &ast::SetBlock<'_>) -> Result<(), Refusal> {
        self.put("set ");
        self.target(&set.target);
        if let Some(filter) = &set.filter {
            self.put(" | ");
            self.expression(filter)?;
        }
        self.enclosed(&set.body, "endset")
    }

    /// What is assigned to, with the commas of a list.
    pub(super) fn target(&mut self, target: &Expr<'_>) {
        match target {
            Expr::List(list) => {
                for (index, item) in list.items.iter().enumerate() {
                    self.put(if index > 0 { ", " } else { "" });
                    self.nested_target(item);
                }
                self.put(if list.items.len() == 1 { "," } else { "" });
            }
            other => self.nested_target(other),
        }
    }

    pub(super) fn nested_target(&mut self, target: &Expr<'_>) {
        match target {
            Expr::Var(variable) => self.put(variable.id),
            Expr::GetAttr(attribute) => {
                self.nested_target(&attribute.expr);
                self.put(".");
                self.put(attribute.name);
            }
            _ => {
                self.put("(");
                self.target(target);
                self.put(")");
            }
        }
    }

    /// The arguments and the body of a macro.
    pub(super) fn declared(&mut self, declared: &Spanned<ast::Macro<'_>>, end: &str) -> Result<(), Refusal> {
        self.parameters(declared)?;
        self.put(" %}");
        self.charge_for_text(&declared.body, tag_of(declared, self.source));
        self.body(&declared.body)?;
        self.put("{% ");
        self.put(end);
        self.put(" %}");
        Ok(())
    }

    fn parameters(&mut self, declared: &ast::Macro<'_>) -> Result<(), Refusal> {
        self.put("(");
        let required = declared.args.len().saturating_sub(declared.defaults.len());
        for (index, parameter) in declared.args.iter().enumerate() {
            if index > 0 {
                self.put(", ");
            }
            self.nested_target(parameter);
            if let Some(default) = index.checked_sub(required).and_then(|place| declared.defaults.get(place))
            {
                self.put("=");
                self.expression(default)?;
            }
        }
        self.put(")");
        Ok(())
    }

    pub(super) fn call_block(&mut self, block: &ast::CallBlock<'_>) -> Result<(), Refusal> {
        self.put("call");
        self.parameters(&block.macro_decl)?;
        self.put(" ");
        self.call(&block.call)?;
        self.put(" %}");
        self.charge_for_text(&block.macro_decl.body, tag_of(&block.macro_decl, self.source));
        self.body(&block.macro_decl.body)?;
        self.put("{% endcall %}");
        Ok(())
    }
}

/// Whether an assignment changes a namespace.
fn has_attribute(target: &Expr<'_>) -> bool {
    match target {
        Expr::GetAttr(_) => true,
        Expr::List(list) => list.items.iter().any(has_attribute),
        _ => false,
    }
}
