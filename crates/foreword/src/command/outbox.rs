//! `foreword outbox`: what the agent left for others, for whoever delivers it. Only JSON has it to the byte.

use std::process::ExitCode;

use foreword_core::id::OutboxId;
use foreword_prompt::untrusted::display_line;
use foreword_store::mailboxes::OutboxMessage;
use serde_json::{Value, json};

use crate::chat::one_line::harmless;
use crate::cli::inbox::OutboxCommand;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, Output, styled, when};
use crate::stored::{Stored, now};
use crate::world::World;

/// The most characters of a text on a line.
const PREVIEW: usize = 60;
const LIST: &str = "see `foreword outbox list --all`";

pub(crate) fn run(command: &OutboxCommand, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        OutboxCommand::List { all, limit } => list(*all, *limit, world, output)?,
        OutboxCommand::Show { id } => {
            let (stored, id) = existing(id, world)?;
            let message = stored.wait(stored.store.outbox_message(&id)).map_err(|_| unknown(&id))?;
            if output.wants_json() {
                output.json(&message_json(&message))?;
            } else {
                // The words are a model's: none of them may steer the terminal.
                output.print(&harmless(&message.body))?;
            }
        }
        OutboxCommand::Delivered { id } => {
            let (stored, id) = existing(id, world)?;
            let delivered = stored.wait(stored.store.delivery_tried(&id, Some(now(world))));
            let message = delivered.map_err(|_| unknown(&id))?;
            if output.wants_json() {
                output.json(&message_json(&message))?;
            } else {
                let at = message.delivered_at.map(when).unwrap_or_default();
                output.say(&format!("{id} was delivered at {at}."));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(all: bool, limit: u64, world: &World, output: &Output) -> Result<(), Failure> {
    let workspace = world.open()?;
    let messages = match Stored::open_existing(&workspace, world)? {
        None => Vec::new(),
        Some(stored) if all => stored.wait(stored.store.outbox_messages(limit))?,
        Some(stored) => stored.wait(stored.store.undelivered(limit))?,
    };
    if output.wants_json() {
        return output.json(&json!({ "messages": messages.iter().map(message_json).collect::<Vec<_>>() }));
    }
    if messages.is_empty() {
        output.say(if all { "Nothing was answered yet." } else { "Nothing waits to be delivered." });
        return Ok(());
    }
    let left = Align::Left;
    let mut table = Table::new(&[
        ("answer", left),
        ("to", left),
        ("in reply to", left),
        ("written", left),
        ("delivered", left),
        ("text", left),
    ]);
    for message in &messages {
        let answers = message.in_reply_to.as_ref().map_or("", |id| id.as_str());
        table.row(vec![
            styled(BOLD, &message.id),
            display_line(message.recipient.as_str(), PREVIEW),
            display_line(answers, PREVIEW),
            when(message.at),
            message.delivered_at.map_or_else(|| "no".to_owned(), when),
            display_line(&message.body, PREVIEW),
        ]);
    }
    output.print(&table.render())
}

fn existing(id: &str, world: &World) -> Result<(Stored, OutboxId), Failure> {
    let id = OutboxId::new(id).map_err(|error| Failure::usage(error.to_string(), LIST))?;
    let workspace = world.open()?;
    let stored = Stored::open_existing(&workspace, world)?.ok_or_else(|| unknown(&id))?;
    Ok((stored, id))
}

fn unknown(id: &OutboxId) -> Failure {
    Failure::failed(format!("there is no answer `{}`", display_line(id.as_str(), 200)), LIST)
}

pub(crate) fn message_json(message: &OutboxMessage) -> Value {
    json!({
        "id": message.id, "recipient": message.recipient, "text": message.body,
        "in_reply_to": message.in_reply_to, "turn_id": message.turn, "created_at": message.at,
        "delivered_at": message.delivered_at, "attempts": message.attempts,
    })
}
