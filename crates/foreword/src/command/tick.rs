//! `foreword tick`: runs one turn and shows it. Answers a batch of the inbox if messages are pending, else runs a turn
//! of the agent's own.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use foreword_agent::background::inbox::{Tick, TickOutcome};
use foreword_core::id::InboxId;
use foreword_prompt::untrusted::display_line;
use serde_json::{Value, json};

use super::outbox::message_json;
use crate::chat::interrupts::Interrupts;
use crate::chat::show::Show;
use crate::failure::Failure;
use crate::output::{DIM, Output, counted, styled};
use crate::process_context::ProcessContext;
use crate::running_agent::RunningAgent;

/// How often the wait indicator is redrawn.
const TICK_INTERVAL: Duration = Duration::from_millis(250);

pub(crate) fn run(process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let running = RunningAgent::start(process)?;
    let result = beat(&running, output);
    running.stop();
    result
}

fn beat(running: &RunningAgent, output: &Output) -> Result<ExitCode, Failure> {
    let Some(tick) = running.wait(running.agent.begin_tick()).map_err(Failure::from)? else {
        print_outcome(&TickOutcome::Busy, output)?;
        return Ok(ExitCode::SUCCESS);
    };
    if !output.wants_json() {
        let what = match tick.messages().len() {
            0 => "the inbox is empty: a turn of the agent's own".to_owned(),
            count => format!("answering {}", counted(count as u64, "message")),
        };
        output.print_stderr(&styled(DIM, format!("{what}, in conversation {}", tick.conversation())));
    }
    match running.wait(watch(running, &tick, output))? {
        Some(ticked) => {
            print_outcome(&ticked, output)?;
            Ok(if ticked.succeeded() { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }
        None => {
            output.print_stderr("interrupted: the next `foreword tick` resumes it");
            Ok(ExitCode::from(1))
        }
    }
}

/// Shows progress until the turn has ended. `None` after Ctrl-C.
async fn watch(running: &RunningAgent, tick: &Tick, output: &Output) -> Result<Option<TickOutcome>, Failure> {
    let mut interrupts = Interrupts::listen().map_err(|error| {
        Failure::failed(format!("can't listen for Ctrl-C: {error}"), "check the operating system's limits")
    })?;
    let (mut show, mut next) = (Show::new(output), tick.receipt.from);
    let (feed, session) = (&tick.receipt.feed, tick.conversation().as_str());
    let mut ending = std::pin::pin!(running.agent.end_tick(tick));
    let mut sign = tokio::time::interval(TICK_INTERVAL);
    let mut ended = None;
    loop {
        // Shows all progress before the end.
        if ended.is_some() && next >= feed.next() {
            show.finish_line();
            return Ok(ended);
        }
        tokio::select! {
            biased;
            () = interrupts.next() => {
                show.finish_line();
                return Ok(None);
            }
            batch = feed.read(next) => {
                if batch.missed > 0 {
                    show.missed(batch.missed);
                }
                next += batch.missed;
                for item in batch.items {
                    show.progress(&item, session, next);
                    next += 1;
                }
            }
            ticked = &mut ending, if ended.is_none() => ended = Some(ticked.map_err(Failure::from)?),
            _ = sign.tick() => show.tick(),
        }
    }
}

fn print_outcome(ticked: &TickOutcome, output: &Output) -> Result<(), Failure> {
    if output.wants_json() {
        // One object per line, like the progress.
        return output.print(&ticked_json(ticked).to_string());
    }
    match ticked {
        TickOutcome::Busy => output.print("A turn of the agent's own is already running."),
        TickOutcome::Alone { turn, error: None, .. } => output.print(&format!("Done in turn {turn}.")),
        TickOutcome::Alone { error: Some(error), .. } => {
            output.print(&format!("The turn failed: {}.", display_line(error, 500)))
        }
        TickOutcome::Inbox { messages, turn, error: None, replies, unanswered, .. } => {
            let to: BTreeSet<_> = replies.iter().map(|reply| &reply.recipient).collect();
            let dealt_with = messages.len().saturating_sub(unanswered.len());
            let (messages, answers) =
                (counted(dealt_with as u64, "message"), counted(replies.len() as u64, "answer"));
            let people = counted(to.len() as u64, "sender");
            output.print(&format!("{messages} handled in turn {turn}: {answers} to {people}."))?;
            if !unanswered.is_empty() {
                let pending = counted(unanswered.len() as u64, "message");
                output.print(&format!("{pending} pending without a reply: see `foreword inbox list`."))?;
            }
            output.print_stderr(&styled(DIM, "See `foreword outbox list` for undelivered answers."));
            Ok(())
        }
        TickOutcome::Inbox { messages, error: Some(error), set_aside, .. } => {
            let count = counted(messages.len() as u64, "message");
            let waits = match set_aside.len() {
                0 if messages.len() == 1 => format!("{count} stays pending"),
                0 => format!("{count} stay pending"),
                aside => format!(
                    "{} set aside: see `foreword inbox list --set-aside`",
                    counted(aside as u64, "message")
                ),
            };
            output.print(&format!("The turn failed: {}. {waits}.", display_line(error, 500)))
        }
    }
}

pub(super) fn ticked_json(ticked: &TickOutcome) -> Value {
    let ids = |messages: &[InboxId]| json!(messages);
    match ticked {
        TickOutcome::Busy => json!({ "type": "ticked", "what": "busy" }),
        TickOutcome::Alone { conversation, turn, state, error, .. } => json!({
            "type": "ticked", "what": "alone", "sessionId": conversation, "turn": turn, "outcome": state.as_str(),
            "error": error,
        }),
        TickOutcome::Inbox { conversation, messages, turn, state, error, replies, set_aside, unanswered } => {
            json!({
                "type": "ticked", "what": "inbox", "sessionId": conversation, "turn": turn, "outcome": state.as_str(),
                "error": error, "messages": ids(messages), "set_aside": ids(set_aside), "unanswered": ids(unanswered),
                "replies": replies.iter().map(message_json).collect::<Vec<_>>(),
            })
        }
    }
}
