//! The log file. Appends whole lines, rotates by day and by size, and deletes old files. Several processes may write to
//! one file: each detects when another one has rotated it.

mod names;
mod rotation;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use jiff::civil::Date;

use super::queue::{LineWriter, Unwritten};
use crate::error::ObserveError;
use names::FileNames;

/// The settings of a log file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSettings {
    /// The current file; rotated files are in the same folder.
    pub path: PathBuf,
    /// How many days rotated files are kept.
    pub max_days: u32,
    /// The maximum size of a file, in bytes.
    pub max_bytes: u64,
}

/// An open log file.
pub struct LogFile {
    settings: FileSettings,
    names: FileNames,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    open: Option<Open>,
}

/// The state of the file when it was last checked.
struct Open {
    file: File,
    /// The day of its lines.
    day: Date,
    length: u64,
    /// Whether its last line is incomplete.
    cut: bool,
}

impl LogFile {
    /// Opens the file, creates its parent folders, and deletes old files.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn open(
        settings: FileSettings,
        clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    ) -> Result<Self, ObserveError> {
        let bad = |reason: String| ObserveError::File { path: settings.path.clone(), reason };
        let names = FileNames::of(&settings.path).ok_or_else(|| bad("it names no file".to_owned()))?;
        if let Some(folder) = settings.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| ObserveError::Folder {
                path: folder.to_owned(),
                reason: error.to_string(),
            })?;
        }
        let mut log = Self { names, clock, open: None, settings };
        log.reopen().map_err(|error| ObserveError::File {
            path: log.settings.path.clone(),
            reason: error.to_string(),
        })?;
        log.remove_old();
        Ok(log)
    }

    fn today(&self) -> Date {
        jiff::Timestamp::from((self.clock)()).to_zoned(jiff::tz::TimeZone::UTC).date()
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.open = None;
        let file = append(&self.settings.path)?;
        let length = file.metadata()?.len();
        let (day, cut) = if length == 0 { (self.today(), false) } else { self.seen(&file)? };
        self.open = Some(Open { file, day, length, cut });
        Ok(())
    }

    /// The day of a file's lines, and whether its last line is incomplete.
    fn seen(&self, file: &File) -> io::Result<(Date, bool)> {
        let mut reader = File::open(&self.settings.path)?;
        let mut head = [0; 17];
        let dated = reader.read_exact(&mut head).is_ok() && head.starts_with(b"{\"ts\":\"");
        let written =
            if dated { std::str::from_utf8(&head[7..]).ok().and_then(|day| day.parse().ok()) } else { None };
        let mut last = [0];
        reader.seek(SeekFrom::End(-1))?;
        reader.read_exact(&mut last)?;
        // For a file in another format, use its modification time.
        let changed = || {
            let at = jiff::Timestamp::try_from(file.metadata().ok()?.modified().ok()?).ok()?;
            Some(at.to_zoned(jiff::tz::TimeZone::UTC).date())
        };
        Ok((written.or_else(changed).unwrap_or_else(|| self.today()), last != [b'\n']))
    }

    /// Reopens the file if it was rotated, and reads its current length, since other processes write to it too.
    fn reopen_if_rotated(&mut self) -> io::Result<()> {
        let now = fs::metadata(&self.settings.path);
        let same = match (&self.open, &now) {
            (Some(open), Ok(now)) => is_same(&open.file.metadata()?, now),
            _ => false,
        };
        match (&mut self.open, now) {
            (Some(open), Ok(now)) if same => open.length = now.len(),
            _ => {
                self.make_folder()?;
                self.reopen()?;
            }
        }
        Ok(())
    }

    /// Creates the folder again if it was deleted. Not its parents: a deleted workspace is not recreated.
    fn make_folder(&self) -> io::Result<()> {
        match self.settings.path.parent().filter(|folder| !folder.as_os_str().is_empty()).map(fs::create_dir)
        {
            Some(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    fn append(&mut self, text: &str) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Err(io::Error::other("the file is not open")) };
        if open.cut {
            open.file.write_all(b"\n")?;
            open.cut = false;
            open.length += 1;
        }
        let mut written = 0;
        while written < text.len() {
            match open.file.write(&text.as_bytes()[written..]) {
                Ok(0) => {
                    return Err(self.remove_partial_line(text, written, io::ErrorKind::WriteZero.into()));
                }
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.remove_partial_line(text, written, error)),
            }
        }
        open.length += text.len() as u64;
        Ok(())
    }

    /// Removes a partial line after a full disk, unless another process has written since.
    fn remove_partial_line(&mut self, text: &str, written: usize, error: io::Error) -> io::Error {
        let whole = text.as_bytes()[..written].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if let Some(open) = &mut self.open
            && written > whole
        {
            let end = open.length + written as u64;
            let alone = open.file.metadata().is_ok_and(|now| now.len() == end);
            open.cut = !alone || open.file.set_len(open.length + whole as u64).is_err();
        }
        error
    }
}

impl LineWriter for LogFile {
    fn write(&mut self, lines: &[String]) -> Result<(), Unwritten> {
        let mut left = lines;
        while !left.is_empty() {
            let unwritten = |reason| Unwritten { lines: left.len(), reason };
            self.reopen_if_rotated().map_err(unwritten)?;
            if self.is_due(left[0].len()) {
                self.rotate(left[0].len()).map_err(unwritten)?;
            }
            let count = self.fitting(left);
            self.append(&left[..count].concat()).map_err(unwritten)?;
            left = &left[count..];
        }
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    // Opening a named pipe would block until a reader opens it.
    if fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        return Err(io::Error::other("not a regular file"));
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Without inode numbers, compare the creation time.
#[cfg(not(unix))]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    one.created().ok() == other.created().ok()
}
