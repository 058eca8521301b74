//! `check` finds no problem in a sound store, and reports those of a store that was tampered with.

use std::sync::Mutex;

use foreword_core::event::{Event, EventType};
use foreword_prompt::trust::Trust;
use foreword_store::store::Store;
use foreword_store::templates::NewTemplate;

use crate::contract::{TestStore, administer, contract, now, server_under_test};
use crate::conversations::{begin, new_message};
use crate::epochs::{at_trust, proposed};

/// A store with sample data.
async fn fill(store: &Store) {
    for number in 1..=3 {
        let template = NewTemplate::new(format!("You are kind, {number}."), "alice", now());
        store.add_template(template).await.unwrap();
    }
    for name in ["c-1", "c-2"] {
        let conversation = begin(store, name).await;
        for number in 1..=3 {
            let message = format!("{name}-{number}");
            store.accept(new_message(&conversation, &message, "hello"), None).await.unwrap();
        }
        for trust in [Trust::Full, Trust::Inner, Trust::Familiar] {
            let next = at_trust(trust, proposed(&conversation, &format!("{name} at {trust}")));
            store.epoch_for(next).await.unwrap();
        }
    }
    let event =
        Event { metadata: Some(serde_json::json!({"a": 1})), ..Event::new(EventType::ApiCall, now()) };
    store.add_events(&[event.clone(), event]).await.unwrap();
}

/// Runs statements outside of the store.
async fn tamper(store: &TestStore, sql: &str) {
    match store.location().path() {
        Some(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            connection.pragma_update(None, "foreign_keys", false).unwrap();
            connection.execute_batch(sql).unwrap();
        }
        None => administer(&database(store), sql).await,
    }
}

/// The address of a test's database, which `Location` hides.
fn database(store: &TestStore) -> String {
    let server = server_under_test().unwrap();
    let (server, name) = (server.rsplit_once('/').unwrap().0, store.location().to_string());
    format!("{server}/{}", name.rsplit('/').next().unwrap())
}

async fn problems(store: &Store) -> Vec<String> {
    let report = store.check(|_| {}).await.unwrap();
    assert_eq!(report.more_problems, 0);
    let named = |problem: foreword_store::check::CheckProblem| {
        assert!(!problem.help.is_empty());
        format!("{}: {}", problem.table.unwrap_or("-"), problem.what)
    };
    report.problems.into_iter().map(named).collect()
}

/// What harms a store, what undoes it, and what the check reports.
const HARMS: &[(&str, &str, &str)] = &[
    (
        "UPDATE texts SET text = 'c-2 at fuil' WHERE text = 'c-2 at full'",
        "UPDATE texts SET text = 'c-2 at full' WHERE text = 'c-2 at fuil'",
        "texts: `text` of row `blake3:",
    ),
    (
        "UPDATE templates SET text = 'You are unkind.' WHERE version = 2",
        "UPDATE templates SET text = 'You are kind, 2.' WHERE version = 2",
        "templates: `text` of row `2` does not match its hash",
    ),
    (
        "UPDATE templates SET version = 9 WHERE version = 2",
        "UPDATE templates SET version = 2 WHERE version = 9",
        "templates: missing version of the template below `9`",
    ),
    (
        "UPDATE epochs SET number = 7 WHERE number = 3 AND conversation_id = 'c-1'",
        "UPDATE epochs SET number = 3 WHERE number = 7",
        "epochs: missing epoch in `c-1`",
    ),
    (
        "UPDATE conversations SET next_seq = 3 WHERE id = 'c-2'",
        "UPDATE conversations SET next_seq = 4 WHERE id = 'c-2'",
        "messages: a message has a number that was not allocated: `c-2 3`",
    ),
    (
        "UPDATE conversations SET next_seq = 9 WHERE id = 'c-2'",
        "UPDATE conversations SET next_seq = 4 WHERE id = 'c-2'",
        "messages: missing message in `c-2`",
    ),
    (
        "UPDATE messages SET role = 'zap' WHERE id = 'c-1-2'",
        "UPDATE messages SET role = 'user' WHERE id = 'c-1-2'",
        "messages: an unknown value is in message `c-1 2`",
    ),
    (
        "UPDATE messages SET content = '[' || content WHERE id = 'c-1-2'",
        "UPDATE messages SET content = substr(content, 2) WHERE id = 'c-1-2'",
        "messages: `content` of row `c-1`, `2` is not JSON",
    ),
    (
        "UPDATE messages SET created_at = '2026-11-16T08:00:00Z' WHERE id = 'c-1-2'",
        "UPDATE messages SET created_at = '2026-11-16T08:00:00.000000Z' WHERE id = 'c-1-2'",
        "messages: `created_at` of row `c-1`, `2` is not a time in the stored format",
    ),
    (
        "UPDATE events SET metadata = 'x' WHERE id = 1",
        "UPDATE events SET metadata = NULL WHERE id = 1",
        "events: `metadata` of row `1` is not JSON",
    ),
];

