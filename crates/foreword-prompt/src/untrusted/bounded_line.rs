//! One line of limited length. Independent of its content, except that truncation never splits an emoji.

use super::characters::needs_a_neighbour;

const CUT: char = '…';

/// A line under construction. It is truncated between pieces, never inside one, with `…` at the end.
pub(super) struct BoundedLine {
    text: String,
    characters: usize,
    limit: usize,
    /// The length in bytes up to which the `…` still fits.
    cut_here: usize,
    is_full: bool,
}

impl BoundedLine {
    pub(super) fn new(limit: usize) -> Self {
        Self { text: String::new(), characters: 0, limit, cut_here: 0, is_full: false }
    }

    /// Adds a piece, or truncates the line if it does not fit.
    pub(super) fn push(&mut self, piece: &str) {
        if self.is_full {
            return;
        }
        let characters = self.characters + piece.chars().count();
        if characters > self.limit {
            return self.cut();
        }
        self.text.push_str(piece);
        self.characters = characters;
        if characters < self.limit {
            self.cut_here = self.text.len();
        }
    }

    /// Whether the line was truncated: nothing more is added.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn cut(&mut self) {
        self.is_full = true;
        self.text.truncate(self.cut_here);
        while self.text.ends_with(needs_a_neighbour) {
            self.text.pop();
        }
        if self.limit > 0 {
            self.text.push(CUT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&str], limit: usize, expected: &str) {
        let mut line = BoundedLine::new(limit);
        for piece in pieces {
            line.push(piece);
        }
        assert_eq!(line.into_text(), expected);
    }

    #[test]
    fn exact_fit_is_not_truncated() {
        check(&["ab", "c"], 3, "abc");
    }

    #[test]
    fn truncation_respects_escapes_and_counts_the_ellipsis() {
        check(&["ab", "cd", "e"], 4, "ab…");
        check(&["ab", "cd", "e", "f"], 1, "…");
        check(&["ab"], 0, "");
    }

    #[test]
    fn nothing_is_added_after_a_cut() {
        check(&["a", "bcdef", "g"], 3, "a…");
    }
}
