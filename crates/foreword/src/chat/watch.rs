//! One turn, from what is said to its end: the message is sent, what happens is shown, the owner is asked, and Ctrl-C
//! stops the turn and not the program.

use std::time::Duration;

use foreword_agent::error::AgentError;
use foreword_agent::feed::{Batch, Feed, Progress};
use foreword_agent::inbound::Inbound;
use foreword_core::id::{MessageId, TurnId};
use foreword_core::message::{ContentBlock, Message, Role};
use foreword_core::turn::{Asked, Question};
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_store::conversation_settings::SettingsUpdate;
use serde_json::json;

use super::editor::{Answer, Editor};
use super::one_line::call;
use super::session::{Flow, Session};
use super::show::Show;
use crate::failure::{Failure, at_terminal};
use crate::output::{BOLD, DIM, YELLOW, styled};

/// How often a sign of life is due.
const TICK: Duration = Duration::from_millis(250);

/// How many of these go by between two looks whether another process has answered.
const LOOK_EVERY: u32 = 4;

/// A turn that is being watched.
struct Watching {
    feed: Feed,
    next: u64,
    message: MessageId,
    /// The turn that answers the message, once it has begun.
    turn: Option<TurnId>,
    /// Whether it was told to stop.
    stopping: bool,
    /// How many signs of life were due.
    ticks: u32,
}

/// What a chat saw that it has to do something about.
enum Seen {
    Ended(Outcome),
    Asked(Question),
    /// Ctrl-C once more, while the turn was stopping.
    Impatient,
}

