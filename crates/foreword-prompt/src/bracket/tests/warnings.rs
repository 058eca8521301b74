//! The texts of warnings, and cases without a warning.

use insta::assert_snapshot;

use crate::bracket::{Mode, Template};
use crate::diagnostic::position_of;

/// One warning per two lines: place, code and message; then the advice.
fn warnings(source: &str, mode: Mode) -> String {
    let mut shown = String::new();
    for diagnostic in Template::parse(source, mode).diagnostics() {
        let at = position_of(source, diagnostic.span.start);
        let help = diagnostic.help.as_deref().unwrap_or_default();
        let (code, message) = (diagnostic.code, &diagnostic.message);
        shown += &format!(
            "{}:{} {code} <{}>\n",
            at.line,
            at.column,
            source[diagnostic.span.clone()].escape_debug()
        );
        shown += &format!("  {message}\n  help: {help}\n");
    }
    shown
}

#[test]
fn unknown_type_is_reported_with_a_suggestion() {
    assert_snapshot!(warnings("Today:\n  it is [sytem:date] [File:A].", Mode::Bracket), @r#"
    2:10 unknown_variable_type <sytem>
      unknown variable type `sytem`: `[sytem:date]` stays text
      help: did you mean `system:date`? (for a literal bracket write `[[`)
    2:23 unknown_variable_type <File>
      unknown variable type `File`: `[File:A]` stays text
      help: did you mean `file:A`? (for a literal bracket write `[[`)
    "#);
    assert_snapshot!(warnings("[sys:time] [unknown:foo]", Mode::Bracket), @r#"
    1:2 unknown_variable_type <sys>
      unknown variable type `sys`: `[sys:time]` stays text
      help: did you mean `system:time`? (for a literal bracket write `[[`)
    1:13 unknown_variable_type <unknown>
      unknown variable type `unknown`: `[unknown:foo]` stays text
      help: the types are `system`, `prompt`, `git` and `file` (for a literal bracket write `[[`)
    "#);
}

#[test]
fn condition_of_unknown_type_is_reported_once() {
    assert_snapshot!(warnings("[if !sytem:date]a[else]b[endif] [if so: be it]", Mode::Bracket), @r#"
    1:6 unknown_variable_type <sytem>
      unknown variable type `sytem`: `[if !sytem:date]`, its `[else]` and its `[endif]` stay text
      help: did you mean `system:date`? (for a literal bracket write `[[`)
    1:37 unknown_variable_type <so>
      unknown variable type `so`: `[if so: be it]`, its `[else]` and its `[endif]` stay text
      help: the types are `system`, `prompt`, `git` and `file` (for a literal bracket write `[[`)
    "#);
}

#[test]
fn compat_mode_reports_every_unknown_type() {
    assert_snapshot!(warnings("[NOTE: be\ncareful] [sytem:date] [if x:y][endif]", Mode::Compat), @r#"
    1:2 unknown_variable_type <NOTE>
      unknown variable type `NOTE`: `[NOTE: be\u{a}careful]` is replaced by nothing
      help: to keep it as text, use `dialect: bracket`; the types are `system`, `prompt`, `git` and `file`
    2:11 unknown_variable_type <sytem>
      unknown variable type `sytem`: `[sytem:date]` is replaced by nothing
      help: did you mean `system:date`?
    2:27 unknown_variable_type <x>
      unknown variable type `x`: `[if x:y]` tests something that never exists
      help: the types are `system`, `prompt`, `git` and `file`
    "#);
}

#[test]
fn unknown_name_is_reported_with_a_suggestion() {
    assert_snapshot!(warnings("[system:tme] [if system:cwd][endif] [git:blame]", Mode::Bracket), @r#"
    1:9 unknown_variable_name <tme>
      `system` has no variable `tme`: it never exists
      help: did you mean `system:time`? (for a literal bracket write `[[`)
    1:25 unknown_variable_name <cwd>
      `system` has no variable `cwd`: it never exists
      help: did you mean `prompt:cwd`? (for a literal bracket write `[[`)
    1:42 unknown_variable_name <blame>
      `git` has no variable `blame`: it never exists
      help: there are `git:branch`, `git:status` (for a literal bracket write `[[`)
    "#);
}

#[test]
fn unmatched_tags_are_reported_in_source_order() {
    assert_snapshot!(warnings("[endif]\n[else]\n[if file:A]\n[if file:B][else][else][endif]", Mode::Bracket), @r#"
    1:1 unmatched_tag <[endif]>
      `[endif]` closes no `[if …]`: it stays text
      help: remove it, or add the `[if type:name]` it belongs to (for a literal bracket write `[[`)
    2:1 unmatched_tag <[else]>
      `[else]` is in no `[if …]`: it stays text
      help: remove it, or add the `[if type:name]` it belongs to (for a literal bracket write `[[`)
    3:1 unmatched_tag <[if file:A]>
      `[if file:A]` has no `[endif]`: it stays text
      help: add `[endif]` (for a literal bracket write `[[`)
    4:18 unmatched_tag <[else]>
      this `[if …]` has an `[else]` already: the second stays text
      help: remove one of them, or close an inner `[if …]` before it (for a literal bracket write `[[`)
    "#);
    assert_snapshot!(warnings("[endif] [if file:A]", Mode::Compat), @r#"
    1:1 unmatched_tag <[endif]>
      `[endif]` closes no `[if …]`: it stays text
      help: remove it, or add the `[if type:name]` it belongs to
    1:9 unmatched_tag <[if file:A]>
      `[if file:A]` has no `[endif]`: it stays text
      help: add `[endif]`
    "#);
}

#[test]
fn misspelt_control_tags_are_reported() {
    assert_snapshot!(warnings("[IF file:A] [els] [ELSE] [end if] [/if]", Mode::Bracket), @r#"
    1:1 misspelt_tag <[IF file:A]>
      `[IF file:A]` is not a tag: it stays text
      help: write `if` in lower case (for a literal bracket write `[[`)
    1:13 misspelt_tag <[els]>
      `[els]` is not a tag: it stays text
      help: did you mean `[else]`? (for a literal bracket write `[[`)
    1:19 misspelt_tag <[ELSE]>
      `[ELSE]` is not a tag: it stays text
      help: did you mean `[else]`? (for a literal bracket write `[[`)
    1:26 misspelt_tag <[end if]>
      `[end if]` is not a tag: it stays text
      help: did you mean `[endif]`? (for a literal bracket write `[[`)
    1:35 misspelt_tag <[/if]>
      `[/if]` is not a tag: it stays text
      help: did you mean `[endif]`? (for a literal bracket write `[[`)
    "#);
    assert_snapshot!(warnings("[if readme] [if not file:A] [elif file:A] [else if file:A]", Mode::Bracket), @r#"
    1:1 misspelt_tag <[if readme]>
      `[if readme]` names no variable: it stays text
      help: write `[if type:name]` or `[if !type:name]` (for a literal bracket write `[[`)
    1:13 misspelt_tag <[if not file:A]>
      `[if not file:A]` names no variable: it stays text
      help: write `[if type:name]` or `[if !type:name]` (for a literal bracket write `[[`)
    1:29 misspelt_tag <[elif file:A]>
      `[elif file:A]` is not a tag: it stays text
      help: write `[else][if type:name]…[endif]` before the outer `[endif]` (for a literal bracket write `[[`)
    1:43 misspelt_tag <[else if file:A]>
      `[else if file:A]` is not a tag: it stays text
      help: write `[else][if type:name]…[endif]` before the outer `[endif]` (for a literal bracket write `[[`)
    "#);
    assert_snapshot!(warnings("[else file:A] [endif file:A] [file:] [file : A]", Mode::Bracket), @r#"
    1:1 misspelt_tag <[else file:A]>
      `[else file:A]` is not a tag: it stays text
      help: did you mean `[else]`? (for a literal bracket write `[[`)
    1:15 misspelt_tag <[endif file:A]>
      `[endif file:A]` is not a tag: it stays text
      help: did you mean `[endif]`? (for a literal bracket write `[[`)
    1:30 misspelt_tag <[file:]>
      `[file:]` names no variable: it stays text
      help: write the name after the colon (for a literal bracket write `[[`)
    1:38 misspelt_tag <[file : A]>
      `[file : A]` is not a tag: it stays text
      help: remove the space before the colon (for a literal bracket write `[[`)
    "#);
}

#[test]
fn unclosed_tag_is_reported() {
    assert_snapshot!(warnings("[file:A\n[if !git:branch\n[file:a[1].md] [endif", Mode::Bracket), @r#"
    1:1 unclosed_tag <[file:A>
      `[file:A` has no closing `]`: it stays text
      help: add `]`; a tag holds no brackets and ends on its line (for a literal bracket write `[[`)
    2:1 unclosed_tag <[if !git:branch>
      `[if !git:branch` has no closing `]`: it stays text
      help: add `]`; a tag holds no brackets and ends on its line (for a literal bracket write `[[`)
    3:1 unclosed_tag <[file:a>
      `[file:a` has no closing `]`: it stays text
      help: add `]`; a tag holds no brackets and ends on its line (for a literal bracket write `[[`)
    3:16 unclosed_tag <[endif>
      `[endif` has no closing `]`: it stays text
      help: add `]`; a tag holds no brackets and ends on its line (for a literal bracket write `[[`)
    "#);
}

#[test]
fn message_quotes_one_short_line() {
    assert_snapshot!(warnings(&format!("[x\u{202e}`\u{1b}:\n{}]", "y".repeat(99)), Mode::Compat), @r#"
    1:2 unknown_variable_type <x\u{202e}`\u{1b}>
      unknown variable type `x\u{202e}'\u{1b}`: `[x\u{202e}'\u{1b}:\u{a}yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…` is replaced by nothing
      help: to keep it as text, use `dialect: bracket`; the types are `system`, `prompt`, `git` and `file`
    "#);
}

#[test]
fn plain_text_is_not_reported() {
    for text in [
        "[text](https://example.org) [a:b](c) [^1]: [ref]: x [key:v]: y [key:v][z]",
        "[::1]:80 [fe80::1]:80 [2001:db8::1] [dead:beef::1%1]",
        "[NOTE: be careful] [TODO: this] [note: x] [Tip: y] [system-ish: z] [WIP:later] [FIXME:42]",
        "- [x] done\n- [ ] open",
        "[https://example.org] [12:30] items[i:j] rows()[a:b] grid[1][a:b]",
        "[1, 2] {\"a\": [\"b:c\"]} [if you like] [elsewhere] [end] [Enter] [...]",
        "[[sytem:date] [[if file:A] [[endif] [[els]",
        "[file:anything at all] [if file:A]a[else]b[endif] [system:time]",
        "[file\n[if you\n[",
    ] {
        assert_eq!(warnings(text, Mode::Bracket), "", "{text}");
    }
}

#[test]
fn warnings_are_limited_to_a_hundred() {
    let exactly = Template::parse("[endif]".repeat(100), Mode::Bracket);
    assert_eq!(exactly.diagnostics().len(), 100);
    let more = Template::parse("[endif]".repeat(5_000), Mode::Bracket);
    assert_eq!(more.diagnostics().len(), 101);
    assert_eq!(more.diagnostics()[100].code, "more_problems");
    assert_eq!(more.diagnostics()[100].span.start, "[endif]".len() * 100);
}
