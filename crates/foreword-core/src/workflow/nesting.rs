//! Nested workflows: no recursion, limited depth. Cycles that are visible in the files are found before anything runs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The maximum nesting depth, the outermost workflow included.
pub const MAX_DEPTH: usize = 4;

/// Why a workflow may not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainRefused {
    /// It would call itself.
    #[error("the workflow `{name}` would run within itself: {}", chain_text(.chain))]
    Itself {
        /// The workflow.
        name: String,
        /// The running workflows, the outermost first, and this one.
        chain: Vec<String>,
    },
    /// The nesting is too deep.
    #[error("the workflow `{name}` would run too deep, at most {MAX_DEPTH} within each other: {}", chain_text(.chain))]
    TooDeep {
        /// The workflow.
        name: String,
        /// The running workflows, the outermost first, and this one.
        chain: Vec<String>,
    },
}

fn chain_text(chain: &[String]) -> String {
    chain.join(" → ")
}

/// The running workflows once `name` runs within `within`, the outermost first.
///
/// ```
/// use foreword_core::workflow::enter;
/// assert_eq!(enter(&["report".to_owned()], "fetch").unwrap(), ["report", "fetch"]);
/// let refused = enter(&["report".to_owned(), "fetch".to_owned()], "report").unwrap_err();
/// assert_eq!(refused.to_string(), "the workflow `report` would run within itself: report → fetch → report");
/// ```
///
/// # Errors
/// If that is recursive or too deep.
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

/// The shortest cycle from `name` through `callee` back to `name`, given the calls of each workflow. `None` if there is
/// none.
///
/// ```
/// use std::collections::BTreeMap;
/// use foreword_core::workflow::find_cycle;
/// let calls = BTreeMap::from([("a", vec!["b"]), ("b", vec!["c", "a"]), ("c", vec![])]);
/// assert_eq!(find_cycle("a", "b", &calls).unwrap(), ["a", "b", "a"]);
/// assert_eq!(find_cycle("b", "c", &calls), None);
/// ```
#[must_use]
pub fn find_cycle(name: &str, callee: &str, calls: &BTreeMap<&str, Vec<&str>>) -> Option<Vec<String>> {
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
    fn nesting_depth_is_limited_to_four() {
        assert_eq!(enter(&[], "a"), Ok(names(&["a"])));
        assert_eq!(enter(&names(&["a", "b", "c"]), "d"), Ok(names(&["a", "b", "c", "d"])));
        let refused = enter(&names(&["a", "b", "c", "d"]), "e").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the workflow `e` would run too deep, at most 4 within each other: a → b → c → d → e"
        );
    }

    #[test]
    fn cycles_are_found_from_their_members() {
        let calls = BTreeMap::from([("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["a"]), ("d", vec!["a"])]);
        for (name, callee, way) in [("a", "b", ["a", "b", "c", "a"]), ("c", "a", ["c", "a", "b", "c"])] {
            assert_eq!(find_cycle(name, callee, &calls), Some(names(&way)));
        }
        assert_eq!(find_cycle("d", "a", &calls), None);
        let own = BTreeMap::from([("a", vec!["a"])]);
        assert_eq!(find_cycle("a", "a", &own), Some(names(&["a", "a"])));
        assert_eq!(find_cycle("a", "gone", &own), None);
    }
}
