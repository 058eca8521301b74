//! `foreword senders`, `export events` and `store`.

use std::fs;
use std::future::Future;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;

use foreword_core::event::{Event, EventType};
use foreword_core::id::{ConversationId, InboxId, TurnId};
use foreword_core::sender::{SenderAddress, SenderExchange};
use foreword_core::timestamp::Timestamp;
use foreword_store::location::Location;
use foreword_store::senders::TurnExchanges;
use foreword_store::store::Store;
use serde_json::Value;

use crate::program::Home;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Runs `work` on the store of `home`, like an agent.
fn with_store<F: Future<Output = ()>>(home: &Home, work: impl FnOnce(Store) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let location = Location::file(home.path().join(".foreword/foreword.db"));
        let store = Store::open(&location, at("2026-11-16T08:00:00Z")).await.unwrap();
        work(store.clone()).await;
        store.close().await.unwrap();
    });
}

fn event(event_type: EventType, time: &str, session: &str) -> Event {
    Event { session_id: Some(ConversationId::new(session).unwrap()), ..Event::new(event_type, at(time)) }
}

/// Three events: two of the conversation `night`, one of `day`.
fn home_with_events() -> Home {
    let home = Home::new();
    with_store(&home, |store| async move {
        let failed = Event {
            user_id: Some("alice".into()),
            error: Some("429".to_owned()),
            ..event(EventType::ApiError, "2026-11-16T02:47:00Z", "night")
        };
        let events = [
            event(EventType::TurnStarted, "2026-11-16T02:46:00Z", "night"),
            failed,
            event(EventType::TurnCompleted, "2026-11-16T09:00:00Z", "day"),
        ];
        store.add_events(&events).await.unwrap();
    });
    home
}

