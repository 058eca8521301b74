//! Which messages a model reads, and in which order.
//!
//! Turns of a conversation run sequentially, and each writes its messages when it ends, so these are in order. Only
//! user messages may have arrived long before the turn that took them up.

use std::collections::BTreeMap;

use crate::id::TurnId;
use crate::message::{Kind, Message, Role};

/// The messages before the turn `current`, in the order the model reads them.
pub(super) fn in_order<'a>(history: &'a [Message], current: Option<&TurnId>) -> Vec<&'a Message> {
    let turns = turns(history);
    let mut placed: Vec<(SortKey, &Message)> = history
        .iter()
        .filter(|message| {
            is_summary(message) || current.is_none() || message.message.turn.as_ref() != current
        })
        .filter_map(|message| Some((sort_key(message, &turns)?, message)))
        .collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, message)| message).collect()
}

/// The sort key of a message: the position of a turn's message; before, at or behind it; then its own sequence number.
type SortKey = (u64, Beside, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Beside {
    Before,
    At,
    Behind,
}

/// The sort key of a message; `None` if the model does not read it.
fn sort_key(message: &Message, turns: &Turns<'_>) -> Option<SortKey> {
    if is_summary(message) {
        return Some((0, Beside::Before, message.seq));
    }
    if !is_said(message) {
        return Some((message.seq, Beside::At, message.seq));
    }
    // Messages that no turn has taken up, and withheld ones, which the other messages of their turn replace.
    let turn = turns.get(message.message.turn.as_ref()?)?;
    match turn.written {
        _ if turn.has_sent => None,
        Some((first, _)) => Some((first, Beside::Before, message.seq)),
        None => Some((behind_earlier_turns(turn, turns), Beside::Behind, message.seq)),
    }
}

/// The position of a turn that wrote nothing: after its messages and after all earlier turns.
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

/// The messages of one turn in the history.
#[derive(Debug, Default)]
struct Turn {
    /// The first and last user message it took up.
    said: Option<(u64, u64)>,
    /// The first and last message it wrote.
    written: Option<(u64, u64)>,
    /// Whether it has a [`Kind::Sent`] message.
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

/// Whether it is a user message as received.
fn is_said(message: &Message) -> bool {
    message.message.role == Role::User && message.message.kind == Kind::Message
}

fn is_summary(message: &Message) -> bool {
    message.message.kind == Kind::Summary
}