impl Session<'_> {
    /// Says something and shows what comes of it.
    pub(super) fn say(&mut self, text: &str, mut editor: Option<&mut Editor>) -> Result<Flow, Failure> {
        self.interrupts.forget();
        let inbound = Inbound {
            conversation: self.conversation.clone(),
            occasion: self.occasion(),
            text: text.to_owned(),
            key: None,
        };
        let running = self.running;
        if !self.pending.is_empty() {
            let (agent, pending) = (&running.agent, self.pending.clone());
            running.wait(agent.set_settings(&self.conversation, &inbound.occasion, pending))?;
            self.pending = SettingsUpdate::default();
        }
        let receipt = running.wait(running.agent.send(inbound))?;
        // From now on the conversation knows whose it is.
        self.wanted = None;
        let message = receipt.message.message.id.clone();
        let mut watching = Watching {
            feed: receipt.feed,
            next: receipt.from,
            message,
            turn: None,
            stopping: false,
            ticks: 0,
        };
        let mut show = Show::new(self.output);
        loop {
            match running.wait(self.watch(&mut watching, &mut show)) {
                Seen::Ended(_) if show.is_gone() => return Ok(Flow::Quit),
                Seen::Ended(Outcome::Failed) => return Ok(Flow::Failed),
                Seen::Ended(Outcome::Cancelled) => return Ok(Flow::Stopped),
                Seen::Ended(_) => return Ok(Flow::GoOn),
                Seen::Impatient => return Ok(Flow::Quit),
                Seen::Asked(question) => {
                    let answer = self.ask(&question, editor.as_deref_mut());
                    if answer.is_none() {
                        self.stop(&mut watching);
                    }
                    let answer = (question.call, answer.unwrap_or(Asked::No));
                    running.agent.answer(&self.conversation, &self.occasion(), answer);
                }
            }
        }
    }

    /// Shows what happens until the turn has ended or the owner is asked.
    async fn watch(&mut self, watching: &mut Watching, show: &mut Show<'_>) -> Seen {
        let mut tick = tokio::time::interval(TICK);
        loop {
            let batch = tokio::select! {
                batch = watching.feed.read(watching.next) => batch,
                () = self.interrupts.next() => {
                    if watching.stopping {
                        return Seen::Impatient;
                    }
                    self.stop(watching);
                    continue;
                }
                _ = tick.tick() => {
                    show.tick();
                    if let Some(seen) = self.answered_elsewhere(watching, show).await {
                        return seen;
                    }
                    continue;
                }
            };
            if let Some(seen) = self.read(batch, watching, show).await {
                return seen;
            }
            if show.is_gone() && !watching.stopping {
                self.stop(watching);
            }
        }
    }

    async fn read(&mut self, batch: Batch, watching: &mut Watching, show: &mut Show<'_>) -> Option<Seen> {
        if batch.missed > 0 {
            show.missed(batch.missed);
            watching.next += batch.missed;
        }
        for item in batch.items {
            let seq = watching.next;
            watching.next += 1;
            show.progress(&item, self.conversation.as_str(), seq);
            match &*item {
                Progress::TurnStarted { turn, messages, .. } if messages.contains(&watching.message) => {
                    watching.turn = Some(turn.clone());
                }
                Progress::Question(question) => return Some(Seen::Asked(question.clone())),
                Progress::TurnLeft { turn, .. } | Progress::TurnInterrupted { turn, .. }
                    if self.answers(turn, watching).await =>
                {
                    return Some(Seen::Ended(Outcome::Failed));
                }
                Progress::TurnEnded { turn, outcome, usage, cost, .. } => {
                    self.total.add_turn(*usage, *cost);
                    if self.answers(turn, watching).await {
                        return Some(Seen::Ended(*outcome));
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Looks now and then whether another process has answered: nothing of that is told here.
    async fn answered_elsewhere(&self, watching: &mut Watching, show: &mut Show<'_>) -> Option<Seen> {
        watching.ticks += 1;
        if watching.turn.is_some() || !watching.ticks.is_multiple_of(LOOK_EVERY) {
            return None;
        }
        let store = &self.running.store;
        let history = store.history(&self.conversation).await.ok()?;
        let said = history.messages.iter().find(|message| message.message.id == watching.message)?;
        let turn = store.turn(said.message.turn.as_ref()?).await.ok()?;
        let outcome = match turn.state {
            TurnState::Running => return None,
            TurnState::Ended(outcome) => outcome,
            TurnState::Interrupted => Outcome::Failed,
        };
        let own = |message: &&Message| {
            message.message.turn.as_ref() == Some(&turn.id) && message.message.role == Role::Assistant
        };
        for message in history.messages.iter().filter(own) {
            for block in &message.message.content {
                if let ContentBlock::Text { text } = block {
                    let text = Progress::Text(format!("{text}\n"));
                    show.progress(&text, self.conversation.as_str(), watching.next);
                }
            }
        }
        if let Some(failure) = turn.failure {
            let error = at_terminal(&failure.detail);
            let status = Progress::Status(format!("answered by another process, which failed: {error}"));
            show.progress(&status, self.conversation.as_str(), watching.next);
        }
        Some(Seen::Ended(outcome))
    }

    /// Whether `turn` is the one that answers what was said. One that ends before it has begun has told nobody.
    async fn answers(&self, turn: &TurnId, watching: &Watching) -> bool {
        if let Some(own) = &watching.turn {
            return own == turn;
        }
        let Ok(history) = self.running.store.history(&self.conversation).await else { return true };
        let said = history.messages.iter().find(|message| message.message.id == watching.message);
        said.is_none_or(|message| message.message.turn.as_ref() == Some(turn))
    }

    fn stop(&self, watching: &mut Watching) {
        watching.stopping = true;
        self.running.agent.cancel(&self.conversation);
    }

    /// The owner's answer; `None` if the whole turn is to stop.
    fn ask(&self, question: &Question, editor: Option<&mut Editor>) -> Option<Asked> {
        let because = format!("{}, which may be why", question.because);
        let Some(editor) = editor else {
            let tool = &question.tool;
            self.output
                .say(&styled(YELLOW, format!("{tool} is not run: {because}, and nobody can be asked here")));
            return Some(Asked::No);
        };
        self.output.say(&format!(
            "{} the agent wants to run\n    {}\n  {}",
            styled(YELLOW, "?"),
            styled(BOLD, call(&question.tool, &question.arguments)),
            styled(DIM, because),
        ));
        loop {
            match editor.ask("  allow it? [y]es, [a]ll in this turn, [N]o: ") {
                Answer::Interrupted => return None,
                Answer::Words(words) => match words.trim().to_lowercase().as_str() {
                    "y" | "yes" => return Some(Asked::Once),
                    "a" | "all" => return Some(Asked::RestOfTurn),
                    "" | "n" | "no" => return Some(Asked::No),
                    // Whatever this was, it was no answer.
                    _ => {}
                },
            }
        }
    }

    /// Replaces the conversation so far by its summary.
    pub(super) fn compact(&mut self) -> Result<Flow, Failure> {
        self.interrupts.forget();
        let (running, conversation, occasion) = (self.running, self.conversation.clone(), self.occasion());
        // A name alone is not yet a conversation.
        if running.wait(running.store.conversation(&conversation))?.is_none() {
            return Err(AgentError::NothingToCompact(conversation).into());
        }
        let mut show = Show::new(self.output);
        let done = running.wait(async {
            let mut compacting = std::pin::pin!(running.agent.compact(&conversation, occasion));
            let mut tick = tokio::time::interval(TICK);
            loop {
                tokio::select! {
                    done = &mut compacting => return done,
                    // It comes back once it is stopped, or done after all.
                    () = self.interrupts.next() => running.agent.cancel(&conversation),
                    _ = tick.tick() => show.tick(),
                }
            }
        });
        show.settle();
        let shortened = match done {
            Err(AgentError::CalledOff(_)) => {
                self.output.say(&styled(YELLOW, "stopped: the conversation is as it was"));
                return Ok(Flow::Stopped);
            }
            done => done?,
        };
        self.total.add(shortened.usage, shortened.cost);
        if self.output.wants_json() {
            self.json_line(json!({ "type": "session_compacted", "removed": shortened.removed }))?;
        } else {
            let messages = crate::output::counted(shortened.removed as u64, "message");
            let bill = super::show::bill(shortened.usage, shortened.cost);
            self.output.say(&format!("{messages} replaced by a summary, {bill}"));
        }
        Ok(Flow::GoOn)
    }
}
