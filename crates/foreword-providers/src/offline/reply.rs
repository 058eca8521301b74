//! Answers words with words and calls of tools, by fixed rules.

use foreword_prompt::trust::Trust;
use serde_json::{Value, json};

use super::findings::{Findings, Quote};
use super::intent::{Intent, understand};
use super::outline::outline;
use super::own_words::unframed_lines;
use super::reading::{DISCLAIMER, Outcome, Reading};
use super::script::{Piece, Script};
use super::shown::{first_lines, on_one_line};
use super::whereabouts::Whereabouts;

const MOST_OUTCOMES: usize = 10;
const LINES_EACH: usize = 3;
const LINES_ALONE: usize = 12;
const LINES_OF_A_TURN: usize = 30;
const TITLE_WORDS: usize = 8;

/// The answer to `said`, before or after the tools it takes.
pub(super) fn script(reading: &Reading<'_>, said: &str) -> Script {
    let intent = understand(said);
    if let Some(script) = closer_look(&intent, reading) {
        return script;
    }
    if !reading.outcomes.is_empty() {
        return Script::say(after(&intent, &reading.outcomes));
    }
    let whereabouts = Whereabouts::of(reading.request);
    let introduction =
        (!reading.introduced || intent == Intent::Introduce).then(|| introduce(reading, &whereabouts));
    let mut script = match wish(&intent, reading, &whereabouts) {
        Some(wish) => wish.script(reading, &whereabouts),
        None => Script::say(in_words(&intent, reading, said)),
    };
    if let (Some(introduction), Some(Piece::Text(text))) = (introduction, script.pieces.first_mut()) {
        let behind = if text.is_empty() { "" } else { "\n\n" };
        text.insert_str(0, &format!("{introduction}{behind}"));
    }
    script
}

fn introduce(reading: &Reading<'_>, whereabouts: &Whereabouts) -> String {
    format!(
        "I am the offline model: fixed rules, {DISCLAIMER}. {}\n{}",
        whereabouts.sentence(),
        outline(reading.request, &reading.asked.context)
    )
}

/// A call that an intent leads to.
struct Wish {
    tool: &'static str,
    input: Value,
    /// What it is for.
    why: String,
}

impl Wish {
    fn new(tool: &'static str, input: Value, why: impl Into<String>) -> Self {
        Self { tool, input, why: why.into() }
    }

    fn script(self, reading: &Reading<'_>, whereabouts: &Whereabouts) -> Script {
        let Self { tool, input, why } = self;
        if !reading.offers(tool) {
            let trust = whereabouts.trust.map(|trust| format!(" at trust {trust}")).unwrap_or_default();
            return Script::say(format!(
                "To {why} I would call `{tool}`, but it is not among the tools I was given{trust}."
            ));
        }
        let mut script = Script::say(format!("I call `{tool}` to {why}."));
        script.pieces.push(Piece::Call { name: tool.to_owned(), input });
        script
    }
}

fn wish(intent: &Intent, reading: &Reading<'_>, whereabouts: &Whereabouts) -> Option<Wish> {
    Some(match intent {
        Intent::Ask { keywords } => {
            let query = keywords.join(" ");
            let why = format!("look for “{}”", on_one_line(&query, 120));
            Wish::new("memory_search", json!({ "query": query }), why)
        }
        Intent::Remember { text } => {
            let store = store_for(whereabouts.trust);
            let title =
                on_one_line(&text.split_whitespace().take(TITLE_WORDS).collect::<Vec<_>>().join(" "), 80);
            let input = json!({ "store": store, "title": title, "text": text });
            Wish::new("memory_write", input, format!("keep that in the {store} store"))
        }
        Intent::Logs { since } => {
            let input = json!({ "level": "error", "since": since });
            let when = if since.starts_with(|c: char| c.is_ascii_digit()) { "in the last" } else { "since" };
            Wish::new("foreword_logs", input, format!("see what went wrong {when} {since}"))
        }
        Intent::Cost => Wish::new("foreword_cost", json!({}), "see what was used and spent"),
        Intent::Status => Wish::new("foreword_status", json!({}), "see how I am running"),
        Intent::Trace { turn } => {
            Wish::new("foreword_trace", json!({ "turn": turn }), "go through that turn")
        }
        Intent::Read { path } => read(path, reading),
        Intent::Run { command } => Wish::new("bash", json!({ "command": command }), "run that"),
        Intent::Skill { name } => Wish::new("skill_get", json!({ "name": name }), "load that skill"),
        Intent::Introduce | Intent::Help | Intent::Unclear => return None,
    })
}

/// A note of the menu is read as a note: whoever may see it there may not be allowed to read files.
fn read(path: &str, reading: &Reading<'_>) -> Wish {
    let is_note = ["private/", "shared/", "social/"].iter().any(|store| path.starts_with(store));
    let tool = if is_note && reading.offers("memory_get") { "memory_get" } else { "read_file" };
    Wish::new(tool, json!({ "path": path }), "read it")
}

