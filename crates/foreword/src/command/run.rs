//! `foreword run`: runs the agent in the foreground until it is stopped. Standard output has one log line per event,
//! human-readable at a terminal. If it is redirected, a summary goes to standard error.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::background::inbox::{InboxEvent, InboxWorker, TickOutcome};
use foreword_agent::background::schedules::{ScheduleEvent, Scheduler};
use foreword_agent::prompt::workspace_reload::Reloaded;
use foreword_core::schedule::FiringEnd;
use foreword_server::server::Server;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

use super::tick::ticked_json;
use crate::chat::one_line::escape_invisible;
use crate::failure::Failure;
use crate::logging::StdoutLog;
use crate::output::{BOLD, DIM, GREEN, Output, RED, YELLOW, counted, styled};
use crate::process_context::ProcessContext;
use crate::running_agent::RunningAgent;
use crate::signals::Signals;

pub(crate) fn run(process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = Arc::new(process.open()?);
    let screen = StdoutLog::of(&workspace.snapshot().config.logging, output.wants_json());
    let running = RunningAgent::start_with_stdout_log(workspace, process, screen)?;
    running.keep_metrics();
    let result = running.wait(live(&running, &EventPrinter { output, screen }, None));
    running.stop();
    result
}

/// Prints events to standard error, unless the log already shows them.
pub(super) struct EventPrinter<'o> {
    pub(super) output: &'o Output,
    pub(super) screen: StdoutLog,
}

/// Starts listening for signals that stop the process.
pub(super) fn listen_for_signals() -> Result<Signals, Failure> {
    Signals::listen()
        .map_err(|error| Failure::failed(format!("can't listen for Ctrl-C: {error}"), "report this bug"))
}

/// Runs until a signal arrives. A server is notified when recovery is complete and when shutdown starts.
pub(super) async fn live(
    running: &RunningAgent,
    printer: &EventPrinter<'_>,
    server: Option<&Server>,
) -> Result<ExitCode, Failure> {
    let output = printer.output;
    let mut signals = listen_for_signals()?;
    let mut reloads = running.agent.watch_workspace();
    running.agent.recover().await?;
    let scheduler = Scheduler::start(&running.agent);
    let mut news = scheduler.events();
    let answering = InboxWorker::start(&running.agent);
    let mut answers = answering.events();
    if let Some(server) = server {
        server.ready();
    }
    print_start(running, output);
    loop {
        tokio::select! {
            () = signals.next() => break,
            heard = news.recv() => match heard {
                Ok(heard) => printer.firing(&heard)?,
                Err(RecvError::Lagged(missed)) => output.warn(&format!("{missed} lines were skipped because they came too fast")),
                Err(RecvError::Closed) => break,
            },
            answered = answers.recv() => match answered {
                Ok(answered) => printer.answer(&answered)?,
                Err(RecvError::Lagged(missed)) => output.warn(&format!("{missed} lines were skipped because they came too fast")),
                Err(RecvError::Closed) => break,
            },
            reloaded = reloads.recv() => {
                if let Ok(reloaded) = reloaded {
                    printer.reload(&reloaded);
                }
            }
        }
    }
    if let Some(server) = server {
        server.start_draining();
    }
    if !output.wants_json() {
        output.print_stderr(&styled(DIM, "stopping: the next process resumes unfinished work"));
    }
    answering.stop().await;
    scheduler.stop().await;
    Ok(ExitCode::SUCCESS)
}

fn print_start(running: &RunningAgent, output: &Output) {
    if output.wants_json() {
        return;
    }
    let config = running.workspace.snapshot().config.clone();
    let enabled = config.schedules.values().filter(|schedule| schedule.enabled).count();
    let what = match enabled {
        0 => "no schedules (see section `schedules` of foreword.yaml)".to_owned(),
        count => format!("{} (see `foreword schedules`)", counted(count as u64, "schedule")),
    };
    output.print_stderr(&format!(
        "{} is running with {what}. Ctrl-C stops it.",
        styled(BOLD, &config.agent.name)
    ));
}

impl EventPrinter<'_> {
    /// Whether events are printed: not if standard output shows them as log lines.
    fn repeats(&self) -> bool {
        !self.output.wants_json() && self.screen != StdoutLog::Human
    }

    fn firing(&self, news: &ScheduleEvent) -> Result<(), Failure> {
        match news {
            ScheduleEvent::Fired { schedule, .. } if self.repeats() => {
                line(self.output, &format!("{} fires", styled(BOLD, schedule)));
            }
            ScheduleEvent::Ended { schedule, end, took, .. } if self.repeats() => {
                line(self.output, &ended(schedule, end, *took));
            }
            ScheduleEvent::Fired { .. } | ScheduleEvent::Ended { .. } => {}
            ScheduleEvent::Error(why) if self.output.wants_json() => {
                let trouble = json!({ "type": "cron_error", "error": why });
                return self.output.print(&trouble.to_string());
            }
            ScheduleEvent::Error(why) => {
                let why = escape_invisible(why);
                let words = format!("{} {why}; retrying", styled(RED, "can't fire schedules:"));
                line(self.output, &words);
            }
        }
        Ok(())
    }

    fn answer(&self, news: &InboxEvent) -> Result<(), Failure> {
        let ticked = match news {
            InboxEvent::Batch(ticked) => ticked,
            InboxEvent::Error(why) => {
                if self.repeats() {
                    let why = escape_invisible(why);
                    let words = format!("{} {why}; retrying", styled(RED, "can't answer the inbox:"));
                    line(self.output, &words);
                }
                return Ok(());
            }
        };
        if self.output.wants_json() {
            return self.output.print(&ticked_json(ticked).to_string());
        }
        if let TickOutcome::Inbox { messages, replies, error, set_aside, unanswered, .. } = ticked {
            let taken = counted(messages.len().saturating_sub(unanswered.len()) as u64, "message");
            let words = match error {
                Some(error) => format!("{} over {taken}: {}", styled(RED, "failed"), escape_invisible(error)),
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
            Reloaded::Changed(sections) => format!("foreword.yaml reloaded: {}", sections.join(", ")),
            Reloaded::Refused(why) => {
                let refused = styled(RED, "foreword.yaml is invalid:");
                format!("{refused} {}; the previous configuration stays active", escape_invisible(why))
            }
        };
        line(self.output, &words);
    }
}

fn ended(schedule: &str, end: &FiringEnd, took: Duration) -> String {
    let (schedule, took) = (styled(BOLD, schedule), seconds(took));
    match end {
        FiringEnd::Done { note: None } => format!("{schedule} {} in {took}", styled(GREEN, "done")),
        FiringEnd::Done { note: Some(note) } => {
            format!("{schedule} {} in {took}: {}", styled(GREEN, "done"), escape_invisible(note))
        }
        FiringEnd::Failed { error } => {
            format!("{schedule} {} after {took}: {}", styled(RED, "failed"), escape_invisible(error))
        }
        FiringEnd::Skipped { note } => {
            format!("{schedule} {}: {}", styled(YELLOW, "skipped"), escape_invisible(note))
        }
    }
}

fn line(output: &Output, words: &str) {
    let time = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
    output.print_stderr(&format!("{} {words}", styled(DIM, time)));
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}
