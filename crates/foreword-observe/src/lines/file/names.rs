//! The names of rotated log files: `foreword.log` becomes `foreword.2026-11-15.log`, or `foreword.2026-11-15.1.log` if
//! more files of that day follow.

use std::path::{Path, PathBuf};

use jiff::civil::Date;

/// The current and rotated names of a log file.
#[derive(Debug, Clone)]
pub(super) struct FileNames {
    folder: PathBuf,
    stem: String,
    extension: Option<String>,
}

impl FileNames {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let stem = path.file_stem()?.to_str()?.to_owned();
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_owned);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(Self { folder: folder.to_owned(), stem, extension })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The lock file held during rotation.
    pub(super) fn lock(&self) -> PathBuf {
        self.folder.join(format!(".{}.lock", self.stem))
    }

    /// The name of a rotated file, with a number if it was rotated by size.
    pub(super) fn rotated_name(&self, day: Date, number: Option<u32>) -> PathBuf {
        let number = number.map(|number| format!(".{number}")).unwrap_or_default();
        let extension = self.extension.as_ref().map(|extension| format!(".{extension}")).unwrap_or_default();
        self.folder.join(format!("{}.{day}{number}{extension}", self.stem))
    }

    /// The day of a rotated file, if `name` is one of ours.
    pub(super) fn day_of(&self, name: &str) -> Option<Date> {
        let rest = name.strip_prefix(&self.stem)?.strip_prefix('.')?;
        let rest = match &self.extension {
            Some(extension) => rest.strip_suffix(extension.as_str())?.strip_suffix('.')?,
            None => rest,
        };
        let (day, number) = rest.split_once('.').map_or((rest, None), |(day, number)| (day, Some(number)));
        let plain = number.is_none_or(|number| {
            !number.is_empty() && number.len() < 10 && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        // Accept only `2026-11-15`: the date parser also accepts longer forms.
        if plain && day.len() == 10 { day.parse().ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_rotated_names_are_recognised() {
        let names = FileNames::of(Path::new("logs/foreword.log")).unwrap();
        let day: Date = "2026-11-15".parse().unwrap();
        for number in [None, Some(1), Some(12)] {
            let path = names.rotated_name(day, number);
            assert_eq!(names.day_of(path.file_name().unwrap().to_str().unwrap()), Some(day), "{path:?}");
        }
        for other in [
            "foreword.log",
            "foreword.2026-11-15.log.gz",
            "foreword.2026-13-15.log",
            "foreword.2026-11-15.x.log",
            "foreword.2026-11-15..log",
            "foreword.notes.log",
            "other.2026-11-15.log",
            "foreword-2026-11-15.log",
            "foreword.20261115.log",
        ] {
            assert_eq!(names.day_of(other), None, "{other}");
        }
    }

    #[test]
    fn names_without_extension_get_a_date() {
        let names = FileNames::of(Path::new("agent")).unwrap();
        let day: Date = "2026-11-15".parse().unwrap();
        assert_eq!(names.rotated_name(day, Some(2)), Path::new("./agent.2026-11-15.2"));
        assert_eq!(names.day_of("agent.2026-11-15"), Some(day));
    }
}
