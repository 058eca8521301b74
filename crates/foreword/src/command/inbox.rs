//! `foreword inbox`: messages for the agent. Senders and texts are untrusted: they are printed escaped, on one line
//! each; only JSON has them unchanged.

use std::io::Read as _;
use std::process::ExitCode;

use foreword_agent::background::inbox::{MAX_BODY_BYTES, StageError, stage};
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
use crate::process_context::ProcessContext;
use crate::workspace_store::{WorkspaceStore, now};

/// Maximum lengths in the list and of a single message.
const MAX_PREVIEW_CHARS: usize = 60;
const MAX_REASON_CHARS: usize = 100;
const MAX_TEXT_CHARS: usize = 4_000;
const LIST: &str = "see `foreword inbox list --all`";

pub(crate) fn run(
    command: &InboxCommand,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match command {
        InboxCommand::Stage(args) => stage_message(args, process, output)?,
        InboxCommand::List { all, set_aside, limit } => {
            let state = match (all, set_aside) {
                (true, _) => None,
                (false, true) => Some(InboxState::SetAside),
                (false, false) => Some(InboxState::Staged),
            };
            list(state, *limit, process, output)?;
        }
        InboxCommand::Show { id } => show(id, process, output)?,
        InboxCommand::Retry { id: Some(id), .. } => retry(id, process, output)?,
        InboxCommand::Retry { id: None, .. } => retry_all(process, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn stage_message(args: &StageArgs, process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    let help = "name the sender, such as --from 0xA11CE or --from signal:+15550100";
    let sender = SenderAddress::new(&args.from).map_err(|error| Failure::usage(error.to_string(), help))?;
    let id = args.id.clone().map_or_else(fresh_id, Ok)?;
    let id = InboxId::new(id).map_err(|error| Failure::usage(error.to_string(), "omit --id"))?;
    let body = text(args)?;
    let workspace = process.open()?;
    let config = std::sync::Arc::clone(&workspace.snapshot().config);
    let stored = WorkspaceStore::open(&workspace, process)?;
    let new = NewInboxMessage { id, sender, body, at: now(process) };
    let (staged, event) = stored.wait(stage(&stored.store, &config, new)).map_err(refused)?;
    stored.wait(stored.store.add_events(event.as_slice()))?;
    let (message, again) = match staged {
        Staged::New(message) => (message, false),
        Staged::Again(message) => (message, true),
    };
    if output.wants_json() {
        let mut out = message_json(&message, now(process));
        out["again"] = json!(again);
        return output.json(&out);
    }
    output.print(message.id.as_str())?;
    output.print_stderr(&styled(
        DIM,
        if again { "It was staged before; nothing changed." } else { "`foreword tick` answers it." },
    ));
    Ok(())
}

fn fresh_id() -> Result<String, Failure> {
    let mut chance = [0; 8];
    getrandom::fill(&mut chance)
        .map_err(|error| Failure::failed(format!("can't get random bytes: {error}"), "name one with --id"))?;
    Ok(format!("in-{:016x}", u64::from_be_bytes(chance)))
}

fn text(args: &StageArgs) -> Result<String, Failure> {
    let said = args.text.join(" ");
    if said != "-" {
        return Ok(said);
    }
    let mut bytes = Vec::new();
    let limit = MAX_BODY_BYTES as u64 + 1;
    let read = std::io::stdin().take(limit).read_to_end(&mut bytes);
    read.map_err(|error| {
        Failure::failed(format!("can't read standard input: {error}"), "pipe UTF-8 text into it")
    })?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage("standard input is not UTF-8", "pipe UTF-8 text into it"))
}

fn refused(error: StageError) -> Failure {
    match error {
        StageError::Store(error) => Failure::Store(error),
        StageError::EmptyMessage => Failure::usage(error.to_string(), "write a message"),
        StageError::TooLong { .. } => Failure::failed(error.to_string(), "split or shorten it"),
        StageError::SenderLimitReached { .. } | StageError::TotalLimitReached { .. } => {
            Failure::failed(error.to_string(), "run `foreword tick`, or raise the limit in foreword.yaml")
        }
    }
}

fn list(
    state: Option<InboxState>,
    limit: u64,
    process: &ProcessContext,
    output: &Output,
) -> Result<(), Failure> {
    let workspace = process.open()?;
    let stored = WorkspaceStore::open_existing(&workspace, process)?;
    let messages = match &stored {
        None => Vec::new(),
        Some(stored) if state == Some(InboxState::Staged) => stored.wait(stored.store.staged(limit))?,
        Some(stored) => stored.wait(stored.store.inbox_messages(state, limit))?,
    };
    if output.wants_json() {
        let messages: Vec<Value> =
            messages.iter().map(|message| message_json(message, now(process))).collect();
        return output.json(&json!({ "messages": messages }));
    }
    if messages.is_empty() {
        output.print_stderr(match state {
            Some(InboxState::SetAside) => "No messages are set aside.",
            Some(_) => "No pending messages.",
            None => "No messages yet.",
        });
        return Ok(());
    }
    let left = Align::Left;
    // The reason column is shown only if a message has one.
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
            styled(BOLD, display_line(message.id.as_str(), MAX_PREVIEW_CHARS)),
            display_line(message.sender.as_str(), MAX_PREVIEW_CHARS),
            state_text(message, now(process)),
            message.attempts.to_string(),
            when(message.received_at),
            display_line(&message.body, MAX_PREVIEW_CHARS),
        ];
        row.extend(
            has_reasons
                .then(|| reason(message).map_or_else(String::new, |why| display_line(why, MAX_REASON_CHARS))),
        );
        table.row(row);
    }
    output.print(&table.render())
}

