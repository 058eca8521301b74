//! `foreword outbox`: the agent's messages to others, for the program that delivers them. Only JSON has the exact
//! bytes.

use std::process::ExitCode;

use foreword_core::id::OutboxId;
use foreword_prompt::untrusted::display_line;
use foreword_store::mailboxes::OutboxMessage;
use serde_json::{Value, json};

use crate::chat::one_line::strip_control_sequences;
use crate::cli::inbox::OutboxCommand;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, Output, styled, when};
use crate::process_context::ProcessContext;
use crate::workspace_store::{WorkspaceStore, now};

const MAX_PREVIEW_CHARS: usize = 60;
const LIST: &str = "see `foreword outbox list --all`";

pub(crate) fn run(
    command: &OutboxCommand,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match command {
        OutboxCommand::List { all, limit } => list(*all, *limit, process, output)?,
        OutboxCommand::Show { id } => {
            let (stored, id) = existing(id, process)?;
            let message = stored.wait(stored.store.outbox_message(&id)).map_err(|_| unknown(&id))?;
            if output.wants_json() {
                output.json(&message_json(&message))?;
            } else {
                // The text comes from a model: remove terminal control sequences.
                output.print(&strip_control_sequences(&message.body))?;
            }
        }
        OutboxCommand::Delivered { id } => {
            let (stored, id) = existing(id, process)?;
            let delivered = stored.wait(stored.store.delivery_tried(&id, Some(now(process))));
            let message = delivered.map_err(|_| unknown(&id))?;
            if output.wants_json() {
                output.json(&message_json(&message))?;
            } else {
                let at = message.delivered_at.map(when).unwrap_or_default();
                output.print_stderr(&format!("{id} was delivered at {at}."));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(all: bool, limit: u64, process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    let workspace = process.open()?;
    let messages = match WorkspaceStore::open_existing(&workspace, process)? {
        None => Vec::new(),
        Some(stored) if all => stored.wait(stored.store.outbox_messages(limit))?,
        Some(stored) => stored.wait(stored.store.undelivered(limit))?,
    };
    if output.wants_json() {
        return output.json(&json!({ "messages": messages.iter().map(message_json).collect::<Vec<_>>() }));
    }
    if messages.is_empty() {
        output.print_stderr(if all { "No answers yet." } else { "No undelivered answers." });
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
            display_line(message.recipient.as_str(), MAX_PREVIEW_CHARS),
            display_line(answers, MAX_PREVIEW_CHARS),
            when(message.at),
            message.delivered_at.map_or_else(|| "no".to_owned(), when),
            display_line(&message.body, MAX_PREVIEW_CHARS),
        ]);
    }
    output.print(&table.render())
}

fn existing(id: &str, process: &ProcessContext) -> Result<(WorkspaceStore, OutboxId), Failure> {
    let id = OutboxId::new(id).map_err(|error| Failure::usage(error.to_string(), LIST))?;
    let workspace = process.open()?;
    let stored = WorkspaceStore::open_existing(&workspace, process)?.ok_or_else(|| unknown(&id))?;
    Ok((stored, id))
}

fn unknown(id: &OutboxId) -> Failure {
    Failure::failed(format!("unknown answer `{}`", display_line(id.as_str(), 200)), LIST)
}

pub(crate) fn message_json(message: &OutboxMessage) -> Value {
    json!({
        "id": message.id, "recipient": message.recipient, "text": message.body,
        "in_reply_to": message.in_reply_to, "turn_id": message.turn, "created_at": message.at,
        "delivered_at": message.delivered_at, "attempts": message.attempts,
    })
}
