//! The Jinja dialect: variables, restrictions, errors.

mod abuse;
mod contract;
mod corpus;
mod errors;
mod includes;
mod same_output;

use std::sync::Arc;

use minijinja::Value;
use minijinja::value::Serde;

use super::{Compiled, Limits, RenderContext, compile};
use crate::diagnostic::TemplateError;

/// The context most tests render with.
pub(super) fn context() -> RenderContext {
    RenderContext::from_serialize(&sample(), "ChatAgent", "Agent")
}

pub(super) fn sample() -> serde_json::Value {
    serde_json::json!({
        "user_id": "u-42",
        "locale": "en-US",
        "account_id": "acme",
        "agent_name": "Mallory",
        "ctx": "mallory's",
        "count": 3,
        "ratio": 0.5,
        "flag": true,
        "nothing": null,
        "html": "<b>\"a\" & 'b'</b>",
        "lines": "one\ntwo\n\nfour",
        "names": ["alice", "bob", "carol"],
        "numbers": [3, 1, 2],
        "empty": [],
        "users": [
            {"name": "alice", "trust": "full", "tags": ["a", "b"]},
            {"name": "bob", "trust": "familiar", "tags": []},
            {"name": "carol", "trust": "full", "tags": ["c"]},
        ],
        "tree": [{"name": "root", "children": [{"name": "leaf", "children": []}]}],
        "map": {"b": 2, "a": 1},
    })
}

pub(super) fn sample_value() -> Value {
    Value::from(Serde(sample()))
}

pub(super) fn no_files(_: &str) -> Result<Option<Arc<str>>, String> {
    Ok(None)
}

pub(super) fn compiled(source: &str) -> Result<Compiled, TemplateError> {
    compile("main.md", source.into(), &no_files, &Limits::default())
}

pub(super) fn rendered(source: &str) -> Result<String, TemplateError> {
    compiled(source)?.render(&context())
}

/// Renders `main` with these other files.
pub(super) fn rendered_with(files: &[(&str, &str)], main: &str) -> Result<String, TemplateError> {
    let loader =
        |name: &str| Ok(files.iter().find(|(file, _)| *file == name).map(|(_, text)| Arc::from(*text)));
    compile("main.md", main.into(), &loader, &Limits::default())?.render(&context())
}

#[track_caller]
pub(super) fn check(source: &str, expected: &str) {
    assert_eq!(rendered(source).as_deref(), Ok(expected), "{source}");
}

/// The error as the command line would print it, without the source line.
pub(super) fn error_text(error: &TemplateError) -> String {
    let help = error.help.as_deref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let marked = error.span.clone().and_then(|span| error.text.get(span)).unwrap_or("?");
    format!("{error}\nmarks: {marked}{help}")
}
