//! All directives with their syntax and description, for `!help` and for error messages.

use foreword_prompt::diagnostic::did_you_mean;

/// Word, syntax, description.
pub(super) const ALL: [(&str, &str, &str); 15] = [
    ("say", "!say TEXT", "says it"),
    ("tool", "!tool NAME {JSON}", "calls a tool, offered or not; several lines are calls at the same time"),
    ("then", "!then", "what follows waits for the results of what came before"),
    ("many", "!many COUNT [NAME {JSON}]", "the same call many times, `foreword_status` if none is named"),
    ("unknown-tool", "!unknown-tool", "calls a tool that does not exist"),
    ("truncated", "!truncated [NAME]", "calls a tool with arguments that break off"),
    (
        "fail",
        "!fail STATUS|timeout|refused|context|cut \"WORDS\"|broken|bad-json|not-configured [times=N] [retry-after=SECONDS]",
        "fails: the first N attempts, or all",
    ),
    ("hang", "!hang", "stops responding until it is cancelled"),
    ("wait", "!wait DURATION", "is silent for that long"),
    ("slow", "!slow DURATION", "waits that long between two words"),
    ("long", "!long COUNT words", "says that many words"),
    ("block", "!block {JSON}", "sends a block only its provider would understand"),
    ("stop", "!stop end-turn|max-tokens|refusal|WORD", "ends the answer with that reason"),
    (
        "usage",
        "!usage [input=N] [output=N] [cache_read=N] [cache_write=N] [cache_write_1h=N]",
        "reports these numbers of tokens",
    ),
    ("help", "!help", "lists these"),
];

/// The syntax of a directive.
pub(crate) fn usage_of(word: &str) -> Option<&'static str> {
    ALL.iter().find(|(known, ..)| *known == word).map(|(_, usage, _)| *usage)
}

/// The error message for an unknown directive.
pub(super) fn unknown(word: &str) -> String {
    match did_you_mean(word, ALL.map(|(known, ..)| known)) {
        Some(near) => format!("there is no such directive: did you mean `!{near}`?"),
        None => "there is no such directive: `!help` lists them".to_owned(),
    }
}

/// All directives, one per line.
pub(crate) fn help() -> String {
    let lines = ALL.map(|(_, usage, does)| format!("- `{usage}`: {does}"));
    format!("Directives, each a line of a message of its own:\n{}", lines.join("\n"))
}
