//! Export of metrics and traces: valid and invalid settings.

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
    let problems = problems(logging);
    assert!(
        problems.iter().any(|problem| problem.contains(expected) && problem.contains("foreword.yaml:2")),
        "{problems:#?}"
    );
}

#[test]
fn telemetry_manual_is_valid_and_complete() {
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
fn nothing_is_exported_by_default() {
    let export = Config::defaults().unwrap().export;
    assert_eq!((export.metrics_file, export.otlp), (None, None));
}

#[test]
fn invalid_settings_have_position_and_help() {
    check("otlp: { endpoint: \"ftp://host\" }", "`logging.otlp.endpoint` can't be used");
    check("otlp: { endpoint: \"http://\" }", "names no host");
    check("otlp: { endpoint: \"127.0.0.1:4318\" }", "write it as `http://127.0.0.1:4318`");
    check("otlp: { endpoint: \"http://a:b@host\" }", "the variable named by `headers_env`");
    check(
        "otlp: { endpoint: \"http://h\", headers_env: \"x-key=1\" }",
        "is not a valid environment variable name",
    );
    check("otlp: { endpoint: \"http://h\", timeout_seconds: 0 }", "`logging.otlp.timeout_seconds` is 0");
    check("otlp: { endpoint: \"http://h\", service_name: \"\" }", "`logging.otlp.service_name` is empty");
    check("otlp: { service_name: x }", "endpoint");
    check("otlp: { endpoint: \"http://h\", headers: { x: y } }", "headers");
    check("metrics_file: ../metrics.prom", "`logging.metrics_file`");
    check("metrics_file: /srv/../metrics.prom", "without `..`");
}

#[test]
fn collector_messages_contain_no_secrets() {
    for logging in [
        "otlp: { endpoint: \"http://alice:s3cret@host\" }",
        "otlp: { endpoint: \"http://host?key=s3cret\" }",
        "otlp: { endpoint: \"http://h\", headers_env: \"authorization=s3cret\" }",
    ] {
        let problems = problems(logging);
        // The excerpt is for the owner, with secrets masked.
        assert!(!problems.is_empty() && !problems.concat().contains("s3cret"), "{logging}\n{problems:#?}");
    }
}

#[test]
fn unencrypted_headers_are_noted() {
    let noted = |endpoint: &str| {
        let yaml = format!("logging: {{ otlp: {{ endpoint: \"{endpoint}\", headers_env: OTEL_HEADERS }} }}");
        Config::parse("foreword.yaml", &yaml).unwrap().notes.len()
    };
    assert_eq!(
        (noted("http://10.0.0.7:4318"), noted("http://127.0.0.1:4318"), noted("https://h")),
        (1, 0, 0)
    );
}
