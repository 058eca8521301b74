//! The last version of each prompt source (a file, a template) that was read and rendered without an error. When a source
//! fails while an epoch opens, the prompt is built from that version. A value that a build takes in; the store persists it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::text::ContentHash;

/// One version of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceVersion {
    /// The source's name: a path below the workspace, or [`STORED_TEMPLATE`].
    pub source: Arc<str>,
    /// The path that the name led to when it was read, links resolved: trust is checked for both. Of a stored template, its
    /// version number.
    pub resolved: Arc<str>,
    /// The text.
    pub text: Arc<str>,
}

/// The name of the stored template as a source.
pub const STORED_TEMPLATE: &str = "stored template";

/// The last good version of each source.
///
/// ```
/// use foreword_prompt::last_good::{LastGood, SourceVersion};
/// let soul = SourceVersion { source: "SOUL.md".into(), resolved: "SOUL.md".into(), text: "Be kind.".into() };
/// let last_good = LastGood::new([soul]);
/// assert_eq!(&*last_good.get("SOUL.md").unwrap().text, "Be kind.");
/// assert!(last_good.get("AGENTS.md").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastGood {
    versions: BTreeMap<Arc<str>, SourceVersion>,
    identity: ContentHash,
}

impl LastGood {
    /// These versions, one per source.
    #[must_use]
    pub fn new(versions: impl IntoIterator<Item = SourceVersion>) -> Self {
        let versions: BTreeMap<_, _> =
            versions.into_iter().map(|version| (Arc::clone(&version.source), version)).collect();
        let parts =
            versions.values().flat_map(|version| [&*version.source, &*version.resolved, &*version.text]);
        let identity = ContentHash::of_parts(parts);
        Self { versions, identity }
    }

    /// The version of `source`.
    #[must_use]
    pub fn get(&self, source: &str) -> Option<&SourceVersion> {
        self.versions.get(source)
    }

    /// The hash of all versions: equal texts have equal identities.
    #[must_use]
    pub fn identity(&self) -> ContentHash {
        self.identity
    }
}
