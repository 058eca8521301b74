//! `foreword senders`: who has written to the agent, and the messages of each. Addresses and texts are untrusted: they
//! are printed escaped, on one line each.

use std::process::ExitCode;

use foreword_core::sender::{SenderAddress, SenderExchange};
use foreword_prompt::untrusted::display_line;
use foreword_store::senders::{Sender, StoredSenderHistory};
use serde_json::{Value, json};

use crate::cli::stored::SendersCommand;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, Output, styled, when};
use crate::process_context::ProcessContext;
use crate::workspace_store::WorkspaceStore;

const MAX_TEXT_CHARS: usize = 2_000;

pub(crate) fn run(
    command: &SendersCommand,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let stored = WorkspaceStore::open_existing(&workspace, process)?;
    match command {
        SendersCommand::List { limit } => list(stored.as_ref(), *limit, output)?,
        SendersCommand::Show { address } => show(stored.as_ref(), address, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(stored: Option<&WorkspaceStore>, limit: u64, output: &Output) -> Result<(), Failure> {
    let senders = match stored {
        Some(stored) => stored.wait(stored.store.senders(None, limit))?,
        None => Vec::new(),
    };
    if output.wants_json() {
        return output.json(&json!({ "senders": senders.iter().map(sender_json).collect::<Vec<_>>() }));
    }
    if senders.is_empty() {
        output.print_stderr("No messages yet.");
        return Ok(());
    }
    let left = Align::Left;
    let mut table = Table::new(&[
        ("sender", left),
        ("exchanges", Align::Right),
        ("last activity", left),
        ("first seen", left),
    ]);
    for sender in &senders {
        table.row(vec![
            styled(BOLD, display_line(sender.address.as_str(), MAX_TEXT_CHARS)),
            sender.exchanges.to_string(),
            when(sender.last_activity),
            when(sender.first_seen),
        ]);
    }
    output.print(&table.render())
}

fn show(stored: Option<&WorkspaceStore>, address: &str, output: &Output) -> Result<(), Failure> {
    let help = "see `foreword senders list`";
    let address = SenderAddress::new(address).map_err(|error| Failure::usage(error.to_string(), help))?;
    let found = match stored {
        Some(stored) => stored.wait(stored.store.sender(&address))?,
        None => None,
    };
    let Some(StoredSenderHistory { sender, exchanges }) = found else {
        let message = format!("unknown sender `{}`", display_line(address.as_str(), MAX_TEXT_CHARS));
        return Err(Failure::failed(message, help));
    };
    if output.wants_json() {
        let mut out = sender_json(&sender);
        out["entries"] = json!(exchanges.iter().map(exchange_json).collect::<Vec<_>>());
        return output.json(&out);
    }
    for exchange in &exchanges {
        let reply = exchange
            .reply
            .as_deref()
            .map_or_else(|| styled(DIM, "(no answer)"), |reply| display_line(reply, MAX_TEXT_CHARS));
        let text = format!(
            "{}\n  {} {}\n  {} {reply}",
            styled(DIM, format!("{} turn {}", when(exchange.at), exchange.turn)),
            styled(BOLD, "they:"),
            display_line(&exchange.body, MAX_TEXT_CHARS),
            styled(BOLD, "agent:"),
        );
        output.print(&text)?;
    }
    Ok(())
}

fn sender_json(sender: &Sender) -> Value {
    json!({
        "sender": sender.address.as_str(), "exchanges": sender.exchanges, "first_seen": sender.first_seen,
        "last_activity": sender.last_activity,
    })
}

fn exchange_json(exchange: &SenderExchange) -> Value {
    json!({
        "inbox_message_id": exchange.inbox_message, "sender_body": exchange.body, "agent_reply": exchange.reply,
        "turn_id": exchange.turn, "timestamp": exchange.at,
    })
}
