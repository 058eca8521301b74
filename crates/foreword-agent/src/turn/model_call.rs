//! A streaming model call.

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

use crate::shared::Shared;
use crate::turn::output_limit::{Admitted, DEFAULT_MAX_TOKENS, OutputLimit};
use crate::turn::payload_log;
use crate::turn::prepare::Prepared;

/// A running model call. Dropping it closes the connection.
pub(crate) struct Call {
    stream: ModelStream,
    limit: OutputLimit,
    /// Whether the answer was truncated at its output limit.
    is_truncated: bool,
    /// The first item of the stream, if it was ready immediately.
    first: Option<Option<Result<ModelEvent, ModelError>>>,
    pub(crate) since: Instant,
    /// When it was sent.
    pub(crate) at: Timestamp,
    /// The provider's id of the answer.
    pub(crate) answer_id: Option<String>,
    /// The reason for a cache miss, as reported by the provider.
    pub(crate) miss: Option<String>,
    pub(crate) usage: Option<Usage>,
    /// The cost reported by the provider.
    reported_cost: Option<Money>,
    pub(crate) request: Arc<ModelRequest>,
    provider: String,
}

impl Call {
    /// Starts a call to the model of `prepared`.
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
            is_truncated: false,
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

    /// Polls the stream once, so that the request is sent. Does not wait for the answer.
    pub(crate) async fn send_off(&mut self) {
        let stream = &mut self.stream;
        let polled = poll_fn(|context| Poll::Ready(stream.poll_next_unpin(context))).await;
        match polled {
            Poll::Ready(first) => self.first = Some(first),
            Poll::Pending => tokio::task::yield_now().await,
        }
    }

    /// The next event. A stream that ends without a stop event is an error. At the output limit the answer ends and the
    /// connection is closed.
    pub(crate) async fn next(&mut self) -> Result<ModelEvent, ModelError> {
        if self.is_truncated {
            return Ok(ModelEvent::Stopped(StopReason::MaxTokens));
        }
        let event = self.receive().await?;
        match self.limit.admit(event) {
            Admitted::Whole(event) => Ok(event),
            Admitted::Last(event) => {
                self.stream = Box::pin(stream::empty());
                self.is_truncated = true;
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
            ModelEvent::Text(_)
            | ModelEvent::Block(_)
            | ModelEvent::Stopped(_)
            | ModelEvent::Note(Note::Buffered(_)) => {}
        }
        Ok(event)
    }

    /// A problem of an answer that is used nevertheless.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        self.is_truncated
            .then_some("the provider sent far more than the requested tokens; the call was aborted")
    }

    /// The cost so far: as reported by the provider, or computed from the usage and the prices in `facts`.
    pub(crate) fn price(&self, facts: Option<&ModelFacts>) -> Price {
        match (self.reported_cost, self.usage) {
            (Some(cost), _) => Price::Known(cost),
            (None, Some(usage)) => cost_of(facts, &usage),
            // Missing usage does not mean zero usage.
            (None, None) => Price::Unknown,
        }
    }

    /// The error for an incomplete answer.
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

/// A model request with the prompt of `prepared`.
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
