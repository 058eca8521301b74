//! One test per rule of the dialect: seed 003 sections 2 and 5, and the decisions that depart from it.

use super::{check, check_both, values};
use crate::bracket::{DEFAULT_TEMPLATE, Mode, Template, Values};

#[test]
fn variable_is_replaced_by_its_value() {
    check_both(&[
        ("[file:A]", "x"),
        ("hello [file:A]!", "hello x!"),
        ("[file:A][file:B][file:A]", "xyx"),
        ("a[system:os]b", "alinuxb"),
    ]);
}

#[test]
fn variable_that_does_not_exist_is_blank() {
    check_both(&[
        ("<[file:N]>", "<>"),
        ("<[file:missing]>", "<>"),
        ("<[git:branch]>", "<>"),
        ("<[system:tme]>", "<>"),
    ]);
}

#[test]
fn unknown_type_is_blank_in_compat_mode() {
    check(
        Mode::Compat,
        &[
            ("<[unknown:foo]>", "<>"),
            ("[NOTE: be careful]", ""),
            ("[https://example.org]", ""),
            ("[2001:db8::1]:80", ":80"),
            ("[System:os]", ""),
            ("[text: more](url)", "(url)"),
            ("[if:foo]", ""),
            ("[else:x][endif:x]", ""),
            ("[iffile:A]", ""),
            ("[if unknown:x]a[else]b[endif]", "b"),
            ("[if !unknown:x]a[else]b[endif]", "a"),
        ],
    );
}

#[test]
fn unknown_type_stays_text_in_bracket_mode() {
    for text in [
        "<[unknown:foo]>",
        "[NOTE: be careful]",
        "[https://example.org]",
        "[2001:db8::1]:80",
        "[System:os]",
        "[text: more](url)",
        "[if:foo]",
        "[else:x][endif:x]",
        "[iffile:A]",
    ] {
        check(Mode::Bracket, &[(text, text)]);
    }
}

#[test]
fn unknown_condition_type_renders_content_in_bracket_mode() {
    check(
        Mode::Bracket,
        &[
            ("[if unknown:x]a[file:A][endif]", "[if unknown:x]ax[endif]"),
            ("[if !unknown:x]a[else][file:B][endif]", "[if !unknown:x]a[else]y[endif]"),
            ("[if file:A][if unknown:x]a[endif]b[endif]", "[if unknown:x]a[endif]b"),
            ("[if file:N][if unknown:x]a[endif]b[else]c[endif]", "c"),
            ("[if unknown:x][if file:N]a[else]b[endif][endif]", "[if unknown:x]b[endif]"),
            ("[if unknown:x]a", "[if unknown:x]a"),
        ],
    );
}

#[test]
fn condition_chooses_by_existence() {
    check_both(&[
        ("[if file:A]yes[endif]", "yes"),
        ("[if file:N]yes[endif]", ""),
        ("[if file:A]yes[else]no[endif]", "yes"),
        ("[if file:N]yes[else]no[endif]", "no"),
        ("[if file:A][endif]", ""),
        ("[if file:A][else][endif]", ""),
        ("[if system:tme]yes[else]no[endif]", "no"),
    ]);
}

#[test]
fn negated_condition_chooses_by_absence() {
    check_both(&[
        ("[if !file:N]yes[endif]", "yes"),
        ("[if !file:A]yes[endif]", ""),
        ("[if !file:A]yes[else]no[endif]", "no"),
        ("[if !file:N]yes[else]no[endif]", "yes"),
    ]);
}

#[test]
fn empty_value_exists() {
    check_both(&[
        ("<[file:E]>", "<>"),
        ("[if file:E]yes[else]no[endif]", "yes"),
        ("[if !file:E]a[else]b[endif]", "b"),
    ]);
}

#[test]
fn conditions_nest() {
    check_both(&[
        ("[if file:A][system:os][if file:B]B[endif][endif]", "linuxB"),
        ("[if file:N]a[if file:A]b[else]c[endif]d[else]e[endif]", "e"),
        ("[if file:A]a[if file:N]b[else]c[endif]d[else]e[endif]", "acd"),
        ("[if file:N]a[else][if file:N]b[else][if file:A]c[endif][endif]d[endif]", "cd"),
        ("[if file:A][if file:A][if file:A]deep[endif][endif][endif]!", "deep!"),
        ("[if file:A]1[endif][if file:N]2[endif][if file:B]3[endif]", "13"),
    ]);
}

