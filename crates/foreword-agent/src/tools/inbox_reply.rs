//! `inbox_reply(message, text)`: answers one message of the inbox. The call writes nothing: what goes out is read off the
//! turn when it ends. Here the model is told whether it will.

use foreword_core::id::InboxId;
use foreword_core::message::{ContentBlock, Role};
use foreword_core::sender::SenderAddress;
use foreword_core::sender::{
    LONGEST_REPLY, REPLIES_PER_MESSAGE, REPLY_TOOL, answers_to, called_replies, message_named,
};
use foreword_core::turn::Said;
use foreword_core::turn_journal::Step;
use foreword_prompt::untrusted::single_line;
use foreword_store::error::StoreError;
use serde_json::{Map, Value};

use super::given::Given;
use crate::error::public_store_error;
use crate::inbound::Purpose;
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};

/// The longest name that is shown.
const SHOWN: usize = 120;

/// Answers a message.
#[derive(Debug, Clone, Copy, Default)]
pub struct InboxReply;

impl Tool for InboxReply {
    fn name(&self) -> &'static str {
        REPLY_TOOL
    }

    fn has_side_effects(&self) -> bool {
        false
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        Box::pin(async move {
            match reply(&Given::new(arguments), &call).await {
                Ok(output) | Err(output) => output,
            }
        })
    }
}

async fn reply(given: &Given, call: &ToolCall) -> Result<ToolOutput, ToolOutput> {
    let (batch, text) = (batch_of(call).await?, given.text("text")?.trim());
    let (id, sender) = wanted(&batch, given.text("message")?)?;
    if text.is_empty() {
        return Err(ToolOutput::failed("not sent: the answer has no words"));
    }
    if text.len() > LONGEST_REPLY {
        let message = format!("not sent: the answer has {} bytes, {LONGEST_REPLY} are allowed", text.len());
        return Err(ToolOutput::failed(message));
    }
    let before = called_replies(&said(call).await.map_err(|error| unreadable(&error))?, &batch);
    if answers_to(&before, id) >= REPLIES_PER_MESSAGE {
        return Err(ToolOutput::failed(format!(
            "not sent: this message has {REPLIES_PER_MESSAGE} answers already, and that is the most"
        )));
    }
    let sender = single_line(sender.as_str(), SHOWN);
    Ok(ToolOutput::ours(format!("It goes to `{sender}` when this turn has ended.")))
}

/// What the turn has said so far, as far as calls and their results go.
async fn said(call: &ToolCall) -> Result<Vec<Said>, StoreError> {
    let steps = call.store.journal(&call.turn).await?;
    let said = |role, content| Said { role, content, from_outside: false, usage: None };
    let of_step = |step: Step| match step {
        Step::Call { content, .. } => Some(said(Role::Assistant, content)),
        Step::ToolFinished(result) => {
            let content = result.content;
            let block = ContentBlock::ToolResult { call: result.call, content, is_error: result.is_error };
            Some(said(Role::Tool, vec![block]))
        }
        _ => None,
    };
    Ok(steps.into_iter().filter_map(|recorded| of_step(recorded.step)).collect())
}

/// The messages this turn answers, each with its sender.
pub(super) async fn batch_of(call: &ToolCall) -> Result<Vec<(InboxId, SenderAddress)>, ToolOutput> {
    let Purpose::Inbox { messages } = &call.occasion.purpose else {
        return Err(ToolOutput::failed("this turn answers no messages of the inbox"));
    };
    let found = call.store.inbox_batch(messages).await.map_err(|error| unreadable(&error))?;
    Ok(found.into_iter().map(|message| (message.id, message.sender)).collect())
}

/// The message that is meant.
pub(super) fn wanted<'b>(
    batch: &'b [(InboxId, SenderAddress)],
    name: &str,
) -> Result<&'b (InboxId, SenderAddress), ToolOutput> {
    message_named(batch, name).ok_or_else(|| {
        let known: Vec<String> =
            batch.iter().map(|(id, _)| format!("`{}`", single_line(id.as_str(), 200))).collect();
        let name = single_line(name, SHOWN);
        ToolOutput::failed(format!(
            "there is no message `{name}` among your obligations: use one of {}",
            known.join(", ")
        ))
    })
}

pub(super) fn unreadable(error: &StoreError) -> ToolOutput {
    ToolOutput::failed(format!("the inbox can't be read now: {}", public_store_error(error)))
}
