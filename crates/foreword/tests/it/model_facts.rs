//! The table of models: retirement, models behind another provider, the cost a provider reports, cache retention.

use std::path::Path;

use foreword_core::message::Usage;
use foreword_core::models::ModelCatalog;
use foreword_core::provider::WireDialect;
use foreword_testkit::{FakeProvider, Reply};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::program::{Home, PEOPLE};

/// A workspace on the offline model with additional model `facts`.
fn offline(facts: &str) -> Home {
    let config = format!(
        "agent: {{ name: Ada, model: offline/echo }}\n{PEOPLE}prices:\n  - {{ id: offline/echo, {facts} }}\n"
    );
    Home::with(&[("foreword.yaml", &config), ("SOUL.md", "Be kind.\n")])
}

/// A workspace on `model`, served by `provider`.
fn behind(provider: &FakeProvider, model: &str, more: &str) -> Home {
    let (name, _) = model.split_once('/').unwrap();
    let url = provider.provider(WireDialect::OpenAi).base_url;
    let config = format!(
        "agent: {{ name: Ada, model: {model} }}\n{PEOPLE}\
         providers:\n  {name}: {{ dialect: openai, base_url: \"{url}\", api_key: key-4711 }}\n{more}"
    );
    Home::with(&[("foreword.yaml", &config), ("SOUL.md", &"Be kind, and be brief. ".repeat(400))])
}

fn codes(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().filter_map(|warning| warning["code"].as_str()).collect()
}

#[test]
fn check_explain_and_chat_warn_of_retirement() {
    for (date, code, words) in [
        ("2020-01-31", "retired_model", "`offline/echo` was retired on 2020-01-31"),
        ("9999-01-31", "model_retires", "`offline/echo` retires on 9999-01-31"),
    ] {
        let home = offline(&format!("retires: \"{date}\""));
        assert!(codes(&home.json(&["--json", "check"])["warnings"]).contains(&code));
        assert!(codes(&home.json(&["--json", "explain"])["warnings"]).contains(&code));
        assert!(home.succeed(&["explain"]).contains(words));
        let chat = home.run(&["chat", "hello"]);
        assert_eq!(chat.code, 0, "{}", chat.stderr);
        assert!(chat.stderr.contains(words), "{}", chat.stderr);
    }
    let home = offline("context_window: 50000");
    assert!(codes(&home.json(&["--json", "check"])["warnings"]).is_empty());
    assert!(!home.run(&["chat", "hello"]).stderr.contains("retire"));
}

#[test]
fn check_warns_about_a_retired_model() {
    let config = format!("agent: {{ name: Ada, model: openai/o4-mini }}\n{PEOPLE}");
    let home = Home::with(&[("foreword.yaml", &config)]);
    let shown = home.succeed(&["check"]);
    assert!(shown.contains("`openai/o4-mini` was retired on 2026-10-23"), "{shown}");
}

