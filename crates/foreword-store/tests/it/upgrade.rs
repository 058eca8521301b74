//! Opening a database of an older version migrates it and keeps its data.

use foreword_core::id::InboxId;
use foreword_store::location::Location;
use foreword_store::migrated::Migrated;
use foreword_store::store::Store;
use rusqlite::Connection;

use crate::contract::{administer, create_database, drop_database, now, server_under_test};

/// The tables of version 1 that later migrations change, in creation order.
macro_rules! first_tables {
    ($engine:literal) => {
        [
            include_str!(concat!("../../migrations/0001_first/", $engine, "/templates.sql")),
            include_str!(concat!("../../migrations/0001_first/", $engine, "/conversations.sql")),
            include_str!(concat!("../../migrations/0001_first/", $engine, "/turns.sql")),
            include_str!(concat!("../../migrations/0001_first/", $engine, "/layers.sql")),
            include_str!(concat!("../../migrations/0001_first/", $engine, "/senders.sql")),
            include_str!(concat!("../../migrations/0001_first/", $engine, "/events.sql")),
            include_str!(concat!("../../migrations/0001_first/", $engine, "/observations.sql")),
            include_str!(concat!("../../migrations/0001_first/", $engine, "/schedules.sql")),
            include_str!(concat!("../../migrations/0001_first/", $engine, "/tokens.sql")),
            include_str!(concat!("../../migrations/0001_first/", $engine, "/workflow_runs.sql")),
        ]
    };
}

/// The data of the old database.
const ROWS: &str = "
    CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL);
    INSERT INTO schema_migrations VALUES (1, 'first', '2026-11-16T08:00:00.000000Z');
    INSERT INTO inbox (id, sender, body, received_at, state)
        VALUES ('m-1', 'alice', 'hello', '2026-11-16T08:00:00.000000Z', 'staged');
    INSERT INTO schedules (name, cron, time_zone, enabled, created_at, updated_at)
        VALUES ('nightly', '0 3 * * *', 'UTC', 1, '2026-11-16T08:00:00.000000Z', '2026-11-16T08:00:00.000000Z');
    INSERT INTO schedule_firings (schedule, due_at, node, claimed_at, ended_at, error) VALUES
        ('nightly', '2026-11-14T03:00:00.000000Z', 'n', '2026-11-14T03:00:00.000000Z', '2026-11-14T03:00:01.000000Z', NULL),
        ('nightly', '2026-11-15T03:00:00.000000Z', 'n', '2026-11-15T03:00:00.000000Z', '2026-11-15T03:00:01.000000Z', 'no answer');";

async fn everything_is_still_there(location: &Location) {
    let store = Store::open(location, now()).await.unwrap();
    let message = store.inbox_message(&InboxId::new("m-1").unwrap()).await.unwrap();
    assert_eq!((message.sender.as_str(), message.body.as_str()), ("alice", "hello"));
    let firings = store.firings("nightly", 10).await.unwrap();
    let errors: Vec<_> = firings.iter().map(|firing| firing.error.as_deref()).collect();
    assert_eq!(errors, [Some("no answer"), None]);
    let report = store.check(|_| {}).await.unwrap();
    assert_eq!((report.schema_version, report.problems), (6, vec![]));
    store.close().await.unwrap();
}

#[tokio::test]
async fn first_sqlite_version_is_migrated_with_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreword.db");
    // A new empty store has the application id of our files.
    Store::open(&Location::file(&path), now()).await.unwrap().close().await.unwrap();
    let today = Connection::open(&path).unwrap();
    let id: i64 = today.query_row("PRAGMA application_id", [], |row| row.get(0)).unwrap();
    let old = folder.path().join("old.db");
    let connection = Connection::open(&old).unwrap();
    connection.execute_batch(&format!("PRAGMA application_id = {id}")).unwrap();
    for part in first_tables!("sqlite") {
        connection.execute_batch(part).unwrap();
    }
    connection.execute_batch(ROWS).unwrap();
    drop(connection);
    everything_is_still_there(&Location::file(&old)).await;
    everything_is_still_there(&Location::file(&old)).await;
}

#[tokio::test]
async fn first_postgres_version_is_migrated_with_its_data() {
    let Some(server) = server_under_test() else { return };
    let database = create_database(&server).await;
    for part in first_tables!("postgres") {
        administer(&database, part).await;
    }
    administer(&database, ROWS).await;
    let location = Location::parse(&database, std::path::Path::new("/")).unwrap();
    let store = Store::open(&location, now()).await.unwrap();
    assert_eq!(store.migrated(), Some(&Migrated { from: 1, to: 6, backup: None }));
    store.close().await.unwrap();
    everything_is_still_there(&location).await;
    drop_database(&server, &database).await;
}
