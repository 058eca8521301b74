//! Parses `!fail`: the kind of failure, the number of attempts that fail, and the text before it.

use foreword_core::model::ErrorKind;

use super::value;
use crate::script::ScriptedFailure;

const KINDS: &str =
    "an HTTP status, `timeout`, `refused`, `context`, `cut`, `broken`, `bad-json` or `not-configured`";

/// Parses the arguments of `!fail`.
pub(super) fn parse(rest: &str) -> Result<ScriptedFailure, String> {
    let (word, mut rest) = value::first_word(rest);
    let mut failure = named(word)?;
    if word == "cut" {
        (failure.said, rest) = quoted(rest)?;
    }
    for setting in rest.split_whitespace() {
        match setting.split_once('=') {
            Some(("times", number)) => failure.times = Some(times(number)?),
            Some(("retry-after", wait)) => failure.retry_after = Some(value::seconds_or_duration(wait)?),
            _ => return Err(format!("`{setting}` is neither `times=…` nor `retry-after=…`")),
        }
    }
    Ok(failure)
}

fn named(word: &str) -> Result<ScriptedFailure, String> {
    let (kind, status, message) = match word {
        "" => return Err(format!("it names no failure: {KINDS}")),
        "timeout" => (ErrorKind::Timeout, None, "no answer in time"),
        "refused" => (ErrorKind::Network, None, "connection refused"),
        "context" => (ErrorKind::ContextTooLong, Some(400), "the request is longer than the context"),
        "cut" => (ErrorKind::BrokenStream, None, "the stream ended in the middle of an answer"),
        "broken" => (ErrorKind::BrokenStream, None, "the body is not an event stream"),
        "bad-json" => (ErrorKind::BrokenStream, None, "an event holds no whole JSON"),
        "not-configured" => (ErrorKind::NotConfigured, None, "no such provider is configured"),
        other => return by_status(other),
    };
    Ok(failure(kind, status, message.to_owned()))
}

fn by_status(word: &str) -> Result<ScriptedFailure, String> {
    let status: u16 = word.parse().map_err(|_| format!("`{word}` is not a failure: use {KINDS}"))?;
    let (kind, message) = match status {
        429 => (ErrorKind::RateLimited, "too many requests"),
        529 => (ErrorKind::Unavailable, "overloaded"),
        500..=599 => (ErrorKind::Unavailable, "internal error"),
        401 => (ErrorKind::Authentication, "invalid key"),
        403 => (ErrorKind::Authentication, "not allowed"),
        404 => (ErrorKind::UnknownModel, "no such model"),
        400..=499 => (ErrorKind::BadRequest, "request refused"),
        _ => return Err(format!("`{status}` is not an error status: 400 to 599")),
    };
    Ok(failure(kind, Some(status), message.to_owned()))
}

fn failure(kind: ErrorKind, status: Option<u16>, message: String) -> ScriptedFailure {
    ScriptedFailure { kind, status, message, retry_after: None, said: String::new(), times: None }
}

fn times(number: &str) -> Result<u32, String> {
    match number.parse() {
        Ok(times @ 1..=1_000) => Ok(times),
        _ => Err(format!("`times={number}` is out of range: 1 to 1000")),
    }
}

/// The quoted text, and the rest after it.
fn quoted(rest: &str) -> Result<(String, &str), String> {
    let missing = || "it needs the words that come before, in quotation marks".to_owned();
    let inside = rest.strip_prefix('"').ok_or_else(missing)?;
    let (words, rest) = inside.split_once('"').ok_or_else(missing)?;
    if words.trim().is_empty() { Err(missing()) } else { Ok((words.to_owned(), rest)) }
}
