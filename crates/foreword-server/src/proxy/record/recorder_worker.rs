//! The recorder task: logs queued exchanges and compares each with the previous request of its conversation.
//! `write_buffer` stores the durable part.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use foreword_agent::turn::cache_miss_event::{self, MissLogFilter};
use foreword_core::cache::RequestShape;
use foreword_core::id::ConversationId;
use foreword_core::money::Price;
use foreword_store::error::StoreError;
use foreword_workspace::config::Config;
use serde_json::Map;
use tokio::time::Instant;

use super::batch_queue::BatchReceiver;
use super::compare::{AnsweredRequest, Baseline};
use super::entries::{Entry, failure};
use super::exchange_recorder::{ExchangeRecorder, Work, facts, named_model};
use super::shape::ParsedRequest;
use super::shapes::{LastShape, Shapes};
use super::threads;
use super::write_buffer::WriteBuffer;
use crate::proxy::exchange::Exchange;

/// The task yields after processing this many bytes.
const YIELD_AFTER_BYTES: usize = 1024 * 1024;

/// Processes queued exchanges until all senders are dropped.
pub(super) async fn run(recorder: Arc<ExchangeRecorder>, mut queue: BatchReceiver<Work>) {
    let (mut worker, mut taken) = (RecorderWorker::default(), Vec::new());
    loop {
        let more = queue.receive(worker.buffer.due(), &mut taken).await;
        let mut processed = 0;
        for work in taken.drain(..) {
            match work {
                Work::Note(exchange) => {
                    let size = exchange.request.len();
                    recorder.queued_bytes.fetch_sub(size, Ordering::Relaxed);
                    worker.process(&recorder, &exchange).await;
                    processed += size;
                }
                Work::Flush(done) => {
                    worker.flush(&recorder).await;
                    // Fails if the waiting side has given up.
                    let _ = done.send(());
                }
            }
            if processed > YIELD_AFTER_BYTES {
                processed = 0;
                tokio::task::yield_now().await;
            }
        }
        if worker.buffer.due().is_some_and(|due| due <= Instant::now()) {
            worker.flush(&recorder).await;
        }
        if !more {
            break;
        }
    }
    worker.flush(&recorder).await;
}

/// The state of the task.
#[derive(Default)]
struct RecorderWorker {
    shapes: Shapes,
    news: MissLogFilter,
    buffer: WriteBuffer,
}

/// The cached previous requests.
struct PreviousShapes {
    /// Of the same conversation.
    here: Option<Arc<LastShape>>,
    /// Of another one, if there is none of the same.
    elsewhere: Option<Arc<LastShape>>,
}

impl PreviousShapes {
    fn any(&self) -> Option<&LastShape> {
        self.here.as_deref().or(self.elsewhere.as_deref())
    }
}

impl RecorderWorker {
    async fn process(&mut self, recorder: &ExchangeRecorder, exchange: &Exchange) {
        let config = recorder.config();
        let request = ParsedRequest::read(exchange.dialect, &exchange.request);
        let model = named_model(exchange, request.as_ref());
        let facts = facts(&config, exchange, model.as_deref());
        let facts = facts.as_deref();
        let request = request.filter(|_| exchange.route.is_turn());
        let joined = match &request {
            Some(request) => conversation(recorder, exchange, request).await,
            None => None,
        };
        let id = joined.as_ref().map(|(id, _)| id);
        recorder.record_events(exchange, id, model.as_deref(), &config, facts);
        let (Some(request), Some((id, is_new)), Some(model)) = (&request, &joined, &model) else { return };
        self.buffer.add(id, exchange, WriteBuffer::flush_interval(&recorder.store));
        // A failed request leaves nothing in the provider's cache.
        if failure(exchange).is_none()
            && let Ok(keys) = recorder.keys().await
        {
            let known = self.previous_shapes(exchange, id, model);
            let shape = request.shape(&keys.chain, model, known.any().map(|last| &last.shape));
            let answered =
                AnsweredRequest { exchange, request, conversation: id, model, facts, shape: &shape };
            // If the store fails, the request is not diagnosed.
            drop(self.compare(recorder, &answered, known, *is_new, &config).await);
            self.remember(exchange, id, shape);
        }
    }

