//! A run as it goes, on standard error: each step, the words of its answer as they come, and what tools it called.

use std::future::Future;
use std::io::Write as _;

use foreword_agent::agent::Agent;
use foreword_agent::error::AgentError;
use foreword_agent::feed::{Feed, Progress};
use foreword_agent::workflows::{RunEnd, RunProgress, StepKind, conversation_of};
use foreword_core::id::{ConversationId, RunId};
use tokio::sync::broadcast;

use crate::chat::interrupts::Interrupts;
use crate::chat::one_line::{call, exposed, fitted, harmless, result, width};
use crate::failure::{Failure, at_terminal};
use crate::output::{BOLD, DIM, Output, YELLOW, styled};

/// What became of a run that was watched.
pub(super) enum Seen {
    /// It ended.
    Ended(RunEnd),
    /// Somebody pressed Ctrl-C while a tool was at work.
    Left,
}

/// Does `work`, the run `run`, and shows how it goes.
pub(super) async fn watched(
    agent: &Agent,
    run: &RunId,
    output: &Output,
    work: impl Future<Output = Result<RunEnd, AgentError>>,
) -> Result<Seen, Failure> {
    let bad_name = |error| Failure::usage(format!("{error}"), "see `foreword workflows runs`");
    let conversation = conversation_of(run).map_err(bad_name)?;
    let mut interrupts = Interrupts::listen()
        .map_err(|error| Failure::failed(format!("can't listen for Ctrl-C: {error}"), "try again"))?;
    let mut told = agent.watch_workflows();
    let mut show = Watch { run, output, words: None, is_prompt: false, mid_line: false };
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            step = told.recv() => show.step(step, agent, &conversation),
            batch = next_words(show.words.clone()) => show.words(batch),
            end = &mut work => {
                while let Ok(step) = told.try_recv() {
                    show.step(Ok(step), agent, &conversation);
                }
                show.settle();
                return Ok(Seen::Ended(end?));
            }
            () = interrupts.next() => {
                if !show.is_prompt {
                    return Ok(Seen::Left);
                }
                agent.cancel(&conversation);
            }
        }
    }
}

/// What happens next in the feed: what it is, and where to go on reading.
async fn next_words(words: Option<(Feed, u64)>) -> (Vec<std::sync::Arc<Progress>>, u64) {
    match words {
        Some((feed, from)) => {
            let batch = feed.read(from).await;
            (batch.items, batch.next)
        }
        None => std::future::pending().await,
    }
}

struct Watch<'a> {
    run: &'a RunId,
    output: &'a Output,
    /// The feed of the run's conversation, and where to read on.
    words: Option<(Feed, u64)>,
    /// Whether the step under way asks the model.
    is_prompt: bool,
    mid_line: bool,
}

impl Watch<'_> {
    fn step(
        &mut self,
        step: Result<RunProgress, broadcast::error::RecvError>,
        agent: &Agent,
        conversation: &ConversationId,
    ) {
        match step {
            Ok(RunProgress::StepStarted { run, number, of, name, kind }) if run == *self.run => {
                self.settle();
                self.is_prompt = kind == StepKind::Prompt;
                let kind = match kind {
                    StepKind::Prompt => "prompt".to_owned(),
                    StepKind::Tool(tool) => format!("tool {}", exposed(&tool)),
                };
                self.say(&format!("{} {}", styled(BOLD, format!("{number}/{of} {name}")), styled(DIM, kind)));
                let feed = agent.feed(conversation);
                // A conversation that has rested for a while begins a new feed.
                let from = self.words.as_ref().map_or(0, |(_, from)| *from);
                let from = if feed.next() < from { 0 } else { from };
                self.words = Some((feed, from));
            }
            Ok(RunProgress::StepEnded { run, result: ended, .. }) if run == *self.run => {
                self.settle();
                match ended {
                    Err(error) => {
                        let line = format!(
                            "  failed: {}",
                            fitted(&exposed(at_terminal(&error)), width().saturating_sub(10))
                        );
                        self.say(&styled(YELLOW, line));
                    }
                    Ok(text) if !self.is_prompt => {
                        self.say(&styled(DIM, format!("  {}", result(&text, width().saturating_sub(4)))));
                    }
                    Ok(_) => {}
                }
                self.is_prompt = false;
            }
            Ok(_) | Err(_) => {}
        }
    }

    fn words(&mut self, (items, next): (Vec<std::sync::Arc<Progress>>, u64)) {
        if let Some((_, from)) = &mut self.words {
            *from = next;
        }
        for item in items {
            match &*item {
                Progress::Text(words) => self.write(&harmless(words)),
                Progress::ToolCall { tool, arguments, .. } => {
                    let arguments = arguments.as_object().cloned().unwrap_or_default();
                    let line = fitted(&call(tool, &arguments), width().saturating_sub(4));
                    self.aside(&styled(DIM, format!("  → {line}")));
                }
                Progress::ToolResult { tool, content, is_error: true, .. } => {
                    let line = format!("  → {} failed: {}", exposed(tool), result(content, width() / 2));
                    self.aside(&styled(YELLOW, line));
                }
                Progress::Status(status) => self.aside(&styled(YELLOW, format!("  {}", exposed(status)))),
                _ => {}
            }
        }
    }

    fn aside(&mut self, line: &str) {
        self.settle();
        self.say(line);
    }

    fn say(&self, line: &str) {
        if !self.output.wants_json() {
            self.output.say(line);
        }
    }

    fn write(&mut self, words: &str) {
        if self.output.wants_json() || words.is_empty() {
            return;
        }
        let mut out = anstream::stderr().lock();
        // Nobody to tell when standard error is gone.
        let _ = out.write_all(words.as_bytes()).and_then(|()| out.flush());
        self.mid_line = !words.ends_with('\n');
    }

    fn settle(&mut self) {
        if std::mem::take(&mut self.mid_line) {
            self.output.say("");
        }
    }
}