contract! {
    #[test]
    async fn sound_store_has_no_problems_and_counts_tables(store: TestStore) {
        assert_eq!(problems(&store).await, [""; 0]);
        fill(&store).await;
        let report = store.check(|_| {}).await.unwrap();
        assert_eq!(report.problems, []);
        assert_eq!(report.schema_version, 6);
        assert_eq!(report.place, store.location().to_string());
        assert!(report.bytes > 10_000, "{report:?}");
        assert!(["SQLite", "PostgreSQL"].contains(&report.engine) && report.engine_version.contains('.'));
        let table = |name| report.tables.iter().find(|table| table.name == name).unwrap();
        let rows = |name| table(name).rows;
        assert_eq!((rows("templates"), rows("messages"), rows("epochs"), rows("texts")), (3, 6, 6, 6));
        assert_eq!((rows("events"), rows("schema_migrations")), (2, 6));
        assert!(report.tables.iter().all(|table| table.bytes.is_some_and(|bytes| bytes > 0)), "{report:?}");
    }

    #[test]
    async fn check_reports_progress(store: TestStore) {
        fill(&store).await;
        let heard = Mutex::new(Vec::new());
        store.check(|progress| heard.lock().unwrap().push(progress)).await.unwrap();
        let heard = heard.into_inner().unwrap();
        assert!(heard.iter().all(|progress| progress.done <= progress.of && progress.of >= 20), "{heard:?}");
        assert!(heard.is_sorted_by_key(|progress| progress.done), "{heard:?}");
        assert!(heard.iter().any(|progress| progress.what == "messages"));
    }

    #[test]
    async fn tampering_is_detected_and_named(store: TestStore) {
        fill(&store).await;
        for (harm, undo, expected) in HARMS {
            tamper(&store, harm).await;
            let found = problems(&store).await;
            assert_eq!(found.len(), 1, "{harm}: {found:?}");
            assert!(found[0].starts_with(expected), "{harm}: {found:?}");
            tamper(&store, undo).await;
            assert_eq!(problems(&store).await, [""; 0], "{undo}");
        }
    }

    #[test]
    async fn list_of_problems_is_limited(store: TestStore) {
        let event = Event { metadata: Some(serde_json::json!({})), ..Event::new(EventType::ApiCall, now()) };
        store.add_events(&vec![event; 450]).await.unwrap();
        tamper(&store, "UPDATE events SET metadata = 'x'").await;
        let report = store.check(|_| {}).await.unwrap();
        assert_eq!((report.problems.len(), report.more_problems), (100, 350));
    }

    #[test]
    async fn check_covers_every_table(store: TestStore) {
        let report = store.check(|_| {}).await.unwrap();
        let mut checked: Vec<&str> = report.tables.iter().map(|table| table.name).collect();
        checked.sort_unstable();
        assert_eq!(checked, tables(&store).await);
    }
}

/// All tables except the engine's own.
async fn tables(store: &TestStore) -> Vec<String> {
    match store.location().path() {
        Some(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            let select = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name";
            let mut statement = connection.prepare(select).unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        }
        None => {
            let (client, connection) =
                tokio_postgres::connect(&database(store), tokio_postgres::NoTls).await.unwrap();
            let connection = tokio::spawn(connection);
            let select = "SELECT table_name::text COLLATE \"C\" FROM information_schema.tables
                          WHERE table_schema = 'public' AND table_name <> 'write_marks' ORDER BY 1";
            let rows = client.query(select, &[]).await.unwrap();
            drop(client);
            connection.await.unwrap().unwrap();
            rows.iter().map(|row| row.get(0)).collect()
        }
    }
}

#[tokio::test]
async fn check_finds_broken_references_and_indexes_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreword.db");
    let store = crate::sqlite::open(&path).await.unwrap();
    fill(&store).await;
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    connection.execute_batch("DELETE FROM texts WHERE text = 'c-1 at inner'").unwrap();
    let found = problems(&store).await;
    assert_eq!(
        found,
        ["-: epochs refers to 1 rows of texts that are not there", "epochs: no frozen text of epoch `c-1 2`"]
    );

    // An index over the wrong column looks like a lost write.
    let harm = "PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, 'last_activity_at, id', 'created_at, agent')
            WHERE name = 'idx_conversations_activity'";
    connection.execute_batch(harm).unwrap();
    drop(connection);
    drop(store);
    let found = problems(&crate::sqlite::open(&path).await.unwrap()).await;
    assert!(found.iter().any(|problem| problem.contains("idx_conversations_activity")), "{found:?}");
}
