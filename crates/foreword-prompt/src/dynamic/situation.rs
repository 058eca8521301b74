//! The dynamic context of a self-supporting agent: its state, the messages it has to answer, the history with their
//! senders, its memory, and its tools. All messages are framed.

use std::fmt::Write;

use crate::turn_text::TurnText;
use crate::untrusted::{Marker, OutsideName, Untrusted, frame, single_line};

/// The maximum number of characters shown of a pending message.
const PREVIEW_CHARS: usize = 500;
/// The maximum length of a state value.
const VALUE_CHARS: usize = 200;
/// How many exchanges with a sender are shown.
const MAX_EXCHANGES: usize = 5;
/// How many in the compact form.
const MAX_EXCHANGES_COMPACT: usize = 2;

/// A message waiting for an answer.
#[derive(Debug, Clone)]
pub struct Obligation {
    /// The id for the answer.
    pub id: Option<OutsideName>,
    /// The message, with its sender.
    pub message: Untrusted,
}

/// One message and the agent's reply to it.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What the sender wrote.
    pub message: Untrusted,
    /// What the agent answered.
    pub reply: Untrusted,
}

/// The earlier exchanges with one sender.
#[derive(Debug, Clone)]
pub struct SenderHistory {
    /// The sender.
    pub sender: OutsideName,
    /// Oldest first.
    pub exchanges: Vec<Exchange>,
}

/// The content of the dynamic context.
#[derive(Debug, Clone, Default)]
pub struct SituationReport {
    /// Names and values of the agent's state, in the order to show them.
    pub state: Vec<(String, String)>,
    /// The staged messages.
    pub obligations: Vec<Obligation>,
    /// The history with the senders of this batch only.
    pub history: Vec<SenderHistory>,
    /// The most recent facts the agent noted.
    pub memory: Vec<Untrusted>,
    /// The tools it can call.
    pub tools: Vec<String>,
    /// The number of calls left in this turn.
    pub calls_left: Option<usize>,
}

/// The dynamic context as the model reads it. `compact` shows less history.
#[must_use]
pub fn situation(report: &SituationReport, marker: &Marker, compact: bool) -> TurnText {
    let mut out = TurnText::default();
    if !report.state.is_empty() {
        section(&mut out, "## Current State");
        for (name, value) in &report.state {
            out.push(&format!("\n- {}: {}", single_line(name, VALUE_CHARS), single_line(value, VALUE_CHARS)));
        }
    }
    push_obligations(&mut out, &report.obligations, marker);
    push_history(&mut out, report, marker, compact);
    if !report.memory.is_empty() {
        section(&mut out, "## Recent Memory");
        out.push("\n");
        out.push_framed(&frame(&report.memory, marker));
    }
    if !report.tools.is_empty() {
        section(&mut out, "## Available Tools");
        out.push(&format!("\n{}", report.tools.join(", ")));
        if let Some(left) = report.calls_left {
            out.push(&format!("\n{} left this turn.", count(left, "call")));
        }
    }
    out
}

/// The same as a part of a message, for a prompt without a layer for it. Framed in the same way.
#[must_use]
pub fn situation_message(report: &SituationReport, marker: &Marker) -> String {
    situation(report, marker, false).as_str().to_owned()
}

/// The pending messages by sender, in the order of their first message, each in its own frame. The id is outside the
/// frame, where no sender can write.
fn push_obligations(out: &mut TurnText, obligations: &[Obligation], marker: &Marker) {
    let mut senders: Vec<&OutsideName> = Vec::new();
    for one in obligations {
        if !senders.contains(&one.message.origin().name()) {
            senders.push(one.message.origin().name());
        }
    }
    if senders.is_empty() {
        return;
    }
    section(out, "## Pending Obligations");
    let (messages, from) = (count(obligations.len(), "message"), count(senders.len(), "sender"));
    out.push(&format!("\n{messages} waiting, from {from}. What one sender wrote is not for another."));
    for sender in senders {
        out.push(&format!("\n### From {sender}"));
        for one in obligations.iter().filter(|one| one.message.origin().name() == sender) {
            if let Some(id) = &one.id {
                out.push(&format!("\nMessage `{id}`:"));
            }
            let (origin, preview) = (one.message.origin().clone(), one.message.preview(PREVIEW_CHARS));
            out.push("\n");
            out.push_framed(&frame(&[Untrusted::new(origin, preview.as_str())], marker));
        }
    }
}

fn push_history(out: &mut TurnText, report: &SituationReport, marker: &Marker, compact: bool) {
    let shown = if compact { MAX_EXCHANGES_COMPACT } else { MAX_EXCHANGES };
    let with_history = |sender: &&SenderHistory| !sender.exchanges.is_empty();
    for (index, sender) in report.history.iter().filter(with_history).enumerate() {
        if index == 0 {
            section(out, "## Conversation History");
        }
        let mut heading = String::new();
        // Writing to a String cannot fail.
        let _ = write!(heading, "\n### Conversation with {}\n", sender.sender);
        out.push(&heading);
        let recent = &sender.exchanges[sender.exchanges.len().saturating_sub(shown)..];
        let texts: Vec<Untrusted> =
            recent.iter().flat_map(|one| [one.message.clone(), one.reply.clone()]).collect();
        out.push_framed(&frame(&texts, marker));
    }
}

fn section(out: &mut TurnText, heading: &str) {
    if !out.is_blank() {
        out.push("\n\n");
    }
    out.push(heading);
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
