//! The shape of each conversation's last request, for comparison with the next one. An LRU cache; evicted shapes are
//! still in the store.

use std::collections::HashMap;
use std::sync::Arc;

use foreword_core::cache::RequestShape;
use foreword_core::id::ConversationId;
use foreword_core::message::Usage;
use foreword_core::timestamp::Timestamp;
use foreword_store::requests::LastRequest;

/// The approximate size limit.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The maximum number of (payer, model) pairs.
const MAX_LATEST: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Shapes {
    last: HashMap<ConversationId, Entry>,
    size: usize,
    clock: u64,
    /// The conversation of the last request, by payer and model.
    latest: HashMap<String, HashMap<String, ConversationId>>,
    latest_count: usize,
}

#[derive(Debug)]
struct Entry {
    last: Arc<LastShape>,
    size: usize,
    used: u64,
}

/// The shape of an answered request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LastShape {
    pub(super) shape: RequestShape,
    pub(super) at: Timestamp,
    pub(super) epoch: Option<u64>,
    pub(super) usage: Option<Usage>,
    pub(super) answer_id: Option<String>,
}

impl LastShape {
    /// Converts to the stored form.
    pub(super) fn stored(&self, id: &ConversationId) -> LastRequest {
        LastRequest {
            thread: id.to_string(),
            at: self.at,
            // Serialising numbers and strings can't fail.
            shape: serde_json::to_string(&self.shape).unwrap_or_default(),
            epoch: self.epoch,
            usage: self.usage,
            answer_id: self.answer_id.clone(),
        }
    }

    /// Converts from the stored form, if the shape is readable.
    pub(super) fn read(stored: LastRequest) -> Option<Self> {
        let LastRequest { at, shape, epoch, usage, answer_id, .. } = stored;
        Some(Self { shape: RequestShape::from_stored(&shape)?, at, epoch, usage, answer_id })
    }
}

impl Shapes {
    pub(super) fn of(&self, conversation: &ConversationId) -> Option<Arc<LastShape>> {
        self.last.get(conversation).map(|entry| Arc::clone(&entry.last))
    }

    /// The payer's last request to this model, in any conversation.
    pub(super) fn latest_to_model(&self, payer: &str, model: &str) -> Option<Arc<LastShape>> {
        self.of(self.latest.get(payer)?.get(model)?)
    }

    /// Replaces the conversation's last request.
    pub(super) fn insert(&mut self, payer: &str, conversation: &ConversationId, last: LastShape) {
        self.clock += 1;
        self.set_latest(payer, last.shape.model(), conversation);
        let entry = Entry { size: last.shape.weight(), last: Arc::new(last), used: self.clock };
        self.size += entry.size;
        match self.last.get_mut(conversation) {
            Some(before) => self.size -= std::mem::replace(before, entry).size,
            None => {
                self.last.insert(conversation.clone(), entry);
            }
        }
        if self.size > MAX_BYTES {
            self.evict();
        }
    }

    /// Sets the payer's last conversation with a model. Usually it is unchanged and nothing is copied.
    fn set_latest(&mut self, payer: &str, model: &str, conversation: &ConversationId) {
        if let Some(known) = self.latest.get_mut(payer).and_then(|models| models.get_mut(model)) {
            if known != conversation {
                known.clone_from(conversation);
            }
            return;
        }
        if self.latest_count >= MAX_LATEST {
            self.latest.clear();
            self.latest_count = 0;
        }
        self.latest_count += 1;
        self.latest.entry(payer.to_owned()).or_default().insert(model.to_owned(), conversation.clone());
    }

    /// Evicts the least recently used shapes until a quarter of the space is free.
    fn evict(&mut self) {
        let mut by_use: Vec<(u64, ConversationId)> =
            self.last.iter().map(|(id, entry)| (entry.used, id.clone())).collect();
        by_use.sort_unstable();
        for (_, id) in by_use {
            if self.size <= MAX_BYTES / 4 * 3 {
                break;
            }
            self.size -= self.last.remove(&id).map_or(0, |entry| entry.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use foreword_core::cache::ShapeKey;

    use super::*;

    #[test]
    fn shapes_stay_within_the_byte_limit() {
        let key = ShapeKey::from_bytes([1; 32]);
        let shape =
            RequestShape::builder(&key, "m").message("user", "x".repeat(100_000).as_str(), None).build();
        let last = LastShape {
            shape,
            at: "2026-11-16T08:00:00Z".parse().unwrap(),
            epoch: None,
            usage: None,
            answer_id: None,
        };
        let mut shapes = Shapes::default();
        let id = |number: usize| ConversationId::new(format!("c-{number}")).unwrap();
        for number in 0..10_000 {
            shapes.insert("t", &id(number), last.clone());
            assert!(shapes.size <= MAX_BYTES);
        }
        let held: usize = shapes.last.values().map(|entry| entry.size).sum();
        assert_eq!(held, shapes.size);
        assert!(shapes.of(&id(9_999)).is_some() && shapes.of(&id(0)).is_none());
        assert!(shapes.latest_to_model("t", "m").is_some() && shapes.latest_to_model("u", "m").is_none());
    }
}
