//! `foreword conversations`: lists conversations and shows all messages of one, including those replaced by a summary.
//! This is the owner's view: messages of every trust are shown. Texts may be untrusted and are printed escaped.

use std::process::ExitCode;

use foreword_core::id::ConversationId;
use foreword_core::message::{ContentBlock, Kind, Message, Role};
use foreword_core::money::Money;
use foreword_prompt::text::with_thousands;
use foreword_prompt::trust::Trust;
use foreword_store::conversation_size::ConversationSize;
use foreword_store::conversations::{Conversation, ConversationPage};
use foreword_store::messages::MessagePage;
use foreword_store::metrics::ConversationMetrics;
use serde_json::{Value, json};

use crate::chat::one_line::{escape_invisible, fitted};
use crate::cli::conversations::{ConversationsCommand, ShowArgs};
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, Output, counted, styled, when};
use crate::process_context::ProcessContext;
use crate::workspace_store::WorkspaceStore;

/// The maximum length of a tool call or result.
const MAX_TOOL_CHARS: usize = 500;
const PAGE_SIZE: u32 = 500;

pub(crate) fn run(
    command: &ConversationsCommand,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let stored = WorkspaceStore::open_existing(&workspace, process)?;
    match command {
        ConversationsCommand::List { user, limit } => {
            list(stored.as_ref(), user.as_deref(), *limit, output)?;
        }
        ConversationsCommand::Show(args) => show(stored.as_ref(), args, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(
    stored: Option<&WorkspaceStore>,
    user: Option<&str>,
    limit: u32,
    output: &Output,
) -> Result<(), Failure> {
    let mut rows: Vec<(Conversation, ConversationSize)> = Vec::new();
    if let Some(stored) = stored {
        let page = ConversationPage::first(limit);
        let page = user.map_or_else(|| page.clone(), |user| page.clone().of_user(user));
        for conversation in stored.wait(stored.store.conversations(page))? {
            let extent = stored.wait(stored.store.conversation_size(&conversation.id))?;
            rows.push((conversation, extent));
        }
    }
    if output.wants_json() {
        let rows: Vec<Value> = rows.iter().map(|(one, extent)| conversation_json(one, extent)).collect();
        return output.json(&json!({ "conversations": rows }));
    }
    if rows.is_empty() {
        output.print_stderr("No conversations yet. Start one with `foreword chat`.");
        return Ok(());
    }
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[
        ("conversation", left),
        ("user", left),
        ("situation", left),
        ("messages", right),
        ("tokens", right),
        ("summaries", right),
        ("epochs", right),
        ("last activity", left),
    ]);
    for (one, extent) in &rows {
        table.row(vec![
            styled(BOLD, one.id.as_str()),
            escape_invisible(one.user.as_deref().unwrap_or("-")),
            escape_invisible(&one.situation),
            with_thousands(usize::try_from(extent.messages).unwrap_or(usize::MAX)),
            with_thousands(usize::try_from(extent.tokens).unwrap_or(usize::MAX)),
            extent.compactions.to_string(),
            extent.epochs.to_string(),
            when(one.last_activity_at),
        ]);
    }
    output.print(&table.render())
}

fn show(stored: Option<&WorkspaceStore>, args: &ShowArgs, output: &Output) -> Result<(), Failure> {
    let help = "see `foreword conversations list`";
    let id = ConversationId::new(args.id.clone()).map_err(|error| Failure::usage(error.to_string(), help))?;
    let found = match stored {
        Some(stored) => stored.wait(stored.store.conversation(&id))?.map(|found| (stored, found)),
        None => None,
    };
    let Some((stored, conversation)) = found else {
        return Err(Failure::failed(format!("there is no conversation `{id}`"), help));
    };
    let history = stored.wait(stored.store.history(&id))?;
    let messages = if args.all { everything(stored, &id)? } else { history.messages };
    // The newest summary also covers older summaries.
    let newest = messages.iter().rev().find(|message| message.message.kind == Kind::Summary);
    let newest = newest.map(|message| message.seq);
    let covered = |message: &Message| match message.message.kind {
        Kind::Summary => Some(message.seq) != newest,
        _ => message.seq <= history.covered_to,
    };
    let shown = || messages.iter().filter(|message| message.message.kind != Kind::Sent);
    if output.wants_json() {
        let extent = stored.wait(stored.store.conversation_size(&id))?;
        let mut out = conversation_json(&conversation, &extent);
        out["metrics"] = metrics_json(&stored.wait(stored.store.conversation_metrics(&id, Trust::Full))?);
        out["messages_shown"] =
            json!(shown().map(|message| message_json(message, covered(message))).collect::<Vec<_>>());
        return output.json(&out);
    }
    for message in shown() {
        output.print(&message_text(message, &conversation, covered(message)))?;
    }
    let metrics = stored.wait(stored.store.conversation_metrics(&id, Trust::Full))?;
    output.print_stderr(&styled(DIM, metrics_line(&metrics)));
    let hidden = stored.wait(stored.store.conversation_size(&id))?.covered;
    if !args.all && hidden > 0 {
        let hidden = counted(hidden, "message");
        output.print_stderr(&styled(DIM, format!("The summary replaces {hidden}: `--all` shows them.")));
    }
    Ok(())
}

fn everything(stored: &WorkspaceStore, id: &ConversationId) -> Result<Vec<Message>, Failure> {
    let mut all: Vec<Message> = Vec::new();
    loop {
        let after = all.last().map_or(0, |message| message.seq);
        let page = stored.wait(stored.store.all_messages(id, MessagePage::after(after, PAGE_SIZE)))?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

/// A message as text; those replaced by a summary have a bar at the start of each line.
fn message_text(message: &Message, conversation: &Conversation, covered: bool) -> String {
    let bar = if covered { "| " } else { "" };
    let head = format!("{} {}", when(message.message.at), who(message, conversation));
    let mut lines = vec![format!("{bar}{}", styled(if covered { DIM } else { BOLD }, head))];
    for block in &message.message.content {
        lines.extend(block_lines(block).into_iter().map(|line| format!("{bar}  {line}")));
    }
    lines.push(bar.trim_end().to_owned());
    lines.join("\n")
}

fn who(message: &Message, conversation: &Conversation) -> String {
    let message = &message.message;
    let trust = message.trust;
    match (message.kind, message.role) {
        (Kind::Summary, _) => format!("summary of earlier messages ({trust})"),
        (Kind::Notice, _) | (_, Role::System) => format!("notice ({trust})"),
        (_, Role::User) => {
            let name = escape_invisible(message.author.as_deref().unwrap_or("unknown"));
            let waits = if message.turn.is_none() { ", not answered yet" } else { "" };
            format!("{name} ({trust}{waits})")
        }
        (_, Role::Assistant) => escape_invisible(&conversation.agent),
        (_, Role::Tool) => "tool".to_owned(),
    }
}

fn block_lines(block: &ContentBlock) -> Vec<String> {
    match block {
        ContentBlock::Text { text } => text.lines().map(escape_invisible).collect(),
        ContentBlock::ToolCall { name, input, .. } => {
            vec![format!(
                "calls {} {}",
                escape_invisible(name),
                fitted(&escape_invisible(&input.to_string()), MAX_TOOL_CHARS)
            )]
        }
        ContentBlock::ToolResult { content, is_error, .. } => {
            let what = if *is_error { "failed" } else { "gave" };
            vec![format!("{what}: {}", fitted(&escape_invisible(content), MAX_TOOL_CHARS))]
        }
        // Internal notes and provider-specific content.
        ContentBlock::Other(_) => Vec::new(),
    }
}

fn conversation_json(one: &Conversation, extent: &ConversationSize) -> Value {
    json!({
        "id": one.id, "agent": one.agent, "user": one.user, "channel": one.channel, "situation": one.situation,
        "title": one.title, "created_at": one.created_at, "last_activity_at": one.last_activity_at,
        "messages": extent.messages, "covered": extent.covered, "tokens": extent.tokens,
        "compactions": extent.compactions, "epochs": extent.epochs,
    })
}

fn metrics_json(metrics: &ConversationMetrics) -> Value {
    json!({
        "turns": metrics.turns, "tool_calls": metrics.tool_calls, "duration_ms": metrics.duration_ms,
        "tokens_in": metrics.tokens_in, "tokens_out": metrics.tokens_out,
        "cost_usd": metrics.cost.map(Money::dollars),
    })
}

/// The usage and cost of the conversation.
fn metrics_line(metrics: &ConversationMetrics) -> String {
    let number = |count: u64| with_thousands(usize::try_from(count).unwrap_or(usize::MAX));
    let cost = metrics.cost.map_or_else(|| "unknown cost".to_owned(), |cost| cost.to_string());
    format!(
        "{}, {}, {} s, {} tokens in, {} tokens out, {cost}",
        counted(metrics.turns, "turn"),
        counted(metrics.tool_calls, "tool call"),
        metrics.duration_ms.div_ceil(1_000),
        number(metrics.tokens_in),
        number(metrics.tokens_out),
    )
}

fn message_json(message: &Message, covered: bool) -> Value {
    let Message { seq, message } = message;
    let ours = |block: &&ContentBlock| !matches!(block, ContentBlock::Other(_));
    let content: Vec<&ContentBlock> = message.content.iter().filter(ours).collect();
    json!({
        "seq": seq, "id": message.id, "role": message.role.as_str(), "kind": message.kind.as_str(),
        "author": message.author, "trust": message.trust, "at": message.at, "turn": message.turn,
        "covered": covered, "content": content,
    })
}
