//! Upgrades of mutable layers. Built-in defaults are stored as versions like any other text, so that a new default
//! reaches unedited layers only. A pure decision; the store persists it.
//!
//! - A default is recorded once, when it is first seen, and never again. So two programs with different defaults can
//!   share a store without overwriting each other repeatedly.
//! - A layer *follows the defaults* while its text is the last recorded default. Only such a layer gets a new default.
//! - An edited layer, or one rolled back to an older default, keeps its text. The new default is recorded: it can be
//!   shown and rolled back to, and then the layer follows the defaults again.
//!
//! Defaults are not ordered by age: a default is new if it was not recorded before. An older program that opens a newer
//! program's store for the first time therefore applies its own default once.

use crate::text::ContentHash;

/// The recorded versions of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerVersions<'a> {
    /// The current text, if there is one.
    pub current: Option<ContentHash>,
    /// All recorded defaults, oldest first.
    pub defaults: &'a [ContentHash],
}

impl LayerVersions<'_> {
    /// Whether a new default replaces the layer's text.
    #[must_use]
    pub fn follows_defaults(&self) -> bool {
        self.current.is_none_or(|current| self.defaults.last() == Some(&current))
    }
}

/// What to do with this program's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultAction {
    /// It is already recorded.
    Nothing,
    /// Record it without changing the layer.
    Record,
    /// Record it and make it the layer's text.
    Apply,
}

/// Decides what to do with this program's default text `brought`.
///
/// ```
/// use foreword_prompt::layer_defaults::{LayerVersions, DefaultAction, decide};
/// use foreword_prompt::text::ContentHash;
/// let [old, new, edit] = ["old", "new", "edit"].map(ContentHash::of);
/// assert_eq!(decide(new, LayerVersions { current: Some(old), defaults: &[old] }), DefaultAction::Apply);
/// assert_eq!(decide(new, LayerVersions { current: Some(edit), defaults: &[old] }), DefaultAction::Record);
/// assert_eq!(decide(old, LayerVersions { current: Some(new), defaults: &[old, new] }), DefaultAction::Nothing);
/// ```
#[must_use]
pub fn decide(brought: ContentHash, known: LayerVersions<'_>) -> DefaultAction {
    if known.defaults.contains(&brought) {
        DefaultAction::Nothing
    } else if known.follows_defaults() {
        DefaultAction::Apply
    } else {
        DefaultAction::Record
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A layer as stored.
    #[derive(Debug, Clone, Default)]
    struct StoredLayer {
        current: Option<ContentHash>,
        defaults: Vec<ContentHash>,
    }

    impl StoredLayer {
        fn sync(&mut self, brought: ContentHash) -> DefaultAction {
            let step = decide(brought, LayerVersions { current: self.current, defaults: &self.defaults });
            if step != DefaultAction::Nothing {
                self.defaults.push(brought);
            }
            if step == DefaultAction::Apply {
                self.current = Some(brought);
            }
            step
        }
    }

    fn text(number: u8) -> ContentHash {
        ContentHash::of(&number.to_string())
    }

    #[test]
    fn layer_rolled_back_to_old_default_stays() {
        let mut layer = StoredLayer::default();
        layer.sync(text(1));
        layer.sync(text(2));
        layer.current = Some(text(1));
        assert_eq!(layer.sync(text(3)), DefaultAction::Record);
        layer.current = Some(text(3));
        assert_eq!(layer.sync(text(4)), DefaultAction::Apply);
    }

    proptest! {
        #[test]
        fn alternating_programs_settle_after_one_run_each(first in proptest::collection::vec(0u8..4, 1..8), later in proptest::collection::vec(0u8..4, 0..20)) {
            let mut layer = StoredLayer::default();
            for program in &first {
                layer.sync(text(*program));
            }
            let rested = layer.current;
            for program in later.iter().filter(|program| first.contains(program)) {
                prop_assert_eq!(layer.sync(text(*program)), DefaultAction::Nothing);
            }
            prop_assert_eq!(layer.current, rested);
        }

        #[test]
        fn edited_layer_is_never_changed_by_an_upgrade(before in proptest::collection::vec(0u8..4, 0..6), after in proptest::collection::vec(0u8..8, 0..12)) {
            let mut layer = StoredLayer::default();
            for program in before {
                layer.sync(text(program));
            }
            let edit = ContentHash::of("an edit");
            layer.current = Some(edit);
            for program in after {
                layer.sync(text(program));
                prop_assert_eq!(layer.current, Some(edit));
            }
        }
    }
}
