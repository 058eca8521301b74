//! `foreword tick`: one beat of the agent's life, shown as it happens. A batch of the inbox if something waits, else a turn
//! of the agent's own.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use foreword_agent::inbox::{Tick, Ticked};
use foreword_core::id::InboxId;
use foreword_prompt::untrusted::display_line;
use serde_json::{Value, json};

use super::outbox::message_json;
use crate::chat::interrupts::Interrupts;
use crate::chat::show::Show;
use crate::failure::Failure;
use crate::output::{DIM, Output, counted, styled};
use crate::running::Running;
use crate::world::World;

/// How often a sign of life is due.
const SIGN_OF_LIFE: Duration = Duration::from_millis(250);

pub(crate) fn run(world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let running = Running::start(world)?;
    let result = beat(&running, output);
    running.stop();
    result
}

fn beat(running: &Running, output: &Output) -> Result<ExitCode, Failure> {
    let Some(tick) = running.wait(running.agent.begin_tick()).map_err(Failure::from)? else {
        tell(&Ticked::Busy, output)?;
        return Ok(ExitCode::SUCCESS);
    };
    if !output.wants_json() {
        let what = match tick.messages().len() {
            0 => "nobody has written: a turn of the agent's own".to_owned(),
            count => format!("answering {}", counted(count as u64, "message")),
        };
        output.say(&styled(DIM, format!("{what}, in conversation {}", tick.conversation())));
    }
    match running.wait(watch(running, &tick, output))? {
        Some(ticked) => {
            tell(&ticked, output)?;
            Ok(if ticked.is_well() { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }
        None => {
            output.say("interrupted: nothing is lost, the next `foreword tick` goes on with it");
            Ok(ExitCode::from(1))
        }
    }
}

/// Shows what happens until it has ended. `None` if somebody pressed Ctrl-C.
async fn watch(running: &Running, tick: &Tick, output: &Output) -> Result<Option<Ticked>, Failure> {
    let mut interrupts = Interrupts::listen().map_err(|error| {
        Failure::failed(format!("can't listen for Ctrl-C: {error}"), "check the operating system's limits")
    })?;
    let (mut show, mut next) = (Show::new(output), tick.receipt.from);
    let (feed, session) = (&tick.receipt.feed, tick.conversation().as_str());
    let mut ending = std::pin::pin!(running.agent.end_tick(tick));
    let mut sign = tokio::time::interval(SIGN_OF_LIFE);
    let mut ended = None;
    loop {
        // What was told before the end is shown before it.
        if ended.is_some() && next >= feed.next() {
            show.settle();
            return Ok(ended);
        }
        tokio::select! {
            biased;
            () = interrupts.next() => {
                show.settle();
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

fn tell(ticked: &Ticked, output: &Output) -> Result<(), Failure> {
    if output.wants_json() {
        // One object a line, as everything before it.
        return output.print(&ticked_json(ticked).to_string());
    }
    match ticked {
        Ticked::Busy => output.print("A turn of the agent's own is under way already."),
        Ticked::Alone { turn, error: None, .. } => output.print(&format!("Done in turn {turn}.")),
        Ticked::Alone { error: Some(error), .. } => {
            output.print(&format!("The turn failed: {}.", display_line(error, 500)))
        }
        Ticked::Inbox { messages, turn, error: None, replies, .. } => {
            let to: BTreeSet<_> = replies.iter().map(|reply| &reply.recipient).collect();
            let (messages, answers) =
                (counted(messages.len() as u64, "message"), counted(replies.len() as u64, "answer"));
            let people = counted(to.len() as u64, "sender");
            output.print(&format!("{messages} dealt with in turn {turn}: {answers} to {people}."))?;
            output.say(&styled(DIM, "`foreword outbox list` shows what is to be delivered."));
            Ok(())
        }
        Ticked::Inbox { messages, error: Some(error), set_aside, .. } => {
            let count = counted(messages.len() as u64, "message");
            let waits = match set_aside.len() {
                0 if messages.len() == 1 => format!("{count} waits for another turn"),
                0 => format!("{count} wait for another turn"),
                aside => format!(
                    "{} set aside: see `foreword inbox list --set-aside`",
                    counted(aside as u64, "message")
                ),
            };
            output.print(&format!("The turn failed: {}. {waits}.", display_line(error, 500)))
        }
    }
}

pub(super) fn ticked_json(ticked: &Ticked) -> Value {
    let ids = |messages: &[InboxId]| json!(messages);
    match ticked {
        Ticked::Busy => json!({ "type": "ticked", "what": "busy" }),
        Ticked::Alone { conversation, turn, state, error, .. } => json!({
            "type": "ticked", "what": "alone", "sessionId": conversation, "turn": turn, "outcome": state.as_str(),
            "error": error,
        }),
        Ticked::Inbox { conversation, messages, turn, state, error, replies, set_aside } => json!({
            "type": "ticked", "what": "inbox", "sessionId": conversation, "turn": turn, "outcome": state.as_str(),
            "error": error, "messages": ids(messages), "set_aside": ids(set_aside),
            "replies": replies.iter().map(message_json).collect::<Vec<_>>(),
        }),
    }
}
