//! `foreword senders`, `export events` and `store`: what is stored, seen and carried about through the program.

use std::fs;
use std::future::Future;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;

use foreword_core::event::{Event, EventType};
use foreword_core::id::{ConversationId, InboxId, TurnId};
use foreword_core::sender::{Exchange, SenderAddress};
use foreword_core::timestamp::Timestamp;
use foreword_store::location::Location;
use foreword_store::senders::TurnExchanges;
use foreword_store::store::Store;
use serde_json::Value;

use crate::program::Home;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Does something to the store of `home`, as an agent would.
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
fn eventful() -> Home {
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
fn events_are_exported_as_lines_of_json_with_the_columns_as_keys() {
    let home = eventful();
    let lines = home.succeed(&["export", "events", "--session", "night", "--level", "error"]);
    let event: Value = serde_json::from_str(&lines).unwrap();
    assert_eq!(event["timestamp"], "2026-11-16T02:47:00.000000Z");
    assert_eq!(
        (&event["session_id"], &event["error"], &event["category"]),
        (&"night".into(), &"429".into(), &"provider".into())
    );
}

#[test]
fn an_export_takes_filters() {
    let home = eventful();
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
fn a_filter_that_makes_no_sense_is_refused_and_an_unknown_type_is_pointed_out() {
    let home = eventful();
    assert!(home.refused(2, &["export", "events", "--since", "soon"]).contains("12h"));
    assert!(home.refused(2, &["export", "events", "--level", "loud"]).contains("info, warn or error"));
    let ran = home.run(&["export", "events", "--type", "api_eror"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("did you mean `api_error`?"), "{}", ran.stderr);
}

#[test]
fn an_export_into_a_file_is_whole_and_overwrites_nothing() {
    let home = eventful();
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
fn a_backup_takes_the_place_of_nothing_but_a_file() {
    let home = eventful();
    let socket = std::os::unix::net::UnixListener::bind(home.path().join("pipe")).unwrap();
    let said = home.refused(1, &["store", "backup", "--force", "pipe"]);
    assert!(said.contains("it is no file"), "{said}");
    drop(socket);
    assert!(home.refused(1, &["store", "backup", "no/such/folder.db"]).contains("there is no folder"));
}

#[test]
fn a_store_that_may_not_be_looked_at_is_not_taken_for_an_empty_one() {
    let home = Home::with(&[("foreword.yaml", "agent: { blueprint: template }\n")]);
    home.run_with_input(&["template", "set", "-"], b"You are stored.");
    let mut command = home.command(&["template", "get"]);
    if runs_as_root() {
        // Nothing is closed to the superuser, so somebody else asks.
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
fn where_nothing_was_stored_an_export_is_empty_and_makes_no_database() {
    let home = Home::new();
    assert_eq!(home.succeed(&["export", "events"]), "");
    home.succeed(&["senders", "list"]);
    home.succeed(&["store", "prune"]);
    home.refused(1, &["store", "check"]);
    home.refused(1, &["store", "backup", "x.db"]);
    assert_eq!(home.listing(), [""; 0]);
}

#[test]
fn a_change_of_the_template_or_of_a_layer_is_an_event() {
    let home = Home::with(&[("foreword.yaml", "agent: { blueprint: sovereign }\n")]);
    home.run_with_input(&["layers", "set", "6", "-"], b"Check first.");
    home.run_with_input(&["template", "set", "-"], b"You are kind.");
    home.run_with_input(&["template", "set", "-"], b"You are kind.");
    assert_eq!(exported(&home, &[]), ["layer_changed", "template_changed"]);
}

#[test]
fn senders_are_listed_by_activity_and_shown_with_what_was_said() {
    let home = Home::new();
    let exchange = |id: &str, sender: &str, body: &str, time: &str| Exchange {
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
fn a_check_tells_version_sizes_and_damage() {
    let home = eventful();
    let report = home.json(&["--json", "store", "check"]);
    assert_eq!((&report["engine"], &report["schema_version"]), (&"SQLite".into(), &6.into()));
    let events = report["tables"].as_array().unwrap().iter().find(|table| table["name"] == "events").unwrap();
    assert_eq!(events["rows"], 3);
    assert!(home.succeed(&["store", "check"]).contains("Everything is as it should be."));
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
fn a_backup_can_be_restored_into_an_empty_store_and_nowhere_else() {
    let home = eventful();
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
    let home = eventful();
    assert!(
        home.succeed(&["store", "prune", "--before", "2026-11-16T03:00:00Z"]).contains("Deleted 2 events")
    );
    assert_eq!(exported(&home, &[]), ["turn_completed"]);
}

#[test]
fn a_store_that_can_t_be_opened_says_why_and_shows_no_password() {
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
    assert!(ran.code == 1 && ran.stderr.contains("is no Foreword database"), "{}", ran.stderr);
    assert!(fs::read_to_string(home.path().join("plain.txt")).unwrap().starts_with("not a database"));
}

/// A database of its own on the server the tests are told of; `None` if they are to do without.
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
fn a_workspace_moves_from_sqlite_to_postgres_and_back_with_nothing_else_changed() {
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
