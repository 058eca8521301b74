//! Bounds the cardinality of labels. Each label value creates a time series, and some names come from outside. So the
//! first names get a series each, and all others share one.

use std::collections::BTreeMap;

/// The label value of all other names.
pub(super) const OTHER: &str = "other";

/// The maximum length of a name with its own series.
const MAX_NAME_LEN: usize = 120;

/// A value per name, for the first `MAX` names.
#[derive(Debug, Clone)]
pub(super) struct ByName<T, const MAX: usize> {
    own: BTreeMap<Box<str>, T>,
    rest: Option<T>,
}

impl<T, const MAX: usize> Default for ByName<T, MAX> {
    fn default() -> Self {
        Self { own: BTreeMap::new(), rest: None }
    }
}

impl<T: Default, const MAX: usize> ByName<T, MAX> {
    /// The value of `name`, or the shared one.
    pub(super) fn of(&mut self, name: &str) -> &mut T {
        let fits = !name.is_empty() && name.len() <= MAX_NAME_LEN && name != OTHER;
        if fits && self.own.len() < MAX && !self.own.contains_key(name) {
            self.own.insert(name.into(), T::default());
        }
        self.of_known(name)
    }

    /// The value of `name` if it exists, otherwise the shared one: for names that may be invented.
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
        fn label_count_is_bounded_and_totals_are_exact(
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
    fn unknown_names_share_one_series() {
        let mut counts = ByName::<u64, 5>::default();
        *counts.of("bash") += 1;
        *counts.of_known("bash") += 1;
        *counts.of_known("meet_me_at_nine") += 1;
        assert_eq!(counts.iter().collect::<Vec<_>>(), [("bash", &2), (OTHER, &1)]);
    }
}
