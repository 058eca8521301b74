//! `foreword run`: the agent lives in the foreground until it is told to stop. Standard output has one line of the log for
//! each thing that happens; at a terminal they are for people. Where they go to a program, or nowhere, standard error tells
//! people the most of it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::inbox::{Answering, InboxNews, Ticked};
use foreword_agent::schedules::{Clockwork, News};
use foreword_agent::watching::Reloaded;
use foreword_core::schedule::Ended;
use foreword_server::server::Server;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

use super::tick::ticked_json;
use crate::chat::one_line::exposed;
use crate::failure::Failure;
use crate::observing::Screen;
use crate::output::{BOLD, DIM, GREEN, Output, RED, YELLOW, counted, styled};
use crate::running::Running;
use crate::signals::Signals;
use crate::world::World;

pub(crate) fn run(world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = Arc::new(world.open()?);
    let screen = Screen::of(&workspace.snapshot().config.logging, output.wants_json());
    let running = Running::start_in(workspace, world, screen)?;
    running.keep_metrics();
    let result = running.wait(live(&running, &Teller { output, screen }, None));
    running.stop();
    result
}

/// Tells what happens, as far as the lines of the log don't.
pub(super) struct Teller<'o> {
    pub(super) output: &'o Output,
    pub(super) screen: Screen,
}

/// What tells the process to stop, from now on.
pub(super) fn hear_signals() -> Result<Signals, Failure> {
    Signals::listen()
        .map_err(|error| Failure::failed(format!("can't listen for Ctrl-C: {error}"), "report this"))
}

/// Lives until a signal comes. A server is told when all is taken up, and when it is time to stop.
pub(super) async fn live(
    running: &Running,
    teller: &Teller<'_>,
    server: Option<&Server>,
) -> Result<ExitCode, Failure> {
    let output = teller.output;
    let mut signals = hear_signals()?;
    let mut reloads = running.agent.watch_workspace();
    running.agent.recover().await?;
    let clockwork = Clockwork::start(&running.agent);
    let mut news = clockwork.news();
    let answering = Answering::start(&running.agent);
    let mut answers = answering.news();
    if let Some(server) = server {
        server.ready();
    }
    greet(running, output);
    loop {
        tokio::select! {
            () = signals.next() => break,
            heard = news.recv() => match heard {
                Ok(heard) => teller.firing(&heard)?,
                Err(RecvError::Lagged(missed)) => output.warn(&format!("{missed} lines were too many to show")),
                Err(RecvError::Closed) => break,
            },
            answered = answers.recv() => match answered {
                Ok(answered) => teller.answer(&answered)?,
                Err(RecvError::Lagged(missed)) => output.warn(&format!("{missed} lines were too many to show")),
                Err(RecvError::Closed) => break,
            },
            reloaded = reloads.recv() => {
                if let Ok(reloaded) = reloaded {
                    teller.reload(&reloaded);
                }
            }
        }
    }
    if let Some(server) = server {
        server.begin_to_stop();
    }
    if !output.wants_json() {
        output.say(&styled(DIM, "stopping: what is under way is gone on with by whoever runs next"));
    }
    answering.stop().await;
    clockwork.stop().await;
    Ok(ExitCode::SUCCESS)
}

fn greet(running: &Running, output: &Output) {
    if output.wants_json() {
        return;
    }
    let config = running.workspace.snapshot().config.clone();
    let enabled = config.schedules.values().filter(|schedule| schedule.enabled).count();
    let what = match enabled {
        0 => "no schedules: section `schedules` of foreword.yaml is where they are written".to_owned(),
        count => format!("{}, listed by `foreword schedules`", counted(count as u64, "schedule")),
    };
    output.say(&format!("{} is running; {what}. Ctrl-C stops.", styled(BOLD, &config.agent.name)));
}

impl Teller<'_> {
    /// Whether what an event says is to be said again: not to whoever reads the events.
    fn repeats(&self) -> bool {
        !self.output.wants_json() && self.screen != Screen::Human
    }

    fn firing(&self, news: &News) -> Result<(), Failure> {
        match news {
            News::Fired { schedule, .. } if self.repeats() => {
                line(self.output, &format!("{} fires", styled(BOLD, schedule)));
            }
            News::Ended { schedule, end, took, .. } if self.repeats() => {
                line(self.output, &ended(schedule, end, *took));
            }
            News::Fired { .. } | News::Ended { .. } => {}
            News::Trouble(why) if self.output.wants_json() => {
                let trouble = json!({ "type": "cron_error", "error": why });
                return self.output.print(&trouble.to_string());
            }
            News::Trouble(why) => {
                let why = exposed(why);
                let words = format!("{} {why}; it is tried again", styled(RED, "can't fire schedules:"));
                line(self.output, &words);
            }
        }
        Ok(())
    }

    fn answer(&self, news: &InboxNews) -> Result<(), Failure> {
        let ticked = match news {
            InboxNews::Batch(ticked) => ticked,
            InboxNews::Trouble(why) => {
                if self.repeats() {
                    let why = exposed(why);
                    let words =
                        format!("{} {why}; it is tried again", styled(RED, "can't answer the inbox:"));
                    line(self.output, &words);
                }
                return Ok(());
            }
        };
        if self.output.wants_json() {
            return self.output.print(&ticked_json(ticked).to_string());
        }
        if let Ticked::Inbox { messages, replies, error, set_aside, unanswered, .. } = ticked {
            let taken = counted(messages.len().saturating_sub(unanswered.len()) as u64, "message");
            let words = match error {
                Some(error) => format!("{} over {taken}: {}", styled(RED, "failed"), exposed(error)),
                None => format!("{taken} answered with {}", counted(replies.len() as u64, "reply")),
            };
            line(self.output, &format!("{} {words}", styled(BOLD, "inbox")));
            if !unanswered.is_empty() {
                let count = counted(unanswered.len() as u64, "message");
                let words = format!("{count} pending without a reply: `foreword inbox list`");
                line(self.output, &format!("{} {words}", styled(YELLOW, "inbox")));
            }
            if !set_aside.is_empty() {
                let count = counted(set_aside.len() as u64, "message");
                let words = format!("{count} set aside: `foreword inbox list --set-aside`");
                line(self.output, &format!("{} {words}", styled(YELLOW, "inbox")));
            }
        }
        Ok(())
    }

    fn reload(&self, reloaded: &Reloaded) {
        let words = match reloaded {
            _ if !self.repeats() => return,
            Reloaded::Changed(sections) if sections.is_empty() => return,
            Reloaded::Changed(sections) => format!("foreword.yaml has changed: {}", sections.join(", ")),
            Reloaded::Refused(why) => {
                let refused = styled(RED, "foreword.yaml is refused:");
                format!("{refused} {}; the old one stays in force", exposed(why))
            }
        };
        line(self.output, &words);
    }
}

fn ended(schedule: &str, end: &Ended, took: Duration) -> String {
    let (schedule, took) = (styled(BOLD, schedule), seconds(took));
    match end {
        Ended::Done { note: None } => format!("{schedule} {} in {took}", styled(GREEN, "done")),
        Ended::Done { note: Some(note) } => {
            format!("{schedule} {} in {took}: {}", styled(GREEN, "done"), exposed(note))
        }
        Ended::Failed { error } => {
            format!("{schedule} {} after {took}: {}", styled(RED, "failed"), exposed(error))
        }
        Ended::Skipped { note } => format!("{schedule} {}: {}", styled(YELLOW, "skipped"), exposed(note)),
    }
}

fn line(output: &Output, words: &str) {
    let time = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
    output.say(&format!("{} {words}", styled(DIM, time)));
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}
