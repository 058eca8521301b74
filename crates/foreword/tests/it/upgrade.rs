//! A workspace of Foreword 0.1.0 under this version: its database is backed up, migrated once, and complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::program::{Home, Ran};
use crate::server_process::Serving;

const VERSION_0_1_0: &str = include_str!("../../../foreword-store/tests/fixtures/0.1.0.sql");
const BACKUP: &str = concat!(".foreword/foreword.db.before-", env!("CARGO_PKG_VERSION"));

/// A workspace with the database of 0.1.0.
fn old_home() -> Home {
    let home = Home::made_for("sovereign");
    fs::create_dir_all(home.path().join(".foreword")).unwrap();
    database(&database_path(&home)).execute_batch(VERSION_0_1_0).unwrap();
    home
}

fn database_path(home: &Home) -> PathBuf {
    home.path().join(".foreword/foreword.db")
}

fn database(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

fn version(path: &Path) -> u32 {
    let select = "SELECT MAX(version) FROM schema_migrations";
    database(path).query_row(select, [], |row| row.get(0)).unwrap()
}

fn backups(home: &Home) -> Vec<String> {
    home.listing().into_iter().filter(|path| path.contains(".before-")).collect()
}

fn succeed(home: &Home, args: &[&str]) -> Ran {
    let ran = home.run(args);
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
    ran
}

#[test]
fn database_of_0_1_0_is_backed_up_and_complete() {
    let home = old_home();
    let first = succeed(&home, &["conversations", "list"]);
    assert!(first.stdout.contains("c-alice"), "{}", first.stdout);
    let notice = "from schema version 5 to 6; its backup is `";
    assert!(first.stderr.contains(notice) && first.stderr.contains(BACKUP), "{}", first.stderr);
    assert_eq!(backups(&home), [BACKUP]);
    assert_eq!((version(&database_path(&home)), version(&home.path().join(BACKUP))), (6, 5));

    let shown = succeed(&home, &["conversations", "show", "c-alice"]);
    assert!(shown.stdout.contains("hello") && shown.stdout.contains("offline model"), "{}", shown.stdout);
    assert!(!shown.stderr.contains("migrated"), "{}", shown.stderr);
    assert!(home.succeed(&["store", "check"]).contains("No problems found."));
    assert!(home.succeed(&["layers", "show", "7"]).contains("Answer within a day."));
    assert!(home.succeed(&["inbox", "list"]).contains("bob"));
    assert!(home.succeed(&["token", "list"]).contains("reader"));
    assert!(home.succeed(&["chat", "--conversation", "c-alice", "hello again"]).contains("offline model"));
    let events = home.succeed(&["--json", "logs", "--type", "store_migrated"]);
    assert_eq!(events.lines().count(), 1, "{events}");
    assert!(events.contains(BACKUP), "{events}");
    assert_eq!(backups(&home), [BACKUP]);

    let other = Home::made_for("sovereign");
    let backup = home.path().join(BACKUP);
    other.succeed(&["store", "restore", backup.to_str().unwrap()]);
    assert!(other.succeed(&["conversations", "list"]).contains("c-alice"));
}

#[test]
fn server_logs_the_migration_and_the_backup() {
    let home = old_home();
    let serving = Serving::start(&home, &[]);
    let path = home.path().join(".foreword/logs/foreword.log");
    let end = Instant::now() + Duration::from_secs(30);
    let line = loop {
        let log = fs::read_to_string(&path).unwrap_or_default();
        if let Some(line) = log.lines().find(|line| line.contains("\"store_migrated\"")) {
            break line.to_owned();
        }
        assert!(Instant::now() < end, "{log}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(line.contains(BACKUP) && line.contains("\"from\":5"), "{line}");
    drop(serving);
    assert_eq!(backups(&home), [BACKUP]);
}

#[test]
fn processes_that_start_together_make_one_backup() {
    let home = old_home();
    let spawn = || {
        home.command(&["conversations", "list"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let ran = [spawn(), spawn(), spawn()].map(|child| Ran::of(child.wait_with_output().unwrap()));
    for one in &ran {
        assert!(one.code == 0 && one.stdout.contains("c-alice"), "{}", one.stderr);
    }
    let notices = ran.iter().filter(|one| one.stderr.contains("migrated the database")).count();
    assert_eq!((notices, backups(&home)), (1, vec![BACKUP.to_owned()]));
}

#[test]
fn database_without_a_backup_is_not_migrated() {
    let home = old_home();
    // Every name that a backup could have is taken.
    home.write(BACKUP, "another file");
    for number in 2..=9 {
        home.write(&format!("{BACKUP}-{number}"), "another file");
    }
    let ran = home.run(&["conversations", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("can't back up the database"), "{}", ran.stderr);
    assert!(ran.stderr.contains("help: ") && ran.stderr.contains("nothing was changed"), "{}", ran.stderr);
    assert_eq!(version(&database_path(&home)), 5);
    assert_eq!(backups(&home).len(), 9);
    assert_eq!(fs::read_to_string(home.path().join(BACKUP)).unwrap(), "another file");

    home.remove(BACKUP);
    assert!(home.succeed(&["conversations", "list"]).contains("c-alice"));
    assert_eq!((version(&database_path(&home)), version(&home.path().join(BACKUP))), (6, 5));
}
