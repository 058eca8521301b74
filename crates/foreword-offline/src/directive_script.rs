//! Turns directives into a script: one group of directives per model call, and finally a short report of the results.

use std::iter;

use crate::directive::{Directive, help};
use crate::reply;
use crate::request_state::RequestState;
use crate::script::{AnswerPart, AnswerScript};

/// Words of filler text.
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

/// The script of the directives for the current model call.
pub(crate) fn script(state: &RequestState<'_>, orders: Vec<Directive>) -> AnswerScript {
    let rounds: Vec<&[Directive]> = orders.split(|order| *order == Directive::Then).collect();
    let calls = |round: &&[Directive]| round.iter().any(|order| matches!(order, Directive::Call { .. }));
    if !rounds[..rounds.len() - 1].iter().all(calls) {
        let usage = "`!then` waits for results, but no tool is called before it: the turn would be over.";
        return AnswerScript::say(format!("I did nothing. {usage}"));
    }
    let prose = plain_text(state, &rounds);
    let mut script = match (rounds.get(state.rounds), prose) {
        (Some(round), Some(prose)) => around(round, reply::script(state, &prose)),
        (None, Some(prose)) => reply::script(state, &prose),
        (Some(round), None) => follow(state, round),
        (None, None) => AnswerScript::say(reply::account(&state.outcomes)),
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

/// The text besides the directives, if they only modify the answer.
fn plain_text(state: &RequestState<'_>, rounds: &[&[Directive]]) -> Option<String> {
    let only_how = rounds.len() == 1 && !rounds.iter().flat_map(|round| round.iter()).any(is_answer);
    let is_prose = |line: &&str| !line.trim().starts_with('!');
    let prose: String = state.asked.text.lines().filter(is_prose).collect::<Vec<_>>().join("\n");
    (only_how && !prose.trim().is_empty()).then_some(prose)
}

/// Whether a directive is an answer by itself.
fn is_answer(order: &Directive) -> bool {
    match order {
        Directive::Say(_) | Directive::Call { .. } | Directive::Long(_) | Directive::Block(_) => true,
        Directive::Help | Directive::Hang => true,
        Directive::Then | Directive::Fail(_) | Directive::Wait(_) => false,
        Directive::Slow(_) | Directive::Stop(_) | Directive::Usage(_) => false,
    }
}

/// The answer with the parts of the directives before it.
fn around(round: &[Directive], answer: AnswerScript) -> AnswerScript {
    let mut script = pieces_of(round);
    script.pieces.extend(answer.pieces);
    script
}

fn follow(state: &RequestState<'_>, round: &[Directive]) -> AnswerScript {
    let mut script = pieces_of(round);
    if !round.iter().any(is_answer) {
        let text = match state.outcomes.as_slice() {
            [] => "Here is the answer: this attempt got through.".to_owned(),
            outcomes => reply::account(outcomes),
        };
        script.pieces.push(AnswerPart::Text(text));
    }
    script
}

fn pieces_of(round: &[Directive]) -> AnswerScript {
    let mut script = AnswerScript::default();
    for order in round {
        match order {
            Directive::Say(text) => script.say_line(text),
            Directive::Help => script.say_line(&help()),
            Directive::Long(words) => script.say_line(&filler(*words)),
            Directive::Call { name, input, count } => {
                let call = AnswerPart::Call { name: name.clone(), input: input.clone() };
                script.pieces.extend(iter::repeat_n(call, *count));
            }
            Directive::Block(block) => script.pieces.push(AnswerPart::Block(block.clone())),
            Directive::Wait(time) => script.pieces.push(AnswerPart::Wait(*time)),
            Directive::Hang => script.pieces.push(AnswerPart::Hang),
            Directive::Fail(failure) => script.pieces.push(AnswerPart::Fail(failure.clone())),
            Directive::Stop(reason) => script.stop = Some(reason.clone()),
            Directive::Then | Directive::Slow(_) | Directive::Usage(_) => {}
        }
    }
    script
}

impl AnswerScript {
    /// Adds text on a new line.
    fn say_line(&mut self, text: &str) {
        let said_before = self.pieces.iter().any(|piece| matches!(piece, AnswerPart::Text(_)));
        let text = if said_before { format!("\n{text}") } else { text.to_owned() };
        self.pieces.push(AnswerPart::Text(text));
    }
}

fn filler(words: usize) -> String {
    (1..=words).zip(FILLER.iter().cycle()).map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}
