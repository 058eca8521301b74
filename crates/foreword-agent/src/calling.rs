//! A call to a model that is under way.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use foreword_core::message::Usage;
use foreword_core::model::{
    ErrorKind, ModelError, ModelEvent, ModelRequest, ModelStream, Note, RequestMessage, StopReason,
};
use foreword_core::models::{ModelFacts, ModelId};
use foreword_core::money::{Money, Price};
use foreword_core::price::cost_of;
use foreword_core::timestamp::Timestamp;
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use crate::output_limit::{Admitted, DEFAULT_MAX_TOKENS, OutputLimit};
use crate::payload_log;
use crate::prepare::Prepared;
use crate::shared::Shared;

/// A call under way. Dropping it ends it.
pub(crate) struct Call {
    stream: ModelStream,
    limit: OutputLimit,
    /// Whether the answer was ended here because it exceeded its limit.
    is_cut: bool,
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
    /// What the provider itself says it charges.
    reported_cost: Option<Money>,
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
            limit: OutputLimit::of(&request),
            is_cut: false,
            first: None,
            since,
            at,
            answer_id: None,
            miss: None,
            usage: None,
            reported_cost: None,
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

    /// What comes next. An answer that ends without saying so has broken off; one that exceeds its limit ends there, and its
    /// connection is closed.
    pub(crate) async fn next(&mut self) -> Result<ModelEvent, ModelError> {
        if self.is_cut {
            return Ok(ModelEvent::Stopped(StopReason::MaxTokens));
        }
        let event = self.receive().await?;
        match self.limit.admit(event) {
            Admitted::Whole(event) => Ok(event),
            Admitted::Last(event) => {
                self.stream = Box::pin(stream::empty());
                self.is_cut = true;
                Ok(event.unwrap_or(ModelEvent::Stopped(StopReason::MaxTokens)))
            }
        }
    }

    async fn receive(&mut self) -> Result<ModelEvent, ModelError> {
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
            ModelEvent::Note(Note::Cost(cost)) => self.reported_cost = Some(*cost),
            ModelEvent::Text(_) | ModelEvent::Block(_) | ModelEvent::Stopped(_) => {}
        }
        Ok(event)
    }

    /// What is wrong with an answer that counts all the same.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        self.is_cut
            .then_some("the provider sent far more than the tokens that were requested; the call was ended")
    }

    /// What it cost so far: what the provider says it charges, else what its usage costs by the prices in `facts`.
    pub(crate) fn price(&self, facts: Option<&ModelFacts>) -> Price {
        match (self.reported_cost, self.usage) {
            (Some(cost), _) => Price::Known(cost),
            (None, Some(usage)) => cost_of(facts, &usage),
            // A provider that does not say what it took does not say that it took nothing.
            (None, None) => Price::Unknown,
        }
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

/// A request on the prompt of `prepared`.
pub(crate) fn request(prepared: &Prepared, messages: Vec<RequestMessage>) -> ModelRequest {
    let model: ModelId = prepared.model.clone();
    ModelRequest {
        model,
        tools: Arc::clone(&prepared.tools),
        system: prepared.system.clone(),
        messages,
        max_output: prepared
            .facts()
            .and_then(|facts| facts.max_output)
            .map(|most| most.min(DEFAULT_MAX_TOKENS)),
        cache: prepared.cache.clone(),
    }
}
