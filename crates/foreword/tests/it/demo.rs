//! `foreword serve --demo`: every view has data from real turns.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::program::Home;
use crate::serve::Serving;

/// The list under `key` in the response to `path`.
fn list(demo: &Serving, path: &str, key: &str) -> Vec<Value> {
    let found = demo.json(path);
    found[key].as_array().unwrap_or_else(|| panic!("{path}: {found}")).clone()
}

fn items(demo: &Serving, path: &str) -> Vec<Value> {
    list(demo, path, "items")
}

/// The distinct values of `key`.
fn all(items: &[Value], key: &str) -> BTreeSet<String> {
    items.iter().filter_map(|item| item[key].as_str().map(str::to_owned)).collect()
}

fn contains(found: &BTreeSet<String>, wanted: &[&str]) {
    assert!(wanted.iter().all(|word| found.contains(*word)), "{wanted:?} in {found:?}");
}

fn check_conversations(demo: &Serving) {
    let talks = items(demo, "/api/v1/conversations?limit=100");
    assert!(talks.iter().filter(|talk| talk["title"].is_string()).count() >= 10, "{talks:?}");
    contains(&all(&talks, "user"), &["alice", "bob", "carol"]);
    contains(&all(&talks, "agent"), &["Assistant", "scribe", "keeper"]);
    contains(&all(&talks, "situation"), &["dm", "group", "workshop", "inbox", "system"]);
    let group = items(demo, "/api/v1/conversations/garden-group/messages?limit=100");
    contains(&all(&group, "author"), &["alice", "bob", "carol"]);
    let epochs = demo.json("/api/v1/conversations/workshop/prompt");
    assert!(epochs.to_string().contains("trust_fell"), "{epochs}");
}

fn check_inbox(demo: &Serving) {
    let senders = items(demo, "/api/v1/senders");
    assert!(senders.len() >= 4 && senders.iter().any(|sender| sender["exchanges"] == 2), "{senders:?}");
    let messages = items(demo, "/api/v1/inbox");
    assert!(
        messages.len() >= 5 && messages.iter().all(|message| message["state"] == "consumed"),
        "{messages:?}"
    );
}

fn check_versions(demo: &Serving) {
    let template = items(demo, "/api/v1/template/history");
    assert!(template.len() >= 3 && template.iter().all(|version| version["message"].is_string()));
    let layers = list(demo, "/api/v1/layers?agent=keeper", "layers");
    assert!(layers.iter().any(|layer| layer["mutable"] == false));
    let history = items(demo, "/api/v1/layers/6/history?agent=keeper");
    contains(&all(&history, "origin"), &["default", "edit", "rollback"]);
    let history = items(demo, "/api/v1/layers/8/history?agent=keeper");
    assert!(history.iter().any(|version| version["writer"]["kind"] == "agent"), "{history:?}");
}

fn check_errors(demo: &Serving) {
    let events = |kind: &str| items(demo, &format!("/api/v1/events?type={kind}&limit=200"));
    assert!(!events("provider_rate_limit").is_empty() && !events("tool_error").is_empty());
    let errors = events("api_error");
    // One call succeeded after retries, another one gave up.
    assert!(errors.iter().any(|error| error["metadata"]["retryAttempt"] == 1), "{errors:?}");
    assert!(errors.iter().any(|error| error["level"] == "error"), "{errors:?}");
    let outcomes = events("turn_completed").into_iter().map(|event| event["metadata"].clone());
    let outcomes = all(&outcomes.collect::<Vec<_>>(), "outcome");
    contains(&outcomes, &["done", "failed", "cancelled"]);
    let failed = events("turn_completed").into_iter().find(|event| event["level"] == "error").unwrap();
    let turn = failed["turn_id"].as_str().unwrap();
    let trace = demo.json(&format!("/api/v1/traces/{turn}"));
    assert!(trace.to_string().contains("529"), "{trace}");
    assert!(!events("budget_warning").is_empty() && !events("session_compacted").is_empty());
}

fn check_costs(demo: &Serving) {
    let costs = demo.json("/api/v1/costs?by=model");
    assert!(costs["total"]["cost_usd"].as_f64().unwrap() > 0.0, "{costs}");
    assert_eq!(costs["total"]["unpriced_calls"], 0, "{costs}");
    contains(&all(costs["rows"].as_array().unwrap(), "key"), &["offline/demo-large", "offline/demo-small"]);
    let cache = demo.json("/api/v1/cache");
    assert!(cache["hit_rate"].as_f64().unwrap() > 0.5, "{cache}");
    let causes = all(cache["causes"].as_array().unwrap(), "cause");
    contains(&causes, &["compaction", "layer_edited", "model_changed", "trust_changed"]);
}

fn check_schedules(demo: &Serving) {
    let schedules = list(demo, "/api/v1/schedules", "schedules");
    assert!(schedules.iter().all(|schedule| schedule["next_fire_at"].is_string()), "{schedules:?}");
    let last: Vec<Value> = schedules.iter().map(|schedule| schedule["last"].clone()).collect();
    contains(&all(&last, "outcome"), &["done", "failed"]);
    let runs = items(demo, "/api/v1/workflows/runs");
    contains(&all(&runs, "workflow"), &["read-out", "weekly-review"]);
    contains(&all(&runs, "state"), &["done", "failed"]);
    let status = demo.json("/api/v1/status");
    let memory = &status["memory"];
    let kept = ["private", "shared", "social"].map(|store| memory[store].as_u64().unwrap());
    assert!(kept.iter().all(|kept| *kept > 0), "{status}");
}

#[test]
fn every_demo_view_has_data() {
    let home = Home::new();
    let demo = Serving::start(home.command(&["-w", "try", "serve", "--demo", "--listen", "127.0.0.1:0"]));
    assert!(demo.said.contains("made by the offline model"), "{}", demo.said);
    assert!(!demo.said.contains("warning:"), "{}", demo.said);
    check_conversations(&demo);
    check_inbox(&demo);
    check_versions(&demo);
    check_errors(&demo);
    check_costs(&demo);
    check_schedules(&demo);
    let checked = home.run(&["-w", "try", "check"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{}", checked.stdout);
    demo.stop();
}

#[test]
fn demo_can_be_stopped_early() {
    let home = Home::new();
    let mut command = home.command(&["serve", "--demo", "--listen", "127.0.0.1:0"]);
    command.env("TMPDIR", home.outside());
    let demo = Serving::start_until(command, "token create --user bob");
    assert!(demo.said.starts_with("Web page: http://127.0.0.1:"), "the link comes first: {}", demo.said);
    let folder = demo.said.split("demo workspace: ").nth(1).unwrap();
    let folder = folder.lines().next().unwrap().to_owned();
    demo.stop();
    assert!(!std::path::Path::new(&folder).exists(), "{folder} is still there");
}
