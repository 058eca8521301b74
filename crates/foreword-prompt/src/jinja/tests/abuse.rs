//! Templates that try to exhaust memory, time or stack. Each must end quickly with a template error.

use super::{compiled, context, rendered};

/// Description and template of each attempt.
fn attempts() -> Vec<(&'static str, String)> {
    let mut all: Vec<_> = ONE_LINERS.iter().map(|source| (*source, (*source).to_owned())).collect();
    for (start, step) in DOUBLINGS {
        all.push((step, format!("{start}{}", step.replace('@', "x").repeat(40))));
        let step_in_a_loop = step.replace('@', "ns.x");
        let start_of_loop = "{% set ns = namespace(x=x) %}{% for i in range(60) %}";
        all.push((step, format!("{start}{start_of_loop}{step_in_a_loop}{{% endfor %}}")));
    }
    all.extend(repeated_text());
    all.extend(deep());
    all
}

const ONE_LINERS: &[&str] = &[
    "{{ range(10**9) }}",
    "{{ range(1000000000)|list }}",
    "{% for i in range(0, 10**18, 3) %}{% endfor %}",
    "{{ range(9223372036854775807, -9223372036854775807, -1) }}",
    "{{ 'x' * 2000000000 }}",
    "{{ 2000000000 * 'x' }}",
    "{% set x = 'x' * 90000000 %}{% set y = 'x' * 90000000 %}{% set z = 'x' * 90000000 %}",
    "{{ ('x' * 9999999) ~ ('x' * 9999999) ~ ('x' * 9999999) ~ ('x' * 9999999) }}",
    "{{ [1] * 100000000 }}",
    "{{ (1,) * 100000000 }}",
    "{{ ((1,) * 10000) * 10000 }}",
    "{{ 'x'|indent(2000000000, true) }}",
    "{{ 'x'|indent(width=2000000000, first=true) }}",
    "{{ ('\n' * 10000)|indent(100000, true, true) }}",
    "{% filter indent(2000000000, true) %}x{% endfilter %}",
    "{{ '%2000000000d'|format(1) }}",
    "{{ '%.2000000000f'|format(1.5) }}",
    "{{ '%.70000f'|format(1) }}",
    "{{ '%02000000000d'|format(1) }}",
    "{{ ('%9999d' * 10000)|format(1) }}",
    "{{ '{:2000000000}'.format(1) }}",
    "{{ '{:>99999999999999999999}'.format(1) }}",
    "{{ ('{0}' * 100000).format('x' * 10000) }}",
    "{{ ('a' * 100000)|replace('a', 'x' * 100000) }}",
    "{{ ('a' * 100000)|replace('', 'x' * 100000) }}",
    "{{ ('a' * 100000).replace('a', 'x' * 100000) }}",
    "{{ range(100000)|join('x' * 100000) }}",
    "{{ ('x' * 100000).join(range(100000)) }}",
    "{{ ('a' * 100000)|join('x' * 100000) }}",
    "{{ [[1] * 100000] * 100000 }}",
    "{{ ('x' * 9000000)|list }}",
    "{{ ('x' * 9000000)|batch(1) }}",
    "{{ ('x' * 9000000)|split('') }}",
    "{{ ('x ' * 9000000).split() }}",
    "{{ ('\n' * 9000000)|lines }}",
    "{{ ('\n' * 9000000).splitlines() }}",
    "{{ [1]|slice(2000000000) }}",
    "{{ [1]|slice(2000000000, 0) }}",
    "{{ [1]|batch(2000000000, 0) }}",
    "{{ names|tojson(indent=2000000000) }}",
    "{{ ('<' * 9000000)|tojson }}",
    "{{ ('<' * 9000000)|e }}",
    "{% autoescape true %}{{ '<' * 9000000 }}{% endautoescape %}",
    "{{ [[1], [2]]|sum(start=[]) }}",
    "{{ ['a', 'b']|sum(start='') }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
    "{% macro m(n) %}{% for i in range(100) %}{% if n %}{{ m(n - 1) }}{% endif %}x{% endfor %}{% endmacro %}{{ m(50) }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{% call m() %}{{ caller() }}{% endcall %}{% endcall %}",
    "{% block a %}{{ self.a() }}{% endblock %}",
    "{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}",
    "{% set l = [[]] %}{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
    "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{{ loop([[1]]) }}{% endfor %}",
    "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
    "{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}x{% endfor %}{% endfor %}{% endfor %}",
    "{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}",
    "{% set ns = namespace() %}{% set ns.self = [[ns]] %}{{ ns }}",
    "{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{{ a }}",
    "{% set a = namespace() %}{% set a.b, a.c = a, 1 %}{{ a }}",
    "{% set ns = namespace(x=[]) %}{% for i in range(50000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(50000) %}{% set ns.x = ns.x|batch(1) %}{% endfor %}",
    "{% set ns = namespace(x=[]) %}{% for i in range(50000) %}{% set ns.x = {'a': ns.x} %}{% endfor %}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(50000) %}{% set ns.x = ns.x|zip(ns.x)|list %}{% endfor %}",
    "{% set ns = namespace(x=[]) %}{% for i in range(99000) %}{% set ns.x = ns.x + [[1]|batch(1024)] %}{% endfor %}",
    "{% set ns = namespace(x=[]) %}{% for i in range(99000) %}{% set ns.x = [ns.x, 'x' * 100000] %}{% endfor %}",
    "{% set x = 'x' * 4000000 %}{% for i in range(100000) %}{% if x == x ~ '' %}{% endif %}{% endfor %}",
    "{% set x = 'x' * 4000000 %}{% for i in range(100000) %}{% if 'y' in x %}{% endif %}{% endfor %}",
    "{% set x = 'x' * 4000000 %}{% for i in range(100000) %}{% set y = x|length %}{% endfor %}",
    "{% set x = 'x' * 4000000 %}{% for i in range(100000) %}{% set y = x[1:2] %}{% endfor %}",
    "{% set x = 'x' * 4000000 %}{% for i in range(100000) %}{% if x is upper %}{% endif %}{% endfor %}",
    "{% set x = range(100000)|list %}{% for i in range(100000) %}{% if -1 in x %}{% endif %}{% endfor %}",
    "{% set x = range(100000)|list %}{% for i in range(100000) %}{% set y = x|sort %}{% endfor %}",
    "{% set x = 'x' * 4000000 %}{% for i in range(1000) %}{{ x }}{% endfor %}",
    "{% set y %}{% set x = 'x' * 4000000 %}{% for i in range(1000) %}{{ x }}{% endfor %}{% endset %}",
    "{% set x = 'x' * 4000000 %}{% for i in range(100000) %}{% if loop.changed(x) %}{% endif %}{% endfor %}",
    "{% set x = 'x' * 4000000 %}{% for i in range(100000) %}{% set y = x[-1] %}{% endfor %}",
    "{% set x = 'x' * 4000000 %}{% for i in range(100000) %}{% set y = x[3999999] %}{% endfor %}",
    "{% set x = 'x' * 4000000 %}{% set m = {x: 1} %}{% for i in range(100000) %}{% set y = m[x] %}{% endfor %}",
    "{% set x = ['x' * 4000000] * 999 %}{% for i in range(9999) %}{% set y = x|map(attribute=-1) %}{% endfor %}",
    "{{ ('b' * 1000000)|trim('a' * 1000000 ~ 'b') }}",
    "{{ ('b' * 1000000).strip('a' * 1000000 ~ 'b') }}",
    "{{ ([1e308] * 200000)|tojson }}",
    "{% set x = ['x' * 100000] * 200 %}{% for i in range(9999) %}{% set y = x.count('y' * 9) %}{% endfor %}",
    "{{ range(*('x' * 9000000)) }}",
    "{{ dict(**{'a': 1})|items|list * 100000000 }}",
    "{{ 10 ** 10 ** 10 }}",
    "{{ 99999999999999999999999999999999999999 * 99999999999999999999999999999999999999 }}",
    "{{ loop.cycle() }}",
    "{% for x in [1] %}{{ loop.cycle() }}{% endfor %}",
    "{% for x in [1] %}{{ loop.cycle(*[]) }}{% endfor %}",
    "{% import 'x' as a.b() %}",
];

