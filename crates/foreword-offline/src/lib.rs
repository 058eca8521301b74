//! The offline model. It answers by fixed rules, needs no key and no network, and is not a language model. It calls the
//! tools of a request and simulates any failure on demand; see `docs/offline-model.md`.
//!
//! [`answer`] is pure: the same request gives the same [`AnswerScript`]. [`OfflineModel`] performs the script. Its only
//! state are the attempts of failing directives and the prefixes of earlier requests, for a simulated prompt cache.

mod answer;
mod attempts;
mod directive;
mod directive_script;
mod findings;
mod intent;
mod keywords;
mod outline;
mod own_turn;
mod perform;
mod prefix_cache;
mod reply;
mod request_state;
mod script;
mod speaker_context;
mod summary;
#[cfg(test)]
mod tests;
mod text_format;
mod user_message;

use std::collections::VecDeque;
use std::future;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::model::{Model, ModelError, ModelEvent, ModelRequest, ModelStream};
use futures_util::stream;
use parking_lot::Mutex;

pub use answer::answer;
use perform::{ModelMemory, Step, steps};
pub use script::{AnswerPart, AnswerScript, ReportedUsage, ScriptedFailure};

/// The model `offline/echo`, and every other model of the provider `offline`.
///
/// ```
/// use std::sync::Arc;
/// use foreword_core::message::ContentBlock;
/// use foreword_core::model::{CachePlan, Model, ModelEvent, ModelRequest, RequestMessage, RequestRole};
/// use foreword_offline::OfflineModel;
/// use futures_util::StreamExt;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let request = ModelRequest {
///     model: "offline/echo".parse().unwrap(),
///     tools: Arc::new([]),
///     system: Vec::new(),
///     messages: vec![RequestMessage {
///         role: RequestRole::User,
///         content: vec![ContentBlock::text("!say The ferry leaves at noon.")],
///     }],
///     max_output: None,
///     cache: CachePlan::NONE,
/// };
/// let events: Vec<_> = OfflineModel::new().call(Arc::new(request)).collect().await;
/// let words = events.iter().filter_map(|event| match event {
///     Ok(ModelEvent::Text(word)) => Some(word.as_str()),
///     _ => None,
/// });
/// assert_eq!(words.collect::<Vec<_>>(), ["The ", "ferry ", "leaves ", "at ", "noon."]);
/// # });
/// ```
#[derive(Debug, Clone, Default)]
pub struct OfflineModel {
    memory: Arc<Mutex<ModelMemory>>,
    pause: Duration,
}

impl OfflineModel {
    /// A model without pauses.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Pauses between words, so that the streaming is visible. `!slow` overrides it.
    #[must_use]
    pub fn with_pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    fn prepare(&self, request: &ModelRequest) -> VecDeque<Step> {
        let mut script = answer(request);
        script.pause.get_or_insert(self.pause);
        let mut memory = self.memory.lock();
        steps(request, &script, &mut memory)
    }
}

impl Model for OfflineModel {
    fn call(&self, request: Arc<ModelRequest>) -> ModelStream {
        let unread = StreamState::Unread(self.clone(), request);
        Box::pin(stream::unfold(unread, next))
    }
}

/// The state of an answer stream.
enum StreamState {
    Unread(OfflineModel, Arc<ModelRequest>),
    Begun(VecDeque<Step>),
}

async fn next(state: StreamState) -> Option<(Result<ModelEvent, ModelError>, StreamState)> {
    let mut steps = match state {
        StreamState::Unread(model, request) => model.prepare(&request),
        StreamState::Begun(steps) => steps,
    };
    loop {
        match steps.pop_front()? {
            Step::Give(event) => {
                // Yield, so that a long answer without pauses does not block other tasks.
                tokio::task::yield_now().await;
                return Some((event, StreamState::Begun(steps)));
            }
            Step::Wait(time) => tokio::time::sleep(time).await,
            Step::Hang => future::pending().await,
        }
    }
}
