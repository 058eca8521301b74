//! Line diffs of two texts: removed lines in red, added lines in green.

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{ChangeTag, DiffOp, group_diff_ops};

use super::{DIM, GREEN, RED, styled};

/// How many unchanged lines are shown around a change.
const CONTEXT_LINES: usize = 2;

/// All lines of both texts, indented.
pub(crate) fn whole(before: &str, after: &str) -> String {
    let diff = LineDiff::of(before, after);
    diff.formatted(&diff.operations).join("\n")
}

/// The changed lines with their context, indented.
pub(crate) fn changes(before: &str, after: &str) -> String {
    let mut diff = LineDiff::of(before, after);
    let groups = group_diff_ops(std::mem::take(&mut diff.operations), CONTEXT_LINES);
    let mut out = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        if index > 0 {
            out.push(styled(DIM, "     …"));
        }
        out.extend(diff.formatted(group));
    }
    out.join("\n")
}

/// The lines of two texts, and how one becomes the other.
struct LineDiff<'a> {
    before: Vec<&'a str>,
    after: Vec<&'a str>,
    operations: Vec<DiffOp>,
}

impl<'a> LineDiff<'a> {
    /// Calls the algorithm by name: `TextDiff` would compile all six of them, 0.7 MB.
    fn of(before: &'a str, after: &'a str) -> Self {
        let before: Vec<&str> = before.split_inclusive('\n').collect();
        let after: Vec<&str> = after.split_inclusive('\n').collect();
        let (all_before, all_after) = (0..before.len(), 0..after.len());
        let mut capture = Compact::new(Replace::new(Capture::new()), &before[..], &after[..]);
        // Capturing can't fail.
        let _ = myers::diff(&mut capture, &before[..], all_before, &after[..], all_after);
        let operations = capture.into_inner().into_inner().into_ops();
        Self { before, after, operations }
    }

    fn formatted(&self, operations: &[DiffOp]) -> Vec<String> {
        let changes =
            operations.iter().flat_map(|operation| operation.iter_changes(&self.before, &self.after));
        changes.map(|change| line(change.tag(), change.value())).collect()
    }
}

fn line(tag: ChangeTag, text: &str) -> String {
    let text = text.trim_end_matches('\n');
    match tag {
        ChangeTag::Delete => styled(RED, format!("    -{text}")),
        ChangeTag::Insert => styled(GREEN, format!("    +{text}")),
        ChangeTag::Equal => format!("     {text}"),
    }
}