/// The initial value, and the statement that doubles it.
const DOUBLINGS: &[(&str, &str)] = &[
    ("{% set x = 'xxxxxxxxxxxxxxxx' %}", "{% set @ = @ ~ @ %}"),
    ("{% set x = 'xxxxxxxxxxxxxxxx' %}", "{% set @ = @ + @ %}"),
    ("{% set x = 'xxxxxxxxxxxxxxxx' %}", "{% set @ = @ * 2 %}"),
    ("{% set x = 'xxxxxxxxxxxxxxxx' %}", "{% set @ %}{{ @ }}{{ @ }}{% endset %}"),
    ("{% set x = 'xxxxxxxxxxxxxxxx' %}", "{% set @ = [@, @]|join %}"),
    ("{% set x = 'xxxxxxxxxxxxxxxx' %}", "{% set @ = @|replace('x', 'xx') %}"),
    ("{% set x = 'xxxxxxxxxxxxxxxx' %}", "{% set @ = '%s%s'|format(@, @) %}"),
    ("{% set x = 'xxxxxxxxxxxxxxxx' %}", "{% set @ = '{0}{0}'.format(@) %}"),
    ("{% set x = '<<<<<<<<<<<<<<<<' %}", "{% set @ = @|e|string|replace('&', '<<') %}"),
    ("{% set x = [1] %}", "{% set @ = @ + @ %}"),
    ("{% set x = [1] %}", "{% set @ = [@, @] %}"),
    ("{% set x = [1] %}", "{% set @ = (@, @) %}"),
    ("{% set x = [1] %}", "{% set @ = {'a': @, 'b': @ } %}"),
    ("{% set x = [1] %}", "{% set @ = @|chain(@)|list %}"),
    ("{% set x = [1] %}", "{% set @ = @|chain(@) %}"),
    ("{% set x = [1] %}", "{% set @ = [@, @]|tojson %}"),
    ("{% set x = (1,) %}", "{% set @ = @ + @ %}"),
    ("{% set x = (1,) %}", "{% set @ = @ * 2 %}"),
    ("{% macro d(t) %}{{ t }}{{ t }}{% endmacro %}{% set x = 'xxxxxxxxxxxxxxxx' %}", "{% set @ = d(@) %}"),
    (
        "{% macro d() %}{{ caller() }}{{ caller() }}{% endmacro %}{% set x = 'xxxxxxxxxxxxxxxx' %}",
        "{% set @ %}{% call d() %}{{ @ }}{% endcall %}{% endset %}",
    ),
    (
        "{% set x = 'xxxxxxxxxxxxxxxx' %}",
        "{% set @ %}{% filter replace('x', 'xx') %}{{ @ }}{% endfilter %}{% endset %}",
    ),
];

