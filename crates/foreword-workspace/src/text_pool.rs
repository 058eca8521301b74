//! One copy of each text in the process, and a cache of file texts.
//!
//! [`TextPool`] interns texts by content hash; [`FileCache`] uses it and reads a file again only when its signature may
//! have changed. The owner of the workspaces shares both by `Arc`; there are no globals. Compiled templates are cached
//! elsewhere.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::error::WorkspaceError;
use crate::roots::{FileText, Root, RootId, Signature};
use foreword_prompt::text::ContentHash;

/// How much unreferenced text a [`TextPool`] retains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    /// The maximum number of texts.
    pub entries: usize,
    /// The maximum size of the texts in bytes.
    pub bytes: usize,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self { entries: 100_000, bytes: 64 * 1024 * 1024 }
    }
}

/// Interned texts by content hash.
///
/// A referenced text is never dropped, so equal text is a single allocation as long as it is referenced. When the pool
/// exceeds its limits, it drops unreferenced texts, least recently used first. If the referenced texts alone exceed the
/// limits, the pool grows to at most twice their size.
///
/// ```
/// use foreword_workspace::text_pool::{PoolLimits, TextPool};
/// use std::sync::Arc;
/// let pool = TextPool::new(PoolLimits::default());
/// assert!(Arc::ptr_eq(&pool.intern("Be kind."), &pool.intern("Be kind.")));
/// ```
#[derive(Debug)]
pub struct TextPool {
    limits: PoolLimits,
    shelf: Mutex<PoolState>,
}

#[derive(Debug, Default)]
struct PoolState {
    texts: HashMap<ContentHash, PooledText, BuildHasherDefault<HashPrefix>>,
    bytes: usize,
    /// Incremented with every use, so that a larger value is more recent.
    uses: u64,
    /// The sizes at which the next sweep runs.
    sweep_at: PoolLimits,
}

/// Uses the start of a content hash as its hash, since content hashes are evenly distributed.
#[derive(Debug, Default)]
struct HashPrefix(u64);

impl Hasher for HashPrefix {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(prefix) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*prefix);
        }
    }

    /// The length of the array, which is always the same.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Debug)]
struct PooledText {
    text: Arc<str>,
    last_use: u64,
}

impl TextPool {
    /// An empty pool.
    #[must_use]
    pub fn new(limits: PoolLimits) -> Self {
        Self { limits, shelf: Mutex::new(PoolState { sweep_at: limits, ..PoolState::default() }) }
    }

    /// The interned copy of `text`.
    #[must_use]
    pub fn intern(&self, text: &str) -> Arc<str> {
        self.intern_hashed(ContentHash::of(text), text)
    }

    /// The interned copy of `text`, whose hash is known.
    #[must_use]
    pub(crate) fn intern_hashed(&self, hash: ContentHash, text: &str) -> Arc<str> {
        let mut shelf = self.shelf.lock();
        shelf.uses += 1;
        let now = shelf.uses;
        if let Some(shelved) = shelf.texts.get_mut(&hash) {
            shelved.last_use = now;
            return Arc::clone(&shelved.text);
        }
        let shared: Arc<str> = Arc::from(text);
        shelf.bytes += shared.len();
        shelf.texts.insert(hash, PooledText { text: Arc::clone(&shared), last_use: now });
        if shelf.texts.len() > shelf.sweep_at.entries || shelf.bytes > shelf.sweep_at.bytes {
            shelf.sweep(self.limits);
        }
        shared
    }

    /// The number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shelf.lock().texts.len()
    }

    /// Whether the pool is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The size of all texts in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.shelf.lock().bytes
    }
}

impl PoolState {
    /// Drops unreferenced texts, oldest first, until a quarter of the limits is free.
    fn sweep(&mut self, limits: PoolLimits) {
        let goal = PoolLimits { entries: limits.entries / 4 * 3, bytes: limits.bytes / 4 * 3 };
        let mut idle: Vec<(u64, ContentHash)> = self
            .texts
            .iter()
            .filter(|(_, shelved)| Arc::strong_count(&shelved.text) == 1)
            .map(|(hash, shelved)| (shelved.last_use, *hash))
            .collect();
        idle.sort_unstable_by_key(|(last_use, _)| *last_use);
        for (_, hash) in idle {
            if self.texts.len() <= goal.entries && self.bytes <= goal.bytes {
                break;
            }
            if let Some(shelved) = self.texts.remove(&hash) {
                self.bytes = self.bytes.saturating_sub(shelved.text.len());
            }
        }
        // A sweep at every insertion while all texts are referenced would make the work quadratic.
        let next = |held: usize, goal: usize, limit: usize| {
            if held <= goal { limit } else { limit.max(held.saturating_mul(2)) }
        };
        self.sweep_at = PoolLimits {
            entries: next(self.texts.len(), goal.entries, limits.entries),
            bytes: next(self.bytes, goal.bytes, limits.bytes),
        };
    }
}

