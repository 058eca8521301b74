//! Identifies a version of a file without reading it. Includes change time and inode, to detect edits that keep size
//! and modification time, and replaced files.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::fs::Metadata;

/// The coarsest timestamp resolution of common file systems (two seconds on FAT). Two edits within one tick have the
/// same times.
const MAX_CLOCK_TICK: Duration = Duration::from_secs(2);

/// A version of a file, identified by its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The device the file is on.
    pub dev: u64,
    /// Its inode.
    pub inode: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The modification time, in nanoseconds since 1970.
    pub mtime_ns: i128,
    /// The change time of content, name or permissions; only the kernel sets it.
    pub ctime_ns: i128,
}

impl Signature {
    /// Whether an edit after `seen` is certain to change the signature.
    ///
    /// A file changed within the last clock tick may change again with the same times, so its text may be cached only
    /// after the tick.
    #[must_use]
    pub fn is_settled(&self, seen: SystemTime) -> bool {
        let seen_ns = seen.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128);
        self.ctime_ns.max(self.mtime_ns) + (MAX_CLOCK_TICK.as_nanos() as i128) < seen_ns
    }
}

#[cfg(unix)]
pub(super) fn signature_of(metadata: &Metadata) -> Signature {
    use cap_std::fs::MetadataExt as _;
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    Signature {
        dev: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        mtime_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        ctime_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[cfg(not(unix))]
pub(super) fn signature_of(metadata: &Metadata) -> Signature {
    let since_1970 = |time: std::io::Result<cap_std::time::SystemTime>| {
        time.ok()
            .and_then(|time| time.into_std().duration_since(UNIX_EPOCH).ok())
            .map_or(0, |since| since.as_nanos() as i128)
    };
    let (dev, inode) = identity(metadata);
    Signature {
        dev,
        inode,
        size: metadata.len(),
        mtime_ns: since_1970(metadata.modified()),
        ctime_ns: since_1970(metadata.created()),
    }
}

/// The device and inode of a file or directory.
pub(super) fn identity(metadata: &Metadata) -> (u64, u64) {
    use cap_fs_ext::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_settled_one_tick_after_a_change() {
        let at = |seconds: i128| Signature {
            dev: 1,
            inode: 1,
            size: 1,
            mtime_ns: 0,
            ctime_ns: seconds * 1_000_000_000,
        };
        let seen = UNIX_EPOCH + Duration::from_secs(100);
        assert!(at(97).is_settled(seen));
        assert!(!at(98).is_settled(seen));
        assert!(!at(200).is_settled(seen), "a change time in the future is never trusted");
    }
}
