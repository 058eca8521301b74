//! Places tool results right after their calls, all results of one answer together. Calls without a result get a
//! placeholder, and results without a call are dropped: providers reject both.

use super::NO_RESULT;
use crate::id::CallId;
use crate::message::ContentBlock;
use crate::model::{RequestMessage, RequestRole};

/// The messages with a result for every call.
pub(super) fn pair(messages: impl Iterator<Item = RequestMessage>) -> Vec<RequestMessage> {
    let mut paired = Vec::new();
    let mut answers: Option<Answers> = None;
    for message in messages {
        match (message.role, &mut answers) {
            (RequestRole::Tool, Some(answers)) => answers.take(message.content),
            (RequestRole::Tool, None) => paired.extend(words_alone(message.content)),
            (RequestRole::User | RequestRole::Assistant, _) => {
                paired.extend(answers.take().map(Answers::complete));
                answers = Answers::to(&message);
                paired.push(message);
            }
        }
    }
    paired.extend(answers.map(Answers::complete));
    paired
}

/// The text of a tool message without a call; the reader may not be allowed to see the call.
fn words_alone(content: Vec<ContentBlock>) -> Option<RequestMessage> {
    let words: Vec<_> =
        content.into_iter().filter(|block| matches!(block, ContentBlock::Text { .. })).collect();
    (!words.is_empty()).then_some(RequestMessage { role: RequestRole::User, content: words })
}

/// The results of one answer's calls.
struct Answers {
    /// The calls without a result so far.
    open: Vec<CallId>,
    results: Vec<ContentBlock>,
    words: Vec<ContentBlock>,
}

impl Answers {
    /// The open calls of a message; `None` if it has none.
    fn to(message: &RequestMessage) -> Option<Self> {
        let calls = message.content.iter().filter_map(|block| match block {
            ContentBlock::ToolCall { id, .. } => Some(id.clone()),
            _ => None,
        });
        let open: Vec<CallId> = calls.collect();
        (!open.is_empty()).then_some(Self { open, results: Vec::new(), words: Vec::new() })
    }

    fn take(&mut self, content: Vec<ContentBlock>) {
        for block in content {
            match &block {
                ContentBlock::ToolResult { call, .. } => {
                    if let Some(found) = self.open.iter().position(|open| open == call) {
                        self.open.remove(found);
                        self.results.push(block);
                    }
                }
                _ => self.words.push(block),
            }
        }
    }

    fn complete(self) -> RequestMessage {
        let missing = self.open.into_iter().map(|call| ContentBlock::ToolResult {
            call,
            content: NO_RESULT.to_owned(),
            is_error: true,
        });
        let content = self.results.into_iter().chain(missing).chain(self.words).collect();
        RequestMessage { role: RequestRole::Tool, content }
    }
}
