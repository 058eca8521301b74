//! The offline model: answers by fixed rules, needs no key and no network, and is not a language model. It reads a
//! request as any model would, calls the tools it is offered, and acts out any failure on demand; `docs/offline-model.md`
//! lists how.
//!
//! [`answer`] decides, purely: the same request gives the same [`Script`]. [`OfflineModel`] performs it. Between requests
//! it remembers two things only: how often a directive that fails a few times has been tried, and which prefixes it has
//! read, to report a simulated prompt cache.

mod answer;
mod attempts;
mod directed;
mod directive;
mod findings;
mod intent;
mod keywords;
mod outline;
mod own_life;
mod own_words;
mod perform;
mod prefix_cache;
mod reading;
mod reply;
mod script;
mod shown;
mod summary;
#[cfg(test)]
mod tests;
mod whereabouts;

use std::collections::VecDeque;
use std::future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foreword_core::model::{Model, ModelError, ModelEvent, ModelRequest, ModelStream};
use futures_util::stream;

pub use answer::answer;
use perform::{Remembered, Step, steps};
pub use script::{Failure, Piece, ReportedUsage, Script};

/// The model behind `offline/echo`, and behind every other name of the provider `offline`.
///
/// ```
/// use std::sync::Arc;
/// use foreword_core::message::ContentBlock;
/// use foreword_core::model::{CachePlan, Model, ModelEvent, ModelRequest, RequestMessage, RequestRole};
/// use foreword_providers::offline::OfflineModel;
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
    remembered: Arc<Mutex<Remembered>>,
    pause: Duration,
}

impl OfflineModel {
    /// A model that answers as fast as it can.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with a pause between two words, so that a person can see them come. `!slow` sets another.
    #[must_use]
    pub fn with_pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    fn prepare(&self, request: &ModelRequest) -> VecDeque<Step> {
        let mut script = answer(request);
        script.pause.get_or_insert(self.pause);
        // What is remembered is whole even if a thread died while it held it: at worst a count is one too low.
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        steps(request, &script, &mut remembered)
    }
}

impl Model for OfflineModel {
    fn call(&self, request: Arc<ModelRequest>) -> ModelStream {
        let unread = Reading::Unread(self.clone(), request);
        Box::pin(stream::unfold(unread, next))
    }
}

/// How far a stream has been read.
enum Reading {
    Unread(OfflineModel, Arc<ModelRequest>),
    Begun(VecDeque<Step>),
}

async fn next(reading: Reading) -> Option<(Result<ModelEvent, ModelError>, Reading)> {
    let mut steps = match reading {
        Reading::Unread(model, request) => model.prepare(&request),
        Reading::Begun(steps) => steps,
    };
    loop {
        match steps.pop_front()? {
            Step::Give(event) => {
                // A long answer without pauses must not keep others on the same thread from their turn.
                tokio::task::yield_now().await;
                return Some((event, Reading::Begun(steps)));
            }
            Step::Wait(time) => tokio::time::sleep(time).await,
            Step::Hang => future::pending().await,
        }
    }
}
