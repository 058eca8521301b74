//! Diagnoses cache misses. A background task compares each answered request with the previous one of its conversation.
//! If the provider read less from its cache than possible, the task logs the reason. It stores hashes of requests,
//! never their text.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use foreword_core::cache::{
    CacheRules, Diagnosis, Evidence, KnownChanges, Previous, PreviousRequest, Reported, RequestPlaces,
    RequestShape, ShapeKey, diagnose, peek_into_request, shape_of_request,
};
use foreword_core::id::ConversationId;
use foreword_core::message::Usage;
use foreword_core::model::{Diagnostics, ModelRequest, breakpoints};
use foreword_core::models::ModelFacts;
use foreword_core::timestamp::Timestamp;
use foreword_observe::recorder::Recorder;
use foreword_observe::turn_fields::TurnFields;
use foreword_prompt::epoch::Reason;
use foreword_store::epochs::FrozenPrompt;
use foreword_store::error::StoreError;
use foreword_store::requests::LastRequest;
use foreword_store::store::Store;
use serde_json::Map;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::clock_and_rng::ClockAndRng;
use crate::shared::Shared;
use crate::turn::cache_miss_event::{self, MissLogFilter, reported, shape_key};
use crate::turn::model_call::Call;
use crate::turn::prepare::Prepared;

/// The timeout of waiting for queued comparisons on shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum number of queued requests.
const QUEUE_CAPACITY: usize = 256;

/// The handle to the background task.
#[derive(Default)]
pub(crate) struct CacheDiagnosisWorker {
    work: OnceLock<mpsc::Sender<Work>>,
}

enum Work {
    Compare(Box<Answered>),
    Flush(oneshot::Sender<()>),
}

/// An answered request with the data for its diagnosis.
pub(crate) struct Answered {
    names: TurnFields,
    request: Arc<ModelRequest>,
    at: Timestamp,
    /// `None` if the provider reported no usage.
    usage: Option<Usage>,
    answer_id: Option<String>,
    reason: Option<String>,
    epoch: Epoch,
    facts: Option<ModelFacts>,
    /// Whether it is the first request of the conversation.
    is_first: bool,
}

impl Answered {
    /// The request of `call`.
    pub(crate) fn new(call: &Call, prepared: &Prepared, names: TurnFields) -> Self {
        let stored = prepared.stored_epoch();
        Self {
            names,
            request: Arc::clone(&call.request),
            at: call.at,
            usage: call.usage,
            answer_id: call.answer_id.clone(),
            reason: call.miss.clone(),
            epoch: Epoch {
                number: stored.info.number,
                reason: stored.info.reason.clone(),
                prompt: stored.prompt.clone(),
            },
            facts: prepared.facts().cloned(),
            is_first: prepared.before.is_empty(),
        }
    }
}

/// The epoch of a request.
struct Epoch {
    number: u64,
    /// The reason for opening it.
    reason: Reason,
    prompt: FrozenPrompt,
}

/// The dependencies of the task.
struct Dependencies {
    store: Store,
    recorder: Recorder,
    clock_and_rng: Arc<dyn ClockAndRng>,
}

impl CacheDiagnosisWorker {
    /// Queues a request for diagnosis. If the queue is full, logs that the request is skipped.
    pub(crate) fn submit(&self, answered: Answered, shared: &Shared) {
        let work = self.work.get_or_init(|| {
            let (work, waiting) = mpsc::channel(QUEUE_CAPACITY);
            let (store, recorder) = (shared.store.clone(), shared.recorder.clone());
            let dependencies =
                Dependencies { store, recorder, clock_and_rng: Arc::clone(&shared.clock_and_rng) };
            tokio::spawn(compare_all(dependencies, waiting));
            work
        });
        if let Err(TrySendError::Full(Work::Compare(answered))) =
            work.try_send(Work::Compare(Box::new(answered)))
        {
            shared.recorder.record(answered.names.on(cache_miss_event::skipped_event(1, answered.at)));
        }
    }

    /// Waits until the queue is empty, or until the timeout.
    pub(crate) async fn settled(&self) {
        let Some(work) = self.work.get() else { return };
        let (done, settled) = oneshot::channel();
        let flushed = async {
            if work.send(Work::Flush(done)).await.is_ok() {
                // An error means that the task has ended.
                let _ = settled.await;
            }
        };
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, flushed).await;
    }
}

/// The state of the task.
#[derive(Default)]
struct Memory {
    key: Option<ShapeKey>,
    filter: MissLogFilter,
}

