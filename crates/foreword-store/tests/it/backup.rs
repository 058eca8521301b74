//! Backups are consistent snapshots, all or nothing, and restore into an empty store of either engine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use foreword_core::event::{Event, EventType};
use foreword_store::backup::Existing;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

use crate::contract::{contract, now};
use crate::conversations::{begin, new_message};
use crate::faults::SmallDisk;
use crate::sqlite::{open, template, texts};

/// Every row of every table of a SQLite file, except the record of migrations.
pub(crate) fn dump(path: &Path) -> BTreeMap<String, Vec<Vec<Value>>> {
    let connection = Connection::open(path).unwrap();
    let mut dump = BTreeMap::new();
    for table in tables(&connection) {
        let columns = columns(&connection, &table).len();
        let select = format!("SELECT * FROM {table} ORDER BY 1, 2");
        let mut statement = connection.prepare(&select).unwrap();
        let read = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
        let rows = statement.query_map([], read).unwrap().map(Result::unwrap).collect();
        dump.insert(table, rows);
    }
    dump
}

fn tables(connection: &Connection) -> Vec<String> {
    let select = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_migrations'";
    let mut statement = connection.prepare(select).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn columns(connection: &Connection, table: &str) -> Vec<String> {
    let mut statement = connection.prepare("SELECT type FROM pragma_table_info(?1)").unwrap();
    statement.query_map([table], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// A backup with rows in every table. All texts of a row are equal, so that references hold.
async fn full_backup(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("source.db");
    let store = open(&path).await.unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    for table in tables(&connection) {
        // More than one page.
        for number in 1..=450 {
            let value = |kind: &String| match kind.as_str() {
                "INTEGER" => number.to_string(),
                "REAL" => format!("{number}.5"),
                _ => format!("'row-{number} ÄÖ🦀 \"quoted\"'"),
            };
            let values: Vec<String> = columns(&connection, &table).iter().map(value).collect();
            connection.execute_batch(&format!("INSERT INTO {table} VALUES ({})", values.join(", "))).unwrap();
        }
    }
    connection.execute_batch("COMMIT").unwrap();
    let backup = folder.path().join("full.db");
    store.backup(&backup, Existing::Keep, |_| {}).await.unwrap();
    backup
}

contract! {
    #[test]
    async fn backup_round_trips_every_row(store: TestStore) {
        let folder = tempfile::tempdir().unwrap();
        let full = full_backup(&folder).await;
        let before = dump(&full);
        assert!(before.len() > 15 && before.values().all(|rows| rows.len() == 450));
        let restored = store.restore(&full, |_| {}).await.unwrap();
        assert_eq!((restored.rows, restored.schema_version), (before.len() as u64 * 450, 6));
        let copy = folder.path().join("copy.db");
        let backup = store.backup(&copy, Existing::Keep, |_| {}).await.unwrap();
        assert_eq!(backup.rows, restored.rows + 6);
        assert_eq!(backup.bytes, copy.metadata().unwrap().len());
        assert_eq!(dump(&copy), before);
        assert_eq!(dump(&full), before);
    }

    #[test]
    async fn restored_store_continues_with_unused_ids(store: TestStore) {
        let folder = tempfile::tempdir().unwrap();
        let full = full_backup(&folder).await;
        store.restore(&full, |_| {}).await.unwrap();
        store.add_events(&[Event::new(EventType::ApiCall, now())]).await.unwrap();
        assert_eq!(store.newest_event_id().await.unwrap(), 451);
    }

    #[test]
    async fn backup_is_a_snapshot_despite_concurrent_writes(store: TestStore) {
        let folder = tempfile::tempdir().unwrap();
        let writing = tokio::spawn({
            let store = store.open_again().await;
            async move {
                for number in 0.. {
                    let conversation = begin(&store, &format!("c-{number}")).await;
                    for message in 0..3 {
                        let message = format!("{conversation}-{message}");
                        store.accept(new_message(&conversation, &message, "hello"), None).await.unwrap();
                    }
                    store.add_template(template(&number.to_string())).await.unwrap();
                }
            }
        });
        let mut rows = Vec::new();
        for number in 0..4 {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            let path = folder.path().join(format!("{number}.db"));
            rows.push(store.backup(&path, Existing::Keep, |_| {}).await.unwrap().rows);
            let copy = open(&path).await.unwrap();
            assert_eq!(copy.check(|_| {}).await.unwrap().problems, []);
            // Each writer writes three messages before its template.
            let dump = dump(&path);
            assert!(dump["messages"].len() >= dump["templates"].len() * 3);
        }
        writing.abort();
        assert!(rows.is_sorted() && rows[0] < rows[3], "{rows:?}");
    }

    #[test]
    async fn backup_is_restored_only_into_an_empty_store(store: TestStore) {
        let folder = tempfile::tempdir().unwrap();
        let full = full_backup(&folder).await;
        store.add_template(template("mine")).await.unwrap();
        let error = store.restore(&full, |_| {}).await.unwrap_err();
        assert!(matches!(error, StoreError::NotEmpty { table: "templates", .. }), "{error}");
        assert_eq!(texts(&store).await, ["mine"]);
    }

    #[test]
    async fn failed_restore_leaves_the_store_empty(store: TestStore) {
        let folder = tempfile::tempdir().unwrap();
        let full = full_backup(&folder).await;
        let harm = "UPDATE workflow_runs SET workflow = 'a' || char(0) WHERE fence = 440";
        Connection::open(&full).unwrap().execute_batch(harm).unwrap();
        let error = store.restore(&full, |_| {}).await.unwrap_err();
        assert!(matches!(error, StoreError::ZeroByte), "{error}");
        let report = store.check(|_| {}).await.unwrap();
        let filled: Vec<_> = report.tables.iter().filter(|table| table.rows > 0).map(|table| table.name).collect();
        assert_eq!(filled, ["schema_migrations"]);
    }

    #[test]
    async fn backup_reports_progress(store: TestStore) {
        let folder = tempfile::tempdir().unwrap();
        let full = full_backup(&folder).await;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listen = || {
            let heard = Arc::clone(&heard);
            move |progress| heard.lock().unwrap().push(progress)
        };
        let rows = store.restore(&full, listen()).await.unwrap().rows;
        let restoring = std::mem::take(&mut *heard.lock().unwrap());
        assert!(restoring.len() > 20 && restoring.is_sorted_by_key(|progress| progress.done));
        assert_eq!(restoring.last().map(|progress| (progress.done, progress.of)), Some((rows, rows)));
        store.backup(&folder.path().join("copy.db"), Existing::Keep, listen()).await.unwrap();
        let saving = std::mem::take(&mut *heard.lock().unwrap());
        assert!(saving.last().unwrap().done > 0 && saving.iter().all(|progress| progress.done <= progress.of));
    }

    #[test]
    async fn backup_keeps_an_existing_file_unless_replacing(store: TestStore) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup.db");
        fs::write(&path, "precious").unwrap();
        let error = store.backup(&path, Existing::Keep, |_| {}).await.unwrap_err();
        assert!(matches!(error, StoreError::Exists { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        store.backup(&path, Existing::Replace, |_| {}).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(files(folder.path()), ["backup.db"]);

        fs::write(folder.path().join("backup.db-wal"), "in use").unwrap();
        let error = store.backup(&path, Existing::Replace, |_| {}).await.unwrap_err();
        assert!(error.to_string().contains("may be in use"), "{error}");
        for (nowhere, reason) in [("no/such/folder.db", "No such file"), ("", "it is not a file")] {
            let error = store.backup(&folder.path().join(nowhere), Existing::Keep, |_| {}).await.unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
        assert_eq!(files(folder.path()), ["backup.db", "backup.db-wal"]);
    }

    #[test]
    async fn failed_backup_leaves_no_files(store: TestStore) {
        let Some(disk) = SmallDisk::new(300 << 10) else {
            println!("SKIPPED: no small disk can be mounted here");
            return;
        };
        for number in 0..20 {
            store.add_template(template(&format!("{number} {}", "x".repeat(50_000)))).await.unwrap();
        }
        let error = store.backup(&disk.path().join("backup.db"), Existing::Keep, |_| {}).await.unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        assert_eq!(files(disk.path()), [""; 0]);
        assert_eq!(texts(&store).await.len(), 20);
    }

    #[test]
    async fn restore_refuses_other_files_unchanged(store: TestStore) {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::write(file("empty"), "").unwrap();
        fs::write(file("text"), "just a text, and quite a long one at that ".repeat(50)).unwrap();
        Connection::open(file("foreign")).unwrap().execute_batch("CREATE TABLE templates (version INTEGER)").unwrap();
        let full = full_backup(&folder).await;
        fs::copy(&full, file("newer")).unwrap();
        let newer = "INSERT INTO schema_migrations VALUES (99, 'newer', 'today')";
        Connection::open(file("newer")).unwrap().execute_batch(newer).unwrap();
        let whole = fs::read(&full).unwrap();
        fs::write(file("cut"), &whole[..whole.len() / 2]).unwrap();
        fs::copy(&full, file("dangling")).unwrap();
        let dangling = Connection::open(file("dangling")).unwrap();
        dangling.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM conversations WHERE next_seq = 7").unwrap();
        drop(dangling);
        for (name, expected) in [
            ("none", "can't open"),
            ("empty", "is not a Foreword database: it is empty"),
            ("text", "is not a Foreword database"),
            ("foreign", "is not a Foreword database: it was made by another program"),
            ("newer", "has schema version 99"),
            ("cut", "is damaged"),
            ("dangling", "refers to missing rows of conversations"),
        ] {
            let before = fs::read(file(name)).ok();
            let error = store.restore(&file(name), |_| {}).await.unwrap_err();
            assert!(error.to_string().contains(expected), "{name}: {error}");
            assert_eq!(fs::read(file(name)).ok(), before, "{name}");
        }
        assert_eq!(texts(&store).await, [""; 0]);
    }

    #[test]
    async fn older_backup_is_migrated_in_a_copy(store: TestStore) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("older.db");
        // As left by a program before the first version.
        let older = "PRAGMA application_id = 0x46777264;
            CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)";
        Connection::open(&path).unwrap().execute_batch(older).unwrap();
        let before = fs::read(&path).unwrap();
        let restored = store.restore(&path, |_| {}).await.unwrap();
        assert_eq!((restored.rows, restored.schema_version), (0, 0));
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(files(folder.path()), ["older.db"]);
    }
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    files
}

#[tokio::test]
async fn backup_never_replaces_its_own_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreword.db");
    let store: Store = open(&path).await.unwrap();
    store.add_template(template("mine")).await.unwrap();
    for way in [path.clone(), folder.path().join("./foreword.db")] {
        let error = store.backup(&way, Existing::Replace, |_| {}).await.unwrap_err();
        assert!(error.to_string().contains("it is the database itself"), "{error}");
    }
    store.add_template(template("still mine")).await.unwrap();
    assert_eq!(texts(&open(&path).await.unwrap()).await, ["mine", "still mine"]);
}