fn exported(home: &Home, filters: &[&str]) -> Vec<String> {
    let args: Vec<&str> = ["export", "events"].into_iter().chain(filters.iter().copied()).collect();
    let lines = home.succeed(&args);
    let types = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    types.map(|event| event["event_type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn events_are_exported_as_json_lines_with_column_keys() {
    let home = home_with_events();
    let lines = home.succeed(&["export", "events", "--session", "night", "--level", "error"]);
    let event: Value = serde_json::from_str(&lines).unwrap();
    assert_eq!(event["timestamp"], "2026-11-16T02:47:00.000000Z");
    assert_eq!(
        (&event["session_id"], &event["error"], &event["category"]),
        (&"night".into(), &"429".into(), &"provider".into())
    );
}

#[test]
fn export_takes_filters() {
    let home = home_with_events();
    assert_eq!(exported(&home, &[]), ["turn_started", "api_error", "turn_completed"]);
    assert_eq!(exported(&home, &["--session", "day"]), ["turn_completed"]);
    assert_eq!(exported(&home, &["--type", "turn_started"]), ["turn_started"]);
    assert_eq!(exported(&home, &["--user", "alice"]), ["api_error"]);
    assert_eq!(exported(&home, &["--since", "2026-11-16T02:47:00Z"]), ["api_error", "turn_completed"]);
    assert_eq!(exported(&home, &["--until", "2026-11-16T02:47:00Z"]), ["turn_started"]);
    assert_eq!(exported(&home, &["--category", "agent", "--limit", "1"]), ["turn_started"]);
    assert_eq!(exported(&home, &["--since", "2026-11-18"]), [""; 0]);
}

#[test]
fn invalid_filter_fails_and_unknown_type_warns() {
    let home = home_with_events();
    assert!(home.refused(2, &["export", "events", "--since", "soon"]).contains("12h"));
    assert!(home.refused(2, &["export", "events", "--level", "loud"]).contains("info, warn or error"));
    let ran = home.run(&["export", "events", "--type", "api_eror"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("did you mean `api_error`?"), "{}", ran.stderr);
}

#[test]
fn file_export_is_complete_and_overwrites_nothing() {
    let home = home_with_events();
    home.succeed(&["export", "events", "--output", "events.jsonl"]);
    let lines = fs::read_to_string(home.path().join("events.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 3);
    home.refused(1, &["export", "events", "--output", "events.jsonl"]);
    home.refused(1, &["export", "events", "--output", "no/such/folder.jsonl"]);
    let left: Vec<String> = home.listing().into_iter().filter(|path| path.contains("partial")).collect();
    assert_eq!(left, [""; 0]);
    let mode = fs::metadata(home.path().join("events.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only the owner may read who said what");
}

#[test]
fn backup_overwrites_only_files() {
    let home = home_with_events();
    let socket = std::os::unix::net::UnixListener::bind(home.path().join("pipe")).unwrap();
    let said = home.refused(1, &["store", "backup", "--force", "pipe"]);
    assert!(said.contains("it is not a file"), "{said}");
    drop(socket);
    assert!(home.refused(1, &["store", "backup", "no/such/folder.db"]).contains("does not exist"));
}

#[test]
fn inaccessible_store_is_not_treated_as_empty() {
    let home = Home::with(&[("foreword.yaml", "agent: { blueprint: template }\n")]);
    home.run_with_input(&["template", "set", "-"], b"You are stored.");
    let mut command = home.command(&["template", "get"]);
    if runs_as_root() {
        // The superuser has access to everything, so another user runs the command.
        fs::set_permissions(home.outside(), fs::Permissions::from_mode(0o755)).unwrap();
        command.uid(65_534).gid(65_534);
    } else {
        fs::set_permissions(home.path().join(".foreword"), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let ran = crate::program::Ran::of(command.output().unwrap());
    fs::set_permissions(home.path().join(".foreword"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
}

fn runs_as_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[test]
fn empty_export_creates_no_database() {
    let home = Home::new();
    assert_eq!(home.succeed(&["export", "events"]), "");
    home.succeed(&["senders", "list"]);
    home.succeed(&["store", "prune"]);
    home.refused(1, &["store", "check"]);
    home.refused(1, &["store", "backup", "x.db"]);
    assert_eq!(home.listing(), [""; 0]);
}

#[test]
fn template_and_layer_changes_are_events() {
    let home = Home::with(&[("foreword.yaml", "agent: { blueprint: sovereign }\n")]);
    home.run_with_input(&["layers", "set", "6", "-"], b"Check first.");
    home.run_with_input(&["template", "set", "-"], b"You are kind.");
    home.run_with_input(&["template", "set", "-"], b"You are kind.");
    assert_eq!(exported(&home, &[]), ["layer_changed", "template_changed"]);
}

#[test]
fn senders_are_listed_by_activity_and_shown_with_exchanges() {
    let home = Home::new();
    let exchange = |id: &str, sender: &str, body: &str, time: &str| SenderExchange {
        inbox_message: InboxId::new(id).unwrap(),
        sender: SenderAddress::new(sender).unwrap(),
        body: body.to_owned(),
        reply: Some("I heard you.".to_owned()),
        turn: TurnId::new("t-1").unwrap(),
        at: at(time),
    };
    with_store(&home, |store| async move {
        let exchanges = vec![
            exchange(
                "m-1",
                "0xABCDEF0123456789abcdef0123456789ABCDEF01",
                "hello\u{1b}[2Jthere",
                "2026-11-16T08:00:00Z",
            ),
            exchange("m-2", "signal:+15550100", "hi", "2026-11-16T09:00:00Z"),
        ];
        for one in exchanges {
            let time = one.at;
            store.record_exchanges(TurnExchanges::new(vec![one], time)).await.unwrap();
        }
    });
    let list = home.json(&["--json", "senders", "list"]);
    let names: Vec<&str> =
        list["senders"].as_array().unwrap().iter().map(|sender| sender["sender"].as_str().unwrap()).collect();
    assert_eq!(names, ["signal:+15550100", "0xabcdef0123456789abcdef0123456789abcdef01"]);
    let shown = home.succeed(&["senders", "show", "0xABCDEF0123456789ABCDEF0123456789ABCDEF01"]);
    assert!(
        shown.contains("there") && shown.contains("I heard you.") && !shown.contains('\u{1b}'),
        "{shown:?}"
    );
    home.refused(1, &["senders", "show", "signal:nobody"]);
}

#[test]
fn store_check_reports_version_sizes_and_damage() {
    let home = home_with_events();
    let report = home.json(&["--json", "store", "check"]);
    assert_eq!((&report["engine"], &report["schema_version"]), (&"SQLite".into(), &6.into()));
    let events = report["tables"].as_array().unwrap().iter().find(|table| table["name"] == "events").unwrap();
    assert_eq!(events["rows"], 3);
    assert!(home.succeed(&["store", "check"]).contains("No problems found."));
    let database = home.path().join(".foreword/foreword.db");
    let mut bytes = fs::read(&database).unwrap();
    for at in (4_096..bytes.len()).step_by(512) {
        bytes[at] ^= 0xff;
    }
    fs::write(&database, &bytes).unwrap();
    let ran = home.run(&["store", "check"]);
    assert_eq!(ran.code, 1);
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("help: "), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(fs::read(&database).unwrap(), bytes, "a damaged file is left as it is");
}

#[test]
fn backup_restores_only_to_an_empty_store() {
    let home = home_with_events();
    home.run_with_input(&["template", "set", "-"], b"You are kind.");
    home.succeed(&["store", "backup", "monday.db"]);
    home.refused(1, &["store", "backup", "monday.db"]);
    home.succeed(&["store", "backup", "monday.db", "--force"]);
    assert!(home.refused(1, &["store", "restore", "monday.db"]).contains("is not empty"));
    fs::remove_dir_all(home.path().join(".foreword")).unwrap();
    home.refused(1, &["store", "restore", "tuesday.db"]);
    home.succeed(&["--here", "store", "restore", "monday.db"]);
    assert_eq!(home.succeed(&["template", "get"]), "You are kind.");
    assert_eq!(exported(&home, &[]).len(), 4);
}

#[test]
fn old_events_are_pruned_on_demand() {
    let home = home_with_events();
    assert!(
        home.succeed(&["store", "prune", "--before", "2026-11-16T03:00:00Z"]).contains("Deleted 2 events")
    );
    assert_eq!(exported(&home, &[]), ["turn_completed"]);
}

#[test]
fn unopenable_store_error_hides_the_password() {
    let home = Home::with(&[
        ("foreword.yaml", "store: { url: \"postgres://alice:s3cret@127.0.0.1:1/none?connect_timeout=1\" }\n"),
        (
            "plain.txt",
            "not a database, but long enough to be taken for one: ................................",
        ),
    ]);
    let said = home.refused(1, &["template", "get"]);
    assert!(said.contains("127.0.0.1") && !said.contains("s3cret"), "{said}");
    let mut command = home.command(&["template", "get"]);
    let ran = crate::program::Ran::of(command.env("FOREWORD_STORE_URL", "plain.txt").output().unwrap());
    assert!(ran.code == 1 && ran.stderr.contains("is not a Foreword database"), "{}", ran.stderr);
    assert!(fs::read_to_string(home.path().join("plain.txt")).unwrap().starts_with("not a database"));
}

#[test]
fn home_directory_is_expanded_in_environment_variables() {
    let home = Home::with(&[("foreword.yaml", "{}\n")]);
    let outside = home.outside();
    for url in ["~/one/x.db", "sqlite:~/two/x.db"] {
        let mut command = home.command(&["chat", "hello"]);
        command.current_dir(outside).env("HOME", outside);
        command.env("FOREWORD_WORKSPACE", "~/home").env("FOREWORD_STORE_URL", url);
        let ran = crate::program::Ran::of(command.output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    assert!(outside.join("one/x.db").is_file() && outside.join("two/x.db").is_file());
    assert!(!outside.join("~").exists() && !home.path().join(".foreword/foreword.db").exists());
}

/// A new database on the test server; `None` if Postgres tests are skipped.
pub(crate) fn postgres_database(name: &str) -> Option<String> {
    let server = std::env::var("FOREWORD_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("no Postgres to test with: run `eval \"$(scripts/postgres.sh start)\"` first, or `make test`")
    });
    if server == "skip" {
        println!("SKIPPED: FOREWORD_TEST_POSTGRES=skip");
        return None;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&server, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        for sql in [
            format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
            format!("CREATE DATABASE {name} TEMPLATE template0"),
        ] {
            client.batch_execute(&sql).await.unwrap();
        }
    });
    let (address, _) = server.split('?').next().unwrap().rsplit_once('/').unwrap();
    Some(format!("{address}/{name}"))
}

#[test]
fn workspace_migrates_to_postgres_and_back() {
    let Some(url) = postgres_database("command_line_moves") else { return };
    let home = Home::with(&[("foreword.yaml", "agent: { blueprint: sovereign }\n")]);
    home.run_with_input(&["layers", "set", "6", "-"], b"Check first.");
    home.succeed(&["store", "backup", "small.db"]);
    let before = home.succeed(&["layers", "history", "6"]);

    home.write("foreword.yaml", format!("agent: {{ blueprint: sovereign }}\nstore: {{ url: \"{url}\" }}\n"));
    assert!(!home.succeed(&["layers", "history", "6"]).contains("Check first."), "Postgres is empty yet");
    home.succeed(&["store", "restore", "small.db"]);
    assert_eq!(home.succeed(&["layers", "history", "6"]), before);
    assert!(home.succeed(&["build"]).contains("Check first."));
    home.run_with_input(&["layers", "set", "6", "-"], b"Check twice.");
    assert_eq!(home.json(&["--json", "store", "check"])["engine"], "PostgreSQL");
    home.succeed(&["store", "backup", "large.db"]);

    home.write("foreword.yaml", "agent: { blueprint: sovereign }\nstore: { url: large.db }\n");
    assert!(home.succeed(&["build"]).contains("Check twice."));
    assert_eq!(exported(&home, &[]), ["layer_changed", "layer_changed"]);
}
