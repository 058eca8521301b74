//! Budgets: a warning at the threshold, a stop when the budget is spent, and a reset on the next day.

use foreword_testkit::{FakeProvider, Script};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::priced_workspace::{answer, home, in_utc};
use crate::program::{Home, Ran};

/// A provider whose answers each cost 1.10 dollars.
fn expensive_provider() -> FakeProvider {
    FakeProvider::start(Script::default().then_always(answer("Done.", 1_000, 10))).unwrap()
}

fn say(home: &Home, args: &[&str]) -> Ran {
    in_utc(home, &[&["chat"], args].concat())
}

fn events(home: &Home, event_type: &str) -> Vec<Value> {
    let lines = home.succeed(&["--json", "logs", "--type", event_type]);
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn budget_warns_once_stops_and_resets_daily() {
    let provider = expensive_provider();
    let home = home(&provider, "budgets:\n  - { usd: 3, per: day, warn_at: 30 % }\n");
    let first = say(&home, &["one"]);
    assert_eq!((first.code, first.stderr.contains("budget")), (0, false), "{}", first.stderr);
    for percent in ["36 %", "73 %"] {
        let ran = say(&home, &["more"]);
        let expected = format!("The budget of $3.0000 per day is spent to {percent}");
        assert!(ran.code == 0 && ran.stderr.contains(&expected), "{}", ran.stderr);
    }
    assert_eq!(events(&home, "budget_warning").len(), 1);
    let stopped = say(&home, &["too much"]);
    assert_eq!((stopped.code, stopped.stdout.as_str()), (1, ""), "{}", stopped.stderr);
    assert!(
        stopped.stderr.contains("the budget of $3.0000 per day is used up: $3.3000 spent"),
        "{}",
        stopped.stderr
    );
    assert!(stopped.stderr.contains("raise `budgets.0.usd` in foreword.yaml"), "{}", stopped.stderr);
    let bob = say(&home, &["--channel", "signal:bob", "and I?"]);
    assert!(bob.stderr.contains("the spending limit is reached. It resets on "), "{}", bob.stderr);
    assert!(!bob.stderr.contains('$'), "{}", bob.stderr);
    assert_eq!(provider.requests().len(), 3);
    let exceeded = events(&home, "budget_exceeded");
    assert_eq!((exceeded.len(), &exceeded[0]["metadata"]["spentUsd"]), (2, &json!(3.3)));
    let status = in_utc(&home, &["status"]).stdout;
    assert!(
        status
            .contains("\nspent today: $3.3000\n- budget of $3.0000 per day: $3.3000 spent, used up until 20"),
        "{status}"
    );
    // Moves all spending to yesterday.
    let database = Connection::open(home.path().join(".foreword/foreword.db")).unwrap();
    let yesterday =
        "UPDATE events SET timestamp = strftime('%Y-%m-%dT%H:%M:%f', timestamp, '-1 day') || '000Z'";
    database.execute_batch(yesterday).unwrap();
    drop(database);
    let next = say(&home, &["good morning"]);
    assert_eq!((next.code, next.stdout.as_str()), (0, "Done.\n"), "{}", next.stderr);
}

#[test]
fn spending_counts_within_the_same_process() {
    let provider = expensive_provider();
    let home = home(&provider, "budgets:\n  - { usd: 2, per: month, stop: true }\n");
    let ran = home.run_with_input(&["chat"], b"one\ntwo\nthree\n");
    assert_eq!(provider.requests().len(), 2, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the budget of $2.0000 per month is used up: $2.2000 spent"),
        "{}",
        ran.stderr
    );
}

#[test]
fn user_budgets_are_separate_and_soft_ones_warn() {
    let provider = expensive_provider();
    let home = home(
        &provider,
        "budgets:\n  - { usd: 1, per: day, of: user, user: bob }\n  - { usd: 1, per: week, stop: false }\n",
    );
    assert_eq!(say(&home, &["--channel", "signal:bob", "one"]).code, 0);
    assert_eq!(say(&home, &["--channel", "signal:bob", "two"]).code, 1);
    let alice = say(&home, &["three"]);
    assert_eq!(alice.code, 0, "{}", alice.stderr);
    assert!(
        alice.stderr.contains("The budget of $1.0000 per week is used up: $1.1000 spent"),
        "{}",
        alice.stderr
    );
    let status: Value = serde_json::from_str(&in_utc(&home, &["--json", "status"]).stdout).unwrap();
    let states: Vec<&Value> =
        status["budgets"].as_array().unwrap().iter().map(|budget| &budget["state"]).collect();
    assert_eq!(states, ["stop", "warn"]);
    assert_eq!(status["budgets"][0]["account"], json!({ "user": "bob" }));
    assert_eq!(status["cost_today"]["calls"], json!(2));
}

#[test]
fn call_above_the_budget_is_not_made() {
    let provider = expensive_provider();
    let home = home(&provider, "budgets: [{ usd: 0.0001, per: day }]\n");
    let ran = say(&home, &["one"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("does not suffice: $0 spent, and this call costs $0."), "{}", ran.stderr);
    assert_eq!(provider.requests().len(), 0);
}

#[test]
fn check_reports_invalid_and_uncountable_budgets() {
    let provider = expensive_provider();
    let unpriced = home(&provider, "budgets: [{ usd: 5 }]\n");
    let text = std::fs::read_to_string(unpriced.path().join("foreword.yaml")).unwrap();
    unpriced.write("foreword.yaml", text.replace("model: harbour/quay-7b", "model: harbour/quay-9b"));
    let ran = unpriced.run(&["check"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("the price of `harbour/quay-9b` is unknown"), "{said}");
    for (budget, expected) in [
        ("{ usd: 0 }", "`budgets.0.usd` is 0"),
        ("{ usd: 5, user: alcie }", "did you mean `alice`?"),
        ("{ usd: 5, warn_at: 2 }", "`budgets.0.warn_at` is 200 %"),
        ("{ usd: 5, warn_at: much }", "a fraction such as 0.8"),
        ("{ usd: 5, per: hour }", "hour"),
    ] {
        let bad = home(&provider, &format!("budgets: [{budget}]\n"));
        let refused = bad.refused(3, &["build"]);
        assert!(refused.contains(expected), "{budget}: {refused}");
    }
}
