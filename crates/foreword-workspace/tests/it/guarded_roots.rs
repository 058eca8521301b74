//! Which files can be read through a root.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foreword_workspace::error::{AccessReason, ResolutionError, WorkspaceError};
use foreword_workspace::roots::Root;

use crate::workspace_folder::Folder;

fn reason(result: Result<impl std::fmt::Debug, WorkspaceError>) -> AccessReason {
    match result.unwrap_err() {
        WorkspaceError::Access(error) => error.reason,
        other => panic!("not an access error: {other}"),
    }
}

#[test]
fn files_below_the_root_are_read_with_clean_text() {
    let folder = Folder::with(&[("a.md", "\u{feff}one\r\ntwo\rthree"), ("b/c/d.md", "deep")]);
    let root = folder.root();
    assert_eq!(&*root.read("a.md").unwrap().text, "one\ntwo\nthree");
    assert_eq!(&*root.read("./b//c/d.md").unwrap().text, "deep");
    assert_eq!(&*root.subroot("b").unwrap().read("c/d.md").unwrap().text, "deep");
}

#[test]
fn path_outside_the_root_is_an_access_error() {
    let folder = Folder::with(&[("a.md", "inside"), ("b/c.md", "inside")]);
    fs::write(folder.outside().join("secret"), "secret").unwrap();
    let root = folder.root();
    let absolute = folder.path().join("a.md");
    assert_eq!(reason(root.read("../secret")), AccessReason::StepsOut);
    assert_eq!(reason(root.read("b/../../secret")), AccessReason::StepsOut);
    assert_eq!(reason(root.read("b/../a.md")), AccessReason::StepsOut);
    assert_eq!(reason(root.read(absolute.to_str().unwrap())), AccessReason::Absolute);
    assert_eq!(reason(root.read("a.md\0.png")), AccessReason::NulInPath);
    assert_eq!(reason(root.read("..\\secret")), AccessReason::ForeignPath);
    assert_eq!(reason(root.list("..", "md")), AccessReason::StepsOut);
    assert_eq!(reason(root.subroot("..")), AccessReason::StepsOut);
    assert_eq!(reason(root.signature("../secret")), AccessReason::StepsOut);
}

#[test]
fn link_leaving_the_root_is_an_access_error() {
    let folder = Folder::with(&[("a.md", "inside"), ("b/c.md", "inside")]);
    fs::write(folder.outside().join("secret"), "secret").unwrap();
    folder.link("relative", "../secret");
    folder.link("b/deeper", "../../secret");
    folder.link("absolute", folder.outside().join("secret"));
    folder.link("folder", folder.outside());
    folder.link("up", "..");
    folder.link("first", "second");
    folder.link("second", "b/../../secret");
    let root = folder.root();
    for path in ["relative", "b/deeper", "absolute", "folder/secret", "up/secret", "first", "second"] {
        assert_eq!(reason(root.read(path)), AccessReason::LeavesRoot, "{path}");
    }
    assert_eq!(reason(root.subroot("folder")), AccessReason::LeavesRoot);
    assert_eq!(reason(root.subroot("up")), AccessReason::LeavesRoot);
}

#[test]
fn link_inside_the_root_is_followed() {
    let folder = Folder::with(&[("a.md", "inside"), ("b/c.md", "below")]);
    folder.link("b/up.md", "../a.md");
    folder.link("folder", "./b/");
    folder.link("round", "b/../folder/up.md");
    let root = folder.root();
    assert_eq!(&*root.read("b/up.md").unwrap().text, "inside");
    assert_eq!(&*root.read("folder/c.md").unwrap().text, "below");
    assert_eq!(&*root.read("round").unwrap().text, "inside");
}

#[test]
fn link_loops_are_access_errors() {
    let folder = Folder::new();
    folder.link("a", "b");
    folder.link("b", "a");
    folder.link("self", "self/x");
    let root = folder.root();
    assert_eq!(reason(root.read("a")), AccessReason::LinkLoop);
    assert_eq!(reason(root.read("self")), AccessReason::LinkLoop);
}

#[test]
fn foreword_and_git_directories_are_never_read() {
    let folder = Folder::with(&[
        (".foreword/notes.md", "secret"),
        (".git/config", "secret"),
        ("vendor/.git/config", "secret"),
        (".gitignore", "fine"),
        (".agents/prompt/A.md", "fine"),
    ]);
    folder.link("innocent.md", ".foreword/notes.md");
    folder.link("folder", ".git");
    folder.link("vendor/inner", "../vendor/.git");
    let root = folder.root();
    for path in [
        ".foreword/notes.md",
        ".git/config",
        "vendor/.git/config",
        ".GIT/config",
        "innocent.md",
        "folder/config",
        "vendor/inner/config",
    ] {
        assert!(matches!(reason(root.read(path)), AccessReason::Reserved(_)), "{path}");
    }
    assert!(matches!(reason(root.subroot(".foreword")), AccessReason::Reserved(_)));
    assert!(matches!(reason(root.list(".git", "md")), AccessReason::Reserved(_)));
    assert_eq!(&*root.read(".gitignore").unwrap().text, "fine");
    assert_eq!(&*root.read(".agents/prompt/A.md").unwrap().text, "fine");
}

