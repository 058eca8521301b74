//! Log rotation: when to rotate, the name of the rotated file, and which files to delete. Only one process rotates at a
//! time; existing files are never overwritten.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::time::Duration;

use jiff::ToSpan;

use super::LogFile;

/// How often to retry the lock held by another process.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(20);

impl LogFile {
    /// Whether to rotate before writing a line of this length.
    pub(super) fn is_due(&self, line: usize) -> bool {
        let Some(open) = &self.open else { return false };
        open.length > 0 && (open.day < self.today() || open.length + line as u64 > self.settings.max_bytes)
    }

    /// How many of these lines fit into the current file.
    pub(super) fn fitting(&self, lines: &[String]) -> usize {
        let mut length = self.open.as_ref().map_or(0, |open| open.length);
        let fits = |line: &&String| {
            length += line.len() as u64;
            length <= self.settings.max_bytes
        };
        // A line longer than the maximum file size gets a file of its own.
        lines.iter().take_while(fits).count().max(1)
    }

    /// Renames the file and starts a new one for a line of this length. If the lock is not available in time, writing
    /// continues in the old file.
    pub(super) fn rotate(&mut self, line: usize) -> io::Result<()> {
        let Some(lock) = self.lock()? else { return Ok(()) };
        // Another process may have rotated the file in the meantime.
        self.reopen_if_rotated()?;
        if self.is_due(line) {
            self.rename()?;
            self.reopen()?;
            self.remove_old();
        }
        drop(lock);
        Ok(())
    }

    fn rename(&self) -> io::Result<()> {
        let Some(open) = &self.open else { return Ok(()) };
        // The last file of a day has no number; those rotated by size have one.
        let plain = (open.day < self.today()).then_some(None);
        let numbered = (1..u32::MAX).map(Some);
        for number in plain.into_iter().chain(numbered) {
            let target = self.names.rotated_name(open.day, number);
            if fs::symlink_metadata(&target).is_err() {
                return fs::rename(&self.settings.path, target);
            }
        }
        Err(io::Error::other("no name is left for the old file"))
    }

    fn lock(&self) -> io::Result<Option<File>> {
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(self.names.lock())?;
        for _ in 0..LOCK_ATTEMPTS {
            match lock.try_lock() {
                Ok(()) => return Ok(Some(lock)),
                Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_INTERVAL),
                Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(Some(lock));
                }
                Err(fs::TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Deletes files that are too old. Failed deletions are retried at the next rotation.
    pub(super) fn remove_old(&self) {
        let first = self.today().saturating_sub(i64::from(self.settings.max_days).days());
        let Ok(entries) = fs::read_dir(self.names.folder()) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let day = name.to_str().and_then(|name| self.names.day_of(name));
            if day.is_some_and(|day| day < first) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}
