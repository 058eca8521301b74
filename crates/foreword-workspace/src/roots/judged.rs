//! Reads a file if its real name passes: whoever asks judges the path that the opened handle was reached by, links
//! resolved, and the bytes come from that same handle. So a link swapped in between is judged again, or not read.

use cap_std::fs::{File, Metadata};
use foreword_prompt::text::ContentHash;

use super::Root;
use super::decode::decode;
use super::path::RelativePath;
use super::reading::{ATTEMPTS, FileText};
use super::signature::signature_of;
use super::walk::{Fault, io_fault, open_named};
use crate::error::{AccessReason, WorkspaceError};

/// What a judged read gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// The file.
    Text {
        /// Its path below the root, links resolved.
        real_path: String,
        /// What it says.
        file: FileText,
    },
    /// The judge said no. Nothing was read.
    Withheld,
}

impl Root {
    /// The text of the file at `path`, if `may_read` agrees to the path below this root that it really has.
    ///
    /// # Errors
    /// As [`Root::read`].
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # std::fs::create_dir(folder.path().join("private"))?;
    /// # std::fs::write(folder.path().join("private/plan.md"), "a surprise")?;
    /// # std::os::unix::fs::symlink("private/plan.md", folder.path().join("plan.md"))?;
    /// use foreword_workspace::roots::{Judged, Root};
    ///
    /// let root = Root::open("workspace", folder.path())?;
    /// let judged = root.read_judged("plan.md", |real| !real.starts_with("private/"))?;
    /// assert_eq!(judged, Judged::Withheld);
    /// # Ok(()) }
    /// ```
    pub fn read_judged(&self, path: &str, may_read: impl Fn(&str) -> bool) -> Result<Judged, WorkspaceError> {
        for _ in 0..ATTEMPTS {
            let (mut file, metadata, real_path) =
                self.open_with_name(path).map_err(|fault| self.error(path, fault))?;
            if !may_read(&real_path) {
                return Ok(Judged::Withheld);
            }
            // Only now: what is withheld does not even say that it is a folder, or too large.
            if let Some(reason) = self.refusal(&metadata) {
                return Err(self.error(path, Fault::Refused(reason)));
            }
            let read = self.read_handle(&mut file, &metadata).map_err(|fault| self.error(path, fault))?;
            if let Some(bytes) = read {
                let text = decode(bytes).map_err(|reason| self.error(path, Fault::Refused(reason)))?;
                let hash = ContentHash::of(&text);
                let file = FileText { text: text.into(), signature: signature_of(&metadata), hash };
                return Ok(Judged::Text { real_path, file });
            }
        }
        Err(self.error(path, Fault::Refused(AccessReason::KeepsChanging)))
    }

    fn open_with_name(&self, path: &str) -> Result<(File, Metadata, String), Fault> {
        let parts = RelativePath::parse_file(path).map_err(Fault::Refused)?;
        let (file, names) = open_named(&self.directory, &parts)?;
        let metadata = file.metadata().map_err(|error| io_fault(&error))?;
        let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
        Ok((file, metadata, names.join("/")))
    }
}
