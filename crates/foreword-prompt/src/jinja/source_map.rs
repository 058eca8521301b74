//! From a place in guarded text back to the place its author wrote. Filled by `guard`, read by `failure`.

use std::ops::Range;

/// Where each piece of guarded text comes from.
#[derive(Debug, Default)]
pub(super) struct SourceMap {
    marks: Vec<Mark>,
    tags: Vec<Tag>,
}

/// A node of the syntax tree: its bytes in the guarded text and in the author's.
#[derive(Debug)]
struct Mark {
    guarded: Range<usize>,
    written: Range<usize>,
}

/// A tag: the one line of guarded text it stands on. Some errors know no more than a line.
#[derive(Debug)]
struct Tag {
    line: usize,
    written: Range<usize>,
}

impl SourceMap {
    pub(super) fn mark(&mut self, guarded: Range<usize>, written: Range<usize>) {
        self.marks.push(Mark { guarded, written });
    }

    pub(super) fn tag(&mut self, line: usize, written: Range<usize>) {
        self.tags.push(Tag { line, written });
    }

    /// The author's bytes for `guarded`: those of the smallest node around it.
    pub(super) fn written_at(&self, guarded: &Range<usize>) -> Option<Range<usize>> {
        self.marks
            .iter()
            .filter(|mark| mark.guarded.start <= guarded.start && guarded.end <= mark.guarded.end)
            .min_by_key(|mark| mark.guarded.len())
            .map(|mark| mark.written.clone())
    }

    /// The author's bytes for the tag on, or last before, `line` of the guarded text.
    pub(super) fn written_on(&self, line: usize) -> Option<Range<usize>> {
        self.tags.iter().rfind(|tag| tag.line <= line).map(|tag| tag.written.clone())
    }
}
