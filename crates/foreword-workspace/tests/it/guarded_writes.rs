//! Which files can be written through a root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foreword_workspace::error::{AccessReason, FileKind};
use foreword_workspace::roots::{CheckedRead, WriteReason, WrittenFile};

use crate::workspace_folder::Folder;

fn reason(folder: &Folder, path: &str) -> WriteReason {
    folder.root().write(path, "planted", 1).unwrap_err().reason
}

fn access(reason: AccessReason) -> WriteReason {
    WriteReason::Access(reason)
}

/// All files in and beside the workspace, with their content.
fn everything(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.outside().to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            let bytes = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            found.push((path.to_string_lossy().into_owned(), bytes));
        }
    }
    found.sort();
    found
}

#[test]
fn writes_create_folders_and_replace_files() {
    let folder = Folder::new();
    let root = folder.root();
    assert_eq!(root.write("a/b/c.md", "one\n", 1).unwrap(), WrittenFile { bytes: 4, is_new: true });
    assert_eq!(root.write("./a//b/c.md", "é", 2).unwrap(), WrittenFile { bytes: 2, is_new: false });
    assert_eq!(fs::read_to_string(folder.path().join("a/b/c.md")).unwrap(), "é");
    assert_eq!(everything(&folder).len(), 4, "nothing else is left: {:?}", everything(&folder));
}

#[test]
fn replaced_file_keeps_its_mode() {
    let folder = Folder::with(&[("run.sh", "old"), ("secret", "old")]);
    for (path, mode) in [("run.sh", 0o750), ("secret", 0o600)] {
        let path_on_disk = folder.path().join(path);
        fs::set_permissions(&path_on_disk, fs::Permissions::from_mode(mode)).unwrap();
        folder.root().write(path, "new", 1).unwrap();
        assert_eq!(fs::metadata(&path_on_disk).unwrap().permissions().mode() & 0o7777, mode, "{path}");
    }
}

#[test]
fn writes_outside_the_root_are_refused() {
    let folder =
        Folder::with(&[("a.md", "mine"), ("b/c.md", "mine"), (".foreword/x", "x"), ("sub/.git/x", "x")]);
    fs::write(folder.outside().join("secret"), "theirs").unwrap();
    fs::write(folder.outside().join("twin"), "theirs").unwrap();
    folder.link("out", "../secret");
    folder.link("in", "a.md");
    folder.link("dangling", "nowhere");
    folder.link("folder", folder.outside());
    folder.link("inner", "b");
    fs::hard_link(folder.outside().join("twin"), folder.path().join("hard")).unwrap();
    let before = everything(&folder);
    let absolute = folder.path().join("a.md").to_string_lossy().into_owned();
    assert_eq!(reason(&folder, "../secret"), access(AccessReason::StepsOut));
    assert_eq!(reason(&folder, "b/../../secret"), access(AccessReason::StepsOut));
    assert_eq!(reason(&folder, &absolute), access(AccessReason::Absolute));
    assert_eq!(reason(&folder, "..\\secret"), access(AccessReason::ForeignPath));
    assert_eq!(reason(&folder, "a\0b"), access(AccessReason::NulInPath));
    for link in ["out", "in", "dangling", "folder/secret", "folder/new", "inner/c.md", "inner/new/x"] {
        assert_eq!(reason(&folder, link), WriteReason::Link, "{link}");
    }
    assert_eq!(reason(&folder, "hard"), access(AccessReason::HardLinked(2)));
    for (path, name) in [
        (".foreword/x", ".foreword"),
        (".Foreword/y", ".Foreword"),
        ("sub/.git/x", ".git"),
        ("b/.git", ".git"),
    ] {
        assert_eq!(reason(&folder, path), access(AccessReason::Reserved(name.to_owned())), "{path}");
    }
    assert_eq!(reason(&folder, "a.md/x"), WriteReason::NotAFolder);
    assert_eq!(everything(&folder), before);
}

#[test]
fn only_regular_files_are_replaced_without_blocking() {
    let folder = Folder::with(&[("d/x", "x"), ("locked", "x")]);
    let fifo = std::process::Command::new("mkfifo").arg(folder.path().join("fifo")).status().unwrap();
    assert!(fifo.success());
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    fs::set_permissions(folder.path().join("locked"), fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(reason(&folder, "d"), access(AccessReason::NotRegular(FileKind::Directory)));
    assert_eq!(reason(&folder, "d/"), access(AccessReason::NotRegular(FileKind::Directory)));
    assert_eq!(reason(&folder, "fifo"), access(AccessReason::NotRegular(FileKind::Fifo)));
    assert_eq!(reason(&folder, "socket"), access(AccessReason::NotRegular(FileKind::Socket)));
    assert_eq!(reason(&folder, "locked"), WriteReason::ReadOnly);
    let large = "x".repeat(1024 * 1024 + 1);
    let refused = folder.root().write("large", &large, 1).unwrap_err();
    assert!(refused.to_string().contains("too large"), "{refused}");
    assert!(!folder.path().join("large").exists());
}

#[test]
fn folder_swapped_for_a_link_never_leads_outside() {
    let folder = Folder::with(&[("real/x", "x")]);
    let outside = folder.outside().join("evil");
    fs::create_dir(&outside).unwrap();
    let (root, stop) = (folder.root(), AtomicBool::new(false));
    let mut written = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let path = folder.path();
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::rename(path.join("real"), path.join("away"));
                let _ = std::os::unix::fs::symlink(&outside, path.join("real"));
                let _ = fs::remove_file(path.join("real"));
                let _ = fs::rename(path.join("away"), path.join("real"));
            }
        });
        let end = Instant::now() + Duration::from_millis(400);
        let mut chance = 0;
        while Instant::now() < end {
            chance += 1;
            written += usize::from(root.write("real/new.md", "mine", chance).is_ok());
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(written > 0);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing was written outside");
}

#[test]
fn readers_see_the_old_text_or_the_new_one() {
    let folder = Folder::new();
    let (one, two) = ("a".repeat(200_000), "b".repeat(150_000));
    let root = folder.root();
    root.write("x", &one, 0).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for chance in 1..200 {
                root.write("x", if chance % 2 == 0 { &one } else { &two }, chance).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        while !stop.load(Ordering::Relaxed) {
            let text = fs::read_to_string(folder.path().join("x")).unwrap();
            assert!(text == one || text == two, "{} bytes", text.len());
        }
    });
}

#[test]
fn checked_path_is_that_of_the_file_read() {
    let folder = Folder::with(&[("open.md", "for all"), ("closed/x.md", "for one")]);
    folder.link("alias", "open.md");
    folder.link("trick", "closed/x.md");
    let root = folder.root();
    let judge = |path: &str| root.read_checked(path, |real| !real.starts_with("closed/"));
    let CheckedRead::Text { real_path, file } = judge("alias").unwrap() else { panic!("withheld") };
    assert_eq!((real_path.as_str(), &*file.text), ("open.md", "for all"));
    assert_eq!(judge("trick").unwrap(), CheckedRead::Withheld);
    assert_eq!(judge("closed").unwrap_err().to_string(), root.read("closed").unwrap_err().to_string());
}
