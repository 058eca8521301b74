//! Faults of files, folders and disks end in a clear error or a recovery, without data loss.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use foreword_store::error::StoreError;
use foreword_store::location::Location;
use foreword_store::store::Store;
use tempfile::TempDir;

use crate::child;
use crate::contract::{contract, now};
use crate::sqlite::{open, template, texts};

contract! {
    #[test]
    async fn close_waits_and_later_operations_fail(store: TestStore) {
        let shared = store.open_again().await;
        let writers: Vec<_> = (0..20)
            .map(|number| {
                let store = shared.clone();
                tokio::spawn(async move { store.add_template(template(&number.to_string())).await })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(5)).await;
        shared.clone().close().await.unwrap();
        let mut done = 0;
        for writer in writers {
            done += usize::from(writer.await.unwrap().is_ok());
        }
        assert_eq!(texts(&store).await.len(), done);
        let error = shared.add_template(template("too late")).await.unwrap_err();
        assert!(error.to_string().contains("the store is closed"), "{error}");
        assert!(shared.template().await.is_err());
        shared.close().await.unwrap();
    }
}

/// A folder on its own small file system.
pub(crate) struct SmallDisk(TempDir);

impl SmallDisk {
    /// `None` without the privileges to mount one. Another test covers the same with a SQLite limit.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={bytes},mode=700");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(folder.path()).output();
        mount.is_ok_and(|mount| mount.status.success()).then(|| Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).output();
    }
}

