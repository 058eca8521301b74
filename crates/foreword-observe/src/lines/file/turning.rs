//! When a log file is turned over, under which name it goes on, and which ones are removed. Only one process does it at a
//! time; a name that is taken is never written over.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::time::Duration;

use jiff::ToSpan;

use super::LogFile;

/// How long is waited for another process that turns the file over, in steps.
const STEPS: u32 = 50;
const STEP: Duration = Duration::from_millis(20);

impl LogFile {
    /// Whether the file is turned over before a line of that length is written.
    pub(super) fn is_due(&self, line: usize) -> bool {
        let Some(open) = &self.open else { return false };
        open.length > 0 && (open.day < self.today() || open.length + line as u64 > self.settings.max_bytes)
    }

    /// How many of these lines go into the file as it is.
    pub(super) fn fitting(&self, lines: &[String]) -> usize {
        let mut length = self.open.as_ref().map_or(0, |open| open.length);
        let fits = |line: &&String| {
            length += line.len() as u64;
            length <= self.settings.max_bytes
        };
        // A line that is longer than any file may be stands alone in one.
        lines.iter().take_while(fits).count().max(1)
    }

    /// Gives the file its last name and begins a new one for a line of that length. Whoever can't have the lock in time goes on in the old one.
    pub(super) fn turn_over(&mut self, line: usize) -> io::Result<()> {
        let Some(lock) = self.lock()? else { return Ok(()) };
        // Another process may have done it while we waited.
        self.look()?;
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
        // The last one of a day has no number; those that were full before have.
        let plain = (open.day < self.today()).then_some(None);
        let numbered = (1..u32::MAX).map(Some);
        for number in plain.into_iter().chain(numbered) {
            let target = self.names.turned(open.day, number);
            if fs::symlink_metadata(&target).is_err() {
                return fs::rename(&self.settings.path, target);
            }
        }
        Err(io::Error::other("no name is left for the old file"))
    }

    fn lock(&self) -> io::Result<Option<File>> {
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(self.names.lock())?;
        for _ in 0..STEPS {
            match lock.try_lock() {
                Ok(()) => return Ok(Some(lock)),
                Err(fs::TryLockError::WouldBlock) => std::thread::sleep(STEP),
                Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(Some(lock));
                }
                Err(fs::TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Removes the files of days that are too long ago. What can't be removed now is so another time.
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
