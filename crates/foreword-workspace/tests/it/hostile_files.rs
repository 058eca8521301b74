//! Files that cannot be part of a prompt: each is refused with its kind, without blocking.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use foreword_workspace::error::{AccessReason, FileKind, WorkspaceError};
use foreword_workspace::roots::{HardLinks, ReadLimits, Root};

use crate::workspace_folder::Folder;

fn refusal(root: &Root, path: &str) -> AccessReason {
    match root.read(path).unwrap_err() {
        WorkspaceError::Access(error) => error.reason,
        other => panic!("not an access error: {other}"),
    }
}

#[test]
fn fifo_is_refused_immediately() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    folder.link("link", "pipe");
    let root = folder.root();
    assert_eq!(refusal(&root, "pipe"), AccessReason::NotRegular(FileKind::Fifo));
    assert_eq!(refusal(&root, "link"), AccessReason::NotRegular(FileKind::Fifo));
    assert!(root.list("", "").unwrap().is_empty());
}

#[test]
fn directories_sockets_and_devices_are_refused_by_name() {
    let folder = Folder::with(&[("directory/a.md", "")]);
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    let root = folder.root();
    assert_eq!(refusal(&root, "directory"), AccessReason::NotRegular(FileKind::Directory));
    assert_eq!(refusal(&root, "."), AccessReason::NotRegular(FileKind::Directory));
    assert_eq!(refusal(&root, "socket"), AccessReason::NotRegular(FileKind::Socket));
    let devices = Root::open("devices", Path::new("/dev")).unwrap();
    assert_eq!(refusal(&devices, "zero"), AccessReason::NotRegular(FileKind::Device));
}

#[test]
fn hard_linked_file_is_refused_unless_allowed() {
    let folder = Folder::new();
    fs::write(folder.outside().join("secret"), "secret").unwrap();
    fs::hard_link(folder.outside().join("secret"), folder.path().join("a.md")).unwrap();
    assert_eq!(refusal(&folder.root(), "a.md"), AccessReason::HardLinked(2));
    let lenient =
        folder.root().with_limits(ReadLimits { hard_links: HardLinks::Allow, ..ReadLimits::default() });
    assert_eq!(&*lenient.read("a.md").unwrap().text, "secret");
}

#[test]
fn two_gigabyte_file_is_refused_before_it_is_read() {
    let folder = Folder::new();
    File::create(folder.path().join("huge")).unwrap().set_len(2 << 30).unwrap();
    let limit = ReadLimits::default().bytes;
    assert_eq!(limit, 1024 * 1024);
    assert_eq!(refusal(&folder.root(), "huge"), AccessReason::TooLarge { size: Some(2 << 30), limit });
}

#[test]
fn file_at_the_limit_is_read_and_larger_refused() {
    let folder = Folder::with(&[("fits", "12345"), ("over", "123456")]);
    let root = folder.root().with_limits(ReadLimits { bytes: 5, ..ReadLimits::default() });
    assert_eq!(&*root.read("fits").unwrap().text, "12345");
    assert_eq!(refusal(&root, "over"), AccessReason::TooLarge { size: Some(6), limit: 5 });
}

#[cfg(target_os = "linux")]
#[test]
fn files_longer_than_their_size_are_refused() {
    // The kernel reports a size of 0 for this file, like for a file that grows after its size was read.
    let root = Root::open("process", Path::new("/proc/self")).unwrap();
    let root = root.with_limits(ReadLimits { bytes: 10, ..ReadLimits::default() });
    assert_eq!(refusal(&root, "status"), AccessReason::TooLarge { size: None, limit: 10 });
}

#[cfg(target_os = "linux")]
#[test]
fn failing_read_is_reported_as_unreadable() {
    let root = Root::open("process", Path::new("/proc/self")).unwrap();
    assert!(matches!(refusal(&root, "mem"), AccessReason::Unreadable(_)));
}

#[test]
fn file_without_read_permission_is_unreadable() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with(&[("a.md", "x")]);
    let path = folder.path().join("a.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    match (File::open(&path), folder.root().read("a.md")) {
        (Err(_), Err(WorkspaceError::Access(error))) => {
            assert_eq!(error.reason, AccessReason::Unreadable("permission denied".to_owned()));
        }
        // The superuser reads everything.
        (Ok(_), Ok(file)) => assert_eq!(&*file.text, "x"),
        (system, ours) => panic!("the system says {system:?}, we say {ours:?}"),
    }
}

#[test]
fn invalid_utf8_is_refused_with_its_position() {
    let folder = Folder::new();
    folder.write("latin1.md", b"caf\xe9");
    folder.write("utf16.md", b"\xff\xfeh\0i\0");
    folder.write("nul.md", b"h\0i\0");
    let root = folder.root();
    assert_eq!(refusal(&root, "latin1.md"), AccessReason::NotUtf8 { offset: 3, utf16: false });
    assert_eq!(refusal(&root, "utf16.md"), AccessReason::NotUtf8 { offset: 0, utf16: true });
    assert_eq!(refusal(&root, "nul.md"), AccessReason::NulInText { offset: 1 });
}

#[test]
fn messages_name_file_reason_and_help() {
    let folder = Folder::new();
    folder.write("latin1.md", b"caf\xe9");
    folder.write("utf16.md", b"\xff\xfeh\0i\0");
    folder.write("nul.md", b"h\0i\0");
    File::create(folder.path().join("huge.md")).unwrap().set_len(2 << 30).unwrap();
    fs::hard_link(folder.path().join("nul.md"), folder.path().join("linked.md")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe.md")).status().unwrap().success());
    let root = folder.root();
    let words: Vec<String> = ["latin1.md", "utf16.md", "huge.md", "linked.md", "pipe.md", "."]
        .iter()
        .map(|path| folder.message(&root.read(path).unwrap_err()))
        .collect();
    insta::assert_snapshot!(words.join("\n\n"));
}
