//! Reads one file below a root: opens it once and takes its kind, size, link count and bytes from that handle. Does no
//! caching; see `text_pool`.

use std::io::Read;
use std::sync::Arc;

use cap_std::fs::{File, Metadata};
use foreword_prompt::text::ContentHash;

use super::decode::decode;
use super::path::RelativePath;
use super::signature::{Signature, signature_of};
use super::walk::{Fault, io_message, open_file, special_kind};
use super::{Root, walk};
use crate::error::{AccessReason, WorkspaceError};

/// The maximum number of attempts to read a file that changes during the read.
pub(super) const MAX_READ_ATTEMPTS: usize = 8;

/// Limits for reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// The maximum size of a file in bytes.
    pub bytes: u64,
    /// How to treat files with several hard links.
    pub hard_links: HardLinks,
}

/// How to treat a file with several hard links, one of which may be outside the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HardLinks {
    /// Refuse it: a hard link to a file outside is indistinguishable from a file inside.
    Refuse,
    /// Read it, for workspaces on deduplicating storage.
    Allow,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { bytes: 1024 * 1024, hard_links: HardLinks::Refuse }
    }
}

/// A file's text and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// The text: UTF-8, no byte order mark, lines ended by `\n`.
    pub text: Arc<str>,
    /// The version of the file it was read from.
    pub signature: Signature,
    /// The hash of `text`.
    pub hash: ContentHash,
}

impl Root {
    /// The text of the file at `path`.
    ///
    /// # Errors
    /// [`crate::error::ResolutionError::MissingFile`] when the file does not exist, otherwise an
    /// [`crate::error::AccessError`] with the reason.
    pub fn read(&self, path: &str) -> Result<FileText, WorkspaceError> {
        let (text, signature) =
            self.attempt(path, |_| false)?.ok_or_else(|| self.error(path, Fault::Missing))?;
        Ok(FileText { hash: ContentHash::of(&text), text: text.into(), signature })
    }

    /// The path below this root that `path` resolves to, links resolved. Opens the file without reading it.
    ///
    /// # Errors
    /// As [`Root::read`], except for errors of the content.
    pub fn locate(&self, path: &str) -> Result<String, WorkspaceError> {
        let names = RelativePath::parse_file(path)
            .map_err(Fault::Refused)
            .and_then(|parts| walk::open_named(&self.directory, &parts))
            .map(|(_, names)| names)
            .map_err(|fault| self.error(path, fault))?;
        Ok(names.iter().map(|name| name.to_string_lossy()).collect::<Vec<_>>().join("/"))
    }

    /// The current version of the file at `path`. Refuses what [`Root::read`] refuses, except for errors of the
    /// content.
    ///
    /// # Errors
    /// As [`Root::read`].
    pub fn signature(&self, path: &str) -> Result<Signature, WorkspaceError> {
        self.open_regular(path)
            .map(|(_, metadata)| signature_of(&metadata))
            .map_err(|fault| self.error(path, fault))
    }

    /// The text of the file at `path`, or `None` when `is_known` accepts its current version.
    pub(crate) fn read_unless(
        &self,
        path: &str,
        is_known: impl Fn(&Signature) -> bool,
    ) -> Result<Option<(String, Signature)>, WorkspaceError> {
        self.attempt(path, is_known)
    }

    /// Retries until the file does not change during a read.
    fn attempt(
        &self,
        path: &str,
        is_known: impl Fn(&Signature) -> bool,
    ) -> Result<Option<(String, Signature)>, WorkspaceError> {
        for _ in 0..MAX_READ_ATTEMPTS {
            let (mut file, before) = self.open_regular(path).map_err(|fault| self.error(path, fault))?;
            let signature = signature_of(&before);
            if is_known(&signature) {
                return Ok(None);
            }
            let read = self.read_handle(&mut file, &before).map_err(|fault| self.error(path, fault))?;
            if let Some(bytes) = read {
                let text = decode(bytes).map_err(|reason| self.error(path, Fault::Refused(reason)))?;
                return Ok(Some((text, signature)));
            }
        }
        Err(self.error(path, Fault::Refused(AccessReason::KeepsChanging)))
    }

    fn open_regular(&self, path: &str) -> Result<(File, Metadata), Fault> {
        let parts = RelativePath::parse_file(path).map_err(Fault::Refused)?;
        let file = open_file(&self.directory, &parts)?;
        let metadata = file.metadata().map_err(|error| walk::io_fault(&error))?;
        match self.refusal(&metadata) {
            Some(reason) => Err(Fault::Refused(reason)),
            None => Ok((file, metadata)),
        }
    }

    pub(super) fn refusal(&self, metadata: &Metadata) -> Option<AccessReason> {
        if let Some(kind) = special_kind(metadata) {
            return Some(AccessReason::NotRegular(kind));
        }
        let links = cap_fs_ext::MetadataExt::nlink(metadata);
        if links > 1 && self.limits.hard_links == HardLinks::Refuse {
            return Some(AccessReason::HardLinked(links));
        }
        (metadata.len() > self.limits.bytes)
            .then(|| AccessReason::TooLarge { size: Some(metadata.len()), limit: self.limits.bytes })
    }

    /// The bytes of `file`, or `None` if it changed during the read.
    pub(super) fn read_handle(&self, file: &mut File, before: &Metadata) -> Result<Option<Vec<u8>>, Fault> {
        let limit = self.limits.bytes;
        // Only as many bytes as the file had saves a read at its end; a file that has grown has another size afterwards.
        // Some file systems give no sizes. Then one byte beyond the limit is enough to detect a file that is too large.
        let most = Some(before.len()).filter(|size| *size > 0).unwrap_or(limit.saturating_add(1));
        let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or(0));
        let read = file.take(most).read_to_end(&mut bytes);
        read.map_err(|error| Fault::Refused(AccessReason::Unreadable(io_message(&error))))?;
        if bytes.len() as u64 > limit {
            return Err(Fault::Refused(AccessReason::TooLarge { size: None, limit }));
        }
        let after = file.metadata().map_err(|error| walk::io_fault(&error))?;
        let (before, after) = (signature_of(before), signature_of(&after));
        Ok((before.size == after.size && before.mtime_ns == after.mtime_ns).then_some(bytes))
    }
}
