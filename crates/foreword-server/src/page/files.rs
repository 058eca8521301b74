//! The files of the page: those that were built into the program, or those of a folder, for whoever works on them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What was built in, by the build script; each file also in the forms that are smaller.
static BUILT_IN: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

/// Where the page's files come from.
#[derive(Debug, Clone)]
pub(crate) enum PageFiles {
    BuiltIn,
    /// Read anew each time.
    Folder(PathBuf),
}

/// In which form a file is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    Gzip,
    Brotli,
}

impl Encoding {
    /// What it is called in a header.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip => Some("gzip"),
            Self::Brotli => Some("br"),
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Gzip => ".gz",
            Self::Brotli => ".br",
        }
    }
}

/// One file, in one form.
pub(super) struct PageFile {
    bytes: Cow<'static, [u8]>,
    pub(super) encoding: Encoding,
}

impl PageFile {
    pub(super) fn bytes(&self) -> Cow<'static, [u8]> {
        self.bytes.clone()
    }

    /// A name for exactly these bytes.
    pub(super) fn tag(&self) -> String {
        format!("\"{}\"", &blake3::hash(&self.bytes).to_hex()[..16])
    }
}

impl PageFiles {
    pub(crate) fn of(folder: Option<PathBuf>) -> Self {
        folder.map_or(Self::BuiltIn, Self::Folder)
    }

    /// The file of that name, in the form that was asked for or else as it is.
    pub(super) fn find(&self, name: &str, encoding: Encoding) -> Option<PageFile> {
        let found = |encoding: Encoding| {
            let bytes = self.bytes(&format!("{name}{}", encoding.suffix()))?;
            Some(PageFile { bytes, encoding })
        };
        found(encoding).or_else(|| found(Encoding::Plain))
    }

    fn bytes(&self, name: &str) -> Option<Cow<'static, [u8]>> {
        match self {
            Self::BuiltIn => {
                let file = BUILT_IN.iter().find(|(built, _)| *built == name)?;
                Some(Cow::Borrowed(file.1))
            }
            Self::Folder(folder) => {
                is_plain(name).then(|| std::fs::read(folder.join(name)).ok())?.map(Cow::Owned)
            }
        }
    }
}

/// Whether a name leads nowhere but down.
fn is_plain(name: &str) -> bool {
    Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_of_the_folder_is_given_out() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("page")).unwrap();
        std::fs::write(folder.path().join("secret.js"), "1").unwrap();
        std::fs::write(folder.path().join("page/own.js"), "2").unwrap();
        let files = PageFiles::of(Some(folder.path().join("page")));
        assert!(files.find("own.js", Encoding::Gzip).is_some_and(|file| file.encoding == Encoding::Plain));
        for name in ["../secret.js", "assets/../../secret.js", "/etc/hostname", "other.js"] {
            assert!(files.find(name, Encoding::Plain).is_none(), "{name}");
        }
    }
}
