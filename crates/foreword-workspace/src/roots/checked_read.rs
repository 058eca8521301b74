//! Reads a file if its resolved path passes the caller's check. The path and the bytes come from the same handle, so a
//! link that is swapped in between is checked again or not read.

use cap_std::fs::{File, Metadata};
use foreword_prompt::text::ContentHash;

use super::Root;
use super::decode::decode;
use super::path::RelativePath;
use super::read::{FileText, MAX_READ_ATTEMPTS};
use super::signature::signature_of;
use super::walk::{Fault, io_fault, open_named};
use crate::error::{AccessReason, WorkspaceError};

/// The result of a checked read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckedRead {
    /// The file.
    Text {
        /// Its path below the root, links resolved.
        real_path: String,
        /// The file's text.
        file: FileText,
    },
    /// The check failed. Nothing was read.
    Withheld,
}

impl Root {
    /// The text of the file at `path`, if `may_read` accepts its path below this root, links resolved.
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
    /// use foreword_workspace::roots::{CheckedRead, Root};
    ///
    /// let root = Root::open("workspace", folder.path())?;
    /// let judged = root.read_checked("plan.md", |real| !real.starts_with("private/"))?;
    /// assert_eq!(judged, CheckedRead::Withheld);
    /// # Ok(()) }
    /// ```
    pub fn read_checked(
        &self,
        path: &str,
        may_read: impl Fn(&str) -> bool,
    ) -> Result<CheckedRead, WorkspaceError> {
        for _ in 0..MAX_READ_ATTEMPTS {
            let (mut file, metadata, real_path) =
                self.open_with_name(path).map_err(|fault| self.error(path, fault))?;
            if !may_read(&real_path) {
                return Ok(CheckedRead::Withheld);
            }
            // Only after the check, so that a withheld file does not reveal its kind or size.
            if let Some(reason) = self.refusal(&metadata) {
                return Err(self.error(path, Fault::Refused(reason)));
            }
            let read = self.read_handle(&mut file, &metadata).map_err(|fault| self.error(path, fault))?;
            if let Some(bytes) = read {
                let text = decode(bytes).map_err(|reason| self.error(path, Fault::Refused(reason)))?;
                let hash = ContentHash::of(&text);
                let file = FileText { text: text.into(), signature: signature_of(&metadata), hash };
                return Ok(CheckedRead::Text { real_path, file });
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
