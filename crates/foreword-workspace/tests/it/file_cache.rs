//! Every kind of file change is detected, and equal text is held once.

use std::fs::{self, File};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foreword_workspace::text_pool::{PoolLimits, TextPool};

use crate::workspace_folder::{Folder, cache};

#[test]
fn identical_texts_are_stored_once() {
    let one = Folder::with(&[("a.md", "same words"), ("b.md", "same words\r"), ("c.md", "same words\n")]);
    let other = Folder::with(&[("x.md", "same words")]);
    let cache = cache();
    let a = cache.read(&one.root(), "a.md").unwrap();
    let x = cache.read(&other.root(), "x.md").unwrap();
    assert!(Arc::ptr_eq(&a.text, &x.text));
    assert_eq!(a.hash, x.hash);
    let (b, c) = (cache.read(&one.root(), "b.md").unwrap(), cache.read(&one.root(), "c.md").unwrap());
    assert!(Arc::ptr_eq(&b.text, &c.text), "line ends are normalised before the text is hashed");
    assert_eq!(cache.pool().len(), 2);
}

#[test]
fn same_name_in_different_roots_is_different_files() {
    let (one, other) = (Folder::with(&[("a.md", "one")]), Folder::with(&[("a.md", "two")]));
    let cache = cache();
    assert_eq!(&*cache.read(&one.root(), "a.md").unwrap().text, "one");
    assert_eq!(&*cache.read(&other.root(), "a.md").unwrap().text, "two");
}

#[test]
fn edit_with_same_size_and_mtime_is_detected() {
    let folder = Folder::with(&[("a.md", "before")]);
    let (root, cache) = (folder.root(), cache());
    let before = cache.read(&root, "a.md").unwrap();
    let path = folder.path().join("a.md");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    // Long enough for the clock of the file system to tick.
    thread::sleep(Duration::from_millis(30));
    fs::write(&path, "after!").unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    let signature = root.signature("a.md").unwrap();
    assert_eq!((signature.size, signature.mtime_ns), (before.signature.size, before.signature.mtime_ns));
    assert_ne!(signature, before.signature);
    assert_eq!(&*cache.read(&root, "a.md").unwrap().text, "after!");
}

#[test]
fn atomic_replace_with_same_size_and_mtime_is_detected() {
    let folder = Folder::with(&[("a.md", "before"), ("new.md", "after!")]);
    let (root, cache) = (folder.root(), cache());
    let before = cache.read(&root, "a.md").unwrap();
    let modified = fs::metadata(folder.path().join("a.md")).unwrap().modified().unwrap();
    File::options().write(true).open(folder.path().join("new.md")).unwrap().set_modified(modified).unwrap();
    fs::rename(folder.path().join("new.md"), folder.path().join("a.md")).unwrap();
    let signature = root.signature("a.md").unwrap();
    assert_eq!((signature.size, signature.mtime_ns), (before.signature.size, before.signature.mtime_ns));
    assert_ne!(signature.inode, before.signature.inode);
    assert_eq!(&*cache.read(&root, "a.md").unwrap().text, "after!");
}

#[test]
fn edits_within_one_clock_tick_are_detected() {
    let folder = Folder::new();
    let (root, cache) = (folder.root(), cache());
    for round in 100..400 {
        let text = round.to_string();
        folder.write("a.md", &text);
        assert_eq!(&*cache.read(&root, "a.md").unwrap().text, text);
    }
}

#[test]
fn unreadable_files_never_give_cached_text() {
    let folder = Folder::with(&[("a.md", "old"), ("b.md", "old")]);
    let (root, cache) = (folder.root(), cache());
    cache.read(&root, "a.md").unwrap();
    cache.read(&root, "b.md").unwrap();
    fs::remove_file(folder.path().join("a.md")).unwrap();
    folder.write("b.md", b"\xff");
    assert!(cache.read(&root, "a.md").unwrap_err().is_missing_file());
    assert!(cache.read(&root, "b.md").is_err());
}

#[test]
fn files_replaced_while_many_read_are_always_whole() {
    let folder = Folder::new();
    let texts = ["a".repeat(40_000), "b".repeat(50_000)];
    folder.write("a.md", &texts[0]);
    let (root, cache, stop) = (folder.root(), cache(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for text in &texts {
                    folder.write("next", text);
                    fs::rename(folder.path().join("next"), folder.path().join("a.md")).unwrap();
                }
            }
        });
        let readers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let end = Instant::now() + Duration::from_millis(300);
                    let mut reads = 0;
                    while Instant::now() < end {
                        let text = cache.read(&root, "a.md").unwrap().text;
                        assert!(
                            texts.iter().any(|whole| **whole == *text),
                            "torn text of {} bytes",
                            text.len()
                        );
                        reads += 1;
                    }
                    reads
                })
            })
            .collect();
        assert!(readers.into_iter().all(|reader| reader.join().unwrap() > 0));
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(cache.pool().len(), 2);
}

#[test]
fn concurrent_pool_stays_within_limits_without_duplicates() {
    let limits = PoolLimits { entries: 40, bytes: 4_000 };
    let pool = TextPool::new(limits);
    let kept: Vec<Arc<str>> = (0..10).map(|number| pool.intern(&format!("kept {number}"))).collect();
    thread::scope(|scope| {
        for start in 0..4_u32 {
            let (pool, kept) = (&pool, &kept);
            scope.spawn(move || {
                for round in 0..3_000_u32 {
                    let text =
                        format!("{}{}", "x".repeat((round % 90) as usize), (round * 7 + start * 13) % 400);
                    assert_eq!(&*pool.intern(&text), text);
                    let number = (round % 10) as usize;
                    assert!(Arc::ptr_eq(&pool.intern(&format!("kept {number}")), &kept[number]));
                    assert!(pool.len() <= limits.entries + 1 && pool.bytes() <= limits.bytes + 100);
                }
            });
        }
    });
}

#[test]
fn referenced_texts_beyond_the_limits_are_retained() {
    let pool = TextPool::new(PoolLimits { entries: 8, bytes: 1_000 });
    let held: Vec<Arc<str>> = (0..200).map(|number| pool.intern(&format!("text {number}"))).collect();
    for (number, text) in held.iter().enumerate() {
        assert!(Arc::ptr_eq(text, &pool.intern(&format!("text {number}"))));
    }
    drop(held);
    for number in 0..1_000 {
        let _ = pool.intern(&format!("other {number}"));
    }
    assert!(pool.len() <= 8 && pool.bytes() <= 1_000, "{} texts, {} bytes", pool.len(), pool.bytes());
}