/// Text that is written repeatedly.
fn repeated_text() -> Vec<(&'static str, String)> {
    let text = "x".repeat(100_000);
    vec![
        (
            "text in a captured loop",
            format!("{{% set x %}}{{% for i in range(100000) %}}{text}{{% endfor %}}{{% endset %}}"),
        ),
        ("text in a loop", format!("{{% for i in range(100000) %}}{text}{{% endfor %}}")),
        (
            "text in a filtered loop",
            format!("{{% for i in range(100000) if i %}}{{% if i %}}{text}{{% endif %}}{{% endfor %}}"),
        ),
        (
            "text in a macro",
            format!(
                "{{% macro m() %}}{text}{{% endmacro %}}{{% for i in range(9999) %}}{{{{ m() }}}}{{% endfor %}}"
            ),
        ),
        (
            "text in a macro that is thrown away",
            format!(
                "{{% macro m() %}}{text}{{% endmacro %}}{{% for i in range(9999) %}}{{% set x = m() %}}{{% endfor %}}"
            ),
        ),
        (
            "text in a call",
            format!(
                "{{% macro m() %}}{{% for i in range(9999) %}}{{{{ caller() }}}}{{% endfor %}}{{% endmacro %}}{{% call m() %}}{text}{{% endcall %}}"
            ),
        ),
        (
            "text in a block",
            format!(
                "{{% block a %}}{text}{{% endblock %}}{{% for i in range(9999) %}}{{{{ self.a() }}}}{{% endfor %}}"
            ),
        ),
        (
            "text in a recursion",
            format!(
                "{{% for x in [1] * 999 recursive %}}{text}{{{{ loop([]) }}}}{{% if loop.depth < 9 %}}{{{{ loop([1] * 999) }}}}{{% endif %}}{{% endfor %}}"
            ),
        ),
        (
            "braces in a loop",
            format!(
                "{{% set x %}}{{% for i in range(100000) %}}{{% raw %}}{{{{{text}{{% endraw %}}{{% endfor %}}{{% endset %}}"
            ),
        ),
        ("a value over and over", format!("{{% set x = 'x' * 1000000 %}}{}", "{{ x }}".repeat(1_000))),
    ]
}

