//! One turn in a chat: sends the message, shows the progress, asks the owner for approval, and stops the turn on Ctrl-C
//! without ending the program.

use std::time::Duration;

use foreword_agent::conversation::feed::{Batch, Progress};
use foreword_agent::conversation::inbound::Inbound;
use foreword_agent::conversation::wait_for_answer::{PendingMessage, WaitLimits, WaitOutcome};
use foreword_agent::error::AgentError;
use foreword_core::id::TurnId;
use foreword_core::message::{ContentBlock, Message, Role};
use foreword_core::turn::{OwnerAnswer, Question};
use foreword_core::turn_journal::Outcome;
use foreword_store::conversation_settings::SettingsUpdate;
use serde_json::json;

use super::editor::{Answer, Editor};
use super::one_line::call;
use super::session::{Flow, Session};
use super::show::Show;
use crate::failure::{Failure, at_terminal};
use crate::output::{BOLD, DIM, YELLOW, styled};

/// How often the wait indicator is redrawn.
const TICK_INTERVAL: Duration = Duration::from_millis(250);

struct WatchedTurn {
    /// The message, with the position in its feed up to which progress is shown.
    message: PendingMessage,
    /// The turn that answers the message, once it has started.
    turn: Option<TurnId>,
    /// Whether a stop was requested.
    stopping: bool,
}

/// Why watching a turn returned.
enum WatchOutcome {
    Ended(Outcome),
    Asked(Question),
    /// A second Ctrl-C while the turn was stopping.
    ForceQuit,
}

