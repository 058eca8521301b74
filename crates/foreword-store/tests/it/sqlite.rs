//! Tests of SQLite alone: the file, its permissions, its owner, and concurrent processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use foreword_store::error::StoreError;
use foreword_store::location::Location;
use foreword_store::store::Store;
use foreword_store::templates::NewTemplate;
use rusqlite::Connection;

use crate::child;
use crate::contract::now;

pub(crate) async fn open(path: &Path) -> Result<Store, StoreError> {
    Store::open(&Location::file(path), now()).await
}

pub(crate) fn template(text: &str) -> NewTemplate {
    NewTemplate::new(text, "alice", now())
}

pub(crate) async fn texts(store: &Store) -> Vec<String> {
    let newest_first = store.template_history().await.unwrap();
    newest_first.into_iter().rev().map(|template| template.text).collect()
}

fn permissions(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn files_and_folder_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("workspace/.foreword/foreword.db");
    let store = open(&path).await.unwrap();
    store.add_template(template("private")).await.unwrap();
    assert_eq!(permissions(path.parent().unwrap()), 0o700);
    for file in ["foreword.db", "foreword.db-wal", "foreword.db-shm"] {
        assert_eq!(permissions(&path.with_file_name(file)), 0o600, "{file}");
    }
}

#[tokio::test]
async fn empty_file_is_a_new_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreword.db");
    fs::write(&path, "").unwrap();
    let store = open(&path).await.unwrap();
    store.add_template(template("first")).await.unwrap();
    assert_eq!(texts(&store).await, ["first"]);
}

#[tokio::test]
async fn database_of_another_program_is_refused_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let with_tables = "CREATE TABLE templates (version INTEGER); INSERT INTO templates VALUES (1)";
    for (number, sql) in
        [with_tables, "PRAGMA application_id = 7", "CREATE VIEW v AS SELECT 1"].iter().enumerate()
    {
        let path = folder.path().join(format!("{number}.db"));
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(&path).unwrap();
        let error = open(&path).await.unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{sql}: {error}");
        assert_eq!(fs::read(&path).unwrap(), before, "{sql}");
        assert!(!path.with_file_name(format!("{number}.db-wal")).exists());
    }
}

#[tokio::test]
async fn newer_database_version_is_refused_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreword.db");
    open(&path).await.unwrap().close().await.unwrap();
    let newer = "INSERT INTO schema_migrations VALUES (99, 'newer', '2026-11-16T08:00:00.000000Z')";
    Connection::open(&path).unwrap().execute_batch(newer).unwrap();
    let before = fs::read(&path).unwrap();
    let error = open(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::NewerSchema { found: 99, .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn readers_and_writer_do_not_block_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreword.db");
    let store = open(&path).await.unwrap();
    store.add_template(template("one")).await.unwrap();
    let mut other = Connection::open(&path).unwrap();
    let soon = Duration::from_secs(2);

    let reading = other.transaction().unwrap();
    let count = |reading: &Connection| -> i64 {
        reading.query_row("SELECT COUNT(*) FROM templates", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count(&reading), 1);
    tokio::time::timeout(soon, store.add_template(template("two"))).await.unwrap().unwrap();
    assert_eq!(count(&reading), 1, "a reader keeps seeing the moment it began");
    drop(reading);

    other.execute_batch("BEGIN IMMEDIATE; DELETE FROM templates").unwrap();
    let seen = tokio::time::timeout(soon, texts(&store)).await.unwrap();
    assert_eq!(seen, ["one", "two"], "nobody sees what is not committed");
}

#[test]
#[ignore = "a process that other tests start"]
fn opens_a_new_database_and_adds_a_template() {
    let Some(place) = child::place() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = open(Path::new(&place)).await.unwrap();
        let text = format!("of process {}", std::process::id());
        store.add_template(template(&text)).await.unwrap();
        child::say(&text);
    });
}

#[tokio::test]
async fn concurrent_database_creation_loses_nothing() {
    for _ in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".foreword/foreword.db");
        let start =
            |_| child::spawn("sqlite::opens_a_new_database_and_adds_a_template", path.to_str().unwrap());
        let mut children: Vec<_> = (0..6).map(start).collect();
        let mut said: Vec<String> = Vec::new();
        for child in &mut children {
            said.extend(child::output_lines(child));
            assert!(child.wait().unwrap().success(), "{said:?}");
        }
        let store = open(&path).await.unwrap();
        let mut stored = texts(&store).await;
        stored.sort();
        said.sort();
        assert_eq!((stored.len(), stored), (6, said));
        assert_eq!(store.check(|_| {}).await.unwrap().problems, []);
    }
}
