//! The dependency graph of a crate's modules, and the cycles in it.

use std::collections::{BTreeMap, BTreeSet};

/// Which top-level modules of a crate use which others.
#[derive(Debug, Default)]
pub(crate) struct ModuleGraph {
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl ModuleGraph {
    /// Adds a file; `path` is relative to `src`. Test modules are left out.
    pub(crate) fn add(&mut self, path: &str, text: &str) {
        let module = path.split('/').next().unwrap_or(path).trim_end_matches(".rs");
        let is_root = matches!(module, "lib" | "main");
        if is_root || path.contains("tests") {
            return;
        }
        let used = self.uses.entry(module.to_owned()).or_default();
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text);
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code: String = lines.flat_map(|line| [line, "\n"]).collect();
        used.extend(crate_paths(&code).filter(|name| *name != module).map(str::to_owned));
    }

    /// The groups of modules that use each other in a circle, the largest first.
    pub(crate) fn cycles(&self) -> Vec<Vec<&str>> {
        let reachable: BTreeMap<&str, BTreeSet<&str>> =
            self.uses.keys().map(|module| (module.as_str(), self.reachable_from(module))).collect();
        let mut grouped = BTreeSet::new();
        let mut cycles = Vec::new();
        for (module, reached) in &reachable {
            let members: Vec<&str> =
                reached.iter().copied().filter(|other| reachable[other].contains(module)).collect();
            if reached.contains(module) && !grouped.contains(module) {
                grouped.extend(members.iter().copied());
                cycles.push(members);
            }
        }
        cycles.sort_by_key(|members| std::cmp::Reverse(members.len()));
        cycles
    }

    fn reachable_from<'a>(&'a self, module: &str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut pending: Vec<&str> = vec![module];
        while let Some(next) = pending.pop() {
            for used in self.uses.get(next).into_iter().flatten() {
                if self.uses.contains_key(used) && reached.insert(used.as_str()) {
                    pending.push(used);
                }
            }
        }
        reached
    }
}

/// The first segment of each path below `crate::`, also within `crate::{a, b::c}`.
fn crate_paths(code: &str) -> impl Iterator<Item = &str> {
    code.split("crate::").skip(1).flat_map(|rest| {
        let group = rest.strip_prefix('{').and_then(|rest| rest.split_once("};")).map(|(group, _)| group);
        let items: Vec<&str> = match group {
            Some(group) => top_level_items(group),
            None => vec![rest],
        };
        items.into_iter().filter_map(|item| {
            let name = item.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
            (!name.is_empty()).then_some(name)
        })
    })
}

/// The items of a `use` group, without what is inside inner groups.
fn top_level_items(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0_usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&group[start..]);
    items
}

#[test]
fn cycles_are_found_and_chains_are_none() {
    let mut graph = ModuleGraph::default();
    graph.add("a.rs", "use crate::b::B;\n");
    graph.add("b/mod.rs", "use crate::{c::{C, D}, d};\n");
    graph.add("c.rs", "fn f() { crate::a::f() }\n");
    graph.add("d.rs", "use crate::e::E;\n// use crate::a::A;\n");
    graph.add("e.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::d::D;\n}\n");
    assert_eq!(graph.cycles(), [["a", "b", "c"]]);
}
