//! Memory files: the entries of the menu, and files that are never opened.

use std::process::Command;

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::trust::Trust;
use foreword_workspace::memory_files::load_memory;

use crate::workspace_folder::{Folder, cache};

#[test]
fn files_come_in_byte_order_with_their_descriptions() {
    let folder = Folder::with(&[
        ("memory/social/PEOPLE.md", "# Public-safe people info\n- carol\n"),
        ("memory/private/MEMORY.md", "---\ndescription: long-term facts\n---\n# Facts\n"),
        ("memory/private/b/deep.md", "---\nother: key\n---\n\nfirst line\n"),
        ("memory/private/FINANCE.md", ""),
        ("memory/private/notes.txt", "not Markdown"),
        ("memory/secret/x.md", "no such store"),
        ("memory/loose.md", "in no store"),
    ]);
    let loaded = load_memory(&folder.root(), &cache(), &MemoryStore::ALL);
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let menu: Vec<_> = loaded.items.iter().map(|file| (&*file.path, &*file.description)).collect();
    assert_eq!(
        menu,
        [
            ("private/FINANCE.md", ""),
            ("private/MEMORY.md", "long-term facts"),
            ("private/b/deep.md", "first line"),
            ("social/PEOPLE.md", "Public-safe people info"),
        ]
    );
    assert_eq!(&*loaded.items[3].text, "# Public-safe people info\n- carol\n");
}

#[test]
fn stores_above_the_trust_are_never_opened() {
    let folder = Folder::with(&[("memory/social/a.md", "social"), ("memory/shared/a.md", "shared")]);
    // If this store were opened, its file would be a problem.
    folder.write("memory/private/a.md", b"\xff");
    let (root, cache) = (folder.root(), cache());
    let seen = |trust| {
        let loaded = load_memory(&root, &cache, &MemoryStore::permitted(trust));
        (loaded.items.into_iter().map(|file| file.path).collect::<Vec<_>>(), loaded.problems.len())
    };
    let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    assert_eq!(seen(Trust::Public), (vec![], 0));
    assert_eq!(seen(Trust::Familiar), (paths(&["social/a.md"]), 0));
    assert_eq!(seen(Trust::Inner), (paths(&["shared/a.md", "social/a.md"]), 0));
    assert_eq!(seen(Trust::Full), (paths(&["shared/a.md", "social/a.md"]), 1));
}

#[test]
fn links_cannot_leave_their_store() {
    let folder = Folder::with(&[("memory/private/MEMORY.md", "secret"), ("memory/social/a.md", "fine")]);
    folder.link("memory/social/b.md", "../private/MEMORY.md");
    folder.link("memory/social/folder", "../private");
    let loaded = load_memory(&folder.root(), &cache(), &[MemoryStore::Social]);
    assert_eq!(loaded.items.iter().map(|file| &*file.path).collect::<Vec<_>>(), ["social/a.md"]);
    assert_eq!(loaded.problems.len(), 1);
    assert!(loaded.problems[0].to_string().contains("a link leads out of the root"));
}

#[test]
fn invalid_front_matter_falls_back_to_first_line() {
    let folder = Folder::with(&[
        ("memory/social/a.md", "---\ndescription: [\n---\n# The body\n"),
        ("memory/social/z.md", "fine"),
    ]);
    folder.write("memory/social/b.md", b"\xff");
    assert!(
        Command::new("mkfifo").arg(folder.path().join("memory/social/pipe.md")).status().unwrap().success()
    );
    let loaded = load_memory(&folder.root(), &cache(), &MemoryStore::ALL);
    let menu: Vec<_> = loaded.items.iter().map(|file| (&*file.path, &*file.description)).collect();
    assert_eq!(menu, [("social/a.md", "The body"), ("social/z.md", "fine")]);
    assert_eq!(loaded.problems.len(), 2);
}

#[test]
fn thousands_of_files_are_loaded_in_stable_order() {
    let folder = Folder::new();
    for number in 0..3_000 {
        folder.write(&format!("memory/shared/{}/{number}.md", number % 7), format!("# Note {number}\n"));
    }
    let (root, cache) = (folder.root(), cache());
    let first = load_memory(&root, &cache, &[MemoryStore::Shared]);
    let second = load_memory(&root, &cache, &[MemoryStore::Shared]);
    assert_eq!(first.items.len(), 3_000);
    assert_eq!(first, second);
    assert!(first.items.windows(2).all(|pair| pair[0].path < pair[1].path));
}
