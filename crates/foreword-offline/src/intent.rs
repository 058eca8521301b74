//! Recognises what a user wants by a few fixed English phrases. Anything else is [`Intent::Unclear`].

use crate::keywords::{is_one_of, keywords, normalized_words};

/// What a user wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Intent {
    /// A question for the memory.
    Ask { keywords: Vec<String> },
    /// A note to store.
    Remember { text: String },
    /// Errors in the log since a time.
    Logs { since: &'static str },
    /// The status of the agent.
    Status,
    /// The usage and cost of model calls.
    Cost,
    /// The trace of a turn.
    Trace { turn: String },
    /// The content of a file.
    Read { path: String },
    /// A shell command.
    Run { command: String },
    /// The instructions of a skill.
    Skill { name: String },
    /// An introduction: who is speaking, and which layers the model received.
    Introduce,
    /// The list of capabilities.
    Help,
    /// Not recognised.
    Unclear,
}

/// The intent of a message: the first line with a recognised intent decides.
pub(crate) fn parse_intent(said: &str) -> Intent {
    let asked = |line: &str| command(line.trim()).or_else(|| sentences(line).find_map(sentence));
    let greeted = || sentences(said).next().filter(|first| is_greeting(first)).map(|_| Intent::Introduce);
    said.lines().find_map(asked).or_else(greeted).unwrap_or(Intent::Unclear)
}

fn sentences(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive(['.', '!', '?']).map(str::trim).filter(|sentence| !sentence.is_empty())
}

/// Phrases that take the rest of the line verbatim.
fn command(line: &str) -> Option<Intent> {
    let line = without_politeness(line);
    remember(line)
        .or_else(|| read(line))
        .or_else(|| run(line))
        .or_else(|| skill(line))
        .or_else(|| trace(line))
}

fn without_politeness(mut line: &str) -> &str {
    while let Some(rest) = ["please ", "can you ", "could you ", "would you ", "kindly "]
        .iter()
        .find_map(|polite| strip_start(line, polite))
    {
        line = rest;
    }
    line
}

/// The text after the prefix `start`, case-insensitive.
fn strip_start<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    let head = text.get(..start.len())?;
    head.eq_ignore_ascii_case(start).then(|| text[start.len()..].trim_start())
}

fn remember(line: &str) -> Option<Intent> {
    const FORMS: [&str; 11] = [
        "remember that ",
        "remember: ",
        "remember, ",
        "note that ",
        "note: ",
        "make a note that ",
        "write down that ",
        "write down: ",
        "don't forget that ",
        "don’t forget that ",
        "remember ",
    ];
    let text = FORMS.iter().find_map(|form| strip_start(line, form))?.trim();
    let asks = text.ends_with('?');
    (!text.is_empty() && !asks).then(|| Intent::Remember { text: text.to_owned() })
}

fn read(line: &str) -> Option<Intent> {
    const FORMS: [&str; 8] =
        ["read the file ", "show the file ", "read file ", "show me ", "read ", "open ", "show ", "cat "];
    let rest = FORMS.iter().find_map(|form| strip_start(line, form))?;
    let path = rest.trim_end_matches(['.', '!', '?']).trim_matches(['`', '"', '\'']);
    let is_path = !path.contains(char::is_whitespace) && path.contains(['.', '/']);
    is_path.then(|| Intent::Read { path: path.to_owned() })
}

fn run(line: &str) -> Option<Intent> {
    let rest = strip_start(line, "run ").or_else(|| strip_start(line, "execute "))?;
    let inside = rest.strip_prefix('`')?;
    let (command, _) = inside.rsplit_once('`')?;
    (!command.trim().is_empty()).then(|| Intent::Run { command: command.to_owned() })
}

fn skill(line: &str) -> Option<Intent> {
    let rest = ["use ", "load ", "get "].iter().find_map(|form| strip_start(line, form))?;
    let rest = strip_start(rest, "the ").unwrap_or(rest).trim_end_matches(['.', '!', '?']);
    let name = strip_start(rest, "skill ").or_else(|| rest.strip_suffix(" skill"))?;
    let name = name.trim_matches(['`', '"', '\'']);
    (!name.is_empty() && !name.contains(char::is_whitespace)).then(|| Intent::Skill { name: name.to_owned() })
}

