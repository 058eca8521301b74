//! Watches what the provider's cache gives. Each request is compared with the one before it in its conversation, once it
//! has been answered and off the turn's way; where less was read than could have been, the reason becomes an event. Keeps
//! hashes of requests and none of their text.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use foreword_core::cache::{
    CacheRules, Diagnosis, Evidence, Known, Previous, Reported, RequestPlaces, RequestShape, Seen, ShapeKey,
    diagnose, peek_into_request, shape_of_request,
};
use foreword_core::id::ConversationId;
use foreword_core::message::Usage;
use foreword_core::model::{Diagnostics, ModelRequest, marks};
use foreword_core::models::ModelFacts;
use foreword_core::timestamp::Timestamp;
use foreword_observe::names::TurnNames;
use foreword_observe::recorder::Recorder;
use foreword_prompt::epoch::Reason;
use foreword_store::epochs::FrozenPrompt;
use foreword_store::error::StoreError;
use foreword_store::requests::LastRequest;
use foreword_store::store::Store;
use serde_json::Map;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::cache_miss::{self, News, reported, shape_key};
use crate::calling::Call;
use crate::prepare::Prepared;
use crate::shared::Shared;
use crate::surroundings::Surroundings;

/// How long the end of an agent waits for what is to be looked at.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many requests may wait to be looked at.
const WAITING: usize = 256;

/// Compares requests, in a task of its own.
#[derive(Default)]
pub(crate) struct CacheWatch {
    work: OnceLock<mpsc::Sender<Work>>,
}

enum Work {
    Compare(Box<Answered>),
    Flush(oneshot::Sender<()>),
}

/// A request that was answered, with all there is to go by.
pub(crate) struct Answered {
    names: TurnNames,
    request: Arc<ModelRequest>,
    at: Timestamp,
    /// `None` if the provider did not say what it took.
    usage: Option<Usage>,
    answer_id: Option<String>,
    reason: Option<String>,
    epoch: Epoch,
    facts: Option<ModelFacts>,
    /// Whether the conversation began with it.
    is_first: bool,
}

impl Answered {
    /// The request of `call`.
    pub(crate) fn new(call: &Call, prepared: &Prepared, names: TurnNames) -> Self {
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

/// The epoch a request was sent in.
struct Epoch {
    number: u64,
    /// Why it was opened.
    reason: Reason,
    prompt: FrozenPrompt,
}

/// What the task needs of the agent.
struct Needs {
    store: Store,
    recorder: Recorder,
    surroundings: Arc<dyn Surroundings>,
}

impl CacheWatch {
    /// Looks at a request when there is time. If too many wait, it is not looked at, and its event says so.
    pub(crate) fn look_at(&self, answered: Answered, shared: &Shared) {
        let work = self.work.get_or_init(|| {
            let (work, waiting) = mpsc::channel(WAITING);
            let (store, recorder) = (shared.store.clone(), shared.recorder.clone());
            let needs = Needs { store, recorder, surroundings: Arc::clone(&shared.surroundings) };
            tokio::spawn(compare_all(needs, waiting));
            work
        });
        if let Err(TrySendError::Full(Work::Compare(answered))) =
            work.try_send(Work::Compare(Box::new(answered)))
        {
            shared.recorder.record(answered.names.on(cache_miss::not_looked_at(1, answered.at)));
        }
    }

    /// Waits until all that was to be looked at has been, but not for a store that is away.
    pub(crate) async fn settled(&self) {
        let Some(work) = self.work.get() else { return };
        let (done, settled) = oneshot::channel();
        let looked = async {
            if work.send(Work::Flush(done)).await.is_ok() {
                // An error is a task that is gone.
                let _ = settled.await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, looked).await;
    }
}

/// What the task remembers.
#[derive(Default)]
struct Memory {
    key: Option<ShapeKey>,
    news: News,
}

async fn compare_all(needs: Needs, mut waiting: mpsc::Receiver<Work>) {
    let mut seen = Memory::default();
    while let Some(work) = waiting.recv().await {
        match work {
            // A store that is away leaves a request without a reason, and nothing else.
            Work::Compare(answered) => drop(compare_one(&needs, &mut seen, *answered).await),
            Work::Flush(done) => drop(done.send(())),
        }
    }
}

async fn compare_one(needs: &Needs, memory: &mut Memory, answered: Answered) -> Result<(), StoreError> {
    let key = match &memory.key {
        Some(key) => key,
        None => memory.key.insert(shape_key(&needs.store, &*needs.surroundings).await?),
    };
    let thread = answered.names.session.as_str();
    let shape = shape_of_request(key, &answered.request, &places(&answered));
    let before = needs.store.last_request(thread).await?;
    let Epoch { number, reason, prompt } = &answered.epoch;
    let epoch_before = before.as_ref().and_then(|before| before.epoch);
    let session = &answered.names.session;
    let known = cache_miss::known(&needs.store, session, epoch_before, (*number, reason, prompt)).await?;
    if let Some(reported) = answered.usage.map(reported) {
        let diagnosis = judge(&answered, (&shape, before.as_ref()), (reported, &known));
        let diagnosis = cache_miss::fit_for_this_trust(diagnosis);
        if memory.news.is_worth_telling(session, &diagnosis) {
            let model = answered.request.model.as_str();
            let event = cache_miss::event(&diagnosis, model, answered.at, Map::new());
            needs.recorder.record(answered.names.on(event));
        }
    }
    let last = LastRequest {
        thread: thread.to_owned(),
        at: answered.at,
        // A shape is numbers and texts.
        shape: serde_json::to_string(&shape).unwrap_or_default(),
        epoch: Some(answered.epoch.number),
        usage: answered.usage,
        answer_id: answered.answer_id.clone(),
    };
    needs.store.remember_request(&last).await
}

fn judge(
    answered: &Answered,
    (shape, before): (&RequestShape, Option<&LastRequest>),
    (reported, known): (Reported, &Known),
) -> Diagnosis {
    let seen = before.and_then(|before| Some((RequestShape::from_stored(&before.shape)?, before)));
    let previous = match &seen {
        Some((shape, before)) => {
            Previous::Seen(Seen { shape, at: before.at, reported: before.usage.map(cache_miss::reported) })
        }
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

/// Where the layers lie in the blocks of the request, and where it was marked.
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
    let marks::Marks { system, messages } = marks::of_request(&answered.request);
    let five_minutes = foreword_core::price::CacheTtl::FiveMinutes;
    RequestPlaces {
        layers: layers.collect(),
        system,
        messages: messages.into_iter().map(|(message, _)| (message, five_minutes)).collect(),
    }
}

/// What a provider that compares requests is asked.
pub(crate) async fn question(store: &Store, conversation: &ConversationId) -> Diagnostics {
    // Without the store there is nothing to compare with, which is no reason not to ask.
    let last = store.last_request(conversation.as_str()).await.ok().flatten();
    Diagnostics::Compare(last.and_then(|last| last.answer_id).map(Into::into))
}
