//! Where numbers and traces go: what is taken, and how what is wrong is told.

use std::time::Duration;

use foreword_core::event::Level;
use foreword_workspace::config::Config;

const MANUAL: &str = include_str!("../../../../docs/telemetry.md");

fn problems(logging: &str) -> Vec<String> {
    let problems =
        Config::parse("foreword.yaml", &format!("logging:\n  {logging}\n")).err().unwrap_or_default();
    problems
        .iter()
        .map(|problem| {
            format!("{problem}\n{}", [problem.excerpt(), problem.help.clone().unwrap_or_default()].join("\n"))
        })
        .collect()
}

fn check(logging: &str, expected: &str) {
    let told = problems(logging);
    assert!(told.iter().any(|told| told.contains(expected) && told.contains("foreword.yaml:2")), "{told:#?}");
}

#[test]
fn the_example_of_the_telemetry_manual_is_taken_and_every_key_is_in_its_table() {
    let example = MANUAL.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let export = Config::parse("foreword.yaml", example).unwrap().export;
    assert_eq!(export.metrics_file.as_deref(), Some("/var/lib/node_exporter/textfile/foreword.prom"));
    let otlp = export.otlp.unwrap();
    assert_eq!((otlp.endpoint.as_str(), otlp.level), ("http://127.0.0.1:4318", Level::Info));
    assert_eq!((otlp.timeout, otlp.headers_env), (Duration::from_secs(10), None));
    let schema = schemars::schema_for!(foreword_workspace::config::raw::RawOtlp);
    for key in schema.get("properties").unwrap().as_object().unwrap().keys() {
        assert!(MANUAL.contains(&format!("| `otlp.{key}` |")), "{key}");
    }
}

#[test]
fn without_a_word_nothing_goes_anywhere() {
    let export = Config::defaults().unwrap().export;
    assert_eq!((export.metrics_file, export.otlp), (None, None));
}

#[test]
fn each_mistake_is_told_where_it_is_with_a_way_out() {
    check("otlp: { endpoint: \"ftp://host\" }", "`logging.otlp.endpoint` can't be used");
    check("otlp: { endpoint: \"http://\" }", "names no host");
    check("otlp: { endpoint: \"127.0.0.1:4318\" }", "write it as `http://127.0.0.1:4318`");
    check("otlp: { endpoint: \"http://a:b@host\" }", "the variable that `headers_env` names");
    check("otlp: { endpoint: \"http://h\", headers_env: \"x-key=1\" }", "no name of an environment variable");
    check("otlp: { endpoint: \"http://h\", timeout_seconds: 0 }", "`logging.otlp.timeout_seconds` is 0");
    check("otlp: { endpoint: \"http://h\", service_name: \"\" }", "`logging.otlp.service_name` is empty");
    check("otlp: { service_name: x }", "endpoint");
    check("otlp: { endpoint: \"http://h\", headers: { x: y } }", "headers");
    check("metrics_file: ../metrics.prom", "`logging.metrics_file`");
    check("metrics_file: /srv/../metrics.prom", "without `..`");
}

#[test]
fn no_message_about_a_collector_shows_a_secret() {
    for logging in [
        "otlp: { endpoint: \"http://alice:s3cret@host\" }",
        "otlp: { endpoint: \"http://host?key=s3cret\" }",
        "otlp: { endpoint: \"http://h\", headers_env: \"authorization=s3cret\" }",
    ] {
        let told = problems(logging);
        // The line itself is the owner's, and is shown with what is secret in it masked.
        assert!(!told.is_empty() && !told.concat().contains("s3cret"), "{logging}\n{told:#?}");
    }
}

#[test]
fn headers_that_can_be_read_on_the_way_are_noted() {
    let noted = |endpoint: &str| {
        let yaml = format!("logging: {{ otlp: {{ endpoint: \"{endpoint}\", headers_env: OTEL_HEADERS }} }}");
        Config::parse("foreword.yaml", &yaml).unwrap().notes.len()
    };
    assert_eq!(
        (noted("http://10.0.0.7:4318"), noted("http://127.0.0.1:4318"), noted("https://h")),
        (1, 0, 0)
    );
}
