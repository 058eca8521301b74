//! The properties of the Jinja dialect.

use std::sync::Arc;

use foreword_prompt::diagnostic::TemplateError;
use foreword_prompt::jinja::{Limits, RenderContext, compile};
use serde_json::json;

/// Small limits, so that inputs that reach them end quickly.
const LIMITS: Limits = Limits {
    fuel: 20_000,
    text_bytes: 256 << 10,
    items: 10_000,
    work: 200_000,
    source_bytes: 64 << 10,
    parts: 8,
    include_depth: 4,
};

/// Any text is a template or an error with a position. It renders to the same bytes each time, within the size limit.
pub fn check_properties(input: &[u8]) {
    let text: Arc<str> = String::from_utf8_lossy(input).into();
    let rendered = render(&text);
    assert_eq!(rendered, render(&text), "the same template must render the same");
    match rendered {
        Ok(rendered) => assert!(rendered.len() <= LIMITS.text_bytes, "{} bytes were written", rendered.len()),
        Err(error) => has_a_place(&error),
    }
}

fn render(text: &Arc<str>) -> Result<String, TemplateError> {
    let context = json!({
        "user_id": "u-42",
        "locale": "en-US",
        "count": 3,
        "ratio": 0.5,
        "tags": ["a", "b", "ç"],
        "user": { "name": "alice", "admin": true, "boss": null },
    });
    let context = RenderContext::from_serialize(&context, "ChatAgent", "Agent");
    compile("main.md", Arc::clone(text), &|name| Ok(included(name, text)), &LIMITS)?.render(&context)
}

/// A valid file, an invalid one, and the template itself.
fn included(name: &str, main: &Arc<str>) -> Option<Arc<str>> {
    match name {
        "part.md" => Some(Arc::from(
            "{% macro hi(x) %}hi {{ x }}{% endmacro %}{% block b %}{{ agent_name }}{% endblock %}",
        )),
        "bad.md" => Some(Arc::from("fine\n{{ nobody }}")),
        "main.md" => Some(Arc::clone(main)),
        _ => None,
    }
}

fn has_a_place(error: &TemplateError) {
    assert!(!error.file.is_empty() && !error.message.is_empty(), "{error:?} must say where and what");
    assert!(error.at.line >= 1 && error.at.column >= 1, "{error:?} must count from one");
    let lines = error.text.split('\n').count();
    assert!(error.at.line <= lines, "{error:?} must be on one of {lines} lines");
    if let Some(span) = &error.span {
        assert!(error.text.get(span.clone()).is_some(), "{error:?} must point into the text");
    }
}
