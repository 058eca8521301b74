//! Performs a script: converts it into events, delays and failures. The attempt number and the cached prefixes come
//! from the model's memory; everything else is in the script.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

use foreword_core::id::CallId;
use foreword_core::message::{ContentBlock, Usage};
use foreword_core::model::{ErrorKind, ModelError, ModelEvent, ModelRequest, RequestRole, StopReason};
use foreword_prompt::text::ContentHash;
use foreword_prompt::tokens::Tokenizer;
use serde_json::Value;

use crate::attempts::Attempts;
use crate::prefix_cache::PrefixCache;
use crate::request_state::{asks, block_text};
use crate::script::{AnswerPart, AnswerScript, ScriptedFailure};
use crate::user_message::UserMessage;

/// The state a model keeps between requests. It does not influence the text of answers.
#[derive(Debug, Default)]
pub(crate) struct ModelMemory {
    attempts: Attempts,
    prefixes: PrefixCache,
}

/// A step of the stream.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    Give(Result<ModelEvent, ModelError>),
    Wait(Duration),
    Hang,
}

/// The steps of a script, in order.
pub(crate) fn steps(
    request: &ModelRequest,
    script: &AnswerScript,
    remembered: &mut ModelMemory,
) -> VecDeque<Step> {
    let due = due_failure(request, script, &mut remembered.attempts);
    let mut performance = Performance {
        request,
        script,
        prefixes: &mut remembered.prefixes,
        name: short_name(request),
        usage: None,
        room: request.max_output,
        calls: 0,
        steps: VecDeque::new(),
    };
    let mut failures = 0;
    for piece in &script.pieces {
        failures += usize::from(matches!(piece, AnswerPart::Fail(_)));
        let skipped = matches!(piece, AnswerPart::Fail(_)) && due != Some(failures);
        if !skipped && performance.give(piece).is_break() {
            return performance.steps;
        }
    }
    let natural = if performance.calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
    performance.stop(script.stop.clone().unwrap_or(natural));
    performance.steps
}

/// The number of the script's failure due in this attempt, from 1.
fn due_failure(request: &ModelRequest, script: &AnswerScript, attempts: &mut Attempts) -> Option<usize> {
    let failures = || {
        script.pieces.iter().filter_map(|piece| match piece {
            AnswerPart::Fail(failure) => Some(failure),
            _ => None,
        })
    };
    failures().next()?;
    let survives_compaction = failures().any(|failure| failure.kind == ErrorKind::ContextTooLong);
    let asked = asked(request, survives_compaction);
    let attempt = attempts.next(asked);
    let mut used_up: u32 = 0;
    for (number, failure) in (1..).zip(failures()) {
        used_up = failure.times.map_or(u32::MAX, |times| used_up.saturating_add(times));
        if attempt <= used_up {
            return Some(number);
        }
    }
    attempts.forget(asked);
    None
}

/// Identifies a request across attempts. Excludes the turn context, which changes when a queued message is retried. For
/// a context that is too long it also excludes the conversation, which compaction shortens.
fn asked(request: &ModelRequest, survives_compaction: bool) -> ContentHash {
    let users = || request.messages.iter().filter(|message| asks(message));
    let since = request.messages.iter().rev().take_while(|message| !asks(message));
    let rounds = since.filter(|message| message.role == RequestRole::Tool).count().to_string();
    let words = |message| UserMessage::of(message).text;
    let last = users().next_back().map(words).unwrap_or_default();
    let (first, key) = if survives_compaction {
        (String::new(), "")
    } else {
        (users().next().map(words).unwrap_or_default(), request.cache.key.as_deref().unwrap_or_default())
    };
    ContentHash::of_parts([key, &first, &last, &rounds])
}

/// A short hash of the request, used in the ids of its calls.
fn short_name(request: &ModelRequest) -> String {
    let texts: Vec<String> =
        request.messages.iter().flat_map(|message| message.content.iter().map(block_text)).collect();
    let hash = ContentHash::of_parts(texts.iter().map(String::as_str)).to_string();
    hash.chars().skip("blake3:".len()).take(12).collect()
}

struct Performance<'p> {
    request: &'p ModelRequest,
    script: &'p AnswerScript,
    prefixes: &'p mut PrefixCache,
    name: String,
    /// The usage so far; `None` before the first event.
    usage: Option<Usage>,
    /// The remaining output tokens.
    room: Option<usize>,
    calls: usize,
    steps: VecDeque<Step>,
}

