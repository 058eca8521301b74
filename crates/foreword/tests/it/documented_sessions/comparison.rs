//! Compares output with a page, ignoring times, ids, ports, durations and file sizes.

use std::sync::LazyLock;

use regex::Regex;

const ANY: char = '…';

/// Values that vary between runs, and their placeholders.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b,?", "<day>"),
        (r"\b\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b", "<date>"),
        (r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?", "<time>"),
        (r"\bchat-\d{8}-\d{6}-[0-9a-f]{4}\b", "<id>"),
        (r"\b(t|m|c|msg|tok|node|run|req|dlv|wfr|obs|o)-[0-9a-f]{12,}\b", "<id>"),
        (r"blake3:[0-9a-f]+", "<hash>"),
        (r"\b[0-9a-f]{12,}\b", "<hex>"),
        (r"fwd_[A-Za-z0-9_…]+", "<token>"),
        (r"welcome/[a-z0-9]+", "welcome/<code>"),
        (r"foreword-demo-[A-Za-z0-9_-]+", "foreword-demo-<id>"),
        (r"(127\.0\.0\.1|localhost):\d+", "<address>"),
        (r"\b\d[\d,]*(\.\d+)? (ms|s|min|h)\b", "<duration>"),
        (r#"(delayMs|retryAfterMs|duration_ms|length)("?[=:])\d+"#, "$1$2<duration>"),
        (r"\b\d[\d,]* bytes\b", "<bytes>"),
        (r"\b(SQLite|PostgreSQL) [\d.]+", "$1 <version>"),
        (r"[━┄╸╺─▁▂▃▄▅▆▇█▏▎▍▌▋▊▉]+", "<bar>"),
        (r"\s+", " "),
    ]
    .map(|(pattern, mask)| (Regex::new(pattern).unwrap(), mask))
    .into()
});

fn masked(line: &str) -> String {
    let mut line = line.to_owned();
    for (pattern, mask) in MASKS.iter() {
        line = pattern.replace_all(&line, *mask).into_owned();
    }
    line.trim().replace("<bar> ", "").replace(" <bar>", "")
}

/// Whether a page that shows `expected` matches `actual`.
pub(super) fn matches(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.iter().all(|line| line.trim().is_empty()),
        Some((line, rest)) if line.trim() == "…" => {
            (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..]))
        }
        Some((line, rest)) => actual
            .split_first()
            .is_some_and(|(first, behind)| line_matches(line, first) && matches(rest, behind)),
    }
}

fn line_matches(expected: &str, actual: &str) -> bool {
    let actual = masked(actual);
    if same_words(&masked(expected), &actual) {
        return true;
    }
    let mut parts = expected.split(ANY).map(masked);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = actual.strip_prefix(first.as_str()) else { return false };
    let mut any = false;
    for part in parts {
        any = true;
        match rest.find(part.as_str()) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    any && (rest.is_empty() || expected.ends_with(ANY))
}

fn same_words(expected: &str, actual: &str) -> bool {
    let (expected, actual): (Vec<&str>, Vec<&str>) =
        (expected.split(' ').collect(), actual.split(' ').collect());
    let same = |(one, other): (&&str, &&str)| one == other || is_close(one, other);
    expected.len() == actual.len() && expected.iter().zip(&actual).all(same)
}

/// Whether two words are numbers with a small difference: a prompt contains the weekday, whose length varies.
fn is_close(one: &str, other: &str) -> bool {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^([^\d]*)(\d[\d,]*(?:\.\d+)?)([^\d]*)$").unwrap());
    let (Some(one), Some(other)) = (NUMBER.captures(one), NUMBER.captures(other)) else { return false };
    if one[1] != other[1] || one[3] != other[3] {
        return false;
    }
    let [one, other]: [f64; 2] = [&one[2], &other[2]].map(|number| number.replace(',', "").parse().unwrap());
    let (apart, larger) = ((one - other).abs(), one.max(other));
    apart <= 0.02 * larger || (apart <= 2.0 && larger >= 40.0)
}

/// The page's new text: the same selection of lines, from `actual`.
pub(super) fn updated(expected: &[String], actual: &[String]) -> Vec<String> {
    if !expected.iter().any(|line| line.trim() == "…") {
        return actual.to_vec();
    }
    let mut from = 0;
    let mut lines = Vec::new();
    for line in expected {
        if line.trim() == "…" {
            lines.push(line.clone());
            continue;
        }
        let candidates = actual.iter().enumerate().skip(from);
        let Some((at, found)) =
            candidates.max_by_key(|(at, other)| (shared_words(line, other), usize::MAX - at))
        else {
            continue;
        };
        lines.push(if line_matches(line, found) { line.clone() } else { found.clone() });
        from = at + 1;
    }
    lines
}

/// The number of words two lines share.
fn shared_words(one: &str, other: &str) -> usize {
    let (one, other) = (masked(one), masked(other));
    let words: Vec<&str> = other.split(' ').collect();
    if one == other { usize::MAX } else { one.split(' ').filter(|word| words.contains(word)).count() }
}

#[test]
fn masks_hide_only_varying_values() {
    let same = |one: &str, other: &str| line_matches(one, other);
    assert!(same("at 2026-11-16 01:59 (Etc/UTC)", "at 2027-01-01 23:00 (Etc/UTC)"));
    assert!(same(
        "turn t-06606579f3b091c9d69fc7a177 took 1.03 s",
        "turn t-16606579f3b091c9d69fc7a178 took 4 ms"
    ));
    assert!(same("a … c", "a b c") && same("a…", "abc") && !same("a … d", "a b c"));
    assert!(same("9,136 tokens in", "9,140 tokens in") && !same("9,136 tokens in", "9,436 tokens in"));
    assert!(!same("$0.0203", "$0.0223") && !same("2 results", "3 results") && !same("epoch=1,", "epoch=2,"));
    let lines = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
    assert!(matches(&lines("a|…|d"), &lines("a|b|c|d")) && !matches(&lines("a|d"), &lines("a|b|c|d")));
    assert_eq!(updated(&lines("a 1|…|d 1"), &lines("a 2|b|c|d 2")), lines("a 2|…|d 2"));
}
