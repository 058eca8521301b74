//! What an upgrade does to a mutable layer. Built-in defaults are kept as versions like any other text, so that a better
//! one reaches the layers nobody has edited and leaves the others alone. A pure decision; storing it is somebody else's
//! work.
//!
//! - A default is recorded once, when it is first seen. One that was recorded before is never recorded again, so two
//!   programs with different defaults can share a store without undoing each other's work for ever.
//! - A layer *follows the defaults* while its text is the default that was recorded last. Only such a layer gets the new
//!   one.
//! - A layer that was edited, or rolled back to an older default, keeps its text. The new default is on record: it can be
//!   shown, and rolled back to, and then the layer follows the defaults again.
//!
//! Defaults have no age of their own: new is what was not seen before. An older program that meets a store for the first
//! time after a newer one has made it brings its own default once more, and no further.

use crate::text::ContentHash;

/// What is known about one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known<'a> {
    /// The text in force, if there is one.
    pub current: Option<ContentHash>,
    /// Every default that was ever recorded, the oldest first.
    pub defaults: &'a [ContentHash],
}

impl Known<'_> {
    /// Whether a new default would become the layer's text.
    #[must_use]
    pub fn follows_defaults(&self) -> bool {
        self.current.is_none_or(|current| self.defaults.last() == Some(&current))
    }
}

/// What to do with the default that this program brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is known: nothing.
    Nothing,
    /// Put it on record and leave the layer alone.
    Record,
    /// Put it on record, and in force.
    Apply,
}

/// Decides what becomes of the default text `brought` by this program.
///
/// ```
/// use foreword_prompt::layer_defaults::{Known, Step, decide};
/// use foreword_prompt::text::ContentHash;
/// let [old, new, edit] = ["old", "new", "edit"].map(ContentHash::of);
/// assert_eq!(decide(new, Known { current: Some(old), defaults: &[old] }), Step::Apply);
/// assert_eq!(decide(new, Known { current: Some(edit), defaults: &[old] }), Step::Record);
/// assert_eq!(decide(old, Known { current: Some(new), defaults: &[old, new] }), Step::Nothing);
/// ```
#[must_use]
pub fn decide(brought: ContentHash, known: Known<'_>) -> Step {
    if known.defaults.contains(&brought) {
        Step::Nothing
    } else if known.follows_defaults() {
        Step::Apply
    } else {
        Step::Record
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A layer as a store keeps it.
    #[derive(Debug, Clone, Default)]
    struct Kept {
        current: Option<ContentHash>,
        defaults: Vec<ContentHash>,
    }

    impl Kept {
        fn sync(&mut self, brought: ContentHash) -> Step {
            let step = decide(brought, Known { current: self.current, defaults: &self.defaults });
            if step != Step::Nothing {
                self.defaults.push(brought);
            }
            if step == Step::Apply {
                self.current = Some(brought);
            }
            step
        }
    }

    fn text(number: u8) -> ContentHash {
        ContentHash::of(&number.to_string())
    }

    #[test]
    fn a_layer_that_was_rolled_back_to_an_older_default_stays_there() {
        let mut layer = Kept::default();
        layer.sync(text(1));
        layer.sync(text(2));
        layer.current = Some(text(1));
        assert_eq!(layer.sync(text(3)), Step::Record);
        layer.current = Some(text(3));
        assert_eq!(layer.sync(text(4)), Step::Apply);
    }

    proptest! {
        #[test]
        fn programs_that_take_turns_come_to_rest_once_each_has_run(first in proptest::collection::vec(0u8..4, 1..8), later in proptest::collection::vec(0u8..4, 0..20)) {
            let mut layer = Kept::default();
            for program in &first {
                layer.sync(text(*program));
            }
            let rested = layer.current;
            for program in later.iter().filter(|program| first.contains(program)) {
                prop_assert_eq!(layer.sync(text(*program)), Step::Nothing);
            }
            prop_assert_eq!(layer.current, rested);
        }

        #[test]
        fn an_edited_layer_never_changes_by_itself(before in proptest::collection::vec(0u8..4, 0..6), after in proptest::collection::vec(0u8..8, 0..12)) {
            let mut layer = Kept::default();
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
