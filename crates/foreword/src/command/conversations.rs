//! `foreword conversations`: which there are, and everything that was said in one, also what a summary stands for by now.
//! The owner's view: whatever trust it was said at is shown. Words come from anywhere, so they are printed escaped.

use std::process::ExitCode;

use foreword_core::id::ConversationId;
use foreword_core::message::{ContentBlock, Kind, Message, Role};
use foreword_core::money::Money;
use foreword_prompt::text::with_thousands;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::{Conversation, ConversationPage};
use foreword_store::extents::Extent;
use foreword_store::messages::MessagePage;
use foreword_store::metrics::ConversationMetrics;
use serde_json::{Value, json};

use crate::chat::one_line::{exposed, fitted};
use crate::cli::conversations::{ConversationsCommand, ShowArgs};
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, Output, counted, styled, when};
use crate::stored::Stored;
use crate::world::World;

/// The most characters of what a tool was called with or gave.
const TOOL: usize = 500;
/// How many messages are read at once.
const PAGE: u32 = 500;

pub(crate) fn run(
    command: &ConversationsCommand,
    world: &World,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let stored = Stored::open_existing(&workspace, world)?;
    match command {
        ConversationsCommand::List { user, limit } => {
            list(stored.as_ref(), (user.as_deref(), *limit), output)?;
        }
        ConversationsCommand::Show(args) => show(stored.as_ref(), args, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(stored: Option<&Stored>, (user, limit): (Option<&str>, u32), output: &Output) -> Result<(), Failure> {
    let mut rows: Vec<(Conversation, Extent)> = Vec::new();
    if let Some(stored) = stored {
        let page = ConversationPage::first(limit);
        let page = user.map_or_else(|| page.clone(), |user| page.clone().of_user(user));
        for conversation in stored.wait(stored.store.conversations(page))? {
            let extent = stored.wait(stored.store.extent(&conversation.id))?;
            rows.push((conversation, extent));
        }
    }
    if output.wants_json() {
        let rows: Vec<Value> = rows.iter().map(|(one, extent)| conversation_json(one, extent)).collect();
        return output.json(&json!({ "conversations": rows }));
    }
    if rows.is_empty() {
        output.say("There are no conversations yet. Begin one with `foreword chat`.");
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
            exposed(one.user.as_deref().unwrap_or("-")),
            exposed(&one.situation),
            with_thousands(usize::try_from(extent.messages).unwrap_or(usize::MAX)),
            with_thousands(usize::try_from(extent.weight).unwrap_or(usize::MAX)),
            extent.compactions.to_string(),
            extent.epochs.to_string(),
            when(one.last_activity_at),
        ]);
    }
    output.print(&table.render())
}

fn show(stored: Option<&Stored>, args: &ShowArgs, output: &Output) -> Result<(), Failure> {
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
    // An older summary is covered by the newest, whichever place it has.
    let newest = messages.iter().rev().find(|message| message.message.kind == Kind::Summary);
    let newest = newest.map(|message| message.seq);
    let covered = |message: &Message| match message.message.kind {
        Kind::Summary => Some(message.seq) != newest,
        _ => message.seq <= history.covered_to,
    };
    let shown = || messages.iter().filter(|message| message.message.kind != Kind::Sent);
    if output.wants_json() {
        let extent = stored.wait(stored.store.extent(&id))?;
        let mut out = conversation_json(&conversation, &extent);
        out["metrics"] = metrics_json(&stored.wait(stored.store.conversation_metrics(&id, Trust::Full))?);
        out["messages_shown"] =
            json!(shown().map(|message| message_json(message, covered(message))).collect::<Vec<_>>());
        return output.json(&out);
    }
    for message in shown() {
        output.print(&told(message, &conversation, covered(message)))?;
    }
    let metrics = stored.wait(stored.store.conversation_metrics(&id, Trust::Full))?;
    output.say(&styled(DIM, metrics_line(&metrics)));
    let hidden = stored.wait(stored.store.extent(&id))?.covered;
    if !args.all && hidden > 0 {
        let hidden = counted(hidden, "message");
        output.say(&styled(DIM, format!("The summary stands for {hidden}: `--all` shows them.")));
    }
    Ok(())
}

fn everything(stored: &Stored, id: &ConversationId) -> Result<Vec<Message>, Failure> {
    let mut all: Vec<Message> = Vec::new();
    loop {
        let after = all.last().map_or(0, |message| message.seq);
        let page = stored.wait(stored.store.all_messages(id, MessagePage::after(after, PAGE)))?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

/// A message as people read it; what a summary stands for has a bar before it.
fn told(message: &Message, conversation: &Conversation, covered: bool) -> String {
    let bar = if covered { "| " } else { "" };
    let head = format!("{} {}", when(message.message.at), who(message, conversation));
    let mut lines = vec![format!("{bar}{}", styled(if covered { DIM } else { BOLD }, head))];
    for block in &message.message.content {
        lines.extend(words(block).into_iter().map(|line| format!("{bar}  {line}")));
    }
    lines.push(bar.trim_end().to_owned());
    lines.join("\n")
}

fn who(message: &Message, conversation: &Conversation) -> String {
    let message = &message.message;
    let trust = message.trust;
    match (message.kind, message.role) {
        (Kind::Summary, _) => format!("summary of what came before ({trust})"),
        (Kind::Notice, _) | (_, Role::System) => format!("notice ({trust})"),
        (_, Role::User) => {
            let name = exposed(message.author.as_deref().unwrap_or("somebody"));
            let waits = if message.turn.is_none() { ", not answered yet" } else { "" };
            format!("{name} ({trust}{waits})")
        }
        (_, Role::Assistant) => exposed(&conversation.agent),
        (_, Role::Tool) => "tool".to_owned(),
    }
}

fn words(block: &ContentBlock) -> Vec<String> {
    match block {
        ContentBlock::Text { text } => text.lines().map(exposed).collect(),
        ContentBlock::ToolCall { name, input, .. } => {
            vec![format!("calls {} {}", exposed(name), fitted(&exposed(&input.to_string()), TOOL))]
        }
        ContentBlock::ToolResult { content, is_error, .. } => {
            let what = if *is_error { "failed" } else { "gave" };
            vec![format!("{what}: {}", fitted(&exposed(content), TOOL))]
        }
        // Notes for ourselves, and what only a provider understands.
        ContentBlock::Other(_) => Vec::new(),
    }
}

fn conversation_json(one: &Conversation, extent: &Extent) -> Value {
    json!({
        "id": one.id, "agent": one.agent, "user": one.user, "channel": one.channel, "situation": one.situation,
        "title": one.title, "created_at": one.created_at, "last_activity_at": one.last_activity_at,
        "messages": extent.messages, "covered": extent.covered, "tokens": extent.weight,
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

/// What the conversation has taken so far, on one line.
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
