//! The log file. It is written by appending whole lines, turned over when the day or the file is full, and what is too old
//! goes. Several processes may write to one file: each notices when another has turned it over.

mod names;
mod turning;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use jiff::civil::Date;

use super::queue::{LineWriter, Unwritten};
use crate::error::ObserveError;
use names::FileNames;

/// What holds for a log file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSettings {
    /// The file that is written to; those that were turned over stand beside it.
    pub path: PathBuf,
    /// For how many days those are kept.
    pub max_days: u32,
    /// How large a file may become, in bytes.
    pub max_bytes: u64,
}

/// A log file that is open.
pub struct LogFile {
    settings: FileSettings,
    names: FileNames,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    open: Option<Open>,
}

/// The file as it was last seen.
struct Open {
    file: File,
    /// The day its lines are of.
    day: Date,
    length: u64,
    /// Whether somebody's line was cut off at its end.
    cut: bool,
}

impl LogFile {
    /// Opens the file, with the folders it stands in, and removes what is too old.
    ///
    /// # Errors
    /// If it can't be written to.
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

    /// The day that the lines of a file are of, and whether its last line was cut off.
    fn seen(&self, file: &File) -> io::Result<(Date, bool)> {
        let mut reader = File::open(&self.settings.path)?;
        let mut head = [0; 17];
        let dated = reader.read_exact(&mut head).is_ok() && head.starts_with(b"{\"ts\":\"");
        let written =
            if dated { std::str::from_utf8(&head[7..]).ok().and_then(|day| day.parse().ok()) } else { None };
        let mut last = [0];
        reader.seek(SeekFrom::End(-1))?;
        reader.read_exact(&mut last)?;
        // A file of somebody else's making is as old as its last change.
        let changed = || {
            let at = jiff::Timestamp::try_from(file.metadata().ok()?.modified().ok()?).ok()?;
            Some(at.to_zoned(jiff::tz::TimeZone::UTC).date())
        };
        Ok((written.or_else(changed).unwrap_or_else(|| self.today()), last != [b'\n']))
    }

    /// Makes sure that the file is the one of that name, and looks how long it is now: others write to it too.
    fn look(&mut self) -> io::Result<()> {
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

    /// Makes the folder again if somebody has removed it. Not those around it: a workspace that is gone stays gone.
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
                Ok(0) => return Err(self.broke_off(text, written, io::ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broke_off(text, written, error)),
            }
        }
        open.length += text.len() as u64;
        Ok(())
    }

    /// Takes back the part of a line that was written before the disk was full, if nobody has written since.
    fn broke_off(&mut self, text: &str, written: usize, error: io::Error) -> io::Error {
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
            self.look().map_err(unwritten)?;
            if self.is_due(left[0].len()) {
                self.turn_over(left[0].len()).map_err(unwritten)?;
            }
            let count = self.fitting(left);
            self.append(&left[..count].concat()).map_err(unwritten)?;
            left = &left[count..];
        }
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    // Opening a pipe would wait for a reader.
    if fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        return Err(io::Error::other("it is no plain file"));
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

/// Where files have no number, they have a time at which they were made.
#[cfg(not(unix))]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    one.created().ok() == other.created().ok()
}
