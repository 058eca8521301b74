//! Answers plain text with text and tool calls, by fixed rules.

use foreword_prompt::trust::Trust;
use serde_json::{Value, json};

use crate::findings::{Findings, Quote};
use crate::intent::{Intent, parse_intent};
use crate::outline::outline;
use crate::request_state::{DISCLAIMER, Outcome, RequestState};
use crate::script::{AnswerPart, AnswerScript};
use crate::speaker_context::SpeakerContext;
use crate::text_format::{first_lines, on_one_line};
use crate::user_message::unframed_lines;

const MAX_OUTCOMES: usize = 10;
const LINES_EACH: usize = 3;
const LINES_ALONE: usize = 12;
const LINES_OF_A_TURN: usize = 30;
const TITLE_WORDS: usize = 8;

/// The answer to `said`, before or after its tool calls.
pub(crate) fn script(state: &RequestState<'_>, said: &str) -> AnswerScript {
    let intent = parse_intent(said);
    if let Some(script) = request_trace(&intent, state) {
        return script;
    }
    if !state.outcomes.is_empty() {
        return AnswerScript::say(after(&intent, &state.outcomes));
    }
    let speaker = SpeakerContext::of(state.request);
    let introduction = (!state.introduced || intent == Intent::Introduce).then(|| introduce(state, &speaker));
    let mut script = match tool_intent(&intent, state, &speaker) {
        Some(tool_intent) => tool_intent.script(state, &speaker),
        None => AnswerScript::say(in_words(&intent, state, said)),
    };
    if let (Some(introduction), Some(AnswerPart::Text(text))) = (introduction, script.pieces.first_mut()) {
        let behind = if text.is_empty() { "" } else { "\n\n" };
        text.insert_str(0, &format!("{introduction}{behind}"));
    }
    script
}

fn introduce(state: &RequestState<'_>, speaker: &SpeakerContext) -> String {
    format!(
        "I am the offline model: fixed rules, {DISCLAIMER}. {}\n{}",
        speaker.sentence(),
        outline(state.request, &state.asked.context)
    )
}

/// A tool call for an intent.
struct ToolIntent {
    tool: &'static str,
    input: Value,
    /// The purpose, shown to the user.
    why: String,
}

impl ToolIntent {
    fn new(tool: &'static str, input: Value, why: impl Into<String>) -> Self {
        Self { tool, input, why: why.into() }
    }

    fn script(self, state: &RequestState<'_>, speaker: &SpeakerContext) -> AnswerScript {
        let Self { tool, input, why } = self;
        if !state.offers(tool) {
            let trust = speaker.trust.map(|trust| format!(" at trust {trust}")).unwrap_or_default();
            return AnswerScript::say(format!(
                "To {why} I would call `{tool}`, but it is not among the tools I was given{trust}."
            ));
        }
        let mut script = AnswerScript::say(format!("I call `{tool}` to {why}."));
        script.pieces.push(AnswerPart::Call { name: tool.to_owned(), input });
        script
    }
}

fn tool_intent(intent: &Intent, state: &RequestState<'_>, speaker: &SpeakerContext) -> Option<ToolIntent> {
    Some(match intent {
        Intent::Ask { keywords } => {
            let query = keywords.join(" ");
            let why = format!("look for “{}”", on_one_line(&query, 120));
            ToolIntent::new("memory_search", json!({ "query": query }), why)
        }
        Intent::Remember { text } => {
            let store = store_for(speaker.trust);
            let title =
                on_one_line(&text.split_whitespace().take(TITLE_WORDS).collect::<Vec<_>>().join(" "), 80);
            let input = json!({ "store": store, "title": title, "text": text });
            ToolIntent::new("memory_write", input, format!("keep that in the {store} store"))
        }
        Intent::Logs { since } => {
            let input = json!({ "level": "error", "since": since });
            let when = if since.starts_with(|c: char| c.is_ascii_digit()) { "in the last" } else { "since" };
            ToolIntent::new("foreword_logs", input, format!("see what went wrong {when} {since}"))
        }
        Intent::Cost => ToolIntent::new("foreword_cost", json!({}), "see what was used and spent"),
        Intent::Status => ToolIntent::new("foreword_status", json!({}), "see how I am running"),
        Intent::Trace { turn } => {
            ToolIntent::new("foreword_trace", json!({ "turn": turn }), "go through that turn")
        }
        Intent::Read { path } => read(path, state),
        Intent::Run { command } => ToolIntent::new("bash", json!({ "command": command }), "run that"),
        Intent::Skill { name } => ToolIntent::new("skill_get", json!({ "name": name }), "load that skill"),
        Intent::Introduce | Intent::Help | Intent::Unclear => return None,
    })
}

