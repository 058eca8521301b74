//! Shows a run on standard error: its steps, the streamed answers, and the tool calls.

use std::future::Future;
use std::io::Write as _;

use foreword_agent::agent::Agent;
use foreword_agent::background::workflows::{RunEnd, RunProgress, StepKind, conversation_of};
use foreword_agent::conversation::feed::{Feed, Progress};
use foreword_agent::error::AgentError;
use foreword_core::id::{ConversationId, RunId};
use tokio::sync::broadcast;

use crate::chat::interrupts::Interrupts;
use crate::chat::one_line::{call, escape_invisible, fitted, result, strip_control_sequences, width};
use crate::failure::{Failure, at_terminal};
use crate::output::{BOLD, DIM, Output, YELLOW, styled};

/// How watching a run ended.
pub(super) enum WatchResult {
    Ended(RunEnd),
    /// Ctrl-C during a tool call.
    Left,
}

/// Awaits `work` and shows the progress of run `run`.
pub(super) async fn watched(
    agent: &Agent,
    run: &RunId,
    output: &Output,
    work: impl Future<Output = Result<RunEnd, AgentError>>,
) -> Result<WatchResult, Failure> {
    let bad_name = |error| Failure::usage(format!("{error}"), "see `foreword workflows runs`");
    let conversation = conversation_of(run).map_err(bad_name)?;
    let mut interrupts = Interrupts::listen()
        .map_err(|error| Failure::failed(format!("can't listen for Ctrl-C: {error}"), "try again"))?;
    let mut steps = agent.watch_workflows();
    let mut show = Watch { run, output, feed: None, is_prompt: false, mid_line: false };
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            step = steps.recv() => show.step(step, agent, &conversation),
            (items, next) = next_progress(show.feed.clone()) => show.progress(items, next),
            end = &mut work => {
                while let Ok(step) = steps.try_recv() {
                    show.step(Ok(step), agent, &conversation);
                }
                show.finish_line();
                return Ok(WatchResult::Ended(end?));
            }
            () = interrupts.next() => {
                if !show.is_prompt {
                    return Ok(WatchResult::Left);
                }
                agent.cancel(&conversation);
            }
        }
    }
}

/// The next progress in the feed, and the position to continue from.
async fn next_progress(feed: Option<(Feed, u64)>) -> (Vec<std::sync::Arc<Progress>>, u64) {
    match feed {
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
    /// The feed of the run's conversation, and the position to continue from.
    feed: Option<(Feed, u64)>,
    /// Whether the current step calls the model.
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
                self.finish_line();
                self.is_prompt = kind == StepKind::Prompt;
                let kind = match kind {
                    StepKind::Prompt => "prompt".to_owned(),
                    StepKind::Tool(tool) => format!("tool {}", escape_invisible(&tool)),
                };
                self.say(&format!("{} {}", styled(BOLD, format!("{number}/{of} {name}")), styled(DIM, kind)));
                let feed = agent.feed(conversation);
                // A conversation that was idle for a while starts a new feed.
                let from = self.feed.as_ref().map_or(0, |(_, from)| *from);
                let from = if feed.next() < from { 0 } else { from };
                self.feed = Some((feed, from));
            }
            Ok(RunProgress::StepEnded { run, result: ended, .. }) if run == *self.run => {
                self.finish_line();
                match ended {
                    Err(error) => {
                        let line = format!(
                            "  failed: {}",
                            fitted(&escape_invisible(at_terminal(&error)), width().saturating_sub(10))
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

    fn progress(&mut self, items: Vec<std::sync::Arc<Progress>>, next: u64) {
        if let Some((_, from)) = &mut self.feed {
            *from = next;
        }
        for item in items {
            match &*item {
                Progress::Text(words) => self.write(&strip_control_sequences(words)),
                Progress::ToolCall { tool, arguments, .. } => {
                    let arguments = arguments.as_object().cloned().unwrap_or_default();
                    let line = fitted(&call(tool, &arguments), width().saturating_sub(4));
                    self.status_line(&styled(DIM, format!("  → {line}")));
                }
                Progress::ToolResult { tool, content, is_error: true, .. } => {
                    let line =
                        format!("  → {} failed: {}", escape_invisible(tool), result(content, width() / 2));
                    self.status_line(&styled(YELLOW, line));
                }
                Progress::Status(status) => {
                    self.status_line(&styled(YELLOW, format!("  {}", escape_invisible(status))))
                }
                _ => {}
            }
        }
    }

    fn status_line(&mut self, line: &str) {
        self.finish_line();
        self.say(line);
    }

    fn say(&self, line: &str) {
        if !self.output.wants_json() {
            self.output.print_stderr(line);
        }
    }

    fn write(&mut self, words: &str) {
        if self.output.wants_json() || words.is_empty() {
            return;
        }
        let mut out = anstream::stderr().lock();
        // If standard error is closed, the text can't be shown anywhere.
        let _ = out.write_all(words.as_bytes()).and_then(|()| out.flush());
        self.mid_line = !words.ends_with('\n');
    }

    fn finish_line(&mut self) {
        if std::mem::take(&mut self.mid_line) {
            self.output.print_stderr("");
        }
    }
}
