//! `foreword inbox`: what others left for the agent. Senders and texts come from outside: they are printed escaped, on one
//! line each; only JSON has them as they are.

use std::io::Read as _;
use std::process::ExitCode;

use foreword_agent::inbox::{LONGEST_BODY, NotTaken, stage};
use foreword_core::id::InboxId;
use foreword_core::sender::{InboxState, SenderAddress, not_before};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::untrusted::display_line;
use foreword_store::mailboxes::{InboxMessage, NewInboxMessage, Staged};
use serde_json::{Value, json};

use crate::cli::inbox::{InboxCommand, StageArgs};
use crate::failure::{Failure, at_terminal};
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, Output, styled, when};
use crate::stored::{Stored, now};
use crate::world::World;

/// The most characters of a text on a line of a list, and of a message that is shown by itself.
const PREVIEW: usize = 60;
const REASON: usize = 100;
const LINE: usize = 4_000;
const LIST: &str = "see `foreword inbox list --all`";

pub(crate) fn run(command: &InboxCommand, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        InboxCommand::Stage(args) => bring(args, world, output)?,
        InboxCommand::List { all, set_aside, limit } => {
            let state = match (all, set_aside) {
                (true, _) => None,
                (false, true) => Some(InboxState::SetAside),
                (false, false) => Some(InboxState::Staged),
            };
            list(state, *limit, world, output)?;
        }
        InboxCommand::Show { id } => show(id, world, output)?,
        InboxCommand::Retry { id: Some(id), .. } => retry(id, world, output)?,
        InboxCommand::Retry { id: None, .. } => retry_all(world, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn bring(args: &StageArgs, world: &World, output: &Output) -> Result<(), Failure> {
    let help = "name the sender, such as --from 0xA11CE or --from signal:+15550100";
    let sender = SenderAddress::new(&args.from).map_err(|error| Failure::usage(error.to_string(), help))?;
    let id = args.id.clone().map_or_else(fresh_id, Ok)?;
    let id = InboxId::new(id).map_err(|error| Failure::usage(error.to_string(), "leave --id out"))?;
    let body = text(args)?;
    let workspace = world.open()?;
    let config = std::sync::Arc::clone(&workspace.snapshot().config);
    let stored = Stored::open(&workspace, world)?;
    let new = NewInboxMessage { id, sender, body, at: now(world) };
    let (staged, event) = stored.wait(stage(&stored.store, &config, new)).map_err(refused)?;
    stored.wait(stored.store.add_events(event.as_slice()))?;
    let (message, again) = match staged {
        Staged::New(message) => (message, false),
        Staged::Again(message) => (message, true),
    };
    if output.wants_json() {
        let mut out = message_json(&message, now(world));
        out["again"] = json!(again);
        return output.json(&out);
    }
    output.print(message.id.as_str())?;
    output.say(&styled(
        DIM,
        if again { "It was left before; nothing changed." } else { "`foreword tick` answers it." },
    ));
    Ok(())
}

fn fresh_id() -> Result<String, Failure> {
    let mut chance = [0; 8];
    getrandom::fill(&mut chance)
        .map_err(|error| Failure::failed(format!("no random numbers: {error}"), "name one with --id"))?;
    Ok(format!("in-{:016x}", u64::from_be_bytes(chance)))
}

fn text(args: &StageArgs) -> Result<String, Failure> {
    let said = args.text.join(" ");
    if said != "-" {
        return Ok(said);
    }
    let mut bytes = Vec::new();
    let limit = LONGEST_BODY as u64 + 1;
    let read = std::io::stdin().take(limit).read_to_end(&mut bytes);
    read.map_err(|error| {
        Failure::failed(format!("can't read standard input: {error}"), "pipe a text into it")
    })?;
    String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is no UTF-8", "pipe a text into it"))
}

fn refused(error: NotTaken) -> Failure {
    match error {
        NotTaken::Store(error) => Failure::Stored(error),
        NotTaken::NoWords => Failure::usage(error.to_string(), "say something"),
        NotTaken::TooLong { .. } => Failure::failed(error.to_string(), "send it in parts, or say it shorter"),
        NotTaken::SenderHasTooMany { .. } | NotTaken::TooManyInAll { .. } => {
            Failure::failed(error.to_string(), "run `foreword tick`, or raise the limit in foreword.yaml")
        }
    }
}

fn list(state: Option<InboxState>, limit: u64, world: &World, output: &Output) -> Result<(), Failure> {
    let workspace = world.open()?;
    let stored = Stored::open_existing(&workspace, world)?;
    let messages = match &stored {
        None => Vec::new(),
        Some(stored) if state == Some(InboxState::Staged) => stored.wait(stored.store.staged(limit))?,
        Some(stored) => stored.wait(stored.store.inbox_messages(state, limit))?,
    };
    if output.wants_json() {
        let messages: Vec<Value> = messages.iter().map(|message| message_json(message, now(world))).collect();
        return output.json(&json!({ "messages": messages }));
    }
    if messages.is_empty() {
        output.say(match state {
            Some(InboxState::SetAside) => "Nothing is set aside.",
            Some(_) => "Nothing waits.",
            None => "Nobody has written yet.",
        });
        return Ok(());
    }
    let left = Align::Left;
    // Why messages are still pending is only worth a column where there is a reason.
    let has_reasons = messages.iter().any(|message| reason(message).is_some());
    let mut columns = vec![
        ("message", left),
        ("from", left),
        ("state", left),
        ("failed", Align::Right),
        ("received", left),
        ("text", left),
    ];
    columns.extend(has_reasons.then_some(("reason", left)));
    let mut table = Table::new(&columns);
    for message in &messages {
        let mut row = vec![
            styled(BOLD, display_line(message.id.as_str(), PREVIEW)),
            display_line(message.sender.as_str(), PREVIEW),
            state_words(message, now(world)),
            message.attempts.to_string(),
            when(message.received_at),
            display_line(&message.body, PREVIEW),
        ];
        row.extend(
            has_reasons.then(|| reason(message).map_or_else(String::new, |why| display_line(why, REASON))),
        );
        table.row(row);
    }
    output.print(&table.render())
}

/// Why a message was not answered so far.
fn reason(message: &InboxMessage) -> Option<&str> {
    let error = message.error.as_ref().filter(|_| message.state != InboxState::Consumed);
    error.map(at_terminal)
}

fn show(id: &str, world: &World, output: &Output) -> Result<(), Failure> {
    let (stored, id) = existing(id, world)?;
    let message = stored.wait(stored.store.inbox_message(&id)).map_err(|_| unknown(&id))?;
    if output.wants_json() {
        return output.json(&message_json(&message, now(world)));
    }
    let line = |name: &str, value: String| format!("{} {value}", styled(BOLD, format!("{name}:")));
    let mut lines = vec![
        line("from", display_line(message.sender.as_str(), LINE)),
        line("received", when(message.received_at)),
        line("state", state_words(&message, now(world))),
    ];
    if let Some((turn, at)) = &message.consumed {
        lines.push(line("dealt with", format!("{} in turn {turn}", when(*at))));
    }
    if let Some(error) = &message.error {
        let times = message.attempts;
        lines.push(line(
            "failed",
            format!("{times} times, last because {}", display_line(at_terminal(error), LINE)),
        ));
    }
    lines.push(line("text", display_line(&message.body, LINE)));
    output.print(&lines.join("\n"))
}

fn retry(id: &str, world: &World, output: &Output) -> Result<(), Failure> {
    let (stored, id) = existing(id, world)?;
    let message = stored.wait(stored.store.put_back(&id))?;
    if output.wants_json() {
        return output.json(&message_json(&message, now(world)));
    }
    output.say(&format!("{} waits again; `foreword tick` answers it.", display_line(id.as_str(), PREVIEW)));
    Ok(())
}

fn retry_all(world: &World, output: &Output) -> Result<(), Failure> {
    let workspace = world.open()?;
    let put_back = match Stored::open_existing(&workspace, world)? {
        Some(stored) => stored.wait(stored.store.put_all_back())?,
        None => 0,
    };
    if output.wants_json() {
        return output.json(&json!({ "put_back": put_back }));
    }
    output.say(&match put_back {
        0 => "Nothing is set aside.".to_owned(),
        1 => "1 message waits again; `foreword tick` answers it.".to_owned(),
        count => format!("{count} messages wait again; `foreword tick` answers them."),
    });
    Ok(())
}

fn existing(id: &str, world: &World) -> Result<(Stored, InboxId), Failure> {
    let id = InboxId::new(id).map_err(|error| Failure::usage(error.to_string(), LIST))?;
    let workspace = world.open()?;
    let stored = Stored::open_existing(&workspace, world)?.ok_or_else(|| unknown(&id))?;
    Ok((stored, id))
}

fn unknown(id: &InboxId) -> Failure {
    Failure::failed(format!("there is no message `{}`", display_line(id.as_str(), LINE)), LIST)
}

/// What has become of a message; if a turn has failed over it and it is to be tried again, from when on.
fn state_words(message: &InboxMessage, now: Timestamp) -> String {
    match next_attempt(message, now) {
        Some(due) => format!("staged, again from {}", when(due)),
        None => message.state.as_str().replace('_', " "),
    }
}

fn next_attempt(message: &InboxMessage, now: Timestamp) -> Option<Timestamp> {
    let waits = message.state == InboxState::Staged;
    not_before((message.tried_at, message.attempts), now).filter(|_| waits)
}

fn message_json(message: &InboxMessage, now: Timestamp) -> Value {
    json!({
        "id": message.id, "sender": message.sender, "text": message.body, "state": message.state,
        "received_at": message.received_at, "attempts": message.attempts, "failures": message.failures,
        "error": message.error.as_ref().map(at_terminal), "next_attempt_at": next_attempt(message, now),
        "turn_id": message.consumed.as_ref().map(|(turn, _)| turn),
        "consumed_at": message.consumed.as_ref().map(|(_, at)| at),
    })
}