#[tokio::test]
async fn full_disk_acknowledges_nothing_unstored_and_recovers() {
    let Some(disk) = SmallDisk::new(4 << 20) else {
        println!("SKIPPED: no small disk can be mounted here");
        return;
    };
    let path = disk.path().join("foreword.db");
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![0; 2 << 20]).unwrap();
    let store = open(&path).await.unwrap();
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    for round in 0..40 {
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let (store, text) = (store.clone(), format!("{round} {writer} {}", "x".repeat(20_000)));
                tokio::spawn(async move { (store.add_template(template(&text)).await, text) })
            })
            .collect();
        for writer in writers {
            match writer.await.unwrap() {
                (Ok(_), text) => acknowledged.push(text),
                (Err(error), _) => {
                    assert!(matches!(error, StoreError::Full { .. }), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(
        refused > 0 && !acknowledged.is_empty(),
        "{refused} refused, {} acknowledged",
        acknowledged.len()
    );
    assert_eq!(texts(&store).await.len(), acknowledged.len());

    fs::remove_file(&ballast).unwrap();
    let text = format!("with new room {}", "x".repeat(20_000));
    store.add_template(template(&text)).await.unwrap();
    acknowledged.push(text);
    let mut stored = texts(&store).await;
    stored.sort();
    acknowledged.sort();
    assert_eq!(stored, acknowledged);
    assert_eq!(store.check(|_| {}).await.unwrap().problems, []);
    store.close().await.unwrap();
    assert_eq!(texts(&open(&path).await.unwrap()).await.len(), acknowledged.len());
}

#[tokio::test]
async fn full_disk_leaves_no_partial_database() {
    let Some(disk) = SmallDisk::new(2 << 20) else {
        println!("SKIPPED: no small disk can be mounted here");
        return;
    };
    let path = disk.path().join("foreword.db");
    let ballast = disk.path().join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    drop(file);
    let error = open(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    fs::remove_file(&ballast).unwrap();
    let store = open(&path).await.unwrap();
    store.add_template(template("with room")).await.unwrap();
}

#[test]
#[ignore = "a process that other tests start"]
fn tries_to_write() {
    let Some(place) = child::place() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let written = match open(Path::new(&place)).await {
            Ok(store) => store.add_template(template("written")).await.map(|_| ()),
            Err(error) => Err(error),
        };
        let kind = match &written {
            Ok(()) => "written",
            Err(StoreError::ReadOnly { .. }) => "read only",
            Err(_) => "another error",
        };
        child::say(kind);
        child::say(&written.map_or_else(|error| error.to_string(), |()| String::new()));
    });
}

/// The results of writing to a new or existing file with these permissions.
async fn tried(folder: u32, file: Option<u32>) -> (PathBuf, Vec<String>) {
    let temporary = tempfile::tempdir().unwrap();
    let everybody = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    everybody(temporary.path(), 0o755);
    let inner = temporary.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let path = inner.join("foreword.db");
    if let Some(mode) = file {
        open(&path).await.unwrap().close().await.unwrap();
        everybody(&path, mode);
    }
    everybody(&inner, folder);
    let before = fs::read(&path).ok();
    let said = child::as_somebody(temporary.path(), "faults::tries_to_write", &path);
    if said[0] != "written" {
        assert_eq!(fs::read(&path).ok(), before);
    }
    everybody(&inner, 0o755);
    (path, said)
}

#[tokio::test]
async fn read_only_directory_error_names_the_path() {
    let (path, said) = tried(0o555, None).await;
    assert_eq!(said[0], "read only", "{said:?}");
    assert!(said[1].contains("the folder belongs to user"), "{said:?}");
    assert!(said[1].contains("0555") && said[1].contains(path.to_str().unwrap()), "{said:?}");

    let (_, said) = tried(0o777, Some(0o444)).await;
    assert_eq!(said[0], "read only", "{said:?}");
    assert!(said[1].contains("the file belongs to user") && said[1].contains("0444"), "{said:?}");

    // The file is writable, but its log can't be created.
    let (_, said) = tried(0o555, Some(0o666)).await;
    assert_eq!(said[0], "read only", "{said:?}");

    let (_, said) = tried(0o777, Some(0o666)).await;
    assert_eq!(said[0], "written", "{said:?}");
}

#[tokio::test]
async fn folder_error_names_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for path in ["file/foreword.db", "file/.foreword/foreword.db", "."] {
        let error = open(&folder.path().join(path)).await.unwrap_err();
        assert!(matches!(error, StoreError::Unreachable { .. }), "{path}: {error}");
    }
}

/// A database with a few pages of templates, closed.
async fn filled(folder: &Path) -> PathBuf {
    let path = folder.join("foreword.db");
    let store = open(&path).await.unwrap();
    for number in 0..30 {
        store.add_template(template(&format!("{number} {}", "words ".repeat(300)))).await.unwrap();
    }
    store.close().await.unwrap();
    path
}

#[tokio::test]
async fn damaged_database_header_is_refused_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path()).await;
    let mut bytes = fs::read(&path).unwrap();
    bytes[..100].fill(0xA5);
    fs::write(&path, &bytes).unwrap();
    let error = open(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains("its first page is damaged"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[tokio::test]
async fn truncated_file_is_refused_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path()).await;
    let mut bytes = fs::read(&path).unwrap();
    for length in [bytes.len() - 4096, bytes.len() / 2, 4096 * 3 + 17, 4096, 700, 50] {
        bytes.truncate(length);
        fs::write(&path, &bytes).unwrap();
        let error = open(&path).await.unwrap_err();
        assert!(
            matches!(error, StoreError::Corrupt { .. } | StoreError::Foreign { .. }),
            "{length} bytes left: {error}"
        );
        assert!(!error.help().is_empty());
        assert_eq!(fs::read(&path).unwrap(), bytes, "{length} bytes left");
    }
}

#[tokio::test]
async fn flipped_byte_is_never_returned_as_stored_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path()).await;
    let good = fs::read(&path).unwrap();
    let original = texts(&open(&path).await.unwrap()).await;
    let mut noticed = 0;
    for position in (100..good.len()).step_by(1_499) {
        let copy = folder.path().join(format!("{position}.db"));
        let mut bytes = good.clone();
        bytes[position] ^= 0x55;
        fs::write(&copy, &bytes).unwrap();
        noticed += usize::from(is_noticed(&copy, &original).await);
        assert!(copy.exists());
    }
    assert!(noticed > 20, "only {noticed} were noticed");
}

