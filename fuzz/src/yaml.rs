//! The properties of all YAML: configuration, workflows and front matter.

use std::sync::Arc;

use foreword_workspace::config::Config;
use foreword_workspace::document::DocumentError;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::front_matter::FrontMatter;
use foreword_workspace::workflows::Workflow;

/// Any text is a valid document or has problems with positions, the same ones each time.
pub fn check_properties(input: &[u8]) {
    // Earlier code rejects input that is not UTF-8.
    let Ok(text) = std::str::from_utf8(input) else { return };
    configuration(text);
    workflow(text);
    front_matter(text);
}

fn configuration(text: &str) {
    match Config::parse("foreword.yaml", text) {
        Ok(config) => config.notes.iter().for_each(points_into_its_text),
        Err(problems) => {
            assert!(!problems.is_empty(), "a refusal must give its reasons");
            problems.iter().for_each(points_into_its_text);
            let again = Config::parse("foreword.yaml", text).err();
            assert_eq!(Some(problems), again, "the same text must have the same problems");
        }
    }
}

fn workflow(text: &str) {
    match Workflow::parse("workflows/w.yaml", text.into()) {
        Ok(workflow) => assert!(!workflow.name.is_empty() && !workflow.steps.is_empty()),
        Err(WorkspaceError::Document(problem)) => points_into_its_text(&problem),
        Err(other) => assert!(!other.to_string().is_empty()),
    }
}

fn front_matter(text: &str) {
    let divided = FrontMatter::split("SKILL.md", Arc::from(text));
    assert!(text.ends_with(divided.body()), "the body must be the end of the text");
    if let Err(problem) = divided.parse::<serde_json::Value>() {
        points_into_its_text(&problem);
    }
}

fn points_into_its_text(problem: &DocumentError) {
    assert!(problem.text.get(problem.span.clone()).is_some(), "{problem:?} must point into the text");
    assert!(!problem.message.is_empty() && !problem.message.contains(char::is_control), "{problem:?}");
    assert!(problem.excerpt().contains('^'), "{problem:?} must be shown with a caret");
}
