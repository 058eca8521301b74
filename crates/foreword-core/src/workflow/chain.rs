//! Which workflows may run within which: none within itself, and none too deep. A circle that can be seen in the files is
//! found before anything runs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How many workflows may run within each other, the outermost included.
pub const MAX_DEPTH: usize = 4;

/// Why a workflow may not run where it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainRefused {
    /// It is under way already, around this place.
    #[error("the workflow `{name}` would run within itself: {}", shown(.chain))]
    Itself {
        /// The workflow.
        name: String,
        /// The workflows under way, the outermost first, and this one.
        chain: Vec<String>,
    },
    /// Too many are under way around this place.
    #[error("the workflow `{name}` would run too deep, at most {MAX_DEPTH} within each other: {}", shown(.chain))]
    TooDeep {
        /// The workflow.
        name: String,
        /// The workflows under way, the outermost first, and this one.
        chain: Vec<String>,
    },
}

fn shown(chain: &[String]) -> String {
    chain.join(" → ")
}

/// The workflows under way once `name` runs within `within`, the outermost first.
///
/// ```
/// use foreword_core::workflow::enter;
/// assert_eq!(enter(&["report".to_owned()], "fetch").unwrap(), ["report", "fetch"]);
/// let refused = enter(&["report".to_owned(), "fetch".to_owned()], "report").unwrap_err();
/// assert_eq!(refused.to_string(), "the workflow `report` would run within itself: report → fetch → report");
/// ```
///
/// # Errors
/// If it is one of them already, or there are too many.
pub fn enter(within: &[String], name: &str) -> Result<Vec<String>, ChainRefused> {
    let chain: Vec<String> = within.iter().cloned().chain([name.to_owned()]).collect();
    let name = name.to_owned();
    if within.contains(&name) {
        Err(ChainRefused::Itself { name, chain })
    } else if chain.len() > MAX_DEPTH {
        Err(ChainRefused::TooDeep { name, chain })
    } else {
        Ok(chain)
    }
}

/// How `name` comes back to itself by way of `callee`, given what each workflow calls by name: the shortest way, from
/// `name` to `name`. `None` if it does not.
///
/// ```
/// use std::collections::BTreeMap;
/// use foreword_core::workflow::way_back;
/// let calls = BTreeMap::from([("a", vec!["b"]), ("b", vec!["c", "a"]), ("c", vec![])]);
/// assert_eq!(way_back("a", "b", &calls).unwrap(), ["a", "b", "a"]);
/// assert_eq!(way_back("b", "c", &calls), None);
/// ```
#[must_use]
pub fn way_back(name: &str, callee: &str, calls: &BTreeMap<&str, Vec<&str>>) -> Option<Vec<String>> {
    let mut seen = BTreeSet::from([callee]);
    let mut open = VecDeque::from([vec![name, callee]]);
    while let Some(way) = open.pop_front() {
        let Some(&last) = way.last() else { continue };
        if last == name {
            return Some(way.into_iter().map(str::to_owned).collect());
        }
        for &next in calls.get(last).map_or(&[][..], Vec::as_slice) {
            if next == name || seen.insert(next) {
                open.push_back(way.iter().copied().chain([next]).collect());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn four_may_run_within_each_other_and_a_fifth_may_not() {
        assert_eq!(enter(&[], "a"), Ok(names(&["a"])));
        assert_eq!(enter(&names(&["a", "b", "c"]), "d"), Ok(names(&["a", "b", "c", "d"])));
        let refused = enter(&names(&["a", "b", "c", "d"]), "e").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the workflow `e` would run too deep, at most 4 within each other: a → b → c → d → e"
        );
    }

    #[test]
    fn a_circle_is_found_from_each_of_its_members_and_from_nobody_else() {
        let calls = BTreeMap::from([("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["a"]), ("d", vec!["a"])]);
        for (name, callee, way) in [("a", "b", ["a", "b", "c", "a"]), ("c", "a", ["c", "a", "b", "c"])] {
            assert_eq!(way_back(name, callee, &calls), Some(names(&way)));
        }
        assert_eq!(way_back("d", "a", &calls), None);
        let own = BTreeMap::from([("a", vec!["a"])]);
        assert_eq!(way_back("a", "a", &own), Some(names(&["a", "a"])));
        assert_eq!(way_back("a", "gone", &own), None);
    }
}
