//! Messages that are piped in: one a line, and a line that ends in `\` goes on in the next.

use std::io::{self, BufRead};

/// Whether a line goes on in the next one.
pub(crate) fn goes_on(line: &str) -> bool {
    line.ends_with('\\')
}

/// What was typed over several lines, as it was meant.
pub(crate) fn joined(text: &str) -> String {
    text.replace("\\\n", "\n")
}

/// The messages on `input`.
pub(crate) fn messages(input: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    let mut lines = input.lines();
    std::iter::from_fn(move || {
        let mut message = match lines.next()? {
            Ok(line) => line,
            Err(error) => return Some(Err(error)),
        };
        while goes_on(&message) {
            match lines.next() {
                Some(Ok(line)) => message = format!("{message}\n{line}"),
                Some(Err(error)) => return Some(Err(error)),
                // Nothing follows, so the stroke was meant.
                None => break,
            }
        }
        Some(Ok(joined(&message)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &[&str]) {
        let found: Vec<String> = messages(input.as_bytes()).map(|message| message.unwrap()).collect();
        assert_eq!(found, expected, "{input:?}");
    }

    #[test]
    fn a_line_that_ends_in_a_stroke_goes_on_in_the_next() {
        check("one\ntwo\n", &["one", "two"]);
        check("one\\\ntwo\\\nthree\nfour", &["one\ntwo\nthree", "four"]);
        check("at the end\\", &["at the end\\"]);
        check("in the \\ middle\r\n", &["in the \\ middle"]);
        check("", &[]);
    }
}
