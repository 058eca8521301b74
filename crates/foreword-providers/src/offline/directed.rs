//! Makes a script of directives: one round of them for each time the model is asked, and in the end a short account of
//! what came back.

use std::iter;

use super::directive::{Directive, help};
use super::reading::Reading;
use super::reply;
use super::script::{Piece, Script};

/// Words to fill a page with.
const FILLER: [&str; 20] = [
    "the",
    "ferry",
    "leaves",
    "at",
    "noon",
    "and",
    "comes",
    "back",
    "with",
    "bread",
    "letters",
    "salt",
    "rope",
    "two",
    "passengers",
    "who",
    "know",
    "every",
    "wave",
    "here",
];

/// What the orders come to at this point of the turn.
pub(super) fn script(reading: &Reading<'_>, orders: Vec<Directive>) -> Script {
    let rounds: Vec<&[Directive]> = orders.split(|order| *order == Directive::Then).collect();
    let calls = |round: &&[Directive]| round.iter().any(|order| matches!(order, Directive::Call { .. }));
    if !rounds[..rounds.len() - 1].iter().all(calls) {
        let usage = "`!then` waits for results, but no tool is called before it: the turn would be over.";
        return Script::say(format!("I did nothing. {usage}"));
    }
    let prose = prose_beside(reading, &rounds);
    let mut script = match (rounds.get(reading.rounds), prose) {
        (Some(round), Some(prose)) => around(round, reply::script(reading, &prose)),
        (None, Some(prose)) => reply::script(reading, &prose),
        (Some(round), None) => obey(reading, round),
        (None, None) => Script::say(reply::account(&reading.outcomes)),
    };
    for order in &orders {
        match order {
            Directive::Slow(pause) => script.pause = Some(*pause),
            Directive::Usage(usage) => script.usage = *usage,
            _ => {}
        }
    }
    script
}

/// What was said besides, if the orders only say how to answer and not what.
fn prose_beside(reading: &Reading<'_>, rounds: &[&[Directive]]) -> Option<String> {
    let only_how = rounds.len() == 1 && !rounds.iter().flat_map(|round| round.iter()).any(is_what);
    let is_prose = |line: &&str| !line.trim().starts_with('!');
    let prose: String = reading.asked.words.lines().filter(is_prose).collect::<Vec<_>>().join("\n");
    (only_how && !prose.trim().is_empty()).then_some(prose)
}

/// Whether an order is an answer by itself.
fn is_what(order: &Directive) -> bool {
    match order {
        Directive::Say(_) | Directive::Call { .. } | Directive::Long(_) | Directive::Block(_) => true,
        Directive::Help | Directive::Hang => true,
        Directive::Then | Directive::Fail(_) | Directive::Wait(_) => false,
        Directive::Slow(_) | Directive::Stop(_) | Directive::Usage(_) => false,
    }
}

/// An answer with what the orders put before and behind it.
fn around(round: &[Directive], answer: Script) -> Script {
    let mut script = pieces_of(round);
    script.pieces.extend(answer.pieces);
    script
}

fn obey(reading: &Reading<'_>, round: &[Directive]) -> Script {
    let mut script = pieces_of(round);
    if !round.iter().any(is_what) {
        let text = match reading.outcomes.as_slice() {
            [] => "Here is the answer: this attempt got through.".to_owned(),
            outcomes => reply::account(outcomes),
        };
        script.pieces.push(Piece::Text(text));
    }
    script
}

fn pieces_of(round: &[Directive]) -> Script {
    let mut script = Script::default();
    for order in round {
        match order {
            Directive::Say(text) => script.say_line(text),
            Directive::Help => script.say_line(&help()),
            Directive::Long(words) => script.say_line(&filler(*words)),
            Directive::Call { name, input, count } => {
                let call = Piece::Call { name: name.clone(), input: input.clone() };
                script.pieces.extend(iter::repeat_n(call, *count));
            }
            Directive::Block(block) => script.pieces.push(Piece::Block(block.clone())),
            Directive::Wait(time) => script.pieces.push(Piece::Wait(*time)),
            Directive::Hang => script.pieces.push(Piece::Hang),
            Directive::Fail(failure) => script.pieces.push(Piece::Fail(failure.clone())),
            Directive::Stop(reason) => script.stop = Some(reason.clone()),
            Directive::Then | Directive::Slow(_) | Directive::Usage(_) => {}
        }
    }
    script
}

impl Script {
    /// Says something on a line of its own.
    fn say_line(&mut self, text: &str) {
        let said_before = self.pieces.iter().any(|piece| matches!(piece, Piece::Text(_)));
        let text = if said_before { format!("\n{text}") } else { text.to_owned() };
        self.pieces.push(Piece::Text(text));
    }
}

fn filler(words: usize) -> String {
    (1..=words).zip(FILLER.iter().cycle()).map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}