/// Notes are read with the memory tool: the user may not be allowed to read files.
fn read(path: &str, state: &RequestState<'_>) -> ToolIntent {
    let is_note = ["private/", "shared/", "social/"].iter().any(|store| path.starts_with(store));
    let tool = if is_note && state.offers("memory_get") { "memory_get" } else { "read_file" };
    ToolIntent::new(tool, json!({ "path": path }), "read it")
}

/// The memory store readable by no more people than the current audience. The private store if the trust is unknown: a
/// note that was shown to others cannot be taken back.
fn store_for(trust: Option<Trust>) -> &'static str {
    match trust {
        Some(Trust::Public | Trust::Familiar) => "social",
        Some(Trust::Inner) => "shared",
        Some(Trust::Full) | None => "private",
    }
}

fn in_words(intent: &Intent, state: &RequestState<'_>, said: &str) -> String {
    match intent {
        Intent::Introduce => String::new(),
        Intent::Help => capabilities(),
        _ if said.trim().is_empty() && state.asked.has_outside_text => {
            "This message holds only text from outside, and that is data to me. Tell me in your own words what to do."
                .to_owned()
        }
        _ if said.trim().is_empty() => "There are no words in this message for me to answer.".to_owned(),
        _ => format!("You said: “{}” I have no rule for that.\n{}", on_one_line(said, 200), capabilities()),
    }
}

fn capabilities() -> String {
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

/// After the log has shown a failure, requests the trace of its turn.
fn request_trace(intent: &Intent, state: &RequestState<'_>) -> Option<AnswerScript> {
    let (Intent::Logs { .. }, [log]) = (intent, &state.outcomes[..]) else { return None };
    if log.is_error || !state.offers("foreword_trace") {
        return None;
    }
    let turn = log.text.split_whitespace().find_map(|word| word.strip_prefix("turn="))?;
    let mut script =
        AnswerScript::say(format!("I call `foreword_trace` to go through turn {}.", on_one_line(turn, 80)));
    script
        .pieces
        .push(AnswerPart::Call { name: "foreword_trace".to_owned(), input: json!({ "turn": turn }) });
    Some(script)
}

/// The answer after the tool calls.
fn after(intent: &Intent, outcomes: &[Outcome<'_>]) -> String {
    match (intent, outcomes) {
        (Intent::Ask { keywords }, [found]) if !found.is_error => from_memory(found, keywords),
        (Intent::Remember { .. }, [kept]) if !kept.is_error => format!("Noted. {}", said_by(kept)),
        (Intent::Logs { .. }, [_, turn]) if !turn.is_error => {
            format!("`{}` says:\n{}", on_one_line(turn.name, 80), first_output_lines(turn, LINES_OF_A_TURN))
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

fn first_output_lines(outcome: &Outcome<'_>, most: usize) -> String {
    first_lines(unframed_lines(outcome.text), most, "  ")
}

fn said_by(outcome: &Outcome<'_>) -> String {
    let lines = first_output_lines(outcome, LINES_ALONE);
    let name = on_one_line(outcome.name, 80);
    if lines.is_empty() { format!("`{name}` came back empty.") } else { format!("`{name}` says:\n{lines}") }
}

/// A short report of the tool results.
pub(crate) fn account(outcomes: &[Outcome<'_>]) -> String {
    let failed = outcomes.iter().filter(|outcome| outcome.is_error).count();
    let calls = if outcomes.len() == 1 { "1 call".to_owned() } else { format!("{} calls", outcomes.len()) };
    let mut parts = vec![format!("{calls} came back, {failed} with an error.")];
    for outcome in outcomes.iter().take(MAX_OUTCOMES) {
        let name = on_one_line(outcome.name, 80);
        parts.push(format!("- `{name}`: {}", if outcome.is_error { "error" } else { "ok" }));
        let lines = first_lines(unframed_lines(outcome.text), LINES_EACH, "  ");
        parts.extend((!lines.is_empty()).then_some(lines));
    }
    if outcomes.len() > MAX_OUTCOMES {
        parts.push(format!("- and {} more", outcomes.len() - MAX_OUTCOMES));
    }
    parts.join("\n")
}