async fn compare_all(dependencies: Dependencies, mut waiting: mpsc::Receiver<Work>) {
    let mut seen = Memory::default();
    while let Some(work) = waiting.recv().await {
        match work {
            // A store error only omits the diagnosis.
            Work::Compare(answered) => drop(compare_one(&dependencies, &mut seen, *answered).await),
            Work::Flush(done) => drop(done.send(())),
        }
    }
}

async fn compare_one(
    dependencies: &Dependencies,
    memory: &mut Memory,
    answered: Answered,
) -> Result<(), StoreError> {
    let key = match &memory.key {
        Some(key) => key,
        None => memory.key.insert(shape_key(&dependencies.store, &*dependencies.clock_and_rng).await?),
    };
    let thread = answered.names.session.as_str();
    let shape = shape_of_request(key, &answered.request, &places(&answered));
    let before = dependencies.store.last_request(thread).await?;
    let Epoch { number, reason, prompt } = &answered.epoch;
    let epoch_before = before.as_ref().and_then(|before| before.epoch);
    let session = &answered.names.session;
    let known =
        cache_miss_event::known_changes(&dependencies.store, session, epoch_before, *number, reason, prompt)
            .await?;
    if let Some(reported) = answered.usage.map(reported) {
        let diagnosis = diagnose_one(&answered, &shape, before.as_ref(), reported, &known);
        let diagnosis = cache_miss_event::redact_other_trust(diagnosis);
        if memory.filter.should_log(session, &diagnosis) {
            let model = answered.request.model.as_str();
            let event = cache_miss_event::event(&diagnosis, model, answered.at, Map::new());
            dependencies.recorder.record(answered.names.on(event));
        }
    }
    let last = LastRequest {
        thread: thread.to_owned(),
        at: answered.at,
        // Serialising a shape does not fail.
        shape: serde_json::to_string(&shape).unwrap_or_default(),
        epoch: Some(answered.epoch.number),
        usage: answered.usage,
        answer_id: answered.answer_id.clone(),
    };
    dependencies.store.save_request(&last).await
}

fn diagnose_one(
    answered: &Answered,
    shape: &RequestShape,
    before: Option<&LastRequest>,
    reported: Reported,
    known: &KnownChanges,
) -> Diagnosis {
    let seen = before.and_then(|before| Some((RequestShape::from_stored(&before.shape)?, before)));
    let previous = match &seen {
        Some((shape, before)) => Previous::Seen(PreviousRequest {
            shape,
            at: before.at,
            reported: before.usage.map(cache_miss_event::reported),
        }),
        None if answered.is_first => Previous::First,
        None => Previous::NotSeen,
    };
    let request = &answered.request;
    let peek = |section: &_, range: Range<usize>| peek_into_request(request, section, range);
    diagnose(&Evidence {
        previous,
        current: shape,
        at: answered.at,
        last_touch: None,
        facts: answered.facts.as_ref(),
        rules: CacheRules::of(&request.model, answered.facts.as_ref()),
        reported,
        provider_reason: answered.reason.as_deref(),
        known,
        peek: Some(&peek),
    })
}

/// The positions of layers and cache breakpoints in the request.
fn places(answered: &Answered) -> RequestPlaces {
    let prompt = &answered.epoch.prompt;
    let blocks = prompt.blocks.iter().filter(|block| !block.range.is_empty());
    let layers = blocks.map(|block| {
        let inside = prompt
            .layers
            .iter()
            .filter(|layer| block.range.start <= layer.range.start && layer.range.end <= block.range.end);
        let range = |range: &Range<usize>| range.start - block.range.start..range.end - block.range.start;
        inside.map(|layer| (layer.id.clone(), range(&layer.range))).collect()
    });
    let breakpoints::BreakpointPositions { system, messages } = breakpoints::of_request(&answered.request);
    let five_minutes = foreword_core::price::CacheTtl::FiveMinutes;
    RequestPlaces {
        layers: layers.collect(),
        system,
        messages: messages.into_iter().map(|(message, _)| (message, five_minutes)).collect(),
    }
}

/// The diagnostics option for a provider that compares requests.
pub(crate) async fn diagnostics(store: &Store, conversation: &ConversationId) -> Diagnostics {
    // A store error only omits the id to compare with.
    let last = store.last_request(conversation.as_str()).await.ok().flatten();
    Diagnostics::Compare(last.and_then(|last| last.answer_id).map(Into::into))
}
