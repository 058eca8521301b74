//! Guarded statements. Text that can be written repeatedly is charged where the repetition starts: at a loop's list, or
//! at the start of a macro, a block or an included file.

use std::ops::Range;

use minijinja::machinery::ast::{self, Expr, Spanned, Stmt};

use super::tree::{place_of, start_of, tag_of, text_len};
use super::{Reference, Refusal, Writer};
use crate::jinja::nesting::range_of;
use crate::jinja::operators;

impl Writer<'_> {
    pub(super) fn body(&mut self, body: &[Stmt<'_>]) -> Result<(), Refusal> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt<'_>) -> Result<(), Refusal> {
        match statement {
            Stmt::Template(template) => self.body(&template.children),
            Stmt::EmitRaw(_) => Ok(()),
            Stmt::EmitExpr(emit) => {
                self.copy_to(start_of(&emit.expr));
                self.start_line(place_of(&emit.expr));
                self.expression(&emit.expr)
            }
            Stmt::ForLoop(each) => self.tagged(each, |writer| writer.for_loop(each)),
            Stmt::IfCond(branch) => {
                self.copy_to(range_of(branch.span()).start);
                self.start_line(tag_of(branch, self.source));
                self.expression(&branch.expr)?;
                self.body(&branch.true_body)?;
                self.body(&branch.false_body)
            }
            Stmt::WithBlock(with) => self.tagged(with, |writer| {
                with.assignments.iter().try_for_each(|(_, value)| writer.expression(value))?;
                writer.body(&with.body)
            }),
            Stmt::Set(set) => self.tagged(set, |writer| {
                writer.copy_to(start_of(&set.expr));
                writer.marked(place_of(&set.expr), |writer| match has_attribute(&set.target) {
                    true => writer.checked(&set.expr, operators::STORED),
                    false => writer.expression(&set.expr),
                })
            }),
            Stmt::SetBlock(set) => self.tagged(set, |writer| {
                set.filter.iter().try_for_each(|filter| writer.expression(filter))?;
                writer.body(&set.body)
            }),
            Stmt::AutoEscape(escape) => self.tagged(escape, |writer| {
                writer.expression(&escape.enabled)?;
                writer.body(&escape.body)
            }),
            Stmt::FilterBlock(filter) => self.tagged(filter, |writer| {
                writer.expression(&filter.filter)?;
                writer.body(&filter.body)
            }),
            Stmt::Do(call) => self.tagged(call, |writer| writer.call(&call.call)),
            Stmt::Macro(declared) => self.tagged(declared, |writer| writer.macro_body(declared, None)),
            Stmt::CallBlock(block) => {
                self.tagged(block, |writer| writer.macro_body(&block.macro_decl, Some(&block.call)))
            }
            Stmt::Block(block) => self.tagged(block, |writer| writer.block(block)),
            Stmt::Include(include) => self.tagged(include, |writer| writer.include(include)),
            Stmt::Extends(extends) => self.tagged(extends, |writer| writer.refer_to_one(&extends.name)),
            Stmt::FromImport(import) => self.tagged(import, |writer| writer.refer_to_one(&import.expr)),
            Stmt::Import(import) => self.tagged(import, |writer| writer.import(import)),
        }
    }

    /// Starts a line for a statement and maps all of it, so that every error can be traced to it.
    fn tagged<T>(
        &mut self,
        statement: &Spanned<T>,
        write: impl FnOnce(&mut Self) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let span = range_of(statement.span());
        let tag = tag_of(statement, self.source);
        self.copy_to(span.start);
        self.marked(tag.clone(), |writer| {
            writer.start_line(tag);
            write(writer)?;
            writer.copy_to(span.end);
            Ok(())
        })
    }

    /// Copies the rest of a tag. Returns whether it trims the text after it, as must a tag that is inserted there.
    fn end_tag(&mut self) -> bool {
        let rest = self.source.get(self.copied..).unwrap_or_default();
        let end = self.copied + rest.find("%}").unwrap_or(rest.len());
        self.copy_to(end + "%}".len());
        self.source[..end].ends_with('-')
    }

    /// Charges for one pass through `body` when it is reached.
    pub(super) fn charge_for_text(&mut self, body: &[Stmt<'_>], written: Range<usize>, end: &str) {
        let bytes = text_len(body);
        if bytes > 0 {
            let start = self.text.len();
            self.put("{{");
            self.start_line(written.clone());
            self.put(&format!("\"\"|{}({bytes}) {end}", operators::WRITTEN));
            self.map.mark(start..self.text.len(), written);
        }
    }

    fn for_loop(&mut self, each: &Spanned<ast::ForLoop<'_>>) -> Result<(), Refusal> {
        let bytes = text_len(&each.body);
        self.copy_to(start_of(&each.iter));
        self.marked(place_of(&each.iter), |writer| match bytes > 0 && !each.recursive {
            true => writer.checked(&each.iter, &format!("{}({bytes})", operators::REPEATED)),
            false => writer.expression(&each.iter),
        })?;
        each.filter_expr.iter().try_for_each(|condition| self.expression(condition))?;
        if each.recursive {
            self.charge_after_tag(&each.body, tag_of(each, self.source));
        }
        self.body(&each.body)?;
        self.body(&each.else_body)
    }

    /// The defaults of a macro, the call of a `{% call %}` tag, and the body.
    fn macro_body(
        &mut self,
        declared: &Spanned<ast::Macro<'_>>,
        call: Option<&Spanned<ast::Call<'_>>>,
    ) -> Result<(), Refusal> {
        declared.defaults.iter().try_for_each(|default| self.expression(default))?;
        call.into_iter().try_for_each(|call| self.call(call))?;
        self.charge_after_tag(&declared.body, tag_of(declared, self.source));
        self.body(&declared.body)
    }

    fn charge_after_tag(&mut self, body: &[Stmt<'_>], written: Range<usize>) {
        let end = if self.end_tag() { "-}}" } else { "}}" };
        self.charge_for_text(body, written, end);
    }

    fn block(&mut self, block: &Spanned<ast::Block<'_>>) -> Result<(), Refusal> {
        // A required block may contain only white space, so nothing is charged.
        if block.required {
            return Ok(());
        }
        let trims_start = self.end_tag();
        self.charge_for_text(&block.body, tag_of(block, self.source), "}}");
        // A recursive block uses as much stack as a recursive macro but counts as less. Empty frames compensate; a
        // block has its own scope anyway.
        self.put("{% with %}{% with %}{% with ");
        self.put(if trims_start { "-%}" } else { "%}" });
        self.body(&block.body)?;
        let before_end = self.source.get(..range_of(block.span()).end).unwrap_or_default();
        let end_tag = before_end.rfind("{%").unwrap_or(before_end.len());
        self.copy_to(end_tag);
        let trims_end = before_end[end_tag..].starts_with("{%-");
        self.put(if trims_end { "{%-" } else { "{%" });
        self.put(" endwith %}{% endwith %}{% endwith %}");
        Ok(())
    }

    fn include(&mut self, include: &ast::Include<'_>) -> Result<(), Refusal> {
        let names = match &include.name {
            Expr::List(list) => list.items.iter().map(literal_name).collect(),
            name => literal_name(name).map(|name| vec![name]),
        };
        self.refer(&include.name, names, include.ignore_missing)
    }

    fn import(&mut self, import: &ast::Import<'_>) -> Result<(), Refusal> {
        self.refer_to_one(&import.expr)?;
        if matches!(import.name, Expr::Var(_)) {
            return Ok(());
        }
        let message = "a file is imported under a plain name".to_owned();
        Err(Refusal { span: place_of(&import.name), message, help: None })
    }

    /// A reference to other files, by `name`.
    fn refer(
        &mut self,
        name: &Expr<'_>,
        names: Option<Vec<String>>,
        ignore_missing: bool,
    ) -> Result<(), Refusal> {
        let span = range_of(name.span());
        let Some(names) = names else {
            let message = "the name of a file must be written out, in quotes".to_owned();
            let help = Some("choose between files with `{% if %}` around several includes".to_owned());
            return Err(Refusal { span, message, help });
        };
        self.references.push(Reference { names, ignore_missing, span });
        Ok(())
    }

    fn refer_to_one(&mut self, name: &Expr<'_>) -> Result<(), Refusal> {
        self.refer(name, literal_name(name).map(|name| vec![name]), false)
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

fn literal_name(name: &Expr<'_>) -> Option<String> {
    match name {
        Expr::Const(constant) => constant.value.as_str().map(str::to_owned),
        _ => None,
    }
}
