//! Lines that begin with `!`: orders to the offline model, so that every tool and every failure can be had on demand.
//! Reading them is all that happens here; `directed` makes a script of them.

mod catalogue;
mod failure;
mod value;

use std::time::Duration;

use foreword_core::model::StopReason;
use serde_json::{Value, json};

pub(super) use catalogue::{help, usage_of};

use super::script::{Failure, ReportedUsage};

/// The most words or calls a directive may ask for.
const MOST_WORDS: u64 = 100_000;
const MOST_CALLS: u64 = 10_000;

/// An order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Directive {
    Say(String),
    Call { name: String, input: Value, count: usize },
    Then,
    Fail(Failure),
    Hang,
    Wait(Duration),
    Slow(Duration),
    Long(usize),
    Block(Value),
    Stop(StopReason),
    Usage(ReportedUsage),
    Help,
}

/// A line that looks like an order and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) line: String,
    pub(super) why: String,
    pub(super) usage: Option<&'static str>,
}

/// The orders in what somebody said, or every line that is wrong. Without any there is nothing to obey, and the words
/// are read as words.
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

/// The word of an order and what stands behind it. `!` alone, `!!` and `!5` are what people write when they are excited.
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
    let count = value::count(count, MOST_CALLS)?;
    let (name, arguments) = value::first_word(rest);
    let name = if name.is_empty() { "foreword_status" } else { name };
    Ok(call(name, value::json_or_empty(arguments)?, count))
}

/// Arguments that broke off, as a dialect hands them on: a text, because they are no JSON.
fn truncated(rest: &str) -> Result<Directive, String> {
    let (name, extra) = value::first_word(rest);
    value::nothing(extra)?;
    let name = if name.is_empty() { "memory_search" } else { name };
    Ok(call(name, Value::String(r#"{"query": "what was to be loo"#.to_owned()), 1))
}

fn long(rest: &str) -> Result<Directive, String> {
    let (count, unit) = value::first_word(rest);
    if !["", "word", "words"].contains(&unit) {
        return Err(format!("`{unit}` is no unit: it counts words"));
    }
    value::count(count, MOST_WORDS).map(Directive::Long)
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
