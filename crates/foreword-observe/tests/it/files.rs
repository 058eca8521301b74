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

/// A folder with a log in it, and the time there.
struct Place {
    folder: TempDir,
    now: Arc<AtomicI64>,
}

impl Place {
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

    /// A line of this moment.
    fn line(&self, text: &str) -> String {
        let at = Timestamp::from_micros(self.now.load(Ordering::SeqCst));
        format!("{{\"ts\":\"{at}\",\"text\":\"{text}\"}}\n")
    }

    /// The names in the folder, hidden ones left out, and how many lines each has.
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
fn s14_9_a_new_day_begins_a_new_file_and_the_old_one_is_named_after_its_day() {
    let place = Place::new();
    let mut log = place.log(30, 1_000_000);
    log.write(&[place.line("a"), place.line("b")]).unwrap();
    place.days_pass(1);
    log.write(&[place.line("c")]).unwrap();
    assert_eq!(place.files(), expected(&[("foreword.2026-11-15.log", 2), ("foreword.log", 1)]));
    drop(log);
    place.days_pass(2);
    place.log(30, 1_000_000).write(&[place.line("d")]).unwrap();
    let files = [("foreword.2026-11-15.log", 2), ("foreword.2026-11-16.log", 1), ("foreword.log", 1)];
    assert_eq!(place.files(), expected(&files), "a process that starts later turns it over too");
}

#[test]
fn s14_9_a_file_that_is_full_is_turned_over_as_often_as_it_takes_and_nothing_is_written_over() {
    let place = Place::new();
    let room = place.line("0").len() as u64 * 2;
    let lines: Vec<String> = (0..7).map(|n| place.line(&n.to_string())).collect();
    place.log(30, room).write(&lines[..5]).unwrap();
    // Another process, later on the same day.
    place.log(30, room).write(&lines[5..]).unwrap();
    place.days_pass(1);
    place.log(30, room).write(&[place.line("x")]).unwrap();
    let day = |rest: &str, count| (format!("foreword.2026-11-15{rest}.log"), count);
    let files = [day(".1", 2), day(".2", 2), day(".3", 2), day("", 1), ("foreword.log".to_owned(), 1)];
    assert_eq!(place.files(), files);
}

#[test]
fn a_second_rotation_of_one_day_takes_another_name() {
    let place = Place::new();
    let mut log = place.log(30, 1_000_000);
    log.write(&[place.line("a")]).unwrap();
    fs::write(place.path().with_file_name("foreword.2026-11-15.log"), "somebody's\n").unwrap();
    place.days_pass(1);
    log.write(&[place.line("b")]).unwrap();
    let files = [("foreword.2026-11-15.1.log", 1), ("foreword.2026-11-15.log", 1), ("foreword.log", 1)];
    assert_eq!(place.files(), expected(&files));
}

#[test]
fn a_line_that_is_longer_than_a_file_may_be_is_written_all_the_same() {
    let place = Place::new();
    let mut log = place.log(30, 10);
    log.write(&[place.line("a"), place.line("b")]).unwrap();
    assert_eq!(place.files(), expected(&[("foreword.2026-11-15.1.log", 1), ("foreword.log", 1)]));
}

#[test]
fn what_is_too_old_goes_and_nothing_else() {
    let place = Place::new();
    let folder = place.path().parent().unwrap().to_owned();
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
    let mut log = place.log(30, 1_000_000);
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
    log.write(&[place.line("a")]).unwrap();
    place.days_pass(1);
    log.write(&[place.line("b")]).unwrap();
    assert!(!left().contains(&"foreword.2026-10-16.log".to_owned()), "{:?}", left());
}

#[test]
fn two_processes_may_share_one_file_and_no_line_is_lost_or_torn() {
    let place = Place::new();
    let room = 2_000;
    let begin = Arc::new(Barrier::new(4));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (mut log, begin) = (place.log(30, room), Arc::clone(&begin));
            let lines: Vec<String> = (0..200).map(|n| place.line(&format!("{writer}-{n}"))).collect();
            std::thread::spawn(move || {
                begin.wait();
                lines.chunks(3).for_each(|lines| log.write(lines).unwrap());
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let mut all = Vec::new();
    for (name, _) in place.files() {
        let text = fs::read_to_string(place.path().with_file_name(name)).unwrap();
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
fn a_file_that_is_taken_away_is_made_again() {
    let place = Place::new();
    let mut log = place.log(30, 1_000_000);
    log.write(&[place.line("a")]).unwrap();
    fs::remove_dir_all(place.path().parent().unwrap()).unwrap();
    log.write(&[place.line("b")]).unwrap();
    assert_eq!(place.files(), expected(&[("foreword.log", 1)]));
}

#[test]
fn a_line_that_was_cut_off_by_a_crash_does_not_spoil_the_next_one() {
    let place = Place::new();
    fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    fs::write(place.path(), format!("{}{{\"ts\":\"2026-11-15T1", place.line("a"))).unwrap();
    place.log(30, 1_000_000).write(&[place.line("b")]).unwrap();
    let text = fs::read_to_string(place.path()).unwrap();
    assert_eq!(text.lines().last(), Some(place.line("b").trim_end()));
}

#[test]
fn where_nothing_can_be_written_the_error_says_where_and_the_way_out() {
    let place = Place::new();
    fs::write(place.folder.path().join("file"), "").unwrap();
    let open = |path: &Path| {
        let settings = FileSettings { path: path.to_owned(), max_days: 30, max_bytes: 1_000 };
        LogFile::open(settings, place.clock()).err().unwrap()
    };
    let below_a_file = open(&place.folder.path().join("file/x.log"));
    assert!(matches!(below_a_file, ObserveError::Folder { .. }), "{below_a_file}");
    let a_folder = open(place.folder.path());
    assert!(a_folder.to_string().contains("it is no plain file"), "{a_folder}");
    assert!(a_folder.help().contains("`logging.file`"));
}

#[test]
fn while_the_file_can_not_be_written_nobody_waits_and_nothing_is_lost_that_fits() {
    let place = Place::new();
    let log = place.log(30, 1_000_000);
    let (clock, form) = (place.clock(), LineForm::Json);
    let queue = LineQueue::start(log, move |lost| form.lost(lost, clock())).unwrap();
    let patience = Duration::from_secs(20);
    queue.take(place.line("a"));
    assert!(queue.flush(patience));
    // A folder stands where the file was: opening it fails as on a disk that is away.
    fs::rename(place.path(), place.path().with_extension("away")).unwrap();
    fs::create_dir(place.path()).unwrap();
    queue.take(place.line("b"));
    assert!(!queue.flush(patience));
    fs::remove_dir(place.path()).unwrap();
    queue.take(place.line("c"));
    queue.close(patience);
    let text = fs::read_to_string(place.path()).unwrap();
    assert_eq!(text, [place.line("b"), place.line("c")].concat());
}

#[test]
fn a_notice_of_lost_lines_is_a_line_of_the_log() {
    let at = Timestamp::from_micros(NOON);
    let expected = concat!(
        r#"{"ts":"2026-11-15T12:00:00.000Z","level":"warn","module":"log","event":"lines_lost","#,
        r#""error":"3 lines were lost: there was no room, or they could not be written","lost":3}"#,
        "\n"
    );
    assert_eq!(LineForm::Json.lost(3, at), expected);
}
