//! Records proxied requests: usage, cost and cache diagnosis, in the background after the response. Stores keyed
//! hashes, never the content.

mod batch_queue;
mod compare;
mod entries;
mod estimate;
mod exchange_recorder;
mod recorder_worker;
mod shape;
mod shapes;
mod slices;
mod tap;
mod threads;
mod write_buffer;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use foreword_core::id::ConversationId;
use foreword_core::provider::WireDialect;
use foreword_store::conversations::NewConversation;
use foreword_store::proxied::PROXY_SITUATION;
use tokio::sync::oneshot;

pub(crate) use self::tap::{AnswerSummary, Tap};

use self::batch_queue::BatchSender;
use self::exchange_recorder::{ExchangeRecorder, Work};
use self::shape::ParsedRequest;
use super::body::RequestBody;
use super::exchange::{Exchange, Payer};
use crate::app::App;
use crate::problem::Problem;

const QUEUE_CAPACITY: usize = 4_096;
/// How long a stopping server waits for queued exchanges.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The recorder of proxied requests. One per server.
#[derive(Debug, Default)]
pub(crate) struct Recording(OnceLock<Running>);

#[derive(Debug)]
struct Running {
    recorder: Arc<ExchangeRecorder>,
    queue: BatchSender<Work>,
}

impl Recording {
    /// A reader for a streamed response.
    pub(crate) fn tap(&self, dialect: WireDialect, is_stream: bool) -> Tap {
        Tap::new(dialect, is_stream)
    }

    /// Queues an exchange. Never blocks: if the queue is full, the exchange is logged without a diagnosis.
    pub(crate) fn note(&self, app: &App, exchange: Exchange) {
        let Running { recorder, queue } = self.running(app);
        let Some(exchange) = recorder.reserve(exchange) else { return };
        if let Err(work) = queue.send(Work::Note(Box::new(exchange)), recorder.queued_bytes()) {
            recorder.record_undiagnosed(work);
        }
    }

    /// The conversation that a request continues: the one the client names within the payer's scope, else the payer's
    /// conversation with the same beginning, else a new one, which is created in the store.
    pub(crate) async fn thread(
        &self,
        app: &App,
        payer: &Payer,
        dialect: WireDialect,
        body: &RequestBody<'_>,
        named: Option<&str>,
    ) -> Result<ConversationId, Problem> {
        let recorder = &self.running(app).recorder;
        let keys = recorder.keys().await?;
        let chain = threads::chain(&keys.chain, dialect, &ParsedRequest::of(dialect, body.clone()));
        let bad_id = |error: foreword_core::id::BadId| Problem::bad_request("invalid_id", error.to_string());
        let named = match named {
            Some(name) => Some(recorder.named(payer.name(), name).await.map_err(bad_id)?),
            None => None,
        };
        let joined = recorder.join(payer.name(), chain, named).await.map_err(bad_id)?;
        if joined.is_new {
            let agent = app.config().agent.name.to_string();
            let new = NewConversation {
                user: payer.user().map(str::to_owned),
                channel: Some(entries::channel(payer)),
                ..NewConversation::new(joined.conversation.clone(), agent, PROXY_SITUATION, app.now())
            };
            app.store.create_conversation(new).await?;
        }
        Ok(joined.conversation)
    }

    /// Flushes the queue, with a timeout in case the store fails.
    pub(crate) async fn stop(&self) {
        let Some(Running { queue, .. }) = self.0.get() else { return };
        let (done, flushed) = oneshot::channel();
        let written = async {
            if queue.send_now(Work::Flush(done)).await {
                // Fails if the task has ended.
                let _ = flushed.await;
            }
        };
        let _ = tokio::time::timeout(STOP_TIMEOUT, written).await;
    }

    fn running(&self, app: &App) -> &Running {
        self.0.get_or_init(|| {
            let (queue, receiver) = batch_queue::batch_queue(QUEUE_CAPACITY);
            let recorder = Arc::new(ExchangeRecorder::new(app));
            app.runtime.spawn(recorder_worker::run(Arc::clone(&recorder), receiver));
            Running { recorder, queue }
        })
    }
}
