//! `inbox_reply(message, text)`: replies to one inbox message. The call writes nothing: replies are taken from the turn
//! when it ends. The output tells the model whether the reply is accepted.

use foreword_core::id::InboxId;
use foreword_core::message::{ContentBlock, Role};
use foreword_core::sender::SenderAddress;
use foreword_core::sender::{
    MAX_REPLIES_PER_MESSAGE, MAX_REPLY_BYTES, REPLY_TOOL, answers_to, called_replies, message_named,
};
use foreword_core::turn::TurnMessage;
use foreword_core::turn_journal::JournalStep;
use foreword_prompt::untrusted::single_line;
use foreword_store::error::StoreError;

use super::arguments::Arguments;
use super::builtin_tool::BuiltinTool;
use crate::conversation::inbound::Purpose;
use crate::error::public_store_error;
use crate::tool::{ToolCall, ToolOutput};

/// The maximum length of a name.
const MAX_NAME_CHARS: usize = 120;

/// The tool `inbox_reply`.
pub(super) fn tool() -> BuiltinTool {
    BuiltinTool::new(REPLY_TOOL, |arguments, call| async move { reply(&arguments, &call).await })
}

async fn reply(arguments: &Arguments, call: &ToolCall) -> Result<ToolOutput, ToolOutput> {
    let (batch, text) = (batch_of(call).await?, arguments.text("text")?.trim());
    let (id, sender) = wanted(&batch, arguments.text("message")?)?;
    if text.is_empty() {
        return Err(ToolOutput::failed("not sent: the answer is empty"));
    }
    if text.len() > MAX_REPLY_BYTES {
        let message = format!("not sent: the answer has {} bytes, {MAX_REPLY_BYTES} are allowed", text.len());
        return Err(ToolOutput::failed(message));
    }
    let before = called_replies(&turn_messages(call).await.map_err(|error| unreadable(&error))?, &batch);
    if answers_to(&before, id) >= MAX_REPLIES_PER_MESSAGE {
        return Err(ToolOutput::failed(format!(
            "not sent: this message already has {MAX_REPLIES_PER_MESSAGE} answers, the maximum"
        )));
    }
    let sender = single_line(sender.as_str(), MAX_NAME_CHARS);
    Ok(ToolOutput::trusted(format!("Queued for `{sender}`; it is sent when this turn ends.")))
}

/// The tool calls of the turn and their results so far.
async fn turn_messages(call: &ToolCall) -> Result<Vec<TurnMessage>, StoreError> {
    let steps = call.store.journal(&call.turn).await?;
    let message = |role, content| TurnMessage { role, content, from_outside: false, usage: None };
    let of_step = |step: JournalStep| match step {
        JournalStep::Call { content, .. } => Some(message(Role::Assistant, content)),
        JournalStep::ToolFinished(result) => {
            let content = result.content;
            let block = ContentBlock::ToolResult { call: result.call, content, is_error: result.is_error };
            Some(message(Role::Tool, vec![block]))
        }
        _ => None,
    };
    Ok(steps.into_iter().filter_map(|recorded| of_step(recorded.step)).collect())
}

/// The messages this turn answers, each with its sender.
pub(super) async fn batch_of(call: &ToolCall) -> Result<Vec<(InboxId, SenderAddress)>, ToolOutput> {
    let Purpose::Inbox { messages } = &call.origin.purpose else {
        return Err(ToolOutput::failed("this turn answers no messages of the inbox"));
    };
    let found = call.store.inbox_batch(messages).await.map_err(|error| unreadable(&error))?;
    Ok(found.into_iter().map(|message| (message.id, message.sender)).collect())
}

/// Finds the requested message.
pub(super) fn wanted<'b>(
    batch: &'b [(InboxId, SenderAddress)],
    name: &str,
) -> Result<&'b (InboxId, SenderAddress), ToolOutput> {
    message_named(batch, name).ok_or_else(|| {
        let known: Vec<String> =
            batch.iter().map(|(id, _)| format!("`{}`", single_line(id.as_str(), 200))).collect();
        let name = single_line(name, MAX_NAME_CHARS);
        ToolOutput::failed(format!(
            "there is no message `{name}` among your obligations: use one of {}",
            known.join(", ")
        ))
    })
}

pub(super) fn unreadable(error: &StoreError) -> ToolOutput {
    ToolOutput::failed(format!("the inbox can't be read now: {}", public_store_error(error)))
}
