//! Error messages and positions.

use super::{context, error_text, rendered, rendered_with};
use crate::jinja::{Limits, compile};

fn failure(source: &str) -> String {
    error_text(&rendered(source).unwrap_err())
}

#[test]
fn unknown_variable_error_has_position_and_suggestion() {
    insta::assert_snapshot!(failure("Hello\n  {{ usr_id }}!"), @"
    main.md:2:6: unknown variable `usr_id`
    marks: usr_id
    help: did you mean `user_id`?
    ");
    insta::assert_snapshot!(failure("{{ agent_nam }}"), @"
    main.md:1:4: unknown variable `agent_nam`
    marks: agent_nam
    help: did you mean `agent_name`?
    ");
    insta::assert_snapshot!(failure("{{ weather }}"), @"
    main.md:1:4: unknown variable `weather`
    marks: weather
    help: known here: `account_id`, `agent_class`, `agent_name`, `context`, `count`, `ctx`, `empty`, `flag`, `html`, `lines`, `locale`, `map`, …
    ");
    insta::assert_snapshot!(failure("ä {{ ctx.locle }}"), @"
    main.md:1:6: `ctx.locle` is undefined
    marks: ctx.locle
    help: did you mean `locale`?
    ");
    insta::assert_snapshot!(failure("{% if flag and\n   missing.deeper %}{% endif %}"), @"
    main.md:2:4: unknown variable `missing`
    marks: missing.deeper
    help: known here: `account_id`, `agent_class`, `agent_name`, `context`, `count`, `ctx`, `empty`, `flag`, `html`, `lines`, `locale`, `map`, …
    ");
}

#[test]
fn syntax_error_points_at_the_unexpected_token() {
    insta::assert_snapshot!(failure("one\n{% if user_id %}\n{% endfor %}"), @"
    main.md:3:4: syntax error: unknown statement endfor
    marks: endfor
    ");
    insta::assert_snapshot!(failure("{{ user_id"), @"
    main.md:1:4: syntax error: unexpected end of input, expected end of variable block
    marks: user_id
    ");
    insta::assert_snapshot!(failure("{{ 1 ++ }}"), @"
    main.md:1:7: syntax error: unexpected `+`
    marks: +
    ");
    insta::assert_snapshot!(failure("{{ 1 ~ not(flag) }}"), @"
    main.md:1:8: syntax error: unexpected `not`
    marks: not
    ");
    insta::assert_snapshot!(failure("a {% set x = 'open %}"), @"
    main.md:1:22: syntax error: unexpected end of string
    marks:
    ");
}

#[test]
fn unknown_filter_test_or_function_has_a_suggestion() {
    insta::assert_snapshot!(failure("{% if false %}{{ user_id|uper }}{% endif %}"), @"
    main.md:1:26: unknown filter `uper`
    marks: uper
    help: did you mean `upper`?
    ");
    insta::assert_snapshot!(failure("{{ user_id is defned }}"), @"
    main.md:1:15: unknown test `defned`
    marks: defned
    help: did you mean `defined`?
    ");
    insta::assert_snapshot!(failure("x {{ rnge(3) }}"), @"
    main.md:1:6: unknown function `rnge`
    marks: rnge(3)
    help: did you mean `range`?
    ");
}

#[test]
fn error_inside_an_include_names_the_included_file() {
    let files = [("parts/user.md", "one\n two {{ nobody }}\n")];
    let error = rendered_with(&files, "main\n{% include 'parts/user.md' %}").unwrap_err();
    insta::assert_snapshot!(error_text(&error), @"
    parts/user.md:2:9: unknown variable `nobody`
    marks: nobody
    help: known here: `account_id`, `agent_class`, `agent_name`, `context`, `count`, `ctx`, `empty`, `flag`, `html`, `lines`, `locale`, `map`, …; included from main.md:2:4
    ");
    let files = [("broken.md", "\n\n{% endif %}")];
    let error = rendered_with(&files, "{% include 'broken.md' %}").unwrap_err();
    insta::assert_snapshot!(error_text(&error), @"
    broken.md:3:4: syntax error: unknown statement endif
    marks: endif
    ");
    let files = [("base.md", "{% block a %}{% endblock %}")];
    let error = rendered_with(&files, "{% extends 'base.md' %}\n{% block a %}{{ nobody }}{% endblock %}")
        .unwrap_err();
    insta::assert_snapshot!(error_text(&error), @"
    main.md:2:17: unknown variable `nobody`
    marks: nobody
    help: known here: `account_id`, `agent_class`, `agent_name`, `context`, `count`, `ctx`, `empty`, `flag`, `html`, `lines`, `locale`, `map`, …
    ");
}

#[test]
fn wrong_type_points_at_the_operation() {
    insta::assert_snapshot!(failure("{{ 1 + 'a' }}"), @"
    main.md:1:4: `+` does not work on number and string
    marks: 1 + 'a'
    ");
    insta::assert_snapshot!(failure("{% set x = names - 1 %}"), @"
    main.md:1:12: tried to use - operator on unsupported types sequence and number
    marks: names - 1
    ");
    insta::assert_snapshot!(failure("{% for x in count %}{{ x }}{% endfor %}"), @"
    main.md:1:13: number is not iterable
    marks: count
    ");
    insta::assert_snapshot!(failure("{% for a, b in names %}{% endfor %}"), @"
    main.md:1:4: cannot unpack: value is not iterable
    marks: for a, b in names
    ");
    insta::assert_snapshot!(failure("{{ names.nope() }}"), @"
    main.md:1:4: unknown method: sequence has no method named nope
    marks: names.nope()
    ");
    insta::assert_snapshot!(failure("{{ 1 / 0 }}"), @"
    main.md:1:4: unable to calculate 1 / 0
    marks: 1 / 0
    ");
    insta::assert_snapshot!(failure("{{ user_id|round }}"), @"
    main.md:1:12: cannot round value (string)
    marks: round
    ");
    insta::assert_snapshot!(failure("{{ user_id|upper(1) }}"), @"
    main.md:1:12: too many arguments
    marks: upper(1)
    ");
}

#[test]
fn fuel_exhaustion_is_reported() {
    let source = "text\n{% for i in range(100000) %}\n  {{ i + i }}{{ i }}{{ i }}{{ i }}{% endfor %}";
    insta::assert_snapshot!(failure(source), @"
    main.md:2:4: the template ran out of fuel: it takes too many steps
    marks: for i in range(100000)
    help: look for a loop that runs too often or a macro that calls itself
    ");
}

#[test]
fn building_too_much_points_at_the_growth() {
    insta::assert_snapshot!(failure("{{ 'ok' }}\n{{ 'x' * 2000000000 }}"), @"
    main.md:2:4: the template builds more than 32 MiB of text
    marks: 'x' * 2000000000
    help: look for text or a list that grows with every step
    ");
    insta::assert_snapshot!(failure("{{ lines|indent(2000000000) }}"), @"
    main.md:1:10: the template builds more than 32 MiB of text
    marks: indent(2000000000)
    help: look for text or a list that grows with every step
    ");
    insta::assert_snapshot!(failure("{{ range(10**9) }}"), @"
    main.md:1:4: this `range` has 1000000000 numbers, at most 100000 are allowed
    marks: range(10**9)
    ");
}

#[test]
fn error_with_only_a_line_points_at_a_tag() {
    insta::assert_snapshot!(failure("one\n  {% set x = not missing %}"), @"
    main.md:2:6: unknown variable `missing`
    marks: set x = not missing
    help: known here: `account_id`, `agent_class`, `agent_name`, `context`, `count`, `ctx`, `empty`, `flag`, `html`, `lines`, `locale`, `map`, …
    ");
    insta::assert_snapshot!(failure("one\n\n  {% autoescape 'x' %}{% endautoescape %}"), @"
    main.md:3:6: invalid value to autoescape tag
    marks: autoescape 'x'
    ");
    insta::assert_snapshot!(failure("a\n b {{ self.nothing() }}"), @"
    main.md:2:7: unknown block: block 'nothing' not found
    marks: self.nothing()
    ");
    insta::assert_snapshot!(failure("a\n{% set x = 1 if missing else 2 %}"), @"
    main.md:2:4: unknown variable `missing`
    marks: set x = 1 if missing else 2
    help: known here: `account_id`, `agent_class`, `agent_name`, `context`, `count`, `ctx`, `empty`, `flag`, `html`, `lines`, `locale`, `map`, …
    ");
}

#[test]
fn error_on_a_very_long_line_has_a_position() {
    let error = rendered(&format!("{}{{{{ missing }}}}", "\n".repeat(70_000))).unwrap_err();
    assert_eq!(error.to_string(), "main.md:70001:4: unknown variable `missing`");
    let error = rendered(&format!("{}{{{{ missing }}}}", "x".repeat(70_000))).unwrap_err();
    assert_eq!(error.to_string(), "main.md:1:70004: unknown variable `missing`");
    let error = rendered(&format!("one\n{}{{{{ ! }}}}", "x".repeat(70_000))).unwrap_err();
    assert!(error.message.starts_with("syntax error"), "{error}");
    assert_eq!(error.at.line, 2);
}

#[test]
fn oversized_template_is_refused() {
    let limits = Limits { source_bytes: 10, ..Limits::default() };
    let error = compile("main.md", "12345678901".into(), &super::no_files, &limits).unwrap_err();
    assert_eq!(error.to_string(), "main.md:1:1: the template has 11 bytes, at most 10 are allowed");
    assert!(compile("main.md", "1234567890".into(), &super::no_files, &limits).is_ok());
}

#[test]
fn limits_of_the_caller_apply() {
    let limits = Limits { fuel: 50, ..Limits::default() };
    let template = compile("a.md", "{% for i in range(100) %}{% endfor %}".into(), &super::no_files, &limits);
    assert_eq!(
        template.unwrap().render(&context()).unwrap_err().message,
        "the template ran out of fuel: it takes too many steps"
    );
    let limits = Limits { text_bytes: 5, ..Limits::default() };
    let template = compile("a.md", "{{ user_id }}{{ user_id }}".into(), &super::no_files, &limits);
    let error = template.unwrap().render(&context()).unwrap_err();
    assert_eq!(error.to_string(), "a.md:1:17: the template builds more than 5 bytes of text");
}
