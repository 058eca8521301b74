//! Finds workflows that run themselves, directly or through other workflows.

use std::collections::BTreeMap;

use foreword_core::workflow::find_cycle;

use super::{Workflow, validate};
use crate::loaded::Loaded;
use crate::roots::Root;
use crate::text_pool::FileCache;

/// Reports every workflow of a cycle as a problem.
pub(super) fn refuse(root: &Root, cache: &FileCache, loaded: &mut Loaded<Workflow>) {
    let found: Vec<(usize, usize, Vec<String>)> = {
        let called = |workflow| Workflow::calls(workflow).map(|(_, name)| name).collect();
        let calls: BTreeMap<&str, Vec<&str>> =
            loaded.items.iter().map(|workflow| (workflow.name.as_str(), called(workflow))).collect();
        let back = |(index, workflow): (usize, &Workflow)| {
            let mut steps = workflow.calls();
            steps.find_map(|(step, callee)| Some((index, step, find_cycle(&workflow.name, callee, &calls)?)))
        };
        loaded.items.iter().enumerate().filter_map(back).collect()
    };
    for (index, step, way) in found.into_iter().rev() {
        let workflow = loaded.items.remove(index);
        let message = format!("the workflow `{}` would run itself: {}", workflow.name, way.join(" → "));
        let help = "remove this step, or have it run another workflow".to_owned();
        loaded.problems.push(match cache.read(root, &workflow.path) {
            Ok(file) => validate::at_step(&workflow.path, file.text, step, message, help).into(),
            Err(problem) => problem,
        });
    }
}

impl Workflow {
    /// The workflows it runs, each with the index of the step.
    fn calls(&self) -> impl Iterator<Item = (usize, &str)> {
        self.steps.iter().enumerate().filter_map(|(index, step)| Some((index, step.runs()?)))
    }
}