#[test]
fn missing_file_or_root_is_a_resolution_error() {
    let folder = Folder::with(&[("a.md", "file")]);
    folder.link("dangling", "nowhere");
    let root = folder.root();
    for path in ["b.md", "no/such/folder.md", "a.md/b.md", "dangling"] {
        let error = root.read(path).unwrap_err();
        assert!(error.is_missing_file(), "{path}: {error}");
    }
    for path in [folder.path().join("none"), folder.path().join("a.md")] {
        let error = Root::open("prompts", &path).unwrap_err();
        assert!(matches!(error, WorkspaceError::Resolution(ResolutionError::MissingRoot { .. })), "{error}");
    }
}

/// Swaps `link` between a file inside and one outside, as fast as possible, until `stop` is set.
fn swap_link(folder: &Path, targets: [&Path; 2], stop: &AtomicBool) {
    let next = folder.join("next");
    while !stop.load(Ordering::Relaxed) {
        for target in targets {
            std::os::unix::fs::symlink(target, &next).unwrap();
            fs::rename(&next, folder.join("link")).unwrap();
        }
    }
}

#[test]
fn link_swapped_during_the_read_reveals_nothing_outside() {
    let folder = Folder::with(&[("good/file.md", "inside")]);
    fs::create_dir(folder.outside().join("evil")).unwrap();
    fs::write(folder.outside().join("evil/file.md"), "outside").unwrap();
    folder.link("link", "good");
    let root = folder.root();
    let stop = AtomicBool::new(false);
    let (mut read, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| swap_link(&folder.path(), [Path::new("../evil"), Path::new("good")], &stop));
        let end = Instant::now() + Duration::from_millis(500);
        while Instant::now() < end {
            match root.read("link/file.md") {
                Ok(file) => {
                    assert_eq!(&*file.text, "inside");
                    read += 1;
                }
                Err(WorkspaceError::Access(error)) => {
                    assert_eq!(error.reason, AccessReason::LeavesRoot);
                    refused += 1;
                }
                Err(error) => assert!(error.is_missing_file(), "{error}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(read > 0 && refused > 0, "both sides were seen: {read} read, {refused} refused");
}

#[test]
fn moved_roots_still_read_their_files() {
    let folder = Folder::with(&[("a.md", "mine")]);
    let root = folder.root();
    fs::rename(folder.path(), folder.outside().join("moved")).unwrap();
    fs::create_dir(folder.path()).unwrap();
    fs::write(folder.path().join("a.md"), "planted").unwrap();
    assert_eq!(&*root.read("a.md").unwrap().text, "mine");
}

#[test]
fn listings_are_ordered_and_contain_readable_files() {
    let folder = Folder::with(&[
        ("m/b.md", ""),
        ("m/B.md", ""),
        ("m/ä.md", ""),
        ("m/a.md", ""),
        ("m/.hidden.md", ""),
        ("m/a.txt", ""),
        ("m/md", ""),
        ("m/.md", ""),
        ("m/sub/c.md", ""),
        ("m/sub/deep/d.md", ""),
        ("m/folder.md/e.md", ""),
        ("other/f.md", ""),
    ]);
    folder.link("m/link.md", "../other/f.md");
    folder.link("m/dangling.md", "nowhere");
    folder.link("m/out.md", "/etc/passwd");
    folder.link("m/to-folder", "../other");
    folder.link("m/loop", ".");
    let root = folder.root();
    assert_eq!(root.list("m", "md").unwrap(), ["B.md", "a.md", "b.md", "link.md", "out.md", "ä.md"]);
    assert_eq!(root.list_dirs("m").unwrap(), ["folder.md", "loop", "sub", "to-folder"]);
    let tree = root.list_tree("m", "md").unwrap();
    let all =
        ["B.md", "a.md", "b.md", "folder.md/e.md", "link.md", "out.md", "sub/c.md", "sub/deep/d.md", "ä.md"];
    assert_eq!(tree.paths, all);
    assert!(tree.problems.is_empty());
    assert!(root.list("none", "md").unwrap().is_empty());
    assert!(root.list_dirs("none").unwrap().is_empty());
    assert!(root.list_tree("none", "md").unwrap().paths.is_empty());
    assert_eq!(root.list_dirs("").unwrap(), ["m", "other"]);
}

#[test]
fn messages_name_file_reason_and_help() {
    let folder = Folder::with(&[("a.md", "x"), (".foreword/x", "x")]);
    folder.link("link", "/etc/passwd");
    folder.link("circle", "circle");
    let root = folder.root();
    let none = Root::open("prompts", &folder.path().join("none")).unwrap_err();
    let mut words = vec![folder.message(&none)];
    for path in [
        "b.md",
        "../x",
        "/etc/passwd",
        "a\\b",
        "a\0b",
        "link",
        "circle",
        ".foreword/x",
        "",
        "x\n# Fake\u{202e}",
    ] {
        words.push(folder.message(&root.read(path).unwrap_err()));
    }
    insta::assert_snapshot!(words.join("\n\n"));
}
