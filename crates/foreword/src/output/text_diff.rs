//! Line diffs of two texts: removed lines in red, added lines in green.

use similar::{ChangeTag, TextDiff};

use super::{DIM, GREEN, RED, styled};

/// How many unchanged lines are shown around a change.
const CONTEXT_LINES: usize = 2;

/// All lines of both texts, indented.
pub(crate) fn whole(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    diff.iter_all_changes().map(|change| line(change.tag(), change.value())).collect::<Vec<_>>().join("\n")
}

/// The changed lines with their context, indented.
pub(crate) fn changes(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut out = Vec::new();
    for (index, group) in diff.grouped_ops(CONTEXT_LINES).iter().enumerate() {
        if index > 0 {
            out.push(styled(DIM, "     …"));
        }
        let changes = group.iter().flat_map(|operation| diff.iter_changes(operation));
        out.extend(changes.map(|change| line(change.tag(), change.value())));
    }
    out.join("\n")
}

fn line(tag: ChangeTag, text: &str) -> String {
    let text = text.trim_end_matches('\n');
    match tag {
        ChangeTag::Delete => styled(RED, format!("    -{text}")),
        ChangeTag::Insert => styled(GREEN, format!("    +{text}")),
        ChangeTag::Equal => format!("     {text}"),
    }
}
