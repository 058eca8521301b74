//! Events about cache misses, for requests of the agent and of the proxy.

use std::collections::BTreeSet;

use foreword_core::cache::{CacheVerdict, Cause, Diagnosis, EditedLayer, KnownChanges, Reported, ShapeKey};
use foreword_core::event::{Event, EventType, Level};
use foreword_core::id::ConversationId;
use foreword_core::message::Usage;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::epoch::Reason;
use foreword_store::epochs::FrozenPrompt;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use serde_json::{Map, Value, json};

use crate::clock_and_rng::ClockAndRng;

/// The maximum number of conversations remembered as too small for the cache.
const MAX_SMALL_MISSES: usize = 10_000;

/// The key for the hashes of requests. All nodes share it, so that their hashes are comparable.
///
/// # Errors
/// If it can't be read or written.
pub async fn shape_key(
    store: &Store,
    clock_and_rng: &(dyn ClockAndRng + 'static),
) -> Result<ShapeKey, StoreError> {
    let fresh = format!("{:032x}{:032x}", clock_and_rng.random(), clock_and_rng.random());
    let stored = store.shape_key(&fresh, clock_and_rng.timestamp()).await?;
    Ok(ShapeKey::from_bytes(*foreword_prompt::text::ContentHash::of(&stored).as_bytes()))
}

/// The reported usage as input of a diagnosis.
#[must_use]
pub fn reported(usage: Usage) -> Reported {
    if usage.cache_unknown { Reported::WithoutCache(usage) } else { Reported::WithCache(usage) }
}

/// Decides which diagnoses are logged.
#[derive(Debug, Default)]
pub struct MissLogFilter {
    /// Conversations already logged as too small for the cache.
    small: BTreeSet<ConversationId>,
}

impl MissLogFilter {
    /// Whether to log this diagnosis. A prompt that is too small for the cache is logged once per conversation.
    pub fn should_log(&mut self, session: &ConversationId, diagnosis: &Diagnosis) -> bool {
        let is_small = matches!(diagnosis.cause, Some(Cause::BelowMinimum { .. }));
        let is_miss = matches!(diagnosis.verdict, CacheVerdict::Miss | CacheVerdict::Partial);
        let is_small_and_new = is_small && diagnosis.verdict == CacheVerdict::NothingToRead;
        if !(is_miss || is_small_and_new) {
            return false;
        }
        if is_small && self.small.len() >= MAX_SMALL_MISSES {
            self.small.clear();
        }
        !is_small || self.small.insert(session.clone())
    }
}

/// The event for a cache miss of `model`, with `more` in its metadata. The caller adds turn and conversation.
#[must_use]
pub fn event(diagnosis: &Diagnosis, model: &str, at: Timestamp, more: Map<String, Value>) -> Event {
    // Expected causes are logged at level `info`.
    let expected = matches!(
        diagnosis.cause,
        Some(
            Cause::Compaction
                | Cause::Expired { .. }
                | Cause::BelowMinimum { .. }
                | Cause::TrustChanged { .. }
                | Cause::ModelChanged { .. }
                | Cause::OccasionChanged { .. }
        )
    );
    let mut metadata = serde_json::to_value(diagnosis).unwrap_or_default();
    if let Value::Object(fields) = &mut metadata {
        fields.retain(|_, value| !value.is_null() && value != &Value::Array(Vec::new()));
        fields.insert("model".to_owned(), model.into());
        fields.insert("summary".to_owned(), diagnosis.to_string().into());
        fields.extend(more);
    }
    Event {
        level: if expected { Level::Info } else { Level::Warn },
        metadata: Some(metadata),
        ..Event::new(EventType::CacheMiss, at)
    }
}

/// The event for `lost` requests that were not diagnosed.
#[must_use]
pub fn skipped_event(lost: u64, at: Timestamp) -> Event {
    Event {
        error: Some(
            "too many requests are queued for comparison: cache misses of this one are not diagnosed"
                .to_owned(),
        ),
        metadata: Some(json!({ "lost": lost, "what": "cache diagnosis" })),
        ..Event::new(EventType::EventsLost, at)
    }
}

/// Removes the location of the difference if trust has changed. It would reveal a layer or tool of the other trust to
/// the readers of this log.
#[must_use]
pub fn redact_other_trust(diagnosis: Diagnosis) -> Diagnosis {
    match diagnosis.cause {
        Some(Cause::TrustChanged { .. }) => Diagnosis { place: None, also: Vec::new(), ..diagnosis },
        _ => diagnosis,
    }
}

/// The changes between the last request of a conversation, in epoch `before`, and a request in the given epoch, which
/// has a number, a reason and a prompt.
pub async fn known_changes(
    store: &Store,
    session: &ConversationId,
    before: Option<u64>,
    number: u64,
    reason: &Reason,
    prompt: &FrozenPrompt,
) -> Result<KnownChanges, StoreError> {
    if before == Some(number) {
        return Ok(KnownChanges::default());
    }
    let before = match before {
        Some(before) => match store.epoch_number(session, before).await {
            Err(StoreError::NotFound { .. }) => None,
            other => Some(other?),
        },
        None => None,
    };
    let edited = before.map_or_else(Vec::new, |before| edited(&before.prompt, prompt));
    Ok(KnownChanges { epoch: Some(reason.clone()), edited })
}

/// The layers of both prompts whose text differs.
fn edited(before: &FrozenPrompt, now: &FrozenPrompt) -> Vec<EditedLayer> {
    let changed = now.layers.iter().filter(|layer| {
        before.layers.iter().any(|before| before.id == layer.id && before.hash != layer.hash)
    });
    changed.map(|layer| EditedLayer { layer: layer.id.clone(), file: layer.origin.clone() }).collect()
}
