//! Turn settings in `foreword.yaml`: providers, retries, limits, sensitive tools, the cache.

use std::time::Duration;

use foreword_core::limits::TurnLimits;
use foreword_core::price::CacheTtl;
use foreword_core::provider::{KeySource, Provider, Secret, Timeouts, WireDialect};
use foreword_core::retry::RetryPolicy;
use foreword_core::tools::ToolName;
use foreword_workspace::config::{BashConfig, Config};
use foreword_workspace::document::DocumentError;

fn parse(yaml: &str) -> Config {
    Config::parse("foreword.yaml", yaml).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn message(problem: &DocumentError) -> String {
    let help = problem.help.as_deref().unwrap_or("-");
    format!("{problem}\n{}\nhelp: {help}", problem.excerpt())
}

fn refused(yaml: &str) -> String {
    let problems = Config::parse("foreword.yaml", yaml).unwrap_err();
    problems.iter().map(message).collect::<Vec<_>>().join("\n\n")
}

fn noted(yaml: &str) -> String {
    parse(yaml).notes.iter().map(message).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn empty_files_give_default_turn_settings() {
    let config = parse("");
    assert_eq!(config.retry, RetryPolicy::default());
    assert_eq!(config.limits, TurnLimits { rounds: 25, tool_calls: 100, time: Duration::from_secs(600) });
    assert_eq!(config.cache_ttl, CacheTtl::FiveMinutes);
    assert_eq!(config.confirm_time, Duration::from_secs(300));
    assert_eq!(config.bash, BashConfig::default());
    assert_eq!((config.bash.timeout, config.bash.max_output_bytes), (Duration::from_secs(120), 32_768));
    let sensitive: Vec<&str> = config.tool_rules.sensitive.iter().map(|name| name.as_str()).collect();
    assert_eq!(sensitive, ["bash", "hand_over", "update_prompt_layer", "write_file"]);
    let anthropic = &config.providers["anthropic"];
    assert_eq!(anthropic.base_url, "https://api.anthropic.com");
    assert_eq!(anthropic.key, KeySource::Environment("ANTHROPIC_API_KEY".to_owned()));
    assert_eq!(config.providers["ollama"].key, KeySource::None);
    assert!(!config.providers.contains_key("offline"), "it is part of the program");
}

#[test]
fn built_in_providers_change_only_given_keys() {
    let before = parse("").providers["openai"].clone();
    let config = parse("providers:\n  openai: { base_url: \"http://127.0.0.1:9/v1/\" }\n  ollama:\n");
    let moved = Provider { base_url: "http://127.0.0.1:9/v1".to_owned(), ..before };
    assert_eq!(config.providers["openai"], moved);
    assert_eq!(config.providers["ollama"], parse("").providers["ollama"]);
    assert_eq!(config.notes, []);
}

#[test]
fn custom_providers_need_a_url_and_default_to_openai() {
    let yaml = "\
agent: { model: quay/quay-7b }
providers:
  quay:
    base_url: https://quay.example.org/v1
    api_key_env: QUAY_KEY
    headers: { X-Team: harbour }
    timeouts: { connect_ms: 500, idle_ms: 2000 }
  claude-at-home: { dialect: anthropic, base_url: \"http://localhost:4000\" }
";
    let config = parse(yaml);
    let quay = Provider {
        name: "quay".into(),
        dialect: WireDialect::OpenAi,
        base_url: "https://quay.example.org/v1".to_owned(),
        key: KeySource::Environment("QUAY_KEY".to_owned()),
        headers: vec![("X-Team".to_owned(), Secret::new("harbour"))],
        timeouts: Timeouts {
            connect: Duration::from_millis(500),
            idle: Duration::from_secs(2),
            ..Timeouts::default()
        },
        cache_diagnostics: false,
    };
    assert_eq!(config.providers["quay"], quay);
    assert_eq!(config.providers["claude-at-home"].dialect, WireDialect::Anthropic);
}

#[test]
fn invalid_providers_are_refused_without_secrets() {
    let all = [
        refused("providers:\n  offline: { base_url: \"http://127.0.0.1\" }\n"),
        refused("providers:\n  a/b: { base_url: \"http://127.0.0.1\" }\n  mine: {}\n  openia: {}\n"),
        refused("providers:\n  openai:\n    base_url: api.openai.com/v1\n"),
        refused("providers:\n  openai:\n    base_url: https://alice:s3cret@api.openai.com/v1\n"),
        refused("providers: { openai: { base_url: \"https://host/v1?key=s3cret\" } }\n"),
        refused("providers:\n  openai:\n    base_url: https://host/v1/chat/completions\n"),
        refused("providers:\n  openai: { api_key: s3cret, api_key_env: OPENAI_API_KEY }\n"),
        refused("providers:\n  openai:\n    api_key_env: sk-s3cret\n"),
        refused("providers:\n  openai:\n    api_key: \"s3cret\\n\"\n"),
        refused("providers:\n  openai:\n    api_kye: s3cret\n"),
        refused("providers:\n  openai:\n    headers:\n      X Team: s3cret\n      X-A: \"s3\\ncret\"\n      X-B: b\n      x-b: s3cret\n"),
        refused("providers:\n  openai:\n    headers:\n      - Authorization: Bearer s3cret\n"),
        refused("providers:\n  openai: s3cret\n"),
        refused("providers:\n  openai: { dialect: openia }\n"),
        refused("providers:\n  openai: { timeouts: { connect_ms: 0, idle_ms: 86400001 } }\n"),
        refused("agent: { model: antropic/claude-sonnet-4-5 }\n"),
        refused("agent: { model: harbour/quay }\n"),
    ]
    .join("\n\n---\n\n");
    assert!(!all.contains("s3cret") && !all.contains("s3\\ncret"), "{all}");
    insta::assert_snapshot!(all);
}

#[test]
fn risky_settings_are_noted() {
    let all = [
        noted("providers:\n  openai:\n    api_key: s3cret\n"),
        noted("providers:\n  openai: { base_url: \"http://gpu.example.org/v1\" }\n"),
        noted("providers:\n  ollama:\n    base_url: http://gpu.example.org/v1\n    headers: { X-Key: s3cret }\n"),
        noted("providers:\n  anthropic: { base_url: \"https://proxy.example.org/v1\" }\n"),
    ]
    .join("\n\n---\n\n");
    assert!(!all.contains("s3cret"), "{all}");
    insta::assert_snapshot!(all);
    for fine in ["http://127.0.0.1:8000/v1", "http://localhost/v1", "http://[::1]/v1", "https://x.org/v1"] {
        assert_eq!(noted(&format!("providers: {{ openai: {{ base_url: \"{fine}\" }} }}")), "");
    }
    assert_eq!(
        noted("providers: { ollama: { base_url: \"http://gpu.example.org/v1\" } }"),
        "",
        "no key to lose"
    );
}

#[test]
fn debug_output_has_no_secrets() {
    let yaml = "providers:\n  openai: { api_key: s3cret, headers: { A: s3cret } }\n";
    let config = parse(yaml);
    assert_eq!(config.providers["openai"].key, KeySource::Written(Secret::new("s3cret")));
    let printed = format!("{:?}", config.providers);
    assert!(!printed.contains("s3cret"), "{printed}");
}

#[test]
fn retry_defaults_adjust_to_written_values() {
    let yaml = "retry: { max_retries: 0, base_delay_ms: 5, max_delay_ms: 50, retryable_statuses: [429, 599], max_retry_after_ms: 7, requeue: { max_attempts: 2, delay_ms: 3, max_delay_ms: 4 } }";
    let milliseconds = Duration::from_millis;
    let written = RetryPolicy {
        max_retries: 0,
        base_delay: milliseconds(5),
        max_delay: milliseconds(50),
        retryable_statuses: [429, 599].into(),
        longest_retry_after: milliseconds(7),
        max_requeues: 2,
        requeue_delay: milliseconds(3),
        max_requeue_delay: milliseconds(4),
    };
    assert_eq!(parse(yaml).retry, written);
    let retry = parse("retry: { max_delay_ms: 100 }").retry;
    assert_eq!((retry.base_delay, retry.max_delay), (milliseconds(100), milliseconds(100)));
    let retry = parse("retry: { base_delay_ms: 60000 }").retry;
    assert_eq!((retry.base_delay, retry.max_delay), (milliseconds(60_000), milliseconds(60_000)));
}

#[test]
fn out_of_range_numbers_are_refused_with_the_bounds() {
    let all = [
        refused("retry: { max_retries: 101, base_delay_ms: 0, max_delay_ms: 86400001 }\n"),
        refused("retry:\n  base_delay_ms: 5000\n  max_delay_ms: 1000\n"),
        refused("retry: { retryable_statuses: [200, 429, 70000] }\n"),
        refused("retry: { requeue: { max_attempts: 1000, delay_ms: 9, max_delay_ms: 8 } }\n"),
        refused("retry: { maxRetries: 3 }\n"),
        refused("agent: { limits: { rounds: 0, tool_calls: 10001, seconds: -1 } }\n"),
        refused("agent: { limits: { rounds: 0, tool_calls: 10001, seconds: 0 } }\n"),
        refused(
            "tools: { sensitive: [bsh], confirm_seconds: 86401, bash: { timeout_ms: 0, max_output_bytes: 1, blocked: [\"*\"] } }\n",
        ),
        refused("prompt: { cache: { ttl: 2h } }\n"),
    ];
    insta::assert_snapshot!(all.join("\n\n---\n\n"));
}

#[test]
fn limits_tools_and_cache_are_parsed() {
    let yaml = "\
agent: { limits: { rounds: 3, tool_calls: 4, seconds: 5 } }
tools:
  disabled: [write_file]
  sensitive: [memory_write, write_file]
  confirm_seconds: 0
  bash: { timeout_ms: 1500, max_output_bytes: 4096, blocked: [\"git push\"] }
prompt: { cache: { ttl: 1h } }
";
    let config = parse(yaml);
    assert_eq!(config.limits, TurnLimits { rounds: 3, tool_calls: 4, time: Duration::from_secs(5) });
    assert_eq!(config.tool_rules.sensitive, ["memory_write", "write_file"].map(ToolName::new).into());
    assert_eq!(config.confirm_time, Duration::ZERO);
    assert_eq!((config.bash.timeout, config.bash.max_output_bytes), (Duration::from_millis(1_500), 4_096));
    assert_eq!(config.bash.blocks("git push origin"), Some("git push"));
    assert_eq!(config.cache_ttl, CacheTtl::OneHour);
}
