//! Trust is applied before a read: files a user may not see are not opened.

use std::fs::File;
use std::process::Command;

use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;
use foreword_workspace::workspace::Workspace;

use crate::snapshots::open;
use crate::workspace_folder::Folder;

const PEOPLE: &str = "\
users:
  - { name: alice, trust: full }
  - { name: bob, trust: inner }
";

fn text(workspace: &Workspace, user: &str, situation: &str) -> Result<String, String> {
    let now = "2026-03-14T12:00[UTC]".parse().unwrap();
    let (user, situation) = (Some(user.into()), Some(situation.into()));
    let request =
        Request { speaker: Speaker { user, situation, ..Speaker::default() }, ..Request::at(now, [7; 16]) };
    workspace.build(&request).map(|built| built.prompt.text()).map_err(|error| error.to_string())
}

#[test]
fn unreadable_owner_files_do_not_affect_others() {
    let folder = Folder::with(&[("foreword.yaml", PEOPLE), ("memory/shared/a.md", "about a")]);
    folder.write("memory/private/latin1.md", b"caf\xe9");
    for pipe in ["HEARTBEAT.md", "memory/private/pipe.md"] {
        assert!(Command::new("mkfifo").arg(folder.path().join(pipe)).status().unwrap().success());
    }
    File::create(folder.path().join("MEMORY.md")).unwrap().set_len(2 << 30).unwrap();
    let workspace = open(&folder);
    let bob = text(&workspace, "bob", "dm").unwrap();
    assert!(bob.contains("- shared/a.md ("), "{bob}");
    let request = Request {
        speaker: Speaker { user: Some("alice".into()), ..Speaker::default() },
        ..Request::at("2026-03-14T12:00[UTC]".parse().unwrap(), [7; 16])
    };
    let alice = workspace.build(&request).unwrap();
    let reasons: Vec<String> =
        alice.sources.failures.iter().map(|failure| failure.error.to_string()).collect();
    let [fifo, large] = &reasons[..] else { panic!("{reasons:?}") };
    assert!(fifo.contains("`HEARTBEAT.md`") && fifo.contains("it is a FIFO"), "{fifo}");
    assert!(large.contains("`MEMORY.md`"), "{large}");
}

/// The access is observed through the kernel.
#[cfg(target_os = "linux")]
#[test]
fn withheld_files_are_never_opened() {
    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    use std::mem::MaybeUninit;

    let folder = Folder::with(&[
        ("foreword.yaml", PEOPLE),
        ("MEMORY.md", "what lasts"),
        ("HEARTBEAT.md", "tasks"),
        ("users/alice/USER.md", "about alice"),
        ("users/alice/skills/oak/SKILL.md", "---\nname: oak\ndescription: oak\n---\nSaw it.\n"),
        ("memory/private/a.md", "secret"),
        ("memory/shared/a.md", "shared"),
    ]);
    let secrets = ["MEMORY.md", "HEARTBEAT.md", "users/alice", "users/alice/skills/oak", "memory/private"];
    let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
    for path in secrets {
        inotify::add_watch(&watch, folder.path().join(path), WatchFlags::OPEN | WatchFlags::ACCESS).unwrap();
    }
    let opened = || {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&watch, &mut buffer);
        let mut count = 0;
        while events.next().is_ok() {
            count += 1;
        }
        count
    };
    let workspace = open(&folder);
    assert!(text(&workspace, "bob", "dm").unwrap().contains("shared/a.md"));
    assert!(text(&workspace, "mallory", "dm").is_ok());
    assert_eq!(opened(), 0, "something was opened for bob or mallory");
    assert!(text(&workspace, "alice", "group").is_ok());
    assert_eq!(opened(), 0, "in a group alice is only familiar");
    assert!(text(&workspace, "alice", "dm").unwrap().contains("private/a.md"));
    assert!(opened() >= secrets.len(), "the watch itself works");
}