impl Session<'_> {
    /// Sends a message and shows the turn.
    pub(super) fn say(&mut self, text: &str, mut editor: Option<&mut Editor>) -> Result<Flow, Failure> {
        self.interrupts.discard_pending();
        let inbound = Inbound {
            conversation: self.conversation.clone(),
            origin: self.occasion(),
            text: text.to_owned(),
            key: None,
        };
        let running = self.running;
        if !self.pending.is_empty() {
            let (agent, pending) = (&running.agent, self.pending.clone());
            running.wait(agent.set_settings(&self.conversation, &inbound.origin, pending))?;
            self.pending = SettingsUpdate::default();
        }
        let receipt = running.wait(running.agent.send(inbound))?;
        // The conversation now exists and has its agent.
        self.requested_agent = None;
        let mut watched =
            WatchedTurn { message: PendingMessage::from(&receipt), turn: None, stopping: false };
        let mut show = Show::new(self.output);
        loop {
            match running.wait(self.watch(&mut watched, &mut show)) {
                WatchOutcome::Ended(_) if show.is_gone() => return Ok(Flow::Quit),
                WatchOutcome::Ended(Outcome::Failed) => return Ok(Flow::Failed),
                WatchOutcome::Ended(Outcome::Cancelled) => return Ok(Flow::Stopped),
                WatchOutcome::Ended(_) => return Ok(Flow::GoOn),
                WatchOutcome::ForceQuit => return Ok(Flow::Quit),
                WatchOutcome::Asked(question) => {
                    let answer = self.ask(&question, editor.as_deref_mut());
                    if answer.is_none() {
                        self.stop(&mut watched);
                    }
                    let answer = answer.unwrap_or(OwnerAnswer::No);
                    running.agent.answer(&self.conversation, &self.occasion(), question.call, answer);
                }
            }
        }
    }

    /// Shows progress until the turn ends or the owner is asked.
    async fn watch(&mut self, watched: &mut WatchedTurn, show: &mut Show<'_>) -> WatchOutcome {
        let (running, message) = (self.running, watched.message.clone());
        let limits = WaitLimits { moved: true, ..WaitLimits::default() };
        // Also notices the end of a turn of another process, whose progress does not appear in this feed.
        let mut answer = std::pin::pin!(running.agent.wait_through_outages(&message, limits));
        let mut ended = None;
        let mut tick = tokio::time::interval(TICK_INTERVAL);
        loop {
            // Shows all progress before the end.
            if watched.message.from >= message.feed.next()
                && let Some(ended) = ended.take()
            {
                return WatchOutcome::Ended(self.show_end(ended, watched, show).await);
            }
            let batch = tokio::select! {
                batch = message.feed.read(watched.message.from) => batch,
                () = self.interrupts.next() => {
                    if watched.stopping {
                        return WatchOutcome::ForceQuit;
                    }
                    self.stop(watched);
                    continue;
                }
                outcome = &mut answer, if ended.is_none() => {
                    ended = Some(outcome);
                    continue;
                }
                _ = tick.tick() => {
                    show.tick();
                    continue;
                }
            };
            if let Some(seen) = self.read(batch, watched, show) {
                return seen;
            }
            if show.is_gone() && !watched.stopping {
                self.stop(watched);
            }
        }
    }

    fn read(&mut self, batch: Batch, watched: &mut WatchedTurn, show: &mut Show<'_>) -> Option<WatchOutcome> {
        if batch.missed > 0 {
            show.missed(batch.missed);
            watched.message.from += batch.missed;
        }
        for item in batch.items {
            let seq = watched.message.from;
            watched.message.from += 1;
            show.progress(&item, self.conversation.as_str(), seq);
            match &*item {
                Progress::TurnStarted { turn, messages, .. } if messages.contains(&watched.message.id) => {
                    watched.turn = Some(turn.clone());
                }
                Progress::Question(question) => return Some(WatchOutcome::Asked(question.clone())),
                Progress::TurnLeft { turn, .. } | Progress::TurnInterrupted { turn, .. }
                    if watched.turn.as_ref() == Some(turn) =>
                {
                    return Some(WatchOutcome::Ended(Outcome::Failed));
                }
                Progress::TurnEnded { turn, outcome, usage, cost, .. } => {
                    self.total.add_turn(*usage, *cost);
                    if watched.turn.as_ref() == Some(turn) {
                        return Some(WatchOutcome::Ended(*outcome));
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The outcome of a turn whose end this feed has not attributed to the message. Shows the answer of another process.
    async fn show_end(&self, end: WaitOutcome, watched: &WatchedTurn, show: &mut Show<'_>) -> Outcome {
        let (outcome, ended) = match end {
            WaitOutcome::Answered(ended) => (Outcome::Done, ended),
            WaitOutcome::Cancelled(ended) => (Outcome::Cancelled, ended),
            WaitOutcome::Failed(ended) => (Outcome::Failed, ended),
            _ => return Outcome::Failed,
        };
        if ended.is_reported {
            return outcome;
        }
        let (turn, next) = (ended.answer.turn, watched.message.from);
        let mut show = |progress| show.progress(&progress, self.conversation.as_str(), next);
        let own = |message: &&Message| {
            message.message.turn.as_ref() == Some(&turn.id) && message.message.role == Role::Assistant
        };
        let history = self.running.store.history(&self.conversation).await;
        for message in history.iter().flat_map(|history| &history.messages).filter(own) {
            for text in message.message.content.iter().filter_map(ContentBlock::as_text) {
                show(Progress::Text(format!("{text}\n")));
            }
        }
        if let Some(failure) = &turn.failure {
            let error = at_terminal(&failure.detail);
            show(Progress::Status(format!("answered by another process, which failed: {error}")));
        }
        outcome
    }

    fn stop(&self, watched: &mut WatchedTurn) {
        watched.stopping = true;
        self.running.agent.cancel(&self.conversation);
    }

    /// The owner's answer; `None` to stop the turn.
    fn ask(&self, question: &Question, editor: Option<&mut Editor>) -> Option<OwnerAnswer> {
        let because = format!("{}, which may have prompted this call", question.because);
        let Some(editor) = editor else {
            let tool = &question.tool;
            self.output.print_stderr(&styled(
                YELLOW,
                format!("{tool} was refused: {because}, and approval needs a terminal"),
            ));
            return Some(OwnerAnswer::No);
        };
        self.output.print_stderr(&format!(
            "{} the agent wants to run\n    {}\n  {}",
            styled(YELLOW, "?"),
            styled(BOLD, call(&question.tool, &question.arguments)),
            styled(DIM, because),
        ));
        loop {
            match editor.ask("  allow it? [y]es, [a]ll in this turn, [N]o: ") {
                Answer::Interrupted => return None,
                Answer::Text(words) => match words.trim().to_lowercase().as_str() {
                    "y" | "yes" => return Some(OwnerAnswer::Once),
                    "a" | "all" => return Some(OwnerAnswer::RestOfTurn),
                    "" | "n" | "no" => return Some(OwnerAnswer::No),
                    // Not an answer: ask again.
                    _ => {}
                },
            }
        }
    }

    /// Compacts the conversation.
    pub(super) fn compact(&mut self) -> Result<Flow, Failure> {
        self.interrupts.discard_pending();
        let (running, conversation, occasion) = (self.running, self.conversation.clone(), self.occasion());
        // A conversation without messages is not stored yet.
        if running.wait(running.store.conversation(&conversation))?.is_none() {
            return Err(AgentError::NothingToCompact(conversation).into());
        }
        let mut show = Show::new(self.output);
        let done = running.wait(async {
            let mut compacting = std::pin::pin!(running.agent.compact(&conversation, occasion));
            let mut tick = tokio::time::interval(TICK_INTERVAL);
            loop {
                tokio::select! {
                    done = &mut compacting => return done,
                    // `compact` returns once it has stopped or finished.
                    () = self.interrupts.next() => running.agent.cancel(&conversation),
                    _ = tick.tick() => show.tick(),
                }
            }
        });
        show.finish_line();
        let shortened = match done {
            Err(AgentError::CompactionCancelled(_)) => {
                self.output.print_stderr(&styled(YELLOW, "stopped: the conversation is unchanged"));
                return Ok(Flow::Stopped);
            }
            done => done?,
        };
        self.total.add(shortened.usage, shortened.cost);
        if self.output.wants_json() {
            self.json_line(json!({ "type": "session_compacted", "removed": shortened.removed }))?;
        } else {
            let messages = crate::output::counted(shortened.removed as u64, "message");
            let bill = super::show::usage_line(shortened.usage, shortened.cost);
            self.output.print_stderr(&format!("{messages} replaced with a summary, {bill}"));
        }
        Ok(Flow::GoOn)
    }
}
