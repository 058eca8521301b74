//! `foreword cost`: the costs, and the three questions it answers.

use foreword_testkit::{FakeProvider, Reply};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::priced_workspace::{answer, home, in_utc};
use crate::program::Home;
use crate::terminal::Terminal;

/// Three turns in two conversations: $1.10 + $2.20 by alice, $0.33 by bob.
fn spent() -> (FakeProvider, Home) {
    let provider =
        FakeProvider::start([answer("One.", 1_000, 10), answer("Two.", 2_000, 20), answer("Three.", 300, 3)])
            .unwrap();
    let home = home(&provider, "");
    home.succeed(&["chat", "--conversation", "c-1", "one"]);
    home.succeed(&["chat", "--conversation", "c-1", "two"]);
    home.succeed(&["chat", "--conversation", "c-2", "--channel", "signal:bob", "three"]);
    (provider, home)
}

fn json_of(home: &Home, args: &[&str]) -> Value {
    let ran = in_utc(home, &[&["--json", "cost"], args].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn asked<T: rusqlite::types::FromSql>(home: &Home, sql: &str) -> T {
    let database = Connection::open(home.path().join(".foreword/foreword.db")).unwrap();
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn three_cost_questions_match_sql() {
    let (_provider, home) = spent();
    let ran = in_utc(&home, &["cost"]);
    for expected in [
        "today         $3.6300 in 3 turns",
        "average turn  $1.2100",
        "most tokens   3,030 in conversation c-1",
    ] {
        assert!(ran.stdout.contains(expected), "{expected}\n{}", ran.stdout);
    }
    let costs = json_of(&home, &[]);
    let today =
        "SELECT SUM(cost_usd) FROM events WHERE event_type='api_call' AND date(timestamp)=date('now')";
    let close = |one: f64, other: &Value| (one - other.as_f64().unwrap()).abs() < 1e-9;
    assert!(close(asked(&home, today), &costs["today"]["cost_usd"]), "{costs:#}");
    let most = "SELECT session_id FROM events WHERE event_type='api_call' GROUP BY session_id
                ORDER BY SUM(tokens_in + tokens_out) DESC LIMIT 1";
    assert_eq!(costs["most_tokens"]["session"], asked::<String>(&home, most).as_str());
    let average = "SELECT SUM(cost_usd) / COUNT(DISTINCT turn_id) FROM events WHERE event_type='api_call'";
    assert!(close(asked(&home, average), &costs["total"]["cost_usd_per_turn"]), "{costs:#}");
}

#[test]
fn costs_are_grouped_as_requested() {
    let (_provider, home) = spent();
    let rows = |by: &str| {
        let costs = json_of(&home, &["--by", by]);
        let rows = costs["rows"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| (row["key"].as_str().unwrap().to_owned(), row["tokens_in"].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    let named = |name: &str, tokens| (name.to_owned(), tokens);
    assert_eq!(rows("user"), [named("alice", 3_000), named("bob", 300)]);
    assert_eq!(rows("session"), [named("c-1", 3_000), named("c-2", 300)]);
    assert_eq!(rows("model"), [named("harbour/quay-7b", 3_300)]);
    assert_eq!(rows("agent"), [named("Ada", 3_300)]);
    let days = rows("day");
    assert_eq!((days.len(), days[0].1), (1, 3_300));
    assert_eq!(json_of(&home, &["--until", "1h"])["rows"], json!([]));
    assert_eq!(json_of(&home, &["--since", "1h", "--by", "user"])["total"]["calls"], json!(3));
    assert!(
        in_utc(&home, &["cost", "--since", "now", "--until", "1h"]).stderr.contains("ends before it starts")
    );
}

#[test]
fn unknown_cost_is_never_shown_as_zero() {
    let provider = FakeProvider::start([Reply::text("One."), Reply::text("Two.")]).unwrap();
    let home = home(&provider, "");
    home.succeed(&["chat", "--model", "harbour/quay-8b", "one"]);
    let ran = in_utc(&home, &["cost", "--by", "model"]);
    assert!(ran.stdout.contains("harbour/quay-8b") && ran.stdout.contains("unknown"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("$0"), "{}", ran.stdout);
    assert!(ran.stderr.contains("1 call without a known price is not included"), "{}", ran.stderr);
    let costs = json_of(&home, &[]);
    assert_eq!((&costs["total"]["cost_usd"], &costs["total"]["unpriced_calls"]), (&json!(null), &json!(1)));
    home.succeed(&["chat", "two"]);
    let ran = in_utc(&home, &["cost"]);
    assert!(ran.stdout.contains("≥ $"), "{}", ran.stdout);
}

#[test]
fn costs_have_bars_and_only_the_owner_sees_them() {
    let (_provider, home) = spent();
    let mut terminal = Terminal::of(&home, &["cost", "--by", "user"], 140);
    terminal.until("████████████████████");
    let bob = home.refused(1, &["cost", "--as", "bob"]);
    assert!(bob.contains("only the owner may see costs"), "{bob}");
    let fresh = Home::made_for("gateway");
    let before = fresh.listing();
    let ran = fresh.run(&["cost"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("today  $0 in 0 turns"), "{}", ran.stdout);
    assert!(ran.stderr.contains("no model calls in that period"), "{}", ran.stderr);
    assert_eq!(fresh.listing(), before);
}