fn trace(line: &str) -> Option<Intent> {
    let rest = strip_start(line, "trace ")?;
    let turn = strip_start(rest, "turn ").unwrap_or(rest).trim_matches(['`', '.', '?', '!']);
    (!turn.is_empty() && !turn.contains(char::is_whitespace)).then(|| Intent::Trace { turn: turn.to_owned() })
}

/// Phrases recognised by their keywords.
fn sentence(sentence: &str) -> Option<Intent> {
    let all: Vec<String> = normalized_words(sentence).collect();
    let plain = all.join(" ");
    introduction(&plain)
        .or_else(|| logs(sentence, &all, &plain))
        .or_else(|| cost(&plain))
        .or_else(|| status(sentence, &all, &plain))
        .or_else(|| question(sentence, &all))
}

fn introduction(plain: &str) -> Option<Intent> {
    const ABOUT_ITSELF: [&str; 13] = [
        "who am i",
        "who are you",
        "what are you",
        "who do you think i am",
        "which layers",
        "what layers",
        "what do you see",
        "what were you given",
        "are you a language model",
        "are you an llm",
        "are you real",
        "what is your prompt",
        "introduce yourself",
    ];
    const HELP: [&str; 5] =
        ["help", "what can you do", "what can i ask", "what do you understand", "how do you work"];
    if HELP.iter().any(|form| plain.starts_with(form)) {
        return Some(Intent::Help);
    }
    ABOUT_ITSELF.iter().any(|form| plain.starts_with(form)).then_some(Intent::Introduce)
}

/// Whether a sentence is only a greeting; other sentences take precedence.
fn is_greeting(sentence: &str) -> bool {
    let all: Vec<String> = normalized_words(sentence).collect();
    let greets = all.first().is_some_and(|first| is_one_of(first, "hello hi hey good"));
    greets && all.len() <= 3
}

fn logs(sentence: &str, all: &[String], plain: &str) -> Option<Intent> {
    const FAILURES: &str = "fail failed failing fails failure failures error errors late expensive crash crashed broke retry \
        retried retries logs";
    const WHOSE: &str = "message messages reply replies answer answers answered request requests provider api model turn \
        turns tool tools call calls happened happen log logs there since recent recently";
    const WHEN: &str = "last night today yesterday tonight morning evening afternoon hour hours week day days earlier \
        ago past";
    let went_wrong =
        ["went wrong", "gone wrong", "go wrong", "goes wrong"].iter().any(|form| plain.contains(form));
    let failed = went_wrong || all.iter().any(|word| is_one_of(word, FAILURES));
    let known = |word: &String| {
        let word = word.as_str();
        let wrong = went_wrong && is_one_of(word, "went gone go goes wrong");
        wrong || is_one_of(word, FAILURES) || is_one_of(word, WHOSE) || is_one_of(word, WHEN)
    };
    // "What went wrong with the boiler?" is a question for the memory.
    (failed && keywords(sentence).iter().all(known)).then(|| Intent::Logs { since: since(plain) })
}

fn since(plain: &str) -> &'static str {
    let says = |forms: &[&str]| forms.iter().any(|form| plain.contains(form));
    if says(&["last night", "yesterday", "last evening"]) {
        "yesterday"
    } else if says(&["today", "this morning", "this afternoon", "tonight"]) {
        "today"
    } else if says(&["hour", "just now"]) {
        "1h"
    } else if says(&["week"]) {
        "7d"
    } else {
        "24h"
    }
}

/// "What does the boat cost?" is a question for the memory.
fn cost(plain: &str) -> Option<Intent> {
    let forms = ["most tokens", "cost per turn", "costs per turn", "turn cost", "spent on tokens"];
    forms.iter().any(|form| plain.contains(form)).then_some(Intent::Cost)
}

