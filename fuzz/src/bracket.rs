//! The properties of the bracket dialect.

use foreword_prompt::bracket::{Mode, Template, Values};

/// Any text is a template, in both modes: it renders to the same bytes each time, and problems point into it. Escaped
/// brackets render to the original text.
pub fn check_properties(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for mode in [Mode::Bracket, Mode::Compat] {
        parses(&text, mode);
    }
    let escaped = Template::parse(text.replace('[', "[["), Mode::Bracket);
    assert_eq!(escaped.render(&values()), text, "doubled brackets must give the text back");
    assert!(escaped.references().is_empty() && escaped.diagnostics().is_empty());
}

fn parses(text: &str, mode: Mode) {
    let template = Template::parse(text, mode);
    let rendered = template.render(&values());
    assert_eq!(rendered, Template::parse(text, mode).render(&values()), "the same text must render the same");
    assert_eq!(rendered.len(), template.rendered_len(&values()));
    for problem in template.diagnostics() {
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?} must point into the text");
        assert!(!problem.message.contains(char::is_control), "{problem:?} must be one clean line");
    }
    if !text.contains('[') {
        assert_eq!(rendered, text, "text without brackets must be kept");
    }
}

/// Some variables exist, one of them with a value that looks like a tag; others don't.
fn values() -> Values {
    Values::new()
        .with("system", "date", "2026-01-31")
        .with("file", "A", "[file:A] [else]")
        .with("git", "branch", "")
}
