use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use foreword_core::timestamp::Timestamp;
use foreword_observe::error::ObserveError;
use foreword_observe::lines::file::{FileSettings, LogFile};
use foreword_observe::lines::queue::{LineQueue, LineWriter};
use foreword_observe::lines::{LineForm, LineSink};
use tempfile::TempDir;

const DAY: i64 = 86_400_000_000;
/// 2026-11-15, noon.
const NOON: i64 = 1_794_744_000_000_000;

/// A folder with a log, and its clock.
struct LogFolder {
    folder: TempDir,
    now: Arc<AtomicI64>,
}

impl LogFolder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), now: Arc::new(AtomicI64::new(NOON)) }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("logs/foreword.log")
    }

    fn log(&self, max_days: u32, max_bytes: u64) -> LogFile {
        let settings = FileSettings { path: self.path(), max_days, max_bytes };
        LogFile::open(settings, self.clock()).unwrap()
    }

    fn clock(&self) -> Arc<dyn Fn() -> Timestamp + Send + Sync> {
        let now = Arc::clone(&self.now);
        Arc::new(move || Timestamp::from_micros(now.load(Ordering::SeqCst)))
    }

    fn days_pass(&self, days: i64) {
        self.now.fetch_add(days * DAY, Ordering::SeqCst);
    }

    /// A line with the current time.
    fn line(&self, text: &str) -> String {
        let at = Timestamp::from_micros(self.now.load(Ordering::SeqCst));
        format!("{{\"ts\":\"{at}\",\"text\":\"{text}\"}}\n")
    }

    /// The visible files in the folder with their number of lines.
    fn files(&self) -> Vec<(String, usize)> {
        let entries = fs::read_dir(self.path().parent().unwrap()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<_> = names
            .filter(|name| !name.starts_with('.'))
            .map(|name| (name.clone(), self.count(&name)))
            .collect();
        files.sort();
        files
    }

    fn count(&self, name: &str) -> usize {
        fs::read_to_string(self.path().with_file_name(name)).unwrap().lines().count()
    }
}

fn expected(files: &[(&str, usize)]) -> Vec<(String, usize)> {
    files.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[test]
fn s14_9_daily_rotation_names_files_by_date() {
    let logs = LogFolder::new();
    let mut log = logs.log(30, 1_000_000);
    log.write(&[logs.line("a"), logs.line("b")]).unwrap();
    logs.days_pass(1);
    log.write(&[logs.line("c")]).unwrap();
    assert_eq!(logs.files(), expected(&[("foreword.2026-11-15.log", 2), ("foreword.log", 1)]));
    drop(log);
    logs.days_pass(2);
    logs.log(30, 1_000_000).write(&[logs.line("d")]).unwrap();
    let files = [("foreword.2026-11-15.log", 2), ("foreword.2026-11-16.log", 1), ("foreword.log", 1)];
    assert_eq!(logs.files(), expected(&files), "a process that starts later turns it over too");
}

#[test]
fn s14_9_full_file_is_rotated_without_overwriting() {
    let logs = LogFolder::new();
    let room = logs.line("0").len() as u64 * 2;
    let lines: Vec<String> = (0..7).map(|n| logs.line(&n.to_string())).collect();
    logs.log(30, room).write(&lines[..5]).unwrap();
    // Another process, later on the same day.
    logs.log(30, room).write(&lines[5..]).unwrap();
    logs.days_pass(1);
    logs.log(30, room).write(&[logs.line("x")]).unwrap();
    let day = |rest: &str, count| (format!("foreword.2026-11-15{rest}.log"), count);
    let files = [day(".1", 2), day(".2", 2), day(".3", 2), day("", 1), ("foreword.log".to_owned(), 1)];
    assert_eq!(logs.files(), files);
}

#[test]
fn second_rotation_in_a_day_gets_another_name() {
    let logs = LogFolder::new();
    let mut log = logs.log(30, 1_000_000);
    log.write(&[logs.line("a")]).unwrap();
    fs::write(logs.path().with_file_name("foreword.2026-11-15.log"), "somebody's\n").unwrap();
    logs.days_pass(1);
    log.write(&[logs.line("b")]).unwrap();
    let files = [("foreword.2026-11-15.1.log", 1), ("foreword.2026-11-15.log", 1), ("foreword.log", 1)];
    assert_eq!(logs.files(), expected(&files));
}

#[test]
fn line_longer_than_the_file_limit_is_written() {
    let logs = LogFolder::new();
    let mut log = logs.log(30, 10);
    log.write(&[logs.line("a"), logs.line("b")]).unwrap();
    assert_eq!(logs.files(), expected(&[("foreword.2026-11-15.1.log", 1), ("foreword.log", 1)]));
}

#[test]
fn only_old_files_are_deleted() {
    let logs = LogFolder::new();
    let folder = logs.path().parent().unwrap().to_owned();
    fs::create_dir_all(folder.join("foreword.2001-01-01.log")).unwrap();
    for name in [
        "foreword.2026-10-15.log",
        "foreword.2026-10-16.log",
        "foreword.2026-10-01.3.log",
        "foreword.2026-10-01.log.gz",
        "notes.2026-10-01.log",
    ] {
        fs::write(folder.join(name), "x\n").unwrap();
    }
    let mut log = logs.log(30, 1_000_000);
    let left = || -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    };
    let kept = [
        "foreword.2001-01-01.log",
        "foreword.2026-10-01.log.gz",
        "foreword.2026-10-16.log",
        "foreword.log",
        "notes.2026-10-01.log",
    ];
    assert_eq!(left(), kept);
    log.write(&[logs.line("a")]).unwrap();
    logs.days_pass(1);
    log.write(&[logs.line("b")]).unwrap();
    assert!(!left().contains(&"foreword.2026-10-16.log".to_owned()), "{:?}", left());
}