    fn previous_shapes(&self, exchange: &Exchange, id: &ConversationId, model: &str) -> PreviousShapes {
        let here = self.shapes.of(id);
        let is_first = here.is_none();
        let elsewhere = is_first.then(|| self.shapes.latest_to_model(exchange.payer.name(), model));
        PreviousShapes { here, elsewhere: elsewhere.flatten() }
    }

    async fn compare(
        &mut self,
        recorder: &ExchangeRecorder,
        answered: &AnsweredRequest<'_>,
        known: PreviousShapes,
        is_new: bool,
        config: &Config,
    ) -> Result<(), StoreError> {
        let AnsweredRequest { exchange, conversation, model, .. } = answered;
        let PreviousShapes { mut here, elsewhere } = known;
        // In a shared store another node may have served a later request.
        if (here.is_none() && !is_new) || recorder.store.is_shared() {
            let stored = recorder.store.last_request(conversation.as_str()).await?.and_then(LastShape::read);
            let newer = stored.filter(|stored| here.as_ref().is_none_or(|here| stored.at > here.at));
            here = newer.map(Arc::new).or(here);
        }
        // A later request was answered first, so the cache state is unknown.
        if here.as_ref().is_some_and(|last| last.at > exchange.began) {
            return Ok(());
        }
        let before = match (&here, &elsewhere) {
            (Some(here), _) => Baseline::SameConversation(here),
            (None, Some(elsewhere)) => Baseline::OtherConversation(elsewhere),
            (None, None) => Baseline::None,
        };
        let Some(diagnosis) = answered.diagnose(&recorder.store, before).await? else { return Ok(()) };
        if self.news.should_log(conversation, &diagnosis) {
            let mut more = Map::new();
            more.insert("requestId".to_owned(), exchange.request_id.as_str().into());
            if matches!(before, Baseline::OtherConversation(_)) {
                more.insert("compared_with".to_owned(), "another conversation".into());
            }
            let (conversation, model) = (Some(*conversation), Some(*model));
            let agent = &config.agent.name;
            let entry = Entry { exchange, conversation, model, price: Price::Unknown, agent };
            let event = cache_miss_event::event(&diagnosis, answered.model, exchange.began, more);
            recorder.recorder.record(entry.on(event));
        }
        Ok(())
    }

    fn remember(&mut self, exchange: &Exchange, id: &ConversationId, shape: RequestShape) {
        if self.shapes.of(id).is_some_and(|last| last.at > exchange.began) {
            return;
        }
        let last = LastShape {
            shape,
            at: exchange.began,
            epoch: exchange.epoch,
            usage: exchange.summary.usage,
            answer_id: exchange.summary.answer_id.clone(),
        };
        self.shapes.insert(exchange.payer.name(), id, last);
    }

    /// Stores the buffered conversations, and reports the number of undiagnosed exchanges.
    async fn flush(&mut self, recorder: &ExchangeRecorder) {
        let undiagnosed = recorder.undiagnosed.swap(0, Ordering::Relaxed);
        if undiagnosed > 0 {
            recorder
                .recorder
                .record(cache_miss_event::skipped_event(undiagnosed, recorder.clock_and_rng.timestamp()));
        }
        let agent = &recorder.config().agent.name;
        self.buffer.flush(&recorder.store, &recorder.threads, &self.shapes, agent).await;
    }
}

/// The conversation of a request, and whether it is new.
async fn conversation(
    recorder: &ExchangeRecorder,
    exchange: &Exchange,
    request: &ParsedRequest<'_>,
) -> Option<(ConversationId, bool)> {
    if let Some(decided) = &exchange.conversation {
        return Some((decided.clone(), false));
    }
    let keys = recorder.keys().await.ok()?;
    let payer = exchange.payer.name();
    let chain = threads::chain(&keys.chain, exchange.dialect, request);
    let named = match exchange.client_name.as_deref() {
        // An invalid name is ignored, since the request has been answered.
        Some(name) => recorder.named(payer, name).await.ok(),
        None => None,
    };
    // A named conversation may be older than the cache.
    let may_be_older = named.is_some();
    let joined = recorder.join(payer, chain, named).await.ok()?;
    Some((joined.conversation, joined.is_new && !may_be_older))
}
