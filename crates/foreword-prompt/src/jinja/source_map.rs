//! Maps positions in guarded text to the author's text. Filled by `guard`, read by `failure`.

use std::ops::Range;

/// The origin of each part of the guarded text.
#[derive(Debug, Default)]
pub(super) struct SourceMap {
    marks: Vec<Mark>,
    tags: Vec<Tag>,
}

/// A node of the syntax tree: its range in the guarded text and in the author's text.
#[derive(Debug)]
struct Mark {
    guarded: Range<usize>,
    written: Range<usize>,
}

/// A tag: its line in the guarded text. Some errors have only a line.
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

    /// The author's range for `guarded`: that of the smallest enclosing node.
    pub(super) fn written_at(&self, guarded: &Range<usize>) -> Option<Range<usize>> {
        self.marks
            .iter()
            .filter(|mark| mark.guarded.start <= guarded.start && guarded.end <= mark.guarded.end)
            .min_by_key(|mark| mark.guarded.len())
            .map(|mark| mark.written.clone())
    }

    /// The author's range for the last tag on or before `line` of the guarded text.
    pub(super) fn written_on(&self, line: usize) -> Option<Range<usize>> {
        self.tags.iter().rfind(|tag| tag.line <= line).map(|tag| tag.written.clone())
    }
}