/// Templates that would exhaust the stack.
fn deep() -> Vec<(&'static str, String)> {
    vec![
        ("a chain of operators", format!("{{{{ 1{} }}}}", " + 1".repeat(100_000))),
        ("a chain of attributes", format!("{{{{ ctx{} }}}}", ".x".repeat(100_000))),
        ("a chain of filters", format!("{{{{ user_id{} }}}}", "|upper".repeat(100_000))),
        ("a chain of calls", format!("{{{{ user_id{} }}}}", "()".repeat(100_000))),
        ("a chain of not", format!("{{{{ {}flag }}}}", "not ".repeat(100_000))),
        ("a chain of minus", format!("{{{{ {}1 }}}}", "-".repeat(100_000))),
        ("a chain of if", format!("{{{{ {}1 }}}}", "1 if flag else ".repeat(50_000))),
        ("a chain of elif", format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(50_000))),
        ("nested lists", format!("{{{{ {} }}}}", "[".repeat(100_000))),
        ("nested parentheses", format!("{{% set {}a = 1 %}}", "(".repeat(100_000))),
        ("nested tags", "{% if 1 %}".repeat(50_000)),
        ("nested in a straight line", format!("{{% set x = [] %}}{}", "{% set x = [x] %}".repeat(20_000))),
        (
            "sliced in a straight line",
            format!("{{% set x = 'x' * 4000000 %}}{}", "{% set x = x[0:] %}".repeat(5_000)),
        ),
    ]
}

/// Run by the next test under a memory limit.
#[test]
#[cfg_attr(target_os = "linux", ignore = "takes a while, and is run by every_abuse_fits_into_little_memory")]
fn every_abuse_ends_in_an_error() {
    for (what, source) in attempts() {
        let rendered = rendered(&source).map(|text| text.len());
        let error = rendered.expect_err(what);
        assert!(!error.file.is_empty() && error.at.line > 0 && error.at.column > 0, "{what}");
        assert!(!error.message.contains("gave up"), "{what}: {error}");
        assert!(!error.message.contains("__"), "the guard shows: {what}: {error}");
    }
}

#[test]
fn memory_budget_is_reset_for_each_rendering() {
    let template = compiled("{% set x = 'x' * 30000000 %}{{ x|length }}").unwrap();
    for _ in 0..3 {
        assert_eq!(template.render(&context()).unwrap(), "30000000");
    }
}

#[test]
fn ordinary_work_stays_within_the_limits() {
    let list = "{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.l|length }}";
    assert_eq!(rendered(list).unwrap(), "1000");
    let long = format!("{{{{ {} }}}}", vec!["'x'"; 100].join(" ~ "));
    assert_eq!(rendered(&long).unwrap(), "x".repeat(100));
    let text = "{% for i in range(5000) %}a line of text that is repeated, number {{ i }}\n{% endfor %}";
    assert_eq!(rendered(text).unwrap().lines().count(), 5_000);
    let deep = format!("{{{{ {}1{} }}}}", "[".repeat(20), "]".repeat(20));
    assert_eq!(rendered(&deep).unwrap().len(), 41);
    let nested =
        format!("{}x{}", "{% for i in [1] %}{% if i %}".repeat(70), "{% endif %}{% endfor %}".repeat(70));
    assert_eq!(rendered(&nested).unwrap(), "x");
    let branches = format!("{{% if count == 0 %}}{}{{% endif %}}", "{% elif count == 9 %}".repeat(90));
    assert_eq!(rendered(&branches).unwrap(), "");
}

/// Runs the abuse tests in a process with this memory limit.
#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "only another process can be given less memory")]
fn every_abuse_fits_into_little_memory() {
    let program = std::env::current_exe().unwrap();
    let script =
        "ulimit -v 300000; exec \"$0\" --ignored --exact jinja::tests::abuse::every_abuse_ends_in_an_error";
    let child = std::process::Command::new("sh")
        .env("MALLOC_ARENA_MAX", "1")
        .arg("-c")
        .arg(script)
        .arg(program)
        .output();
    let child = child.unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}
