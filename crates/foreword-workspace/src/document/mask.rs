//! Masks secrets in a displayed line of YAML: passwords in URLs, keys, and header values. Also works on invalid YAML,
//! because error messages show such lines. Masks in cases of doubt.

mod providers;

use std::ops::Range;

pub(super) use providers::secrets;

/// Masks the characters of keys and header values in `text`, and returns where `span` is in the result.
pub(super) fn without_keys(text: &str, span: Range<usize>) -> (String, Range<usize>) {
    let hidden = secrets(text);
    let mut ranges = hidden.iter().peekable();
    let mut out = String::with_capacity(text.len());
    let (mut start, mut end) = (None, None);
    for (at, c) in text.char_indices() {
        start = start.or((at >= span.start).then_some(out.len()));
        end = end.or((at >= span.end).then_some(out.len()));
        while ranges.next_if(|range| range.end <= at).is_some() {}
        let secret = ranges.peek().is_some_and(|range| range.contains(&at)) && !c.is_whitespace();
        out.push(if secret { '*' } else { c });
    }
    let span = start.unwrap_or(out.len())..end.unwrap_or(out.len());
    (out, span)
}

/// Masks each character of a password in a URL, so that the positions of carets stay correct.
pub(super) fn without_passwords(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
    text.split_inclusive(ends).map(without_password).collect()
}

fn without_password(word: &str) -> String {
    let user = word.find("://").map_or(0, |scheme| scheme + "://".len());
    let in_front = word.rfind('@').filter(|at| *at > user);
    let in_front = in_front.and_then(|at| Some(user + word[user..at].find(':')? + 1..at));
    let option = word.find("password=").map(|at| at + "password=".len());
    let option =
        option.map(|from| from..word[from..].find(['&', '"', '\'']).map_or(word.len(), |end| from + end));
    let mut out = String::with_capacity(word.len());
    for (at, c) in word.char_indices() {
        let secret = [&in_front, &option].into_iter().flatten().any(|range| range.contains(&at));
        out.push(if secret && !c.is_whitespace() { '*' } else { c });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_urls_are_masked() {
        for (value, expected) in [
            ("postgres://alice:s3:cr@t@db/x", "postgres://alice:*******@db/x"),
            ("alice:s3cret@db/x", "alice:******@db/x"),
            ("postgres:/alice:s3cret@db/x", "@db/x"),
            ("host=db password=s3cret", "host=db password=******"),
            ("postgres://db/x?password=s3cret&user=alice", "?password=******&user=alice"),
        ] {
            let shown = without_passwords(&format!("url: \"{value}\""));
            assert!(shown.contains(expected) && !shown.contains("cret"), "{shown}");
        }
    }

    #[test]
    fn masking_keeps_the_position_of_carets() {
        let text = "api_key: ключ\nname: x\n";
        let at = text.find("name").unwrap();
        let (shown, span) = without_keys(text, at..at + 4);
        assert_eq!((shown.as_str(), &shown[span]), ("api_key: ****\nname: x\n", "name"));
    }
}
