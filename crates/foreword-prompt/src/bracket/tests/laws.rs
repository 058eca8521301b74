//! Properties of every template, on arbitrary text, on text made of tags, and on very large templates.

use std::sync::Arc;

use proptest::prelude::*;

use super::values;
use crate::bracket::{Mode, Template, Values, Variable};

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Bracket), Just(Mode::Compat)]
}

/// Text with many tags, partial tags and special cases.
fn tag_soup() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "[",
        "]",
        "[[",
        "]]",
        ":",
        "!",
        " ",
        "\n",
        "\r\n",
        "é",
        "日",
        "\u{a0}",
        "\u{200b}",
        "`",
        "if",
        "else",
        "endif",
        "file",
        "A",
        "[if file:A]",
        "[if !file:A]",
        "[if file:N]",
        "[if nope:x]",
        "[if ",
        "[else]",
        "[endif]",
        "[file:A]",
        "[file:N]",
        "[file:T]",
        "[sytem:date]",
        "[system:tme]",
        "[NOTE: x]",
        "[file:",
        "[:x]",
        "[file:]",
        "[ELSE]",
        "[end if]",
        "[a](b)",
        "[::1]",
        "text",
    ]);
    prop::collection::vec(fragment, 0..40).prop_map(|fragments| fragments.concat())
}

fn any_source() -> impl Strategy<Value = String> {
    prop_oneof![tag_soup(), any::<String>(), "[\\[\\]a-c:! \n]{0,40}"]
}

proptest! {
    #[test]
    fn parsing_and_rendering_never_panic_and_are_deterministic(source in any_source(), mode in mode()) {
        let template = Template::parse(source.as_str(), mode);
        let again = Template::parse(source.as_str(), mode);
        prop_assert_eq!(template.render(&values()), again.render(&values()));
        prop_assert_eq!(template.diagnostics(), again.diagnostics());
        prop_assert_eq!(template.rendered_len(&values()), template.render(&values()).len());
    }

    #[test]
    fn nodes_tile_the_source(source in any_source(), mode in mode()) {
        let mut end = 0;
        for span in Template::parse(source.as_str(), mode).spans() {
            prop_assert_eq!(span.start, end);
            prop_assert!(span.start < span.end && source.is_char_boundary(span.end));
            end = span.end;
        }
        prop_assert_eq!(end, source.len());
    }

    #[test]
    fn diagnostics_are_ordered_and_on_one_line(source in any_source(), mode in mode()) {
        let template = Template::parse(source.as_str(), mode);
        let mut last_tag = 0;
        for diagnostic in template.diagnostics() {
            prop_assert!(source.get(diagnostic.span.clone()).is_some_and(|text| !text.is_empty()));
            prop_assert!(diagnostic.span.start >= last_tag);
            prop_assert!(!diagnostic.message.contains(char::is_control), "{}", diagnostic.message);
            last_tag = diagnostic.span.start;
        }
    }

    #[test]
    fn text_without_brackets_is_kept(source in "[^\\[]*", mode in mode()) {
        let template = Template::parse(source.as_str(), mode);
        prop_assert_eq!(template.render(&values()), source);
        prop_assert!(template.references().is_empty() && template.diagnostics().is_empty());
    }

    #[test]
    fn doubled_brackets_round_trip_in_bracket_mode(text in any_source()) {
        let template = Template::parse(text.replace('[', "[["), Mode::Bracket);
        prop_assert_eq!(template.render(&values()), text);
        prop_assert!(template.references().is_empty() && template.diagnostics().is_empty());
    }

    #[test]
    fn only_referenced_variables_affect_the_output(source in any_source(), mode in mode()) {
        let template = Template::parse(source, mode);
        let needed: Values = template
            .references()
            .iter()
            .map(|variable| (variable.clone(), values().get(variable).cloned()))
            .collect();
        prop_assert_eq!(template.render(&needed), template.render(&values()));
    }

    #[test]
    fn value_is_inserted_verbatim(value in any_source(), mode in mode()) {
        let text: Arc<str> = Arc::from(value.as_str());
        let values: Values = [(Variable::new("file", "A"), Some(text))].into_iter().collect();
        let template = Template::parse("<[file:A]|[if file:A][file:A][endif]>", mode);
        prop_assert_eq!(template.render(&values), format!("<{value}|{value}>"));
    }

    #[test]
    fn well_formed_blocks_leave_no_tag_behind(depth in 0_usize..30, mode in mode()) {
        let source = format!("{}a{}", "[if file:A]<".repeat(depth), ">[else]?[endif]".repeat(depth));
        let template = Template::parse(source, mode);
        prop_assert_eq!(template.diagnostics(), []);
        prop_assert_eq!(template.render(&values()), format!("{}a{}", "<".repeat(depth), ">".repeat(depth)));
    }
}

/// These would take hours in quadratic time, or overflow the stack with recursion.
#[test]
fn hostile_sizes_are_processed_in_linear_time() {
    const MANY: usize = 100_000;
    for mode in [Mode::Bracket, Mode::Compat] {
        for fragment in [
            "[",
            "]",
            "[if a:b]",
            "[if file:N]",
            "[else]",
            "[endif]",
            "[if file:A",
            "[file:N]",
            "[if ",
            "[Sytem:x]",
        ] {
            let source = fragment.repeat(MANY);
            let template = Template::parse(source.as_str(), mode);
            assert!(template.render(&values()).len() <= source.len());
            assert!(template.diagnostics().len() <= 101, "{fragment}");
        }
        let long_type = format!("[{}:x]", "é".repeat(MANY));
        assert!(Template::parse(long_type, mode).diagnostics().len() <= 1);
    }
}

#[test]
fn nesting_100000_deep_does_not_overflow_the_stack() {
    const DEPTH: usize = 100_000;
    let source = format!("{}x{}", "[if file:A]".repeat(DEPTH), "[else]y[endif]".repeat(DEPTH));
    for mode in [Mode::Bracket, Mode::Compat] {
        let template = Template::parse(source.as_str(), mode);
        assert_eq!(template.render(&values()), "x");
        assert_eq!(template.render(&Values::new()), "y");
    }
}