/// Whether the answer continues after a part.
type Flow = ControlFlow<()>;

impl Performance<'_> {
    fn give(&mut self, piece: &AnswerPart) -> Flow {
        match piece {
            AnswerPart::Text(text) => self.say(text),
            AnswerPart::Call { name, input } => self.call(name, input),
            AnswerPart::Block(value) => {
                self.begin();
                self.push(ModelEvent::Block(ContentBlock::Other(value.clone())));
                Flow::Continue(())
            }
            AnswerPart::Wait(time) => {
                self.steps.push_back(Step::Wait(*time));
                Flow::Continue(())
            }
            AnswerPart::Hang => {
                self.steps.push_back(Step::Hang);
                Flow::Break(())
            }
            AnswerPart::Fail(failure) => self.fail(failure),
        }
    }

    fn say(&mut self, text: &str) -> Flow {
        let pause = self.script.pause.filter(|pause| !pause.is_zero());
        for word in split_words(text) {
            self.begin();
            self.take_room(word)?;
            if let (Some(pause), Some(Step::Give(Ok(ModelEvent::Text(_))))) = (pause, self.steps.back()) {
                self.steps.push_back(Step::Wait(pause));
            }
            self.push(ModelEvent::Text(word.to_owned()));
        }
        Flow::Continue(())
    }

    fn call(&mut self, name: &str, input: &Value) -> Flow {
        self.begin();
        self.take_room(&format!("{name} {input}"))?;
        self.calls += 1;
        // Always a valid id: letters, digits and hyphens.
        if let Ok(id) = CallId::new(format!("call-{}-{}", self.name, self.calls)) {
            let call = ContentBlock::ToolCall { id, name: name.to_owned(), input: input.clone() };
            self.push(ModelEvent::Block(call));
        }
        Flow::Continue(())
    }

    fn fail(&mut self, failure: &ScriptedFailure) -> Flow {
        self.say(&failure.said)?;
        self.steps.push_back(Step::Give(Err(ModelError {
            kind: failure.kind,
            provider: self.request.model.provider().to_owned(),
            status: failure.status,
            message: failure.message.clone(),
            retry_after: failure.retry_after,
            request_id: Some(format!("req-{}", self.name)),
        })));
        Flow::Break(())
    }

    fn stop(&mut self, reason: StopReason) {
        self.begin();
        let counted = self.usage.unwrap_or_default();
        self.push(ModelEvent::Usage(self.script.usage.over(counted)));
        self.push(ModelEvent::Stopped(reason));
    }

    /// Emits the input usage before the first part.
    fn begin(&mut self) {
        if self.usage.is_some() {
            return;
        }
        let counted = self.prefixes.read(self.request);
        self.usage = Some(counted);
        self.push(ModelEvent::Usage(Usage { output: 0, ..self.script.usage.over(counted) }));
    }

    /// Subtracts the tokens of `text` from the output limit. Ends the answer if the limit is exceeded.
    fn take_room(&mut self, text: &str) -> Flow {
        let tokens = Tokenizer::Estimate.get().count(text);
        if let Some(room) = &mut self.room {
            let Some(left) = room.checked_sub(tokens) else {
                self.stop(StopReason::MaxTokens);
                return Flow::Break(());
            };
            *room = left;
        }
        if let Some(usage) = &mut self.usage {
            usage.output = usage.output.saturating_add(u64::try_from(tokens).unwrap_or(u64::MAX));
        }
        Flow::Continue(())
    }

    fn push(&mut self, event: ModelEvent) {
        self.steps.push_back(Step::Give(Ok(event)));
    }
}

/// The words of a text, each with the whitespace after it.
fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let space = rest[word..].find(|c: char| !c.is_whitespace()).unwrap_or(rest.len() - word);
        let (first, behind) = rest.split_at(word + space);
        rest = behind;
        (!first.is_empty()).then_some(first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_include_the_whitespace_after_them() {
        for (text, expected) in [
            ("", &[][..]),
            ("one", &["one"]),
            ("one  two\n\n- three ", &["one  ", "two\n\n", "- ", "three "]),
            ("\n a", &["\n ", "a"]),
        ] {
            assert_eq!(split_words(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }
}
