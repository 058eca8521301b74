//! Tests of the offline model: conversations, directives, the simulated cache, and properties for any request.

mod cache;
mod dialogues;
mod directives;
mod page;
mod performances;
mod properties;

use std::sync::Arc;

use foreword_core::id::CallId;
use foreword_core::message::{ContentBlock, Usage};
use foreword_core::model::{
    CachePlan, Model, ModelError, ModelEvent, ModelRequest, RequestMessage, RequestRole, StopReason,
    SystemBlock,
};
use foreword_core::tools::builtin_tools;
use foreword_prompt::prompt::CacheClass;
use foreword_prompt::trust::Trust;
use futures_util::StreamExt;

use crate::{AnswerScript, OfflineModel, answer};

/// A conversation with the offline model.
struct Talk {
    model: OfflineModel,
    request: ModelRequest,
}

/// A complete answer.
struct Answer {
    events: Vec<ModelEvent>,
    error: Option<ModelError>,
}

impl Talk {
    /// An empty conversation at a trust level.
    fn at(trust: Trust) -> Self {
        let tools: Vec<_> = builtin_tools().into_iter().filter(|tool| trust.permits(tool.trust)).collect();
        let request = ModelRequest {
            model: "offline/echo".parse().unwrap(),
            tools: tools.into(),
            system: Vec::new(),
            messages: Vec::new(),
            max_output: None,
            cache: CachePlan::NONE,
        };
        Self { model: OfflineModel::new(), request }
    }

    fn with_system(mut self, class: CacheClass, text: &str) -> Self {
        self.request.system.push(SystemBlock { text: text.into(), class, tokens: 0 });
        self
    }

    /// Adds a user message.
    fn say(&mut self, text: &str) -> &mut Self {
        self.push(RequestRole::User, vec![ContentBlock::text(text)])
    }

    /// Adds `text` as the result of every call of the last answer.
    fn give_back(&mut self, text: &str) -> &mut Self {
        self.give_back_as(text, false)
    }

    fn give_back_as(&mut self, text: &str, is_error: bool) -> &mut Self {
        let last = self.request.messages.last().map(|message| message.content.as_slice()).unwrap_or_default();
        let results = last.iter().filter_map(|block| match block {
            ContentBlock::ToolCall { id, .. } => {
                Some(ContentBlock::ToolResult { call: id.clone(), content: text.to_owned(), is_error })
            }
            _ => None,
        });
        let results = results.collect();
        self.push(RequestRole::Tool, results)
    }

    fn push(&mut self, role: RequestRole, content: Vec<ContentBlock>) -> &mut Self {
        self.request.messages.push(RequestMessage { role, content });
        self
    }

    /// The script of the next answer, without performing it.
    fn script(&self) -> AnswerScript {
        answer(&self.request)
    }

    /// Requests an answer without adding it to the conversation.
    async fn try_once(&self) -> Answer {
        let mut stream = self.model.call(Arc::new(self.request.clone()));
        let mut answer = Answer { events: Vec::new(), error: None };
        while let Some(event) = stream.next().await {
            assert!(answer.error.is_none() && answer.stop().is_none(), "nothing comes behind the end");
            match event {
                Ok(event) => answer.events.push(event),
                Err(error) => answer.error = Some(error),
            }
        }
        answer
    }

    /// Requests an answer and adds it to the conversation.
    async fn answer(&mut self) -> Answer {
        let answer = self.try_once().await;
        let mut content: Vec<ContentBlock> = Vec::new();
        if !answer.text().is_empty() {
            content.push(ContentBlock::text(answer.text()));
        }
        content.extend(answer.blocks().cloned());
        self.push(RequestRole::Assistant, content);
        answer
    }
}

impl Answer {
    fn text(&self) -> String {
        self.deltas().concat()
    }

    fn deltas(&self) -> Vec<&str> {
        let words = self.events.iter().filter_map(|event| match event {
            ModelEvent::Text(word) => Some(word.as_str()),
            _ => None,
        });
        words.collect()
    }

    fn blocks(&self) -> impl Iterator<Item = &ContentBlock> {
        self.events.iter().filter_map(|event| match event {
            ModelEvent::Block(block) => Some(block),
            _ => None,
        })
    }

    fn calls(&self) -> Vec<String> {
        let calls = self.blocks().filter_map(|block| match block {
            ContentBlock::ToolCall { name, input, .. } => Some(format!("{name} {input}")),
            _ => None,
        });
        calls.collect()
    }

    fn call_ids(&self) -> Vec<&CallId> {
        let ids = self.blocks().filter_map(|block| match block {
            ContentBlock::ToolCall { id, .. } => Some(id),
            _ => None,
        });
        ids.collect()
    }

    fn usage(&self) -> Usage {
        let mut reported = self.events.iter().filter_map(|event| match event {
            ModelEvent::Usage(usage) => Some(*usage),
            _ => None,
        });
        reported.next_back().unwrap()
    }

    fn stop(&self) -> Option<&StopReason> {
        self.events.iter().find_map(|event| match event {
            ModelEvent::Stopped(reason) => Some(reason),
            _ => None,
        })
    }

    /// A readable form: text, calls, stop reason.
    fn summary(&self) -> String {
        let mut lines = vec![self.text()];
        lines.extend(self.calls().into_iter().map(|call| format!("-> {call}")));
        lines.extend(self.stop().map(|reason| format!("[{reason:?}]")));
        lines.extend(self.error.as_ref().map(|error| format!("[{:?}] {error}", error.kind)));
        lines.retain(|line| !line.is_empty());
        lines.join("\n")
    }
}

/// A conversation with one message, at full trust.
fn asked(text: &str) -> Talk {
    let mut talk = Talk::at(Trust::Full);
    talk.say(text);
    talk
}
