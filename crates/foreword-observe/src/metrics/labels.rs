//! Labels that can't become too many. Each value of a label is a series that whoever collects keeps for months, and names
//! come from outside too; so the first ones get a series each, and all others share one.

use std::collections::BTreeMap;

/// What the rest is called.
pub(super) const OTHER: &str = "other";

/// The longest name that gets a series of its own.
const LONGEST: usize = 120;

/// Something of each name, for the first `MOST` names.
#[derive(Debug, Clone)]
pub(super) struct ByName<T, const MOST: usize> {
    own: BTreeMap<Box<str>, T>,
    rest: Option<T>,
}

impl<T, const MOST: usize> Default for ByName<T, MOST> {
    fn default() -> Self {
        Self { own: BTreeMap::new(), rest: None }
    }
}

impl<T: Default, const MOST: usize> ByName<T, MOST> {
    /// That of `name`, or of the rest.
    pub(super) fn of(&mut self, name: &str) -> &mut T {
        let fits = !name.is_empty() && name.len() <= LONGEST && name != OTHER;
        if fits && self.own.len() < MOST && !self.own.contains_key(name) {
            self.own.insert(name.into(), T::default());
        }
        self.of_known(name)
    }

    /// That of `name` if it was seen before, else of the rest: for names that somebody may have made up.
    pub(super) fn of_known(&mut self, name: &str) -> &mut T {
        match self.own.get_mut(name) {
            Some(value) => value,
            None => self.rest.get_or_insert_default(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        let rest = self.rest.as_ref().map(|rest| (OTHER, rest));
        self.own.iter().map(|(name, value)| (&**name, value)).chain(rest)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_the_names_there_are_never_more_than_so_many_and_nothing_is_lost(
            names in proptest::collection::vec("[a-z]{0,3}|other", 0..60),
        ) {
            let mut counts = ByName::<u64, 5>::default();
            for name in &names {
                *counts.of(name) += 1;
            }
            prop_assert!(counts.iter().count() <= 6);
            prop_assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), names.len() as u64);
        }
    }

    #[test]
    fn a_name_that_may_be_made_up_gets_no_place_of_its_own() {
        let mut counts = ByName::<u64, 5>::default();
        *counts.of("bash") += 1;
        *counts.of_known("bash") += 1;
        *counts.of_known("meet_me_at_nine") += 1;
        assert_eq!(counts.iter().collect::<Vec<_>>(), [("bash", &2), (OTHER, &1)]);
    }
}
