//! Parses the arguments of directives: words, numbers, durations, JSON.

use std::time::Duration;

use serde_json::{Value, json};

use crate::script::ReportedUsage;

/// The maximum duration of a wait.
const MAX_DURATION: Duration = Duration::from_secs(3_600);

pub(super) fn first_word(text: &str) -> (&str, &str) {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

pub(super) fn nothing(rest: &str) -> Result<(), String> {
    if rest.is_empty() { Ok(()) } else { Err(format!("it takes nothing more, but there is `{rest}`")) }
}

pub(super) fn some_words(rest: &str) -> Result<String, String> {
    if rest.is_empty() { Err("the text is missing".to_owned()) } else { Ok(rest.to_owned()) }
}

pub(super) fn count(text: &str, most: u64) -> Result<usize, String> {
    let number = number(text)?;
    if !(1..=most).contains(&number) {
        return Err(format!("`{text}` is out of range: 1 to {most}"));
    }
    usize::try_from(number).map_err(|_| format!("`{text}` is too large"))
}

pub(super) fn number(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Err("a number is missing".to_owned());
    }
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

/// `50ms`, `2s`, `1m`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("`{text}` is not a duration such as `50ms` or `2s`");
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
    let number: u64 = text[..digits].parse().map_err(|_| bad())?;
    let found = match &text[digits..] {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.saturating_mul(60)),
        _ => return Err(bad()),
    };
    if found > MAX_DURATION { Err(format!("`{text}` is longer than an hour")) } else { Ok(found) }
}

/// As in a `retry-after` header: a plain number is in seconds.
pub(super) fn seconds_or_duration(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => duration(text),
    }
}

pub(super) fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("`{text}` is not valid JSON: {error}"))
}

pub(super) fn json_or_empty(text: &str) -> Result<Value, String> {
    if text.is_empty() { Ok(json!({})) } else { json(text) }
}

/// `input=1200 output=90 …`
pub(super) fn usage(rest: &str) -> Result<ReportedUsage, String> {
    let mut usage = ReportedUsage::default();
    if rest.is_empty() {
        return Err("it gives no number".to_owned());
    }
    for setting in rest.split_whitespace() {
        let (name, value) =
            setting.split_once('=').ok_or_else(|| format!("`{setting}` is not `name=number`"))?;
        let field = match name {
            "input" => &mut usage.input,
            "output" => &mut usage.output,
            "cache_read" => &mut usage.cache_read,
            "cache_write" => &mut usage.cache_write,
            "cache_write_1h" => &mut usage.cache_write_1h,
            _ => return Err(format!("`{name}` is not counted")),
        };
        *field = Some(number(value)?);
    }
    Ok(usage)
}