#[test]
fn model_behind_a_gateway_keeps_its_facts() {
    for model in ["litellm/claude-opus-5-5", "openrouter/anthropic/claude-opus-5.5"] {
        let provider = FakeProvider::start(Reply::text("Hello.")).unwrap();
        let home = behind(&provider, model, "");
        let chat = home.run(&["chat", "--conversation", "c-1", "hello"]);
        assert_eq!(chat.code, 0, "{}", chat.stderr);
        let sent = provider.requests()[0].text().to_owned();
        assert!(sent.contains(r#""cache_control":{"type":"ephemeral""#), "{sent}");
        let explained = home.json(&["--json", "explain"]);
        assert!(explained["price"]["cold"].as_f64() > Some(0.0), "{}", explained["price"]);
        assert!(codes(&explained["warnings"]).contains(&"assumed_model"));
        let text = home.succeed(&["explain"]);
        assert!(text.contains("assumed from anthropic/claude-opus-5-5"), "{text}");
        assert!(codes(&home.json(&["--json", "check"])["warnings"]).contains(&"assumed_model"));
    }
}

/// An answer of a gateway that reports its cost.
fn charging(dollars: f64) -> Reply {
    let message = json!({ "role": "assistant", "content": "Hello." });
    let body = json!({
        "id": "gen-1", "object": "chat.completion", "model": "anthropic/claude-opus-5-5",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": message }],
        "usage": {
            "prompt_tokens": 1000, "completion_tokens": 5, "total_tokens": 1005, "cost": dollars,
            "prompt_tokens_details": { "cached_tokens": 0 },
        },
    });
    Reply::raw(body.to_string()).header("content-type", "application/json")
}

#[test]
fn cost_that_the_provider_reports_is_used() {
    for (model, dollars) in
        [("openrouter/anthropic/claude-opus-5.5", 0.25), ("openrouter/some/unlisted", 0.5)]
    {
        let provider = FakeProvider::start(charging(dollars)).unwrap();
        let home = behind(&provider, model, "");
        let chat = home.run(&["chat", "--conversation", "c-1", "hello"]);
        assert_eq!(chat.code, 0, "{}", chat.stderr);
        assert_eq!(home.json(&["--json", "cost"])["total"]["cost_usd"], dollars, "{model}");
    }
}

#[test]
fn cache_diagnostics_need_no_beta_header() {
    let provider = FakeProvider::start(Reply::text("Hello.")).unwrap();
    let url = provider.provider(WireDialect::Anthropic).base_url;
    let config = format!(
        "agent: {{ name: Ada, model: anthropic/claude-opus-5-5 }}\n{PEOPLE}\
         providers:\n  anthropic: {{ base_url: \"{url}\", api_key: key-4711, cache_diagnostics: true }}\n"
    );
    let home = Home::with(&[("foreword.yaml", &config)]);
    home.succeed(&["chat", "hello"]);
    let request = &provider.requests()[0];
    assert!(request.json().get("diagnostics").is_some(), "{}", request.text());
    assert_eq!(request.header("anthropic-beta"), None);
}

/// How many epochs a conversation has after `SOUL.md` was edited.
fn epochs_after_an_edit(facts: &str) -> i64 {
    let home = offline(facts);
    home.succeed(&["chat", "--conversation", "c-1", "hello"]);
    home.write("SOUL.md", "Be very kind.\n");
    home.succeed(&["chat", "--conversation", "c-1", "and now?"]);
    let database = Connection::open(home.path().join(".foreword/foreword.db")).unwrap();
    let sql = "SELECT COUNT(*) FROM epochs WHERE conversation_id = 'c-1'";
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn cache_is_cold_after_the_retention_in_the_data() {
    let kept = |seconds: u64| {
        format!("breakpoints: automatic, cache_retention: {{ min_seconds: 0, max_seconds: {seconds} }}")
    };
    assert_eq!(epochs_after_an_edit(&kept(0)), 2);
    assert_eq!(epochs_after_an_edit(&kept(86_400)), 1);
}

#[test]
fn several_misses_are_counted_in_the_plural() {
    let usage = Usage { input: 10, output: 5, cache_write: 5_000, ..Usage::default() };
    let provider = FakeProvider::start([1, 2, 3].map(|_| Reply::text("Hello.").usage(usage))).unwrap();
    let facts = "prices:\n  - { id: harbour/quay-7b, breakpoints: explicit, min_cacheable: 100 }\n";
    let home = behind(&provider, "harbour/quay-7b", facts);
    for text in ["hello", "and now?", "still there?"] {
        home.succeed(&["chat", "--conversation", "c-1", text]);
    }
    let shown = home.succeed(&["cache"]);
    assert!(shown.contains(": 2 misses, ") && shown.contains("2 misses without a price"), "{shown}");
}

#[test]
fn documentation_names_no_model_that_retires() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|ending| ending == "md" || ending == "svg"));
    // Benchmark results stay as measured.
    let pages = pages.filter(|path| !path.ends_with("benchmarks.md"));
    let catalog = ModelCatalog::builtin();
    for path in pages.chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(&path).unwrap();
        for facts in catalog.iter().filter(|facts| facts.retires.is_some()) {
            let id = facts.id.as_str();
            let ends = |rest: &str| {
                !rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '-' | '.'))
            };
            let named = text.match_indices(id).any(|(at, _)| ends(&text[at + id.len()..]));
            assert!(!named, "{} names `{id}`, which retires", path.display());
        }
    }
}