/// Why a message has not been answered.
fn reason(message: &InboxMessage) -> Option<&str> {
    let error = message.error.as_ref().filter(|_| message.state != InboxState::Consumed);
    error.map(at_terminal)
}

fn show(id: &str, process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    let (stored, id) = existing(id, process)?;
    let message = stored.wait(stored.store.inbox_message(&id)).map_err(|_| unknown(&id))?;
    if output.wants_json() {
        return output.json(&message_json(&message, now(process)));
    }
    let line = |name: &str, value: String| format!("{} {value}", styled(BOLD, format!("{name}:")));
    let mut lines = vec![
        line("from", display_line(message.sender.as_str(), MAX_TEXT_CHARS)),
        line("received", when(message.received_at)),
        line("state", state_text(&message, now(process))),
    ];
    if let Some((turn, at)) = &message.consumed {
        lines.push(line("handled", format!("{} in turn {turn}", when(*at))));
    }
    if let Some(error) = &message.error {
        let times = message.attempts;
        lines.push(line(
            "failed",
            format!("{times} times, last reason: {}", display_line(at_terminal(error), MAX_TEXT_CHARS)),
        ));
    }
    lines.push(line("text", display_line(&message.body, MAX_TEXT_CHARS)));
    output.print(&lines.join("\n"))
}

fn retry(id: &str, process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    let (stored, id) = existing(id, process)?;
    let message = stored.wait(stored.store.put_back(&id))?;
    if output.wants_json() {
        return output.json(&message_json(&message, now(process)));
    }
    output.print_stderr(&format!(
        "{} is pending again; `foreword tick` answers it.",
        display_line(id.as_str(), MAX_PREVIEW_CHARS)
    ));
    Ok(())
}

fn retry_all(process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    let workspace = process.open()?;
    let put_back = match WorkspaceStore::open_existing(&workspace, process)? {
        Some(stored) => stored.wait(stored.store.put_all_back())?,
        None => 0,
    };
    if output.wants_json() {
        return output.json(&json!({ "put_back": put_back }));
    }
    output.print_stderr(&match put_back {
        0 => "No messages are set aside.".to_owned(),
        1 => "1 message is pending again; `foreword tick` answers it.".to_owned(),
        count => format!("{count} messages are pending again; `foreword tick` answers them."),
    });
    Ok(())
}

fn existing(id: &str, process: &ProcessContext) -> Result<(WorkspaceStore, InboxId), Failure> {
    let id = InboxId::new(id).map_err(|error| Failure::usage(error.to_string(), LIST))?;
    let workspace = process.open()?;
    let stored = WorkspaceStore::open_existing(&workspace, process)?.ok_or_else(|| unknown(&id))?;
    Ok((stored, id))
}

fn unknown(id: &InboxId) -> Failure {
    Failure::failed(format!("unknown message `{}`", display_line(id.as_str(), MAX_TEXT_CHARS)), LIST)
}

/// The state of a message, and the time of the next attempt after a failed turn.
fn state_text(message: &InboxMessage, now: Timestamp) -> String {
    match next_attempt(message, now) {
        Some(due) => format!("staged, next attempt {}", when(due)),
        None => message.state.as_str().replace('_', " "),
    }
}

fn next_attempt(message: &InboxMessage, now: Timestamp) -> Option<Timestamp> {
    let waits = message.state == InboxState::Staged;
    not_before(message.tried_at, message.attempts, now).filter(|_| waits)
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