#[test]
fn text_around_tags_is_kept_byte_for_byte() {
    check_both(&[
        ("before\n[if file:A]\nB\n[endif]\nafter", "before\n\nB\n\nafter"),
        ("\r\n [if file:A]\t\r\n[file:B] [endif]\r\n", "\r\n \t\r\ny \r\n"),
        ("[if file:N]\n\n[else]\n[endif]\n", "\n\n"),
        ("\u{feff} ünï [file:A] 日本\0", "\u{feff} ünï x 日本\0"),
    ]);
}

#[test]
fn unmatched_if_is_text_and_its_content_rendered() {
    check_both(&[
        ("[if file:N][file:A]", "[if file:N]x"),
        ("[if file:A]", "[if file:A]"),
        ("[if file:A][if file:N]x[endif]", "[if file:A]"),
        ("[if file:N]a[if file:A]b[else]c[endif]", "[if file:N]ab"),
        ("[if  !file:N ]a", "[if  !file:N ]a"),
        ("[if file:A][if file:A][if file:A]", "[if file:A][if file:A][if file:A]"),
    ]);
}

#[test]
fn else_of_an_unmatched_if_is_text() {
    check_both(&[
        ("[if file:N]a[else]b", "[if file:N]a[else]b"),
        ("[if file:A]a[else]b[if file:N]c[else]d[endif]", "[if file:A]a[else]bd"),
        ("[if file:A]a[else]b[else]c", "[if file:A]a[else]b[else]c"),
    ]);
}

#[test]
fn else_and_endif_outside_a_condition_are_text() {
    check_both(&[
        ("[endif] and [else]", "[endif] and [else]"),
        ("[if file:A]a[endif][endif]", "a[endif]"),
        ("[if file:A]a[endif][else]b", "a[else]b"),
        ("[endif][if file:A]a[endif]", "[endif]a"),
        ("[ else ][ endif ]", "[ else ][ endif ]"),
    ]);
}

#[test]
fn second_else_is_text_in_its_branch() {
    check_both(&[
        ("[if file:A]a[else]b[else]c[endif]", "a"),
        ("[if file:N]a[else]b[else]c[endif]", "b[else]c"),
        ("[if file:N]a[else]b[else]c[else]d[endif]", "b[else]c[else]d"),
        ("[if file:N][else][if file:N]1[else]2[endif][else]3[endif]", "2[else]3"),
    ]);
}

#[test]
fn condition_without_variable_is_text() {
    check_both(&[
        ("[if foo]x[endif]", "[if foo]x[endif]"),
        ("[if]x[endif]", "[if]x[endif]"),
        ("[if !]x[endif]", "[if !]x[endif]"),
        ("[if :x]x[endif]", "[if :x]x[endif]"),
        ("[if file:]x[endif]", "[if file:]x[endif]"),
        ("[if !!file:A]x[endif]", "[if !!file:A]x[endif]"),
        ("[if not file:A]x[endif]", "[if not file:A]x[endif]"),
        ("[if file:A]a[if foo]b[endif]c", "a[if foo]bc"),
    ]);
}

#[test]
fn white_space_inside_a_tag_means_nothing() {
    check_both(&[
        ("[ file:A ]", "x"),
        ("[\tfile:A\u{a0}]", "x"),
        ("[file: A]", "x"),
        ("[if  file:A ]a[ else ]b[ endif ]", "a"),
        ("[ if\tfile:N ]a[\telse]b[endif\t]", "b"),
        ("[if ! file:N]a[endif]", "a"),
        ("[if !  file:A]a[else]b[endif]", "b"),
    ]);
}

#[test]
fn space_before_the_colon_is_not_a_tag() {
    check_both(&[
        ("[file :A]", "[file :A]"),
        ("[if file :A]a", "[if file :A]a"),
        ("[two words:A]", "[two words:A]"),
    ]);
}

#[test]
fn tags_are_lower_case() {
    check_both(&[
        ("[IF file:A]a[ENDIF]", "[IF file:A]a[ENDIF]"),
        ("[If file:A]", "[If file:A]"),
        ("[if file:A]a[Else]b[endif]", "a[Else]b"),
        ("[file:a]", ""),
    ]);
}

#[test]
fn multi_line_tags_exist_in_compat_mode_only() {
    check(Mode::Compat, &[("[file:\nA]", "x"), ("[\nif file:A\n]a[\nendif\n]", "a"), ("[file:A\nB]", "")]);
    for text in ["[file:\nA]", "[\nif file:A\n]a", "[file:A\nand more]", "[file:A\r\n]"] {
        check(Mode::Bracket, &[(text, text)]);
    }
}

