//! Converts the engine's errors: file, line and column as written by the author, a plain message, and help. Never shows
//! the guarded text.

use std::error::Error as _;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use minijinja::{Error, ErrorKind, Value};

use super::context::{RenderContext, keys_of};
use super::functions;
use super::meter::Overrun;
use super::parts::Part;
use crate::diagnostic::{TemplateError, did_you_mean, position_of};

/// A parse error. Its positions refer to `source`.
pub(super) fn from_parse(name: &str, source: &Arc<str>, error: &Error) -> TemplateError {
    let span = error.range().map(|range| clamped(range, source));
    let start = span.clone().map_or_else(|| line_start(source, error.line().unwrap_or(1)), |span| span.start);
    TemplateError {
        file: name.into(),
        at: position_of(source, start),
        message: format!("syntax error: {}", error.detail().unwrap_or("can't be read")),
        help: None,
        span,
        text: source.clone(),
    }
}

/// An error while compiling or rendering guarded text, with its `context`.
pub(super) fn from_engine(parts: &[Part], error: &Error, context: Option<&RenderContext>) -> TemplateError {
    let chain = located_chain(error);
    let cause = chain.last().copied().unwrap_or(error);
    let part = part_of(parts, cause);
    let span = written_span(part, cause);
    let written = part.and_then(|part| part.source.get(span.clone())).unwrap_or_default();
    let (message, help) = explain(cause, written, context);
    let helps: Vec<String> = help.into_iter().chain(included_from(parts, &chain)).collect();
    let help = (!helps.is_empty()).then(|| helps.join("; "));
    TemplateError {
        file: part.map_or("", |part| part.name.as_str()).into(),
        at: position_of(part.map_or("", |part| &part.source), span.start),
        message,
        help,
        span: Some(span),
        text: part.map_or_else(|| Arc::from(""), |part| part.source.clone()),
    }
}

/// An internal engine error. Should not happen, and must not end the process.
pub(super) fn engine_failure(name: &str, source: &Arc<str>, reason: &str) -> TemplateError {
    let long_line = long_line(source);
    let (message, help) = match long_line {
        Some(_) => ("syntax error on a line that is too long to say where".to_owned(), "break the line"),
        None => (format!("the template engine gave up: {reason}"), "simplify the template"),
    };
    TemplateError {
        file: name.into(),
        at: position_of(source, long_line.unwrap_or(0)),
        message,
        help: Some(help.to_owned()),
        span: None,
        text: source.clone(),
    }
}

/// Runs the engine and catches panics: unusual templates may violate its assertions.
pub(super) fn unwinding<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "unknown reason".to_owned())
    })
}

/// The start of a line on which the engine cannot compute the column of an error.
fn long_line(source: &str) -> Option<usize> {
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        if line.chars().count() >= usize::from(u16::MAX) {
            return Some(start);
        }
        start += line.len();
    }
    None
}

/// The error and its causes that have a position: an error in an included file is wrapped in one for the include.
fn located_chain(error: &Error) -> Vec<&Error> {
    let mut chain = vec![error];
    let mut current = error.source();
    while let Some(source) = current {
        if let Some(inner) = source.downcast_ref::<Error>()
            && inner.line().is_some()
        {
            chain.push(inner);
        }
        current = source.source();
    }
    chain
}

fn part_of<'p>(parts: &'p [Part], error: &Error) -> Option<&'p Part> {
    let named = error.name().and_then(|name| parts.iter().find(|part| part.name == name));
    named.or_else(|| parts.first())
}

fn written_span(part: Option<&Part>, error: &Error) -> Range<usize> {
    let Some(part) = part else { return 0..0 };
    let by_range = error.range().and_then(|range| part.map.written_at(&range));
    let written = by_range.or_else(|| part.map.written_on(error.line()?));
    clamped(written.unwrap_or(0..0), &part.source)
}