/// A cache of file texts, limited in bytes.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// use foreword_workspace::roots::Root;
/// use foreword_workspace::text_pool::{FileCache, PoolLimits, TextPool};
/// use std::sync::Arc;
///
/// let cache = FileCache::new(Arc::new(TextPool::new(PoolLimits::default())), 64 * 1024 * 1024);
/// std::fs::write(folder.path().join("A.md"), "same words")?;
/// std::fs::write(folder.path().join("B.md"), "same words")?;
/// let root = Root::open("workspace", folder.path())?;
/// assert!(Arc::ptr_eq(&cache.read(&root, "A.md")?.text, &cache.read(&root, "B.md")?.text));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct FileCache {
    pool: Arc<TextPool>,
    files: Cache<FileKey, CachedFile, ByteWeighter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct FileKey {
    root: RootId,
    path: Box<str>,
}

#[derive(Debug, Clone)]
struct CachedFile {
    file: FileText,
    /// Whether a later edit is certain to change the signature.
    settled: bool,
}

#[derive(Debug, Clone)]
struct ByteWeighter;

impl Weighter<FileKey, CachedFile> for ByteWeighter {
    fn weight(&self, key: &FileKey, cached: &CachedFile) -> u64 {
        // The constant accounts for the entry itself, so that empty files have a cost.
        (256 + key.path.len() + cached.file.text.len()) as u64
    }
}

impl FileCache {
    /// An empty cache of at most `bytes`; the texts are interned in `pool`.
    #[must_use]
    pub fn new(pool: Arc<TextPool>, bytes: u64) -> Self {
        let files = usize::try_from(bytes / 4096).unwrap_or(usize::MAX).clamp(16, 1 << 20);
        Self { pool, files: Cache::with_weighter(files, bytes, ByteWeighter) }
    }

    /// The pool of its texts.
    #[must_use]
    pub fn pool(&self) -> &Arc<TextPool> {
        &self.pool
    }

    /// The current text of the file at `path`: from the cache if the file is certain to be unchanged.
    ///
    /// # Errors
    /// As [`Root::read`]; a cached text is never returned for a file that cannot be read now.
    pub fn read(&self, root: &Root, path: &str) -> Result<FileText, WorkspaceError> {
        let key = FileKey { root: root.id(), path: path.into() };
        let known = self.files.get(&key);
        let is_known = |now: &Signature| {
            known.as_ref().is_some_and(|cached| cached.settled && cached.file.signature == *now)
        };
        let seen = SystemTime::now();
        match (root.read_unless(path, is_known)?, &known) {
            (None, Some(cached)) => Ok(cached.file.clone()),
            (None, None) => root.read(path),
            (Some((text, signature)), _) => {
                let hash = ContentHash::of(&text);
                let file = FileText { text: self.pool.intern_hashed(hash, &text), signature, hash };
                let settled = signature.is_settled(seen);
                self.files.insert(key, CachedFile { file: file.clone(), settled });
                Ok(file)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_settled_file_is_not_reread() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.md"), "on disk").unwrap();
        let root = Root::open("workspace", folder.path()).unwrap();
        let cache = FileCache::new(Arc::new(TextPool::new(PoolLimits::default())), 1 << 20);
        let read = cache.read(&root, "a.md").unwrap();
        // This text is only in the cache, so a reader who gets it did not read the file.
        let file = FileText { text: "in memory".into(), ..read };
        let key = FileKey { root: root.id(), path: "a.md".into() };
        cache.files.insert(key.clone(), CachedFile { file: file.clone(), settled: true });
        assert_eq!(&*cache.read(&root, "a.md").unwrap().text, "in memory");
        cache.files.insert(key, CachedFile { file, settled: false });
        assert_eq!(&*cache.read(&root, "a.md").unwrap().text, "on disk");
    }
}
