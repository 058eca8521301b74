//! A call to a model that is under way.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use foreword_core::message::Usage;
use foreword_core::model::{
    ErrorKind, ModelError, ModelEvent, ModelRequest, ModelStream, Note, RequestMessage,
};
use foreword_core::models::{ModelFacts, ModelId};
use foreword_core::money::Price;
use foreword_core::price::cost_of;
use foreword_core::timestamp::Timestamp;
use futures_util::StreamExt as _;
use tokio::time::Instant;

use crate::payload_log;
use crate::prepare::Prepared;
use crate::shared::Shared;

/// The most tokens one answer is given room for. Providers hold what is asked for against their limits, used or not.
const LONGEST_ANSWER: usize = 16_384;

/// A call under way. Dropping it ends it.
pub(crate) struct Call {
    stream: ModelStream,
    /// What came as soon as the request was sent.
    first: Option<Option<Result<ModelEvent, ModelError>>>,
    pub(crate) since: Instant,
    /// When it was sent.
    pub(crate) at: Timestamp,
    /// The provider's name for the answer.
    pub(crate) answer_id: Option<String>,
    /// Why the provider says its cache was not read.
    pub(crate) miss: Option<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) request: Arc<ModelRequest>,
    provider: String,
}

impl Call {
    /// Calls the model of `prepared`.
    pub(crate) fn start(
        shared: &Shared,
        prepared: &Prepared,
        request: ModelRequest,
    ) -> Result<Self, ModelError> {
        let provider = prepared.model.provider().to_owned();
        let model = shared.models.find(&prepared.model, &prepared.snapshot.config)?;
        let request = Arc::new(request);
        shared.recorder.payload(|| {
            payload_log::payload(payload_log::API_REQUEST, payload_log::request(&request), shared.now())
        });
        let stream = model.call(Arc::clone(&request));
        let (since, at) = (Instant::now(), shared.now());
        Ok(Self {
            stream,
            first: None,
            since,
            at,
            answer_id: None,
            miss: None,
            usage: None,
            request,
            provider,
        })
    }

    /// Hands the request over, and lets those work who send it. The answer is not waited for.
    pub(crate) async fn send_off(&mut self) {
        let stream = &mut self.stream;
        let polled = poll_fn(|context| Poll::Ready(stream.poll_next_unpin(context))).await;
        match polled {
            Poll::Ready(first) => self.first = Some(first),
            Poll::Pending => tokio::task::yield_now().await,
        }
    }

    /// What comes next. An answer that ends without saying so has broken off.
    pub(crate) async fn next(&mut self) -> Result<ModelEvent, ModelError> {
        let next = match self.first.take() {
            Some(first) => first,
            None => self.stream.next().await,
        };
        let event = match next {
            Some(event) => event?,
            None => return Err(self.broken("the answer ended before it was complete")),
        };
        match &event {
            ModelEvent::Usage(usage) => self.usage = Some(*usage),
            ModelEvent::Note(Note::Id(id)) => self.answer_id = Some(id.clone()),
            ModelEvent::Note(Note::CacheMiss(reason)) => self.miss = Some(reason.clone()),
            ModelEvent::Text(_) | ModelEvent::Block(_) | ModelEvent::Stopped(_) => {}
        }
        Ok(event)
    }

    /// An answer that is none.
    pub(crate) fn broken(&self, what: &str) -> ModelError {
        ModelError {
            kind: ErrorKind::BrokenStream,
            provider: self.provider.clone(),
            status: None,
            message: what.to_owned(),
            retry_after: None,
            request_id: None,
        }
    }
}

/// What a call to a model cost.
pub(crate) fn cost(facts: Option<&ModelFacts>, usage: Option<Usage>) -> Price {
    match usage {
        Some(usage) => cost_of(facts, &usage),
        // A provider that does not say what it took does not say that it took nothing.
        None => Price::Unknown,
    }
}

/// A request on the prompt of `prepared`.
pub(crate) fn request(prepared: &Prepared, messages: Vec<RequestMessage>) -> ModelRequest {
    let model: ModelId = prepared.model.clone();
    ModelRequest {
        model,
        tools: Arc::clone(&prepared.tools),
        system: prepared.system.clone(),
        messages,
        max_output: prepared.facts().and_then(|facts| facts.max_output).map(|most| most.min(LONGEST_ANSWER)),
        cache: prepared.cache.clone(),
    }
}