/// The range within the source, in whole characters: the engine counts some as a single byte.
fn clamped(range: Range<usize>, source: &str) -> Range<usize> {
    let start = source.floor_char_boundary(range.start);
    start..source.ceil_char_boundary(range.end.max(start))
}

fn line_start(source: &str, line: usize) -> usize {
    source.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum()
}

fn included_from(parts: &[Part], chain: &[&Error]) -> Option<String> {
    let [includes @ .., _] = chain else { return None };
    let outer = includes.last().filter(|error| error.kind() == ErrorKind::BadInclude)?;
    let part = part_of(parts, outer)?;
    let at = position_of(&part.source, written_span(Some(part), outer).start);
    Some(format!("included from {}:{}:{}", part.name, at.line, at.column))
}

/// The explanation for the template code `written`.
fn explain(error: &Error, written: &str, context: Option<&RenderContext>) -> (String, Option<String>) {
    if let Some(overrun) = error.source().and_then(|source| source.downcast_ref::<Overrun>()) {
        let help = "look for text or a list that grows with every step".to_owned();
        return (overrun.to_string(), Some(help));
    }
    let detail = error.detail().unwrap_or_default();
    if let Some(expression) = undefined_expression(detail) {
        // The engine's placeholder for expressions it cannot print.
        if expression.contains("(...)") {
            return (format!("`{written}` is undefined"), None);
        }
        return unknown_value(expression, context);
    }
    match error.kind() {
        ErrorKind::OutOfFuel => {
            let help = "look for a loop that runs too often or a macro that calls itself".to_owned();
            ("the template ran out of fuel: it takes too many steps".to_owned(), Some(help))
        }
        ErrorKind::UndefinedError => ("this value is undefined".to_owned(), None),
        ErrorKind::UnknownFunction => {
            let name = detail.strip_suffix(" is unknown").unwrap_or(detail);
            (format!("unknown function `{name}`"), suggestion(name, functions::NAMES))
        }
        ErrorKind::SyntaxError if detail.contains("recursion limit") => {
            let help = "split it up with `{% set %}`".to_owned();
            ("this expression is nested too deeply".to_owned(), Some(help))
        }
        kind if detail.is_empty() => (kind.to_string(), None),
        ErrorKind::InvalidOperation => (detail.to_owned(), None),
        kind => (format!("{kind}: {detail}"), None),
    }
}

/// The expression in "… `user.name` is undefined …".
fn undefined_expression(detail: &str) -> Option<&str> {
    let (before, _) = detail.split_once("` is undefined")?;
    let (_, expression) = before.rsplit_once('`')?;
    Some(expression)
}

fn unknown_value(expression: &str, context: Option<&RenderContext>) -> (String, Option<String>) {
    let names = context.map(RenderContext::names).unwrap_or_default();
    let (path, last) = match expression.rsplit_once('.') {
        Some((path, last)) => (path, last),
        None => {
            let help =
                suggestion(expression, names.iter().map(String::as_str)).or_else(|| known_names(&names));
            return (format!("unknown variable `{expression}`"), help);
        }
    };
    let keys = context.and_then(|context| value_at(context.root(), path)).map(|value| keys_of(&value));
    let help = keys.and_then(|keys| suggestion(last, keys.iter().map(String::as_str)));
    (format!("`{expression}` is undefined"), help)
}

/// The value of a plain path such as `ctx.user`.
fn value_at(root: &Value, path: &str) -> Option<Value> {
    let walked = path.split('.').try_fold(root.clone(), |value, name| value.get_attr(name).ok())?;
    (!walked.is_undefined()).then_some(walked)
}

fn suggestion<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    did_you_mean(name, names).map(|near| format!("did you mean `{near}`?"))
}

/// Some of the known names, if none is similar.
fn known_names(names: &[String]) -> Option<String> {
    const SHOWN: usize = 12;
    let listed: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    (!listed.is_empty()).then(|| format!("known here: {}{more}", listed.join(", ")))
}