fn status(sentence: &str, all: &[String], plain: &str) -> Option<Intent> {
    const STATES: &str = "status running state healthy health wrong slow ok okay fine alright doing well";
    if ["how are you", "how do you do"].contains(&plain) {
        return Some(Intent::Status);
    }
    let of_state = all.iter().any(|word| is_one_of(word, STATES));
    let only = keywords(sentence).iter().all(|word| is_one_of(word, STATES) || word == "system");
    let asks = sentence.ends_with('?') || plain.contains("status");
    (of_state && only && asks).then_some(Intent::Status)
}

fn question(sentence: &str, all: &[String]) -> Option<Intent> {
    const OPENERS: &str = "what when who whom whose where which why how is are was were does do did has have can could will \
        would should tell find search recall remind list describe look lookup";
    let opens = all.first().is_some_and(|first| is_one_of(first, OPENERS));
    let keywords = keywords(sentence);
    ((opens || sentence.ends_with('?')) && !keywords.is_empty()).then_some(Intent::Ask { keywords })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent_text(intent: &Intent) -> String {
        match intent {
            Intent::Ask { keywords } => format!("ask {}", keywords.join(" ")),
            Intent::Remember { text } => format!("remember {text}"),
            Intent::Logs { since } => format!("logs {since}"),
            Intent::Trace { turn } => format!("trace {turn}"),
            Intent::Read { path } => format!("read {path}"),
            Intent::Run { command } => format!("run {command}"),
            Intent::Skill { name } => format!("skill {name}"),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    fn check(table: &[(&str, &str)]) {
        for (said, expected) in table {
            assert_eq!(intent_text(&parse_intent(said)), *expected, "{said}");
        }
    }

    #[test]
    fn questions_search_memory_by_keywords() {
        check(&[
            ("what's Carol's birthday?", "ask carol birthday"),
            ("Hi! When is the vet visit?", "ask vet visit"),
            ("Hello.\nWhere does Carol live", "ask carol live"),
            ("do you remember the plumber?", "ask plumber"),
            ("What do you know about compost?", "ask compost"),
            ("Tell me about Helen", "ask helen"),
            ("Carol's birthday?", "ask carol birthday"),
            ("remember what Bob ordered?", "ask bob ordered"),
            ("what went wrong with the boiler?", "ask went wrong boiler"),
            ("What's the status of the bookshelf?", "ask status bookshelf"),
            ("Is the dishwasher ok?", "ask dishwasher ok"),
        ]);
    }

    #[test]
    fn failure_and_health_questions_use_log_and_status() {
        check(&[
            ("Why did my message fail last night?", "logs yesterday"),
            ("why did my message fail?", "logs 24h"),
            ("what went wrong", "logs 24h"),
            ("what went wrong this morning?", "logs today"),
            ("errors", "logs 24h"),
            ("any errors in the last hour?", "logs 1h"),
            ("Why was your answer so late yesterday?", "logs yesterday"),
            ("status", "status"),
            ("What's your status?", "status"),
            ("how are you running?", "status"),
            ("How are you?", "status"),
            ("Is something wrong?", "status"),
            ("are you ok?", "status"),
        ]);
    }

    #[test]
    fn orders_are_taken_as_they_are_written() {
        check(&[
            ("Remember that Dr. Sousa opens at nine.", "remember Dr. Sousa opens at nine."),
            ("please note that the key is with Carol", "remember the key is with Carol"),
            ("Read AGENTS.md", "read AGENTS.md"),
            ("could you show me `notes/a.txt`?", "read notes/a.txt"),
            ("run `ls -l | head`", "run ls -l | head"),
            ("Use skill meal-plan", "skill meal-plan"),
            ("use the meal-plan skill.", "skill meal-plan"),
            ("trace turn t-17", "trace t-17"),
        ]);
    }

    #[test]
    fn introductions_help_and_unclear_texts_are_recognised() {
        check(&[
            ("who am I?", "introduce"),
            ("Hello!", "introduce"),
            ("Are you a language model?", "introduce"),
            ("which layers were you given?", "introduce"),
            ("help", "help"),
            ("What can you do?", "help"),
            ("I like tomatoes.", "unclear"),
            ("run away", "unclear"),
            ("read a book", "unclear"),
            ("remember", "unclear"),
            ("what?", "unclear"),
            ("", "unclear"),
        ]);
    }
}
