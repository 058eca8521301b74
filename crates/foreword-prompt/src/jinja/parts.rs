//! Compiles a template with every file it includes, imports or extends. The caller's loader reads all of them now, so
//! that a compiled template has no outside dependencies.

use std::sync::Arc;

use minijinja::Environment;
use minijinja::machinery::parse;
use minijinja::syntax::SyntaxConfig;

use super::failure::{engine_failure, from_engine, from_parse, unwinding};
use super::guard::{self, Reference, Refusal, Role};
use super::limits::Limits;
use super::nesting::too_deep;
use super::source_map::SourceMap;
use super::{Loader, engine};
use crate::diagnostic::{TemplateError, position_of};

/// A file of a compiled template.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) source: Arc<str>,
    pub(super) map: SourceMap,
}

pub(super) struct Parts {
    pub(super) env: Environment<'static>,
    pub(super) parts: Vec<Part>,
}

/// Compiles `source` and everything it refers to; it is the first part.
pub(super) fn load(
    name: &str,
    source: Arc<str>,
    loader: Loader<'_>,
    limits: &Limits,
) -> Result<Parts, TemplateError> {
    let broken = |error: minijinja::Error| engine_failure(name, &source, &error.to_string());
    let env = engine::new(limits).map_err(broken)?;
    let syntax = engine::syntax().map_err(broken)?;
    let mut loading = Loading { env, syntax, limits, loader, parts: Vec::new(), chain: Vec::new() };
    loading.add(name, source, Role::Root)?;
    Ok(Parts { env: loading.env, parts: loading.parts })
}

/// A file, its guarded text, and the files it refers to.
type Prepared = (Part, String, Vec<Reference>);

struct Loading<'l> {
    env: Environment<'static>,
    syntax: SyntaxConfig,
    limits: &'l Limits,
    loader: Loader<'l>,
    parts: Vec<Part>,
    /// The current chain of includes.
    chain: Vec<String>,
}

impl Loading<'_> {
    fn add(&mut self, name: &str, source: Arc<str>, role: Role) -> Result<(), TemplateError> {
        let prepared = unwinding(|| self.prepare(name, &source, role));
        let (part, text, references) =
            prepared.unwrap_or_else(|reason| Err(engine_failure(name, &source, &reason)))?;
        let added = unwinding(|| self.env.add_template_owned(name.to_owned(), text));
        added
            .map_err(|reason| engine_failure(name, &source, &reason))?
            .map_err(|error| from_engine(std::slice::from_ref(&part), &error, None))?;
        self.parts.push(part);
        self.chain.push(name.to_owned());
        for reference in references {
            self.follow(name, &source, &reference)?;
        }
        self.chain.pop();
        Ok(())
    }

    /// Parses and guards one file.
    fn prepare(&self, name: &str, source: &Arc<str>, role: Role) -> Result<Prepared, TemplateError> {
        let refuse = |refusal: Refusal| refused(name, source, refusal);
        if let Some(refusal) = self.oversized(source) {
            return Err(refuse(refusal));
        }
        let template =
            parse(source, name, self.syntax.clone()).map_err(|error| from_parse(name, source, &error))?;
        let guarded = guard::guard(source, &template, role).map_err(refuse)?;
        let part = Part { name: name.to_owned(), source: source.clone(), map: guarded.map };
        Ok((part, guarded.text, guarded.references))
    }

    fn oversized(&self, source: &str) -> Option<Refusal> {
        let limit = self.limits.source_bytes;
        if source.len() > limit {
            let message = format!("the template has {} bytes, at most {limit} are allowed", source.len());
            return Some(Refusal { span: 0..0, message, help: None });
        }
        let span = too_deep(source, &self.syntax)?;
        let message = "this expression is nested too deeply".to_owned();
        Some(Refusal { span, message, help: Some("split it up with `{% set %}`".to_owned()) })
    }

    /// Reads the first file of a reference that exists, unless it was read before.
    fn follow(&mut self, from: &str, text: &Arc<str>, reference: &Reference) -> Result<(), TemplateError> {
        let mut found = false;
        for name in &reference.names {
            let refuse = |message: String, help: Option<String>| {
                refused(from, text, Refusal { span: reference.span.clone(), message, help })
            };
            check_name(name).map_err(|(message, help)| refuse(message, Some(help)))?;
            if self.chain.contains(name) {
                return Err(refuse(self.loop_message(name), Some("take one of them out".to_owned())));
            }
            if self.parts.iter().any(|part| part.name == *name) {
                found = true;
                continue;
            }
            let loaded = (self.loader)(name);
            let Some(source) =
                loaded.map_err(|reason| refuse(format!("can't read `{name}`: {reason}"), None))?
            else {
                continue;
            };
            found = true;
            if let Some(message) = self.too_many() {
                return Err(refuse(message, None));
            }
            self.add(name, source, Role::Included)?;
        }
        if found || reference.ignore_missing {
            return Ok(());
        }
        let names: Vec<String> = reference.names.iter().map(|name| format!("`{name}`")).collect();
        let message = format!("there is no file {}", names.join(" or "));
        let help = Some("add it, or write `ignore missing` after the name of an include".to_owned());
        Err(refused(from, text, Refusal { span: reference.span.clone(), message, help }))
    }

    fn loop_message(&self, name: &str) -> String {
        let start = self.chain.iter().position(|part| part == name).unwrap_or(0);
        let mut round: Vec<&str> = self.chain[start..].iter().map(String::as_str).collect();
        round.push(name);
        format!("these files include each other: {}", round.join(" → "))
    }

    fn too_many(&self) -> Option<String> {
        let Limits { parts, include_depth, .. } = *self.limits;
        if self.parts.len() >= parts {
            return Some(format!("the template is made of more than {parts} files"));
        }
        (self.chain.len() > include_depth)
            .then(|| format!("files include each other more than {include_depth} deep"))
    }
}

/// Names are paths below the loader's root; rejects anything that could leave it.
fn check_name(name: &str) -> Result<(), (String, String)> {
    let is_plain = |segment: &str| !matches!(segment, "" | "." | "..");
    if name.split('/').all(is_plain) && !name.contains(['\\', '\0', ':']) {
        return Ok(());
    }
    let help = "write the path from the prompts root, such as `parts/header.md`".to_owned();
    Err((format!("`{}` is not a path below the prompts root", name.escape_debug()), help))
}

fn refused(name: &str, source: &Arc<str>, refusal: Refusal) -> TemplateError {
    TemplateError {
        file: name.into(),
        at: position_of(source, refusal.span.start),
        message: refusal.message,
        help: refusal.help,
        span: Some(refusal.span),
        text: source.clone(),
    }
}
