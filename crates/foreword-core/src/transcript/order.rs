//! Which messages a model reads, and in which order. Says nothing of how they read.
//!
//! Turns of a conversation run one after the other, and each writes what it sent and replied when it ends. So what turns
//! wrote stands in the order it was written; only what people said may have come in long before the turn that took it up.

use std::collections::BTreeMap;

use crate::id::TurnId;
use crate::message::{Kind, Message, Role};

/// The messages before the turn `current`, as the model reads them.
pub(super) fn in_order<'a>(history: &'a [Message], current: Option<&TurnId>) -> Vec<&'a Message> {
    let turns = turns(history);
    let mut placed: Vec<(Place, &Message)> = history
        .iter()
        .filter(|message| {
            is_summary(message) || current.is_none() || message.message.turn.as_ref() != current
        })
        .filter_map(|message| Some((place(message, &turns)?, message)))
        .collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, message)| message).collect()
}

/// Where a message stands: at the place of one that a turn wrote; before, as or behind it; then in its own order.
type Place = (u64, Beside, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Beside {
    Before,
    At,
    Behind,
}

/// The place of a message, if a model reads it at all.
fn place(message: &Message, turns: &Turns<'_>) -> Option<Place> {
    if is_summary(message) {
        return Some((0, Beside::Before, message.seq));
    }
    if !is_said(message) {
        return Some((message.seq, Beside::At, message.seq));
    }
    // What nobody has taken up; also what is withheld, for which its turn's other messages stand.
    let turn = turns.get(message.message.turn.as_ref()?)?;
    match turn.written {
        _ if turn.has_sent => None,
        Some((first, _)) => Some((first, Beside::Before, message.seq)),
        None => Some((behind_earlier_turns(turn, turns), Beside::Behind, message.seq)),
    }
}

/// Where a turn stands that wrote nothing: behind what came in for it, and behind the turns that were begun before it.
fn behind_earlier_turns(silent: &Turn, turns: &Turns<'_>) -> u64 {
    let Some((first, last)) = silent.said else { return 0 };
    let is_earlier = |turn: &&Turn| turn.said.is_some_and(|(said, _)| said < first);
    turns
        .values()
        .filter(is_earlier)
        .filter_map(|turn| turn.written)
        .fold(last, |place, (_, end)| place.max(end))
}

type Turns<'a> = BTreeMap<&'a TurnId, Turn>;

/// What is in the history of one turn.
#[derive(Debug, Default)]
struct Turn {
    /// The places of the first and the last message that it took up.
    said: Option<(u64, u64)>,
    /// The places of the first and the last message that it wrote.
    written: Option<(u64, u64)>,
    /// Whether one of those says what was really sent.
    has_sent: bool,
}

fn turns(history: &[Message]) -> Turns<'_> {
    let mut turns = Turns::new();
    for message in history.iter().filter(|message| !is_summary(message)) {
        let Some(id) = &message.message.turn else { continue };
        let turn = turns.entry(id).or_default();
        turn.has_sent |= message.message.kind == Kind::Sent;
        let span = if is_said(message) { &mut turn.said } else { &mut turn.written };
        let (first, last) = span.unwrap_or((message.seq, message.seq));
        *span = Some((first.min(message.seq), last.max(message.seq)));
    }
    turns
}

/// Whether it is what somebody said to the agent, as it came in.
fn is_said(message: &Message) -> bool {
    message.message.role == Role::User && message.message.kind == Kind::Message
}

fn is_summary(message: &Message) -> bool {
    message.message.kind == Kind::Summary
}
