//! What is said of a request that read less from the provider's cache than it could have, whoever made the request: the
//! agent's own, and those that only pass through.

use std::collections::BTreeSet;

use foreword_core::cache::{Cause, Diagnosis, EditedLayer, Known, Reported, ShapeKey, Verdict};
use foreword_core::event::{Event, EventType, Level};
use foreword_core::id::ConversationId;
use foreword_core::message::Usage;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::epoch::Reason;
use foreword_store::epochs::FrozenPrompt;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use serde_json::{Map, Value, json};

use crate::surroundings::Surroundings;

/// How many conversations are remembered as too small.
const MOST_SMALL: usize = 10_000;

/// The key that requests are reduced with. All nodes make their hashes with one key, or none could be compared with
/// another's.
///
/// # Errors
/// If it can't be read or written.
pub async fn shape_key(
    store: &Store,
    surroundings: &(dyn Surroundings + 'static),
) -> Result<ShapeKey, StoreError> {
    let fresh = format!("{:032x}{:032x}", surroundings.random(), surroundings.random());
    let stored = store.shape_key(&fresh, surroundings.timestamp()).await?;
    Ok(ShapeKey::from_bytes(*foreword_prompt::text::ContentHash::of(&stored).as_bytes()))
}

/// What a provider said, as a diagnosis takes it.
#[must_use]
pub fn reported(usage: Usage) -> Reported {
    if usage.cache_unknown { Reported::WithoutCache(usage) } else { Reported::WithCache(usage) }
}

/// Which misses are worth a word.
#[derive(Debug, Default)]
pub struct News {
    /// Conversations of which it was told that they are too small for the cache.
    small: BTreeSet<ConversationId>,
}

impl News {
    /// Whether this is worth an event. That a prompt is too small for a cache is so with every request until it has grown:
    /// to say it once is enough.
    pub fn is_worth_telling(&mut self, session: &ConversationId, diagnosis: &Diagnosis) -> bool {
        let is_small = matches!(diagnosis.cause, Some(Cause::BelowMinimum { .. }));
        let is_miss = matches!(diagnosis.verdict, Verdict::Miss | Verdict::Partial);
        let is_small_and_new = is_small && diagnosis.verdict == Verdict::NothingToRead;
        if !(is_miss || is_small_and_new) {
            return false;
        }
        if is_small && self.small.len() >= MOST_SMALL {
            self.small.clear();
        }
        !is_small || self.small.insert(session.clone())
    }
}

/// The event that tells of a miss of `model`, with `more` in its metadata. It has no names on it yet.
#[must_use]
pub fn event(diagnosis: &Diagnosis, model: &str, at: Timestamp, more: Map<String, Value>) -> Event {
    // What has to be so from time to time is nothing to worry about.
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

/// The event that tells that `lost` requests were not looked at: a loss is never silent.
#[must_use]
pub fn not_looked_at(lost: u64, at: Timestamp) -> Event {
    Event {
        error: Some(
            "too many requests wait to be compared: whether the cache was missed is not known".to_owned(),
        ),
        metadata: Some(json!({ "lost": lost, "what": "cache diagnosis" })),
        ..Event::new(EventType::EventsLost, at)
    }
}

/// Where trust has changed, the place of the difference would name a layer or a tool of the other trust, to whoever may read
/// the log of this request. The cause is known without it.
#[must_use]
pub fn fit_for_this_trust(diagnosis: Diagnosis) -> Diagnosis {
    match diagnosis.cause {
        Some(Cause::TrustChanged { .. }) => Diagnosis { place: None, also: Vec::new(), ..diagnosis },
        _ => diagnosis,
    }
}

/// What our own side knows of the way from the last request of a conversation, sent in epoch `before`, to one that was sent
/// in an epoch with this number, reason and prompt.
///
/// # Errors
/// If the store can't be read.
pub async fn known(
    store: &Store,
    session: &ConversationId,
    before: Option<u64>,
    (number, reason, prompt): (u64, &Reason, &FrozenPrompt),
) -> Result<Known, StoreError> {
    if before == Some(number) {
        return Ok(Known::default());
    }
    let before = match before {
        Some(before) => match store.epoch_number(session, before).await {
            Err(StoreError::NotFound { .. }) => None,
            other => Some(other?),
        },
        None => None,
    };
    let edited = before.map_or_else(Vec::new, |before| edited(&before.prompt, prompt));
    Ok(Known { epoch: Some(reason.clone()), edited })
}

/// The layers that both prompts have, with other words.
fn edited(before: &FrozenPrompt, now: &FrozenPrompt) -> Vec<EditedLayer> {
    let other_words = now.layers.iter().filter(|layer| {
        before.layers.iter().any(|before| before.id == layer.id && before.hash != layer.hash)
    });
    other_words.map(|layer| EditedLayer { layer: layer.id.clone(), file: layer.origin.clone() }).collect()
}
