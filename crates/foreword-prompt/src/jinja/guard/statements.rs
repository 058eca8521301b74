//! Guarded statements. Text that can be written out more than once is charged where the repeating starts: at a
//! loop's list, or at the head of a macro, a block or an included file.

use std::ops::Range;

use minijinja::machinery::ast::{self, Expr, Spanned, Stmt};

use super::tree::{place_of, tag_of, text_len};
use super::{Refusal, Writer};
use crate::jinja::nesting::range_of;
use crate::jinja::operators;

impl Writer<'_> {
    pub(super) fn body(&mut self, body: &[Stmt<'_>]) -> Result<(), Refusal> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt<'_>) -> Result<(), Refusal> {
        match statement {
            Stmt::Template(template) => self.body(&template.children),
            Stmt::EmitRaw(raw) => {
                self.literal_text(raw.raw, range_of(raw.span()));
                Ok(())
            }
            Stmt::EmitExpr(emit) => {
                self.open("{{", place_of(&emit.expr));
                self.expression(&emit.expr)?;
                self.put(" }}");
                Ok(())
            }
            Stmt::ForLoop(each) => self.tagged(tag_of(each, self.source), |writer| writer.for_loop(each)),
            Stmt::IfCond(branch) => {
                self.branch("if ", branch)?;
                self.put("{% endif %}");
                Ok(())
            }
            Stmt::WithBlock(with) => self.tagged(tag_of(with, self.source), |writer| writer.with(with)),
            Stmt::Set(set) => self.tagged(tag_of(set, self.source), |writer| writer.set(set)),
            Stmt::SetBlock(set) => self.tagged(tag_of(set, self.source), |writer| writer.set_block(set)),
            Stmt::AutoEscape(escape) => self.tagged(tag_of(escape, self.source), |writer| {
                writer.put("autoescape ");
                writer.expression(&escape.enabled)?;
                writer.enclosed(&escape.body, "endautoescape")
            }),
            Stmt::FilterBlock(filter) => self.tagged(tag_of(filter, self.source), |writer| {
                writer.put("filter ");
                writer.expression(&filter.filter)?;
                writer.enclosed(&filter.body, "endfilter")
            }),
            Stmt::Do(call) => self.tagged(tag_of(call, self.source), |writer| {
                writer.put("do ");
                writer.call(&call.call)?;
                writer.put(" %}");
                Ok(())
            }),
            Stmt::Macro(declared) => self.tagged(tag_of(declared, self.source), |writer| {
                writer.put("macro ");
                writer.put(declared.name);
                writer.declared(declared, "endmacro")
            }),
            Stmt::CallBlock(block) => {
                self.tagged(tag_of(block, self.source), |writer| writer.call_block(block))
            }
            Stmt::Block(block) => self.tagged(tag_of(block, self.source), |writer| writer.block(block)),
            Stmt::Import(_) | Stmt::FromImport(_) | Stmt::Extends(_) | Stmt::Include(_) => {
                self.reference(statement)
            }
        }
    }

    /// A statement: opens its tag and marks all of it, so that even an error outside of every expression is traced
    /// to it.
    fn tagged(
        &mut self,
        written: Range<usize>,
        write: impl FnOnce(&mut Self) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.marked(written.clone(), |writer| {
            writer.open("{%", written);
            write(writer)
        })
    }

    /// The rest of a tag, its body, and the tag that ends it.
    pub(super) fn enclosed(&mut self, body: &[Stmt<'_>], end: &str) -> Result<(), Refusal> {
        self.put(" %}");
        self.body(body)?;
        self.put("{% ");
        self.put(end);
        self.put(" %}");
        Ok(())
    }

    /// Charges, once it is reached, for one pass through `body`.
    pub(super) fn charge_for_text(&mut self, body: &[Stmt<'_>], written: Range<usize>) {
        let bytes = text_len(body);
        if bytes > 0 {
            let start = self.text.len();
            self.open("{{", written.clone());
            self.put(&format!("\"\"|{}({bytes}) }}}}", operators::WRITTEN));
            self.map.mark(start..self.text.len(), written);
        }
    }

    fn for_loop(&mut self, each: &Spanned<ast::ForLoop<'_>>) -> Result<(), Refusal> {
        self.put("for ");
        self.target(&each.target);
        self.put(" in ");
        let bytes = text_len(&each.body);
        self.marked(place_of(&each.iter), |writer| {
            writer.expression(&each.iter)?;
            if bytes > 0 && !each.recursive {
                writer.put(&format!("|{}({bytes})", operators::REPEATED));
            }
            Ok(())
        })?;
        if let Some(condition) = &each.filter_expr {
            self.put(" if ");
            self.expression(condition)?;
        }
        if each.recursive {
            self.put(" recursive");
        }
        self.put(" %}");
        if each.recursive {
            self.charge_for_text(&each.body, tag_of(each, self.source));
        }
        self.body(&each.body)?;
        if !each.else_body.is_empty() {
            self.put("{% else %}");
            self.body(&each.else_body)?;
        }
        self.put("{% endfor %}");
        Ok(())
    }

    /// `if` and `elif` tags; the caller closes them. An `if` alone in an `else` is the same as an `elif`.
    fn branch(&mut self, keyword: &str, branch: &Spanned<ast::IfCond<'_>>) -> Result<(), Refusal> {
        self.open("{%", tag_of(branch, self.source));
        self.put(keyword);
        self.expression(&branch.expr)?;
        self.put(" %}");
        self.body(&branch.true_body)?;
        match branch.false_body.as_slice() {
            [] => Ok(()),
            [Stmt::IfCond(next)] => self.branch("elif ", next),
            otherwise => {
                self.put("{% else %}");
                self.body(otherwise)
            }
        }
    }

    fn block(&mut self, block: &Spanned<ast::Block<'_>>) -> Result<(), Refusal> {
        self.put("block ");
        self.put(block.name);
        if block.required {
            // May hold nothing but white space, so there is no place for a charge, nor much to charge for.
            self.put(" required");
            return self.enclosed(&block.body, "endblock");
        }
        self.put(" %}");
        // A block that calls itself takes as much stack as a macro that does, but counts as less. Frames without
        // anything in them make up for it; a block has a scope of its own anyway.
        self.put("{% with %}{% with %}{% with %}");
        self.charge_for_text(&block.body, tag_of(block, self.source));
        self.body(&block.body)?;
        self.put("{% endwith %}{% endwith %}{% endwith %}{% endblock %}");
        Ok(())
    }

    /// `include`, `import`, `from` and `extends`; `parts` has made sure that their names are literals.
    fn reference(&mut self, statement: &Stmt<'_>) -> Result<(), Refusal> {
        match statement {
            Stmt::Include(include) => self.tagged(tag_of(include, self.source), |writer| {
                writer.put("include ");
                writer.expression(&include.name)?;
                writer.put(if include.ignore_missing { " ignore missing %}" } else { " %}" });
                Ok(())
            }),
            Stmt::Extends(extends) => self.tagged(tag_of(extends, self.source), |writer| {
                writer.put("extends ");
                writer.expression(&extends.name)?;
                writer.put(" %}");
                Ok(())
            }),
            Stmt::Import(import) => self.tagged(tag_of(import, self.source), |writer| {
                writer.put("import ");
                writer.expression(&import.expr)?;
                writer.put(" as ");
                let Expr::Var(name) = &import.name else {
                    let message = "a file is imported under a plain name".to_owned();
                    return Err(Refusal { span: place_of(&import.name), message, help: None });
                };
                writer.put(name.id);
                writer.put(" %}");
                Ok(())
            }),
            Stmt::FromImport(import) => {
                self.tagged(tag_of(import, self.source), |writer| writer.import_names(import))
            }
            _ => Ok(()),
        }
    }

    fn import_names(&mut self, import: &ast::FromImport<'_>) -> Result<(), Refusal> {
        self.put("from ");
        self.expression(&import.expr)?;
        self.put(" import ");
        for (index, (name, alias)) in import.names.iter().enumerate() {
            if index > 0 {
                self.put(", ");
            }
            self.nested_target(name);
            if let Some(alias) = alias {
                self.put(" as ");
                self.nested_target(alias);
            }
        }
        self.put(" %}");
        Ok(())
    }
}
