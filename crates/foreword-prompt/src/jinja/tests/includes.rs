//! Files that include, import or extend others.

use std::sync::Arc;

use super::{context, error_text, rendered, rendered_with};
use crate::jinja::{Limits, compile};

#[test]
fn include_sees_the_surrounding_variables() {
    let files = [("parts/user.md", "{{ user.name }}:{{ locale }};")];
    let main = "{% for user in users %}{% include 'parts/user.md' %}{% endfor %}";
    assert_eq!(rendered_with(&files, main).unwrap(), "alice:en-US;bob:en-US;carol:en-US;");
}

#[test]
fn template_extends_another_and_calls_its_blocks() {
    let files = [
        (
            "base.md",
            "# {% block title %}Base{% endblock %}\n{% block body %}{% endblock %}{{ self.title() }}\n",
        ),
        ("macros.md", "{% macro greet(name, mark='!') %}Hi {{ name }}{{ mark }}{% endmacro %}"),
    ];
    let main = "{% extends 'base.md' %}{% from 'macros.md' import greet %}{% import 'macros.md' as m %}\
                {% block title %}{{ super() }} of {{ agent_name }}{% endblock %}\
                {% block body %}{{ m.greet('bob') }}{{ m.greet('alice', mark='?') }}{% endblock %}";
    let expected = "# Base of ChatAgent\nHi bob!Hi alice?Base of ChatAgent\n";
    assert_eq!(rendered_with(&files, main).unwrap(), expected);
    let main = "{% from 'macros.md' import greet as g %}{{ g('bob') }}";
    assert_eq!(rendered_with(&files, main).unwrap(), "Hi bob!");
}

#[test]
fn required_block_must_be_defined() {
    let files = [("base.md", "[{% block body required %} {% endblock %}]")];
    let filled = "{% extends 'base.md' %}{% block body %}x{{ super() }}{% endblock %}";
    assert_eq!(rendered_with(&files, filled).unwrap(), "[x ]");
    let error = rendered_with(&files, "{% extends 'base.md' %}").unwrap_err();
    assert_eq!(error.to_string(), "base.md:1:5: Required block 'body' not found");
}

#[test]
fn first_existing_file_of_a_list_is_included() {
    let files = [("b.md", "b")];
    assert_eq!(rendered_with(&files, "{% include ['a.md', 'b.md'] %}").unwrap(), "b");
    assert_eq!(rendered_with(&files, "[{% include 'a.md' ignore missing %}]").unwrap(), "[]");
}

#[test]
fn compiled_template_lists_its_sources() {
    let loader = |name: &str| match name {
        "a.md" => Ok(Some(Arc::from("{% include 'b.md' %}"))),
        "b.md" => Ok(Some(Arc::from("b"))),
        _ => Ok(None),
    };
    let source = "{% include 'b.md' %}{% include 'a.md' %}{% include 'c.md' ignore missing %}";
    let template = compile("main.md", source.into(), &loader, &Limits::default()).unwrap();
    let names: Vec<&str> = template.parts().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["main.md", "b.md", "a.md"]);
    assert_eq!(template.render(&context()).unwrap(), "bb");
}

#[test]
fn include_cycle_is_rejected_with_its_files() {
    let files = [
        ("a.md", "text\n {% include 'b.md' %}"),
        ("b.md", "{% import 'c.md' as c %}"),
        ("c.md", "{% extends 'a.md' %}"),
    ];
    let error = rendered_with(&files, "{% include 'a.md' %}").unwrap_err();
    insta::assert_snapshot!(error_text(&error), @"
    c.md:1:12: these files include each other: a.md → b.md → c.md → a.md
    marks: 'a.md'
    help: take one of them out
    ");
    let error = rendered("{% include 'main.md' %}").unwrap_err();
    insta::assert_snapshot!(error_text(&error), @"
    main.md:1:12: these files include each other: main.md → main.md
    marks: 'main.md'
    help: take one of them out
    ");
}

#[test]
fn missing_file_is_an_error_at_the_include() {
    insta::assert_snapshot!(error_text(&rendered("one\n{% include 'gone.md' %}").unwrap_err()), @"
    main.md:2:12: there is no file `gone.md`
    marks: 'gone.md'
    help: add it, or write `ignore missing` after the name of an include
    ");
}

#[test]
fn unreadable_file_is_an_error_at_the_include() {
    let loader = |_: &str| Err("permission denied".to_owned());
    let error = compile("main.md", "{% include 'a.md' %}".into(), &loader, &Limits::default()).unwrap_err();
    insta::assert_snapshot!(error_text(&error), @"
    main.md:1:12: can't read `a.md`: permission denied
    marks: 'a.md'
    ");
}

#[test]
fn name_outside_the_root_never_reaches_the_loader() {
    let loader = |name: &str| -> Result<Option<Arc<str>>, String> { panic!("asked for {name}") };
    for name in ["../x", "/etc/passwd", "a/../../x", "./x", "a//b", "", "..", "C:x", "a\\\\b", "a\\x00b"] {
        for tag in ["include '%'", "import '%' as m", "from '%' import m", "extends '%'", "include ['%']"] {
            let source = format!("{{% {} %}}", tag.replace('%', name));
            let error = compile("main.md", source.into(), &loader, &Limits::default()).unwrap_err();
            assert!(error.message.ends_with("is not a path below the prompts root"), "{name}: {error}");
        }
    }
}

#[test]
fn included_file_name_must_be_a_literal() {
    for tag in [
        "include locale",
        "include 'a' ~ 'b'",
        "extends locale",
        "import locale as m",
        "include [locale]",
        "include 1",
    ] {
        let error = rendered(&format!("{{% {tag} %}}")).unwrap_err();
        assert_eq!(error.message, "the name of a file must be written out, in quotes", "{tag}");
    }
}

#[test]
fn too_many_or_too_deep_includes_are_rejected() {
    let loader = |name: &str| {
        let number: usize = name.parse().unwrap();
        Ok(Some(Arc::from(format!("{{% include '{}' %}}", number + 1))))
    };
    let error = compile("main.md", "{% include '1' %}".into(), &loader, &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "16:1:12: files include each other more than 16 deep");
    let loader = |_: &str| Ok(Some(Arc::from("x")));
    let source: String = (0..100).map(|number| format!("{{% include '{number}' %}}")).collect();
    let error = compile("main.md", source.into(), &loader, &Limits::default()).unwrap_err();
    assert_eq!(error.message, "the template is made of more than 64 files");
}
