//! Directives: lines that start with `!` and make the offline model call any tool or simulate any failure. This module
//! parses them; `directive_script` turns them into a script.

mod catalogue;
mod failure;
mod value;

use std::time::Duration;

use foreword_core::model::StopReason;
use serde_json::{Value, json};

pub(super) use catalogue::{help, usage_of};

use crate::script::{ReportedUsage, ScriptedFailure};

/// The maximum number of words or calls of one directive.
const MAX_WORDS: u64 = 100_000;
const MAX_CALLS: u64 = 10_000;

/// A parsed directive.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Directive {
    Say(String),
    Call { name: String, input: Value, count: usize },
    Then,
    Fail(ScriptedFailure),
    Hang,
    Wait(Duration),
    Slow(Duration),
    Long(usize),
    Block(Value),
    Stop(StopReason),
    Usage(ReportedUsage),
    Help,
}

/// A malformed directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) line: String,
    pub(super) why: String,
    pub(super) usage: Option<&'static str>,
}

/// The directives in a message, or all malformed lines. A message without directives is treated as text.
pub(super) fn directives(said: &str) -> Result<Vec<Directive>, Vec<Malformed>> {
    let mut found = Vec::new();
    let mut wrong = Vec::new();
    for line in said.lines().map(str::trim) {
        let Some((word, rest)) = split(line) else { continue };
        match parse(word, rest) {
            Ok(directive) => found.push(directive),
            Err(why) => wrong.push(Malformed { line: line.to_owned(), why, usage: usage_of(word) }),
        }
    }
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

/// The word and the arguments of a directive. `!` alone, `!!` and `!5` are ordinary text.
fn split(line: &str) -> Option<(&str, &str)> {
    let order = line.strip_prefix('!').filter(|order| order.starts_with(|c: char| c.is_ascii_lowercase()))?;
    let end = order.find(char::is_whitespace).unwrap_or(order.len());
    Some((&order[..end], order[end..].trim()))
}

fn parse(word: &str, rest: &str) -> Result<Directive, String> {
    match word {
        "say" => Ok(Directive::Say(value::some_words(rest)?)),
        "tool" => tool(rest),
        "many" => many(rest),
        "unknown-tool" => value::nothing(rest).map(|()| call("no_such_tool", json!({}), 1)),
        "truncated" => truncated(rest),
        "then" => value::nothing(rest).map(|()| Directive::Then),
        "fail" => failure::parse(rest).map(Directive::Fail),
        "hang" => value::nothing(rest).map(|()| Directive::Hang),
        "wait" => value::duration(rest).map(Directive::Wait),
        "slow" => value::duration(rest).map(Directive::Slow),
        "long" => long(rest),
        "block" => block(rest),
        "stop" => stop(rest),
        "usage" => value::usage(rest).map(Directive::Usage),
        "help" => value::nothing(rest).map(|()| Directive::Help),
        other => Err(catalogue::unknown(other)),
    }
}

fn call(name: &str, input: Value, count: usize) -> Directive {
    Directive::Call { name: name.to_owned(), input, count }
}

fn tool(rest: &str) -> Result<Directive, String> {
    let (name, arguments) = value::first_word(rest);
    if name.is_empty() {
        return Err("it names no tool".to_owned());
    }
    Ok(call(name, value::json_or_empty(arguments)?, 1))
}

fn many(rest: &str) -> Result<Directive, String> {
    let (count, rest) = value::first_word(rest);
    let count = value::count(count, MAX_CALLS)?;
    let (name, arguments) = value::first_word(rest);
    let name = if name.is_empty() { "foreword_status" } else { name };
    Ok(call(name, value::json_or_empty(arguments)?, count))
}

/// Truncated arguments, as a dialect decodes them: a string, since they are not valid JSON.
fn truncated(rest: &str) -> Result<Directive, String> {
    let (name, extra) = value::first_word(rest);
    value::nothing(extra)?;
    let name = if name.is_empty() { "memory_search" } else { name };
    Ok(call(name, Value::String(r#"{"query": "what was to be loo"#.to_owned()), 1))
}

fn long(rest: &str) -> Result<Directive, String> {
    let (count, unit) = value::first_word(rest);
    if !["", "word", "words"].contains(&unit) {
        return Err(format!("`{unit}` is not a unit: write `words`"));
    }
    value::count(count, MAX_WORDS).map(Directive::Long)
}

fn block(rest: &str) -> Result<Directive, String> {
    match value::json(rest)? {
        Value::Object(fields) => Ok(Directive::Block(Value::Object(fields))),
        _ => Err("a block is a JSON object".to_owned()),
    }
}

fn stop(rest: &str) -> Result<Directive, String> {
    let (reason, extra) = value::first_word(rest);
    value::nothing(extra)?;
    match reason {
        "" => Err("it gives no reason".to_owned()),
        "end-turn" => Ok(Directive::Stop(StopReason::EndTurn)),
        "max-tokens" => Ok(Directive::Stop(StopReason::MaxTokens)),
        "refusal" => Ok(Directive::Stop(StopReason::Refusal)),
        other => Ok(Directive::Stop(StopReason::Other(other.to_owned()))),
    }
}
