//! Formats quoted text for answers: one line, visible characters only, limited length.

/// `text` on one line of at most `most` characters.
pub(crate) fn on_one_line(text: &str, most: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        None => line,
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
    }
}

/// The first sentence of a text, on one line. A line that ends with a colon continues on the next.
pub(crate) fn first_sentence(text: &str, most: usize) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut whole = lines.next().unwrap_or_default().to_owned();
    if let Some(next) = lines.next().filter(|_| whole.ends_with(':')) {
        whole.push(' ');
        whole.push_str(next.trim_start_matches("- "));
    }
    let ends = whole.char_indices().filter(|(_, c)| ".!?".contains(*c)).map(|(at, c)| at + c.len_utf8());
    let mut sentence_ends = ends.filter(|at| whole[*at..].starts_with(' '));
    on_one_line(&whole[..sentence_ends.next().unwrap_or(whole.len())], most)
}

/// The first lines of a text, indented, and the number of omitted lines.
pub(crate) fn first_lines<'t>(lines: impl Iterator<Item = &'t str>, most: usize, indent: &str) -> String {
    const LINE_CHARS: usize = 300;
    let mut shown = Vec::new();
    let mut more = 0_usize;
    for line in lines.filter(|line| !line.trim().is_empty()) {
        if shown.len() < most {
            shown.push(format!("{indent}{}", on_one_line(line, LINE_CHARS)));
        } else {
            more += 1;
        }
    }
    if more > 0 {
        shown.push(format!("{indent}… and {more} more line{}", if more == 1 { "" } else { "s" }));
    }
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_one_line_of_bounded_length() {
        assert_eq!(on_one_line(" a\n\n b\u{7}\tc ", 10), "a b c");
        assert_eq!(on_one_line("äöü äöü", 5), "äöü ä…");
        assert_eq!(on_one_line("ab  ", 2), "ab");
        assert_eq!(on_one_line("", 2), "");
    }

    #[test]
    fn sentence_ends_where_the_next_begins() {
        assert_eq!(first_sentence("\nVersion 1.5 is out. Get it!", 40), "Version 1.5 is out.");
        assert_eq!(first_sentence("no end", 40), "no end");
        assert_eq!(
            first_sentence("Memory says:\n- Carol: 14 March. Peonies.", 40),
            "Memory says: Carol: 14 March."
        );
    }

    #[test]
    fn lines_that_are_left_out_are_counted() {
        assert_eq!(first_lines("a\n\nb\nc\nd".lines(), 2, "  "), "  a\n  b\n  … and 2 more lines");
        assert_eq!(first_lines("a".lines(), 2, ""), "a");
    }
}