#[test]
fn names_may_contain_everything_except_brackets() {
    for name in [
        "a b",
        "/etc/os-release",
        "../up",
        "a:b",
        "C:\\x",
        "été/日本.md",
        "x.y.z",
        "!x",
        "a,b",
        "`",
        "if x:y",
    ] {
        let values = Values::new().with("file", name, "found");
        for mode in [Mode::Bracket, Mode::Compat] {
            let source = format!("[file:{name}] [if file:{name}]yes[endif]");
            assert_eq!(Template::parse(source, mode).render(&values), "found yes", "{mode:?} {name}");
        }
    }
    check_both(&[("[file:a[1].md]", "[file:a[1].md]"), ("[file:a]b]", "b]")]);
}

#[test]
fn tag_needs_a_type_and_a_name() {
    for text in
        ["[file:]", "[file: ]", "[:x]", "[:]", "[]", "[ ]", "[::1]:80", "[!file:A]", "[x]", "[text](url)"]
    {
        check_both(&[(text, text)]);
    }
}

#[test]
fn brackets_that_are_not_closed_are_text() {
    for text in ["[", "]", "][", "[file:x", "a [if file:A", "[not a tag] [file:x", "[endif"] {
        check_both(&[(text, text)]);
    }
    check_both(&[("[file:[file:A]", "[file:x"), ("[if [file:A]]", "[if x]")]);
}

#[test]
fn values_are_never_expanded_again() {
    check_both(&[
        ("[file:T]", "[system:os]"),
        ("[if file:T][file:T][file:T][endif]", "[system:os][system:os]"),
    ]);
    let parts =
        Values::new().with("file", "open", "[file").with("file", "x", "[if file:x]").with("file", "y", "[[");
    for mode in [Mode::Bracket, Mode::Compat] {
        let template = Template::parse("[file:open]:x] [file:x]a[endif] [file:y]", mode);
        assert_eq!(template.render(&parts), "[file:x] [if file:x]a[endif] [[");
    }
}

#[test]
fn doubled_bracket_is_literal_in_bracket_mode_only() {
    let cases = [
        ("[[", "[", "[["),
        ("[[[", "[[", "[[["),
        ("[[[[", "[[", "[[[["),
        ("[[file:A]", "[file:A]", "[x"),
        ("[[file:A]]", "[file:A]]", "[x]"),
        ("[[[file:A]]", "[x]", "[[x]"),
        ("[[if file:N]a[[endif]", "[if file:N]a[endif]", "["),
        ("[if file:A][[else][endif]", "[else]", "["),
        ("[file:a[[b]", "[file:a[b]", "[file:a[[b]"),
    ];
    for (source, in_bracket, in_compat) in cases {
        check(Mode::Bracket, &[(source, in_bracket)]);
        check(Mode::Compat, &[(source, in_compat)]);
    }
}

#[test]
fn empty_template_renders_blank() {
    check_both(&[("", "")]);
    assert!(Template::parse("", Mode::Bracket).is_blank());
    assert!(Template::parse(" \r\n", Mode::Bracket).is_blank());
    assert!(!Template::parse("[file:N]", Mode::Bracket).is_blank());
}

#[test]
fn default_template_includes_an_existing_agents_file() {
    let values = Values::new().with("prompt", "cwd", "/home/alice/project");
    let tail = "The current working directory is /home/alice/project.";
    for mode in [Mode::Bracket, Mode::Compat] {
        let template = Template::parse(DEFAULT_TEMPLATE, mode);
        assert_eq!(template.diagnostics(), []);
        assert_eq!(template.render(&values), format!("You are a helpful coding assistant.\n\n{tail}"));
        let with_file = values.clone().with("file", "AGENTS.md", "Be kind.");
        let expected = format!("You are a helpful coding assistant.\n\nBe kind.\n\n{tail}");
        assert_eq!(template.render(&with_file), expected);
    }
}

#[test]
fn rendered_length_is_predicted() {
    for source in ["", "[file:A][[[if file:N]abc[else][file:T][endif]", "[if file:A]", "[file:N]ü"] {
        let template = Template::parse(source, Mode::Bracket);
        assert_eq!(template.rendered_len(&values()), template.render(&values()).len(), "{source}");
    }
}