/// Whether opening or reading reports damage; if not, the data must be unchanged.
async fn is_noticed(path: &Path, original: &[String]) -> bool {
    let Ok(store) = open(path).await else { return true };
    let problems = store.check(|_| {}).await.map_or(1, |report| report.problems.len());
    let read = store.template_history().await;
    if problems == 0 {
        let texts: Vec<String> = read.unwrap().into_iter().rev().map(|template| template.text).collect();
        assert_eq!(texts, original, "{}", path.display());
    }
    problems > 0
}

#[tokio::test]
async fn deleted_file_is_detected_and_recreated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".foreword/foreword.db");
    let store = open(&path).await.unwrap();
    store.add_template(template("one")).await.unwrap();
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let error = store.add_template(template("two")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("deleted or replaced"), "{error}");

    let again = open(&path).await.unwrap();
    assert_eq!(texts(&again).await, [""; 0]);
    again.add_template(template("three")).await.unwrap();
    assert!(store.add_template(template("four")).await.is_err(), "it would go to the deleted file");
    assert_eq!(texts(&again).await, ["three"]);
    assert!(Store::open_existing(&Location::file(&path), now()).await.unwrap().is_some());
}

#[test]
#[ignore = "a process that other tests start"]
fn locks_the_database_until_released() {
    let Some(place) = child::place() else { return };
    let connection = rusqlite::Connection::open(place).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    child::say("held");
    let _ = std::io::stdin().read(&mut [0]).unwrap();
}

#[tokio::test]
async fn writer_waits_for_another_process_then_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreword.db");
    let store = open(&path).await.unwrap();
    let hold = || {
        let name = "faults::locks_the_database_until_released";
        let mut child = child::spawn(name, path.to_str().unwrap());
        assert_eq!(child::output_lines(&mut child).next().unwrap(), "held");
        child
    };
    let mut child = hold();
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.add_template(template("patient")).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished());
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    waiting.await.unwrap().unwrap();
    child.wait().unwrap();

    let mut child = hold();
    let (one, two) = tokio::join!(
        store.add_template(template("in vain")),
        // Opening an up-to-date database does not wait.
        async { open(&path).await.unwrap().template().await }
    );
    assert!(matches!(one, Err(StoreError::Locked { .. })), "{one:?}");
    assert_eq!(two.unwrap().unwrap().text, "patient");
    drop(child.stdin.take());
    child.wait().unwrap();
    store.add_template(template("again")).await.unwrap();
    assert_eq!(texts(&store).await, ["patient", "again"]);
}

#[test]
#[ignore = "a process that other tests start"]
fn writes_and_exits_without_closing() {
    let Some(place) = child::place() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = open(Path::new(&place)).await.unwrap();
        for number in 0..20 {
            store.add_template(template(&number.to_string())).await.unwrap();
        }
        std::process::abort();
    });
}

#[tokio::test]
async fn torn_log_of_a_crash_is_recovered() {
    for torn in [0, 1, 5_000] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("foreword.db");
        let mut child = child::spawn("faults::writes_and_exits_without_closing", path.to_str().unwrap());
        assert!(!child.wait().unwrap().success());
        let log = folder.path().join("foreword.db-wal");
        assert!(log.metadata().unwrap().len() > 0);
        OpenOptions::new().append(true).open(&log).unwrap().write_all(&vec![0x5A; torn]).unwrap();
        let store = open(&path).await.unwrap();
        let expected: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        assert_eq!(texts(&store).await, expected, "{torn} bytes of a torn write");
        store.add_template(template("more")).await.unwrap();
        assert_eq!(store.check(|_| {}).await.unwrap().problems, []);
    }
}
