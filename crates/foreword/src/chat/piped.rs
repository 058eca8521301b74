//! Messages from standard input: one per line; a line that ends in `\` continues on the next.

use std::io::{self, BufRead};

/// Whether a line continues on the next one.
pub(crate) fn is_continued(line: &str) -> bool {
    line.ends_with('\\')
}

/// A message of several lines, without the backslashes.
pub(crate) fn joined(text: &str) -> String {
    text.replace("\\\n", "\n")
}

pub(crate) fn messages(input: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    let mut lines = input.lines();
    std::iter::from_fn(move || {
        let mut message = match lines.next()? {
            Ok(line) => line,
            Err(error) => return Some(Err(error)),
        };
        while is_continued(&message) {
            match lines.next() {
                Some(Ok(line)) => message = format!("{message}\n{line}"),
                Some(Err(error)) => return Some(Err(error)),
                // No line follows, so the backslash is part of the message.
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
    fn backslash_continues_the_line() {
        check("one\ntwo\n", &["one", "two"]);
        check("one\\\ntwo\\\nthree\nfour", &["one\ntwo\nthree", "four"]);
        check("at the end\\", &["at the end\\"]);
        check("in the \\ middle\r\n", &["in the \\ middle"]);
        check("", &[]);
    }
}