/// The store whose readers are no more than those who hear this. Where nothing says who that is, the narrowest: a note
/// that is refused can be written again, one that was shown can't be taken back.
fn store_for(trust: Option<Trust>) -> &'static str {
    match trust {
        Some(Trust::Public | Trust::Familiar) => "social",
        Some(Trust::Inner) => "shared",
        Some(Trust::Full) | None => "private",
    }
}

fn in_words(intent: &Intent, reading: &Reading<'_>, said: &str) -> String {
    match intent {
        Intent::Introduce => String::new(),
        Intent::Help => what_it_can_do(),
        _ if said.trim().is_empty() && reading.asked.has_outside_text => {
            "This message holds only text from outside, and that is data to me. Tell me in your own words what to do."
                .to_owned()
        }
        _ if said.trim().is_empty() => "There are no words in this message for me to answer.".to_owned(),
        _ => format!("You said: “{}” I have no rule for that.\n{}", on_one_line(said, 200), what_it_can_do()),
    }
}

fn what_it_can_do() -> String {
    "What I can do:\n\
     - answer a question from memory: “what's Carol's birthday?”\n\
     - keep something: “remember that the key is under the pot”\n\
     - look into my log: “why did my message fail last night?”; show a turn of it: “trace TURN”\n\
     - tell how I am running: “status”; what it costs: “which conversation used the most tokens?”\n\
     - read a file: “read AGENTS.md”; run a command: “run `ls`”; load a skill: “use skill NAME”\n\
     - say who I take you for and what I was given: “who am I?”\n\
     - call any tool and act out any failure on demand: `!help` lists how"
        .to_owned()
}

/// What went wrong is in the log; how it went, step by step, is in the turn it happened in.
fn closer_look(intent: &Intent, reading: &Reading<'_>) -> Option<Script> {
    let (Intent::Logs { .. }, [log]) = (intent, &reading.outcomes[..]) else { return None };
    if log.is_error || !reading.offers("foreword_trace") {
        return None;
    }
    let turn = log.text.split_whitespace().find_map(|word| word.strip_prefix("turn="))?;
    let mut script =
        Script::say(format!("I call `foreword_trace` to go through turn {}.", on_one_line(turn, 80)));
    script.pieces.push(Piece::Call { name: "foreword_trace".to_owned(), input: json!({ "turn": turn }) });
    Some(script)
}

/// The answer once tools have been called.
fn after(intent: &Intent, outcomes: &[Outcome<'_>]) -> String {
    match (intent, outcomes) {
        (Intent::Ask { keywords }, [found]) if !found.is_error => from_memory(found, keywords),
        (Intent::Remember { .. }, [kept]) if !kept.is_error => format!("Noted. {}", said_by(kept)),
        (Intent::Logs { .. }, [_, turn]) if !turn.is_error => {
            format!("`{}` says:\n{}", on_one_line(turn.name, 80), shown(turn, LINES_OF_A_TURN))
        }
        (_, [outcome]) if outcome.is_error => format!("That did not work. {}", said_by(outcome)),
        (_, [outcome]) => said_by(outcome),
        _ => account(outcomes),
    }
}

fn from_memory(found: &Outcome<'_>, keywords: &[String]) -> String {
    let about = on_one_line(&keywords.join(" "), 120);
    match Findings::of(found.text, keywords) {
        Findings::Answer(quotes) => format!("Memory says:\n{}", quoted(&quotes)),
        Findings::Nearest(quotes) => {
            format!("Nothing I may see here speaks of all of “{about}”. The nearest:\n{}", quoted(&quotes))
        }
        Findings::Nothing => format!("I found nothing about “{about}” in what I may see here."),
    }
}

fn quoted(quotes: &[Quote]) -> String {
    quotes.iter().map(|quote| format!("- {} ({})", quote.line, quote.path)).collect::<Vec<_>>().join("\n")
}

fn shown(outcome: &Outcome<'_>, most: usize) -> String {
    first_lines(unframed_lines(outcome.text), most, "  ")
}

fn said_by(outcome: &Outcome<'_>) -> String {
    let lines = shown(outcome, LINES_ALONE);
    let name = on_one_line(outcome.name, 80);
    if lines.is_empty() { format!("`{name}` came back empty.") } else { format!("`{name}` says:\n{lines}") }
}

/// What came of each call, in a few lines.
pub(super) fn account(outcomes: &[Outcome<'_>]) -> String {
    let failed = outcomes.iter().filter(|outcome| outcome.is_error).count();
    let calls = if outcomes.len() == 1 { "1 call".to_owned() } else { format!("{} calls", outcomes.len()) };
    let mut parts = vec![format!("{calls} came back, {failed} with an error.")];
    for outcome in outcomes.iter().take(MOST_OUTCOMES) {
        let name = on_one_line(outcome.name, 80);
        parts.push(format!("- `{name}`: {}", if outcome.is_error { "error" } else { "ok" }));
        let lines = first_lines(unframed_lines(outcome.text), LINES_EACH, "  ");
        parts.extend((!lines.is_empty()).then_some(lines));
    }
    if outcomes.len() > MOST_OUTCOMES {
        parts.push(format!("- and {} more", outcomes.len() - MOST_OUTCOMES));
    }
    parts.join("\n")
}
