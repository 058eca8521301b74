//! One HTTP call. Sends the request on the first poll, yields events as they arrive, and closes the connection when it
//! is dropped early.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::model::{ModelError, ModelEvent, ModelRequest};
use reqwest::Response;
use tokio::time::{Instant, timeout, timeout_at};

use super::HttpModel;
use super::failure::Head;
use crate::dialect::{Decoded, Decoder};

/// The maximum number of bytes read from an error response.
const MAX_ERROR_BODY: usize = 64 << 10;

/// How long and how many bytes to read after the end of an answer, so that the connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_DRAIN: usize = 64 << 10;

type Item = Result<ModelEvent, ModelError>;

/// A call in progress.
pub(super) struct Call {
    model: HttpModel,
    state: State,
    ready: VecDeque<Item>,
}

enum State {
    Unsent(Arc<ModelRequest>),
    Reading(Box<ReadState>),
    Ended,
}

struct ReadState {
    response: Response,
    head: Head,
    decoder: Decoder,
    /// The deadline for the first byte; `None` after it has arrived.
    first_byte_by: Option<Instant>,
}

impl Call {
    pub(super) fn new(model: HttpModel, request: Arc<ModelRequest>) -> Self {
        Self { model, state: State::Unsent(request), ready: VecDeque::new() }
    }

    /// The next item and the remaining call.
    pub(super) async fn next(mut self) -> Option<(Item, Self)> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some((item, self));
            }
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return None,
                State::Unsent(request) => match self.send(&request).await {
                    Ok(reading) => self.state = State::Reading(Box::new(reading)),
                    Err(error) => self.ready.push_back(Err(error)),
                },
                State::Reading(reading) => self.read(reading).await,
            }
        }
    }

    async fn send(&self, request: &ModelRequest) -> Result<ReadState, ModelError> {
        let HttpModel { client, url, provider, reporter } = &self.model;
        // One deadline for connecting, sending and waiting for the first byte.
        let limit = provider.timeouts.first_byte;
        let first_byte_by = Instant::now() + limit;
        let sending = client.post(url.clone()).body(self.model.encode(request)).send();
        let response = match timeout_at(first_byte_by, sending).await {
            Err(_) => return Err(reporter.timed_out(limit, None)),
            Ok(Err(error)) => return Err(reporter.unreachable(&error)),
            Ok(Ok(response)) => response,
        };
        let head = reporter.head(response.status().as_u16(), response.headers());
        if !response.status().is_success() {
            let body = error_body(response, provider.timeouts.idle).await;
            return Err(reporter.refused(&head, &body));
        }
        let decoder = Decoder::new(provider.dialect, request);
        Ok(ReadState { response, head, decoder, first_byte_by: Some(first_byte_by) })
    }

    async fn read(&mut self, mut reading: Box<ReadState>) {
        let HttpModel { provider, reporter, .. } = &self.model;
        let ReadState { response, head, decoder, first_byte_by } = &mut *reading;
        let (until, limit) = match first_byte_by {
            Some(until) => (*until, provider.timeouts.first_byte),
            None => (Instant::now() + provider.timeouts.idle, provider.timeouts.idle),
        };
        let failure = match timeout_at(until, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                let decoded = decoder.push(&bytes);
                return self.take(reading, decoded);
            }
            Ok(Ok(None)) => None,
            Ok(Err(error)) => Some(reporter.broken(&error, head)),
            Err(_) => Some(reporter.timed_out(limit, Some(head))),
        };
        match failure {
            // The answer was complete.
            Some(_) if decoder.is_complete() => {}
            Some(error) => return self.ready.push_back(Err(error)),
            None => {}
        }
        let decoded = decoder.finish();
        self.report(decoded, &reading.head);
    }

    /// Queues the decoded items and continues reading unless they contain the end.
    fn take(&mut self, mut reading: Box<ReadState>, decoded: Decoded) {
        reading.first_byte_by = None;
        self.report(decoded, &reading.head);
        if !reading.decoder.has_ended() {
            self.state = State::Reading(reading);
        } else if self.ready.iter().all(Result::is_ok) {
            tokio::spawn(drain(reading.response));
        }
    }

    fn report(&mut self, decoded: Decoded, head: &Head) {
        let reporter = &self.model.reporter;
        self.ready
            .extend(decoded.into_iter().map(|item| item.map_err(|fault| reporter.invalid(&fault, head))));
    }
}

/// Reads the body of an error response, up to the limit.
async fn error_body(mut response: Response, limit: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Ok(Some(bytes))) = timeout(limit, response.chunk()).await {
        body.extend_from_slice(&bytes);
        if body.len() > MAX_ERROR_BODY {
            break;
        }
    }
    body
}

/// Reads the few bytes after the end of an answer; otherwise the connection cannot be reused.
async fn drain(mut response: Response) {
    let reading = async {
        let mut read = 0;
        while let Ok(Some(bytes)) = response.chunk().await {
            read += bytes.len();
            if read > MAX_DRAIN {
                break;
            }
        }
    };
    let _ = timeout(DRAIN_TIMEOUT, reading).await;
}
