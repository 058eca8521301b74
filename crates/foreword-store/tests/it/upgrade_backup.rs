//! A SQLite file of an older version is backed up before its first migration, or not migrated.

use std::fs;
use std::path::{Path, PathBuf};

use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::location::Location;
use foreword_store::migrated::Migrated;
use foreword_store::store::Store;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::backup::dump;
use crate::contract::now;
use crate::faults::SmallDisk;
use crate::sqlite::open;

/// A database that Foreword 0.1.0 has written.
const VERSION_0_1_0: &str = include_str!("../fixtures/0.1.0.sql");

/// The ending of the backup's name.
const BEFORE: &str = concat!(".before-", env!("CARGO_PKG_VERSION"));

fn old_database(folder: &Path) -> PathBuf {
    let path = folder.join("foreword.db");
    Connection::open(&path).unwrap().execute_batch(VERSION_0_1_0).unwrap();
    path
}

fn version(path: &Path) -> u32 {
    let select = "SELECT MAX(version) FROM schema_migrations";
    Connection::open(path).unwrap().query_row(select, [], |row| row.get(0)).unwrap()
}

fn backups(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut backups: Vec<String> = names.filter(|name| name.contains(".before-")).collect();
    backups.sort();
    backups
}

async fn history(store: &Store) -> usize {
    let alice = ConversationId::new("c-alice").unwrap();
    store.history_at(&alice, Trust::Full).await.unwrap().messages.len()
}

#[tokio::test]
async fn old_database_is_backed_up_before_its_migration() {
    let folder = TempDir::new().unwrap();
    let path = old_database(folder.path());
    let before = dump(&path);
    let store = open(&path).await.unwrap();
    let backup = folder.path().join(format!("foreword.db{BEFORE}"));
    assert_eq!(store.migrated(), Some(&Migrated { from: 5, to: 6, backup: Some(backup.clone()) }));
    assert!(history(&store).await > 0);
    assert_eq!(store.check(|_| {}).await.unwrap().problems, []);
    store.close().await.unwrap();
    assert_eq!((version(&path), version(&backup)), (6, 5));
    assert_eq!(dump(&backup), before);

    let store = open(&path).await.unwrap();
    assert_eq!(store.migrated(), None);
    store.close().await.unwrap();
    assert_eq!(backups(folder.path()), [format!("foreword.db{BEFORE}")]);
}

#[tokio::test]
async fn new_database_needs_no_backup() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder.path().join("foreword.db")).await.unwrap();
    assert_eq!(store.migrated(), None);
    assert_eq!(backups(folder.path()), [""; 0]);
}

#[tokio::test]
async fn backup_restores_into_a_new_store() {
    let folder = TempDir::new().unwrap();
    let old = open(&old_database(folder.path())).await.unwrap();
    let backup = old.migrated().unwrap().backup.clone().unwrap();
    let store = open(&folder.path().join("other.db")).await.unwrap();
    assert_eq!(store.restore(&backup, |_| {}).await.unwrap().schema_version, 5);
    assert_eq!(history(&store).await, history(&old).await);
    // A restore migrates a copy, which needs no backup of its own.
    assert_eq!(backups(folder.path()), [format!("foreword.db{BEFORE}")]);
}

#[tokio::test]
async fn existing_backup_is_never_overwritten() {
    let folder = TempDir::new().unwrap();
    let path = old_database(folder.path());
    let first = folder.path().join(format!("foreword.db{BEFORE}"));
    fs::write(&first, "an earlier backup").unwrap();
    fs::write(folder.path().join(format!("foreword.db{BEFORE}.77-0.partial")), "half a backup").unwrap();
    let store = open(&path).await.unwrap();
    let second = folder.path().join(format!("foreword.db{BEFORE}-2"));
    assert_eq!(store.migrated().unwrap().backup.as_deref(), Some(second.as_path()));
    assert_eq!((fs::read_to_string(first).unwrap().as_str(), version(&second)), ("an earlier backup", 5));
    assert_eq!(backups(folder.path()).len(), 2);
}

#[tokio::test]
async fn concurrent_opens_write_one_backup() {
    let folder = TempDir::new().unwrap();
    let path = old_database(folder.path());
    let opened: Vec<_> = (0..4)
        .map(|_| {
            let location = Location::file(&path);
            tokio::spawn(async move { Store::open(&location, now()).await.unwrap().migrated().is_some() })
        })
        .collect();
    let mut migrated = 0;
    for one in opened {
        migrated += usize::from(one.await.unwrap());
    }
    assert_eq!(migrated, 1);
    assert_eq!(backups(folder.path()), [format!("foreword.db{BEFORE}")]);
}

#[tokio::test]
async fn full_disk_prevents_the_migration() {
    let Some(disk) = SmallDisk::new(2 << 20) else {
        println!("SKIPPED: no small disk can be mounted here");
        return;
    };
    let path = old_database(disk.path());
    let before = dump(&path);
    // Leaves room for the write-ahead log, but not for a copy.
    let free = (2 << 20) - fs::metadata(&path).unwrap().len() - (200 << 10);
    fs::write(disk.path().join("ballast"), vec![0; usize::try_from(free).unwrap()]).unwrap();
    let error = open(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::NoBackup { .. }), "{error}");
    assert!(error.to_string().contains("no room to write"), "{error}");
    assert!(error.help().contains("nothing was changed"), "{}", error.help());
    assert_eq!((version(&path), dump(&path), backups(disk.path())), (5, before, vec![]));

    fs::remove_file(disk.path().join("ballast")).unwrap();
    assert!(open(&path).await.unwrap().migrated().is_some());
}

#[tokio::test]
async fn failed_migration_leaves_no_backup() {
    let folder = TempDir::new().unwrap();
    let path = old_database(folder.path());
    // The migration wants to create this table.
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE source_versions (x TEXT)").unwrap();
    let error = open(&path).await.unwrap_err();
    assert!(error.to_string().contains("source_versions"), "{error}");
    assert_eq!((version(&path), backups(folder.path())), (5, vec![]));
}
