//! `file:` variables: below the working directory, or absolute and on the owner's list.

use std::fs;

use foreword_workspace::error::{AccessReason, WorkspaceError};
use foreword_workspace::roots::Root;
use foreword_workspace::variables::file::{AllowedPaths, read_variable_path};

use crate::workspace_folder::Folder;

struct Fixture {
    folder: Folder,
    working_directory: Root,
}

impl Fixture {
    fn new() -> Self {
        let folder = Folder::with(&[("AGENTS.md", "rules")]);
        let outside = folder.outside();
        for path in ["shared/notes", "shared/.git", "other"] {
            fs::create_dir_all(outside.join(path)).unwrap();
        }
        for path in ["shared/a.md", "shared/notes/b.md", "shared/.git/config", "other/c.md", "shared.md"] {
            fs::write(outside.join(path), path).unwrap();
        }
        std::os::unix::fs::symlink("../other/c.md", outside.join("shared/link.md")).unwrap();
        let working_directory = Root::open("working directory", &folder.path()).unwrap();
        Self { folder, working_directory }
    }

    fn read(&self, allowed: &[&str], path: &str) -> Result<String, WorkspaceError> {
        let allowed = AllowedPaths::new(allowed.iter().map(|path| self.folder.outside().join(path))).unwrap();
        read_variable_path(&self.working_directory, &allowed, path).map(|file| file.text.to_string())
    }

    fn read_outside(&self, allowed: &[&str], path: &str) -> Result<String, WorkspaceError> {
        self.read(allowed, self.folder.outside().join(path).to_str().unwrap())
    }
}

fn reason(result: Result<String, WorkspaceError>) -> AccessReason {
    match result.unwrap_err() {
        WorkspaceError::Access(error) => error.reason,
        other => panic!("not an access error: {other}"),
    }
}

#[test]
fn relative_paths_are_below_the_working_directory() {
    let fixture = Fixture::new();
    assert_eq!(fixture.read(&[], "AGENTS.md").unwrap(), "rules");
    assert_eq!(reason(fixture.read(&["shared"], "../shared/a.md")), AccessReason::StepsOut);
    assert!(fixture.read(&[], "NONE.md").unwrap_err().is_missing_file());
}

#[test]
fn absolute_path_needs_an_allow_list_entry() {
    let fixture = Fixture::new();
    assert_eq!(reason(fixture.read_outside(&[], "shared/a.md")), AccessReason::Absolute);
    assert_eq!(reason(fixture.read_outside(&["other"], "shared/a.md")), AccessReason::Absolute);
    assert_eq!(reason(fixture.read_outside(&["shared"], "shared.md")), AccessReason::Absolute);
    assert_eq!(reason(fixture.read_outside(&["shared/a.md"], "shared/notes/b.md")), AccessReason::Absolute);
    assert_eq!(fixture.read_outside(&["shared"], "shared/a.md").unwrap(), "shared/a.md");
    assert_eq!(fixture.read_outside(&["shared"], "shared/notes/b.md").unwrap(), "shared/notes/b.md");
    assert_eq!(fixture.read_outside(&["other", "shared/a.md"], "shared/a.md").unwrap(), "shared/a.md");
    assert_eq!(reason(fixture.read(&[], "/etc/passwd")), AccessReason::Absolute);
}

#[test]
fn allowed_directory_cannot_be_left() {
    let fixture = Fixture::new();
    assert_eq!(reason(fixture.read_outside(&["shared"], "shared/../other/c.md")), AccessReason::StepsOut);
    assert_eq!(reason(fixture.read_outside(&["shared"], "shared/link.md")), AccessReason::LeavesRoot);
    assert_eq!(reason(fixture.read_outside(&["shared/link.md"], "shared/link.md")), AccessReason::LeavesRoot);
    assert!(matches!(
        reason(fixture.read_outside(&["shared"], "shared/.git/config")),
        AccessReason::Reserved(_)
    ));
    let exactly = fixture.read_outside(&["shared/.git/config"], "shared/.git/config");
    assert!(matches!(reason(exactly), AccessReason::Reserved(_)));
    assert_eq!(reason(fixture.read(&["shared"], "/x\0y")), AccessReason::NulInPath);
}

#[test]
fn missing_allowed_files_are_missing_files() {
    let fixture = Fixture::new();
    assert!(fixture.read_outside(&["shared"], "shared/none.md").unwrap_err().is_missing_file());
    assert!(fixture.read_outside(&["gone"], "gone/none.md").unwrap_err().is_missing_file());
}

#[test]
fn allow_list_accepts_only_normalised_absolute_paths() {
    for bad in ["relative/path", "/a/../b", ""] {
        let error = AllowedPaths::new([bad.into()]).unwrap_err();
        assert!(matches!(error, WorkspaceError::Resolution(_)), "{bad}");
    }
}