#[test]
fn concurrent_processes_lose_and_tear_no_lines() {
    let logs = LogFolder::new();
    let room = 2_000;
    let begin = Arc::new(Barrier::new(4));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (mut log, begin) = (logs.log(30, room), Arc::clone(&begin));
            let lines: Vec<String> = (0..200).map(|n| logs.line(&format!("{writer}-{n}"))).collect();
            std::thread::spawn(move || {
                begin.wait();
                lines.chunks(3).for_each(|lines| log.write(lines).unwrap());
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let mut all = Vec::new();
    for (name, _) in logs.files() {
        let text = fs::read_to_string(logs.path().with_file_name(name)).unwrap();
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            all.push(line["text"].as_str().unwrap().to_owned());
        }
    }
    all.sort();
    let mut expected: Vec<String> = (0..4).flat_map(|w| (0..200).map(move |n| format!("{w}-{n}"))).collect();
    expected.sort();
    assert_eq!(all, expected);
}

#[test]
fn deleted_file_is_created_again() {
    let logs = LogFolder::new();
    let mut log = logs.log(30, 1_000_000);
    log.write(&[logs.line("a")]).unwrap();
    fs::remove_dir_all(logs.path().parent().unwrap()).unwrap();
    log.write(&[logs.line("b")]).unwrap();
    assert_eq!(logs.files(), expected(&[("foreword.log", 1)]));
}

#[test]
fn partial_line_of_a_crash_is_terminated() {
    let logs = LogFolder::new();
    fs::create_dir_all(logs.path().parent().unwrap()).unwrap();
    fs::write(logs.path(), format!("{}{{\"ts\":\"2026-11-15T1", logs.line("a"))).unwrap();
    logs.log(30, 1_000_000).write(&[logs.line("b")]).unwrap();
    let text = fs::read_to_string(logs.path()).unwrap();
    assert_eq!(text.lines().last(), Some(logs.line("b").trim_end()));
}

#[test]
fn unwritable_log_error_has_path_and_help() {
    let logs = LogFolder::new();
    fs::write(logs.folder.path().join("file"), "").unwrap();
    let open = |path: &Path| {
        let settings = FileSettings { path: path.to_owned(), max_days: 30, max_bytes: 1_000 };
        LogFile::open(settings, logs.clock()).err().unwrap()
    };
    let below_a_file = open(&logs.folder.path().join("file/x.log"));
    assert!(matches!(below_a_file, ObserveError::Folder { .. }), "{below_a_file}");
    let a_folder = open(logs.folder.path());
    assert!(a_folder.to_string().contains("not a regular file"), "{a_folder}");
    assert!(a_folder.help().contains("`logging.file`"));
}

#[test]
fn failing_file_neither_blocks_nor_loses_lines() {
    let logs = LogFolder::new();
    let log = logs.log(30, 1_000_000);
    let (clock, form) = (logs.clock(), LineForm::Json);
    let queue = LineQueue::start(log, move |lost| form.lost(lost, clock())).unwrap();
    let timeouts = Duration::from_secs(20);
    queue.take(logs.line("a"));
    assert!(queue.flush(timeouts));
    // A folder in logs of the file: opening it fails as with an unavailable disk.
    fs::rename(logs.path(), logs.path().with_extension("away")).unwrap();
    fs::create_dir(logs.path()).unwrap();
    queue.take(logs.line("b"));
    assert!(!queue.flush(timeouts));
    fs::remove_dir(logs.path()).unwrap();
    queue.take(logs.line("c"));
    queue.close(timeouts);
    let text = fs::read_to_string(logs.path()).unwrap();
    assert_eq!(text, [logs.line("b"), logs.line("c")].concat());
}

#[test]
fn lost_lines_notice_is_a_log_line() {
    let at = Timestamp::from_micros(NOON);
    let expected = concat!(
        r#"{"ts":"2026-11-15T12:00:00.000Z","level":"warn","module":"log","event":"lines_lost","#,
        r#""error":"3 lines were lost: there was no room, or they could not be written","lost":3}"#,
        "\n"
    );
    assert_eq!(LineForm::Json.lost(3, at), expected);
}
