//! Merging file and built-in text; and the three kinds of content of a source.

use foreword_prompt::content::Content;
use foreword_prompt::layer::{Layer, Stability};

use crate::fixture::{Fixture, layer};

const SIGNAL: &str = "You are writing on Signal.";

/// The prompt of one layer with a built-in text, a merge rule and a file; `None` for no file.
fn merged(rule: &str, file: Option<&str>) -> Fixture {
    let fixture = Fixture::of(&format!(
        "layers: [{{ id: channel, stability: agent, merge: {rule}, heading: '## Channel',
           source: {{ file: channels/signal.md, builtin: channel-signal }} }}]"
    ));
    match file {
        Some(text) => fixture.text("channels/signal.md", text),
        None => fixture,
    }
}

fn check(rule: &str, file: Option<&str>, builtin: bool, expected_end: &str) {
    let text = merged(rule, file).prompt().text();
    assert_eq!(text.contains(SIGNAL), builtin, "{rule} {file:?}: {text}");
    assert!(text.ends_with(expected_end), "{rule} {file:?}: {text}");
}

#[test]
fn missing_file_leaves_the_built_in_text() {
    for rule in ["replace", "append", "fallback"] {
        check(rule, None, true, "links in full.");
    }
}

#[test]
fn file_replaces_appends_or_wins_by_its_rule() {
    check("replace", Some("Be brief.\n"), false, "## Channel\n\nBe brief.");
    check("append", Some("Be brief.\n"), true, "links in full.\n\nBe brief.");
    check("fallback", Some("Be brief.\n"), false, "## Channel\n\nBe brief.");
}

#[test]
fn file_with_override_mark_replaces_under_every_rule() {
    for rule in ["replace", "append", "fallback"] {
        check(rule, Some("<!-- override -->\r\nBe brief."), false, "## Channel\n\nBe brief.");
    }
}

#[test]
fn blank_file_removes_the_layer_only_under_replace() {
    check("fallback", Some(" \n"), true, "links in full.");
    check("append", Some(" \n"), true, "links in full.");
    let silent = merged("replace", Some(" \n"));
    assert_eq!(silent.prompt().text(), "");
    assert_eq!(silent.layer("channel").status, "empty");
}

#[test]
fn absent_empty_and_blank_leave_no_heading() {
    for (content, status, reason) in [
        (None, "absent", "there is no `words`"),
        (Some(Content::Empty), "empty", "it is empty"),
        (Some(Content::Text(" \n\t".into())), "empty", "it is empty"),
    ] {
        for stability in [Stability::Conversation, Stability::Turn] {
            let source = foreword_prompt::layer::Source::Instructions;
            let words = Layer { source, heading: Some("## Words".into()), ..layer("words", stability, "") };
            let mut fixture = Fixture::layers(vec![words]);
            fixture.texts.extend(content.clone().map(|content| ("words".to_owned(), content)));
            assert_eq!(fixture.prompt().text(), "");
            assert!(fixture.prompt().is_empty());
            let words = fixture.layer("words");
            assert_eq!((words.status, words.reason.as_deref()), (status, Some(reason)));
        }
    }
}

#[test]
fn layer_without_its_placeholder_is_absent_with_reason() {
    let fixture = Fixture::of(
        "layers: [{ id: identity, stability: agent, source: { file: '{identity_file}', builtin: vm-identity } }]",
    );
    let identity = fixture.layer("identity");
    assert_eq!(identity.status, "absent");
    assert_eq!(identity.reason.unwrap(), "there is no `identity_file` on this occasion");
}
