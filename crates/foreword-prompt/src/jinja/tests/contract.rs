//! Seed 004's template context contract and failure table, rule by rule.

use std::sync::Arc;

use super::{check, compiled, context, rendered};
use crate::jinja::{Limits, RenderContext, Value, compile};

#[test]
fn context_and_ctx_are_the_full_runtime_context() {
    check("{{ context.account_id }} {{ ctx.account_id }} {{ ctx == context }}", "acme acme True");
}

#[test]
fn top_level_keys_are_variables() {
    check("{{ user_id }} {{ locale }} {{ users[1].name }}", "u-42 en-US bob");
}

#[test]
fn agent_name_and_agent_class_are_available() {
    check("You are {{ agent_name }} ({{ agent_class }}).", "You are ChatAgent (Agent).");
}

#[test]
fn seed_example_renders() {
    check(
        "You are {{ agent_name }} ({{ agent_class }}).\n\
         User={{ user_id }} Locale={{ ctx.locale }} Account={{ context.account_id }}.\n",
        "You are ChatAgent (Agent).\nUser=u-42 Locale=en-US Account=acme.\n",
    );
}

#[test]
fn reserved_names_win_over_equal_keys() {
    let keys = ["context", "ctx", "agent_name", "agent_class"];
    let user = Value::from_pairs(keys.map(|key| (key, "mallory")));
    let seen = RenderContext::new(user, "ChatAgent", "Agent");
    let template =
        compiled("{{ agent_name }} {{ agent_class }} {{ ctx.ctx }} {{ context.agent_name }}").unwrap();
    assert_eq!(template.render(&seen).unwrap(), "ChatAgent Agent mallory mallory");
}

#[test]
fn non_map_context_has_the_reserved_names() {
    for context in [Value::from(()), Value::from("text"), Value::from(vec![1, 2]), Value::UNDEFINED] {
        let seen = RenderContext::new(context, "ChatAgent", "Agent");
        assert_eq!(compiled("{{ agent_name }}").unwrap().render(&seen).unwrap(), "ChatAgent");
        assert!(compiled("{{ user_id }}").unwrap().render(&seen).is_err());
    }
}

#[test]
fn unknown_variable_is_an_error_everywhere() {
    for source in [
        "{{ missing }}",
        "{{ missing.deeper }}",
        "{{ ctx.missing.deeper }}",
        "{{ missing ~ 'x' }}",
        "{{ 'x' ~ missing }}",
        "{{ missing + 1 }}",
        "{{ 2 * missing }}",
        "{{ missing|upper }}",
        "{{ missing|join }}",
        "{{ missing|replace('a', 'b') }}",
        "{{ missing[1:] }}",
        "{{ missing == 1 }}",
        "{{ missing in names }}",
        "{{ 1 in missing }}",
        "{% if missing %}{% endif %}",
        "{% for x in missing %}text{% endfor %}",
        "{% set x = missing %}{{ x }}",
        "{% set x = missing.deeper %}",
    ] {
        let error = rendered(source).unwrap_err();
        let named = error.message.contains("`missing`") || error.message.contains("`ctx.missing`");
        assert!(named, "{source}: {error}");
    }
}

#[test]
fn is_defined_works_for_missing_variables() {
    check(
        "{{ missing is defined }} {{ user_id is defined }} {{ missing|default('none') }}",
        "False True none",
    );
}

#[test]
fn output_is_not_escaped() {
    check("{{ html }}", "<b>\"a\" & 'b'</b>");
    let template = compile("page.html", "{{ html }}".into(), &super::no_files, &Limits::default()).unwrap();
    assert_eq!(template.render(&context()).unwrap(), "<b>\"a\" & 'b'</b>");
}

#[test]
fn text_is_written_verbatim() {
    for source in
        ["", "\n", "a\r\nb\r\n", "a\n\n\n", "{", "{ {", "}}", "%}", "{a}{", "\t{x}", "é\u{0}ü\u{feff}"]
    {
        check(source, source);
    }
    check("{% raw %}{{ x }}{% if %}{#\n{% endraw %}{", "{{ x }}{% if %}{#\n{");
    check("a\n{%- if true -%}\n b \n{%- endif +%}\nc", "ab\nc");
    check("a{# comment {{ x }} #}b", "ab");
}

#[test]
fn python_methods_work_on_text_lists_and_maps() {
    check("{{ ctx.get('user_id') }} {{ ctx.get('x') }} {{ ctx.get('x', 'y') }}", "u-42 None y");
    check("{% for k, v in map.items() %}{{ k }}={{ v }};{% endfor %}", "a=1;b=2;");
    check("{{ 'a-b'.replace('-', '+').upper().split('+')|join(',') }}", "A,B");
    check(
        "{{ ', '.join(names) }} {{ 'x{}'.format(1) }} {{ 'abc'.startswith('ab') }}",
        "alice, bob, carol x1 True",
    );
}

#[test]
fn template_reaches_only_its_context() {
    for name in ["debug", "lipsum", "cycler", "joiner", "env", "self", "__import__", "open", "os"] {
        assert!(rendered(&format!("{{{{ {name}() }}}}")).is_err(), "{name}");
        assert!(rendered(&format!("{{{{ {name} }}}}")).is_err(), "{name}");
    }
    assert!(rendered("{{ ''.__class__.__mro__ }}").is_err());
    assert!(rendered("{{ agent_name.__class__ }}").is_err());
}

#[test]
fn guard_functions_cannot_be_shadowed() {
    check("{% set __concat = 1 %}{% set __add = 2 %}{{ 'a' ~ 'b' }}{{ 1 + 1 }}", "ab2");
    let user = Value::from_pairs([("__concat", "mallory"), ("range", "mallory")]);
    let seen = RenderContext::new(user, "ChatAgent", "Agent");
    assert_eq!(compiled("{{ 'a' ~ 'b' }}{{ range }}").unwrap().render(&seen).unwrap(), "abmallory");
}

#[test]
fn compiled_template_is_shared_between_threads() {
    fn shared<T: Send + Sync>(value: T) -> Arc<T> {
        Arc::new(value)
    }
    let template = shared(compiled("{{ user_id }}").unwrap());
    assert_eq!(template.parts(), [("main.md".to_owned(), Arc::from("{{ user_id }}"))]);
    assert_eq!(shared(context()).names().len(), 19);
}

#[test]
fn rendering_is_deterministic() {
    let source = "{{ ctx }}{% for key in ctx %}{{ key }} {% endfor %}{{ users|tojson }}";
    assert_eq!(rendered(source), rendered(source));
    assert!(rendered(source).unwrap().contains(r#"[{"name": "alice", "tags": ["a", "b"], "trust": "full"}"#));
}
