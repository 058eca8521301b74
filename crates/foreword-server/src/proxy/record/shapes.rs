//! The last request of each conversation, as a shape: what the next one is compared with. In memory as far as there is room;
//! what is evicted is still in the database.

use std::collections::HashMap;
use std::sync::Arc;

use foreword_core::cache::RequestShape;
use foreword_core::id::ConversationId;
use foreword_core::message::Usage;
use foreword_core::timestamp::Timestamp;
use foreword_store::requests::LastRequest;

/// About how many bytes all of them may take.
const MOST_BYTES: usize = 32 * 1024 * 1024;
/// How many of those who ask a model are remembered.
const MOST_ASKERS: usize = 10_000;

/// The last requests.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    last: HashMap<ConversationId, Entry>,
    weight: usize,
    clock: u64,
    /// Where whoever pays last asked which model.
    asked: HashMap<String, HashMap<String, ConversationId>>,
    askers: usize,
}

#[derive(Debug)]
struct Entry {
    last: Arc<Last>,
    weight: usize,
    used: u64,
}

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) shape: RequestShape,
    pub(super) at: Timestamp,
    pub(super) epoch: Option<u64>,
    pub(super) usage: Option<Usage>,
    pub(super) answer_id: Option<String>,
}

impl Last {
    /// The same as it is stored for a conversation.
    pub(super) fn stored(&self, id: &ConversationId) -> LastRequest {
        LastRequest {
            thread: id.to_string(),
            at: self.at,
            // A shape is numbers and texts.
            shape: serde_json::to_string(&self.shape).unwrap_or_default(),
            epoch: self.epoch,
            usage: self.usage,
            answer_id: self.answer_id.clone(),
        }
    }

    /// What was stored, if its shape can still be read.
    pub(super) fn read(stored: LastRequest) -> Option<Self> {
        let LastRequest { at, shape, epoch, usage, answer_id, .. } = stored;
        Some(Self { shape: RequestShape::from_stored(&shape)?, at, epoch, usage, answer_id })
    }
}

impl Shapes {
    /// The last request of a conversation.
    pub(super) fn of(&self, conversation: &ConversationId) -> Option<Arc<Last>> {
        self.last.get(conversation).map(|entry| Arc::clone(&entry.last))
    }

    /// The last request of whoever pays to this model, in whatever conversation.
    pub(super) fn elsewhere(&self, payer: &str, model: &str) -> Option<Arc<Last>> {
        self.of(self.asked.get(payer)?.get(model)?)
    }

    /// Puts a request in the place of the one before it.
    pub(super) fn keep(&mut self, payer: &str, conversation: &ConversationId, last: Last) {
        self.clock += 1;
        self.ask(payer, last.shape.model(), conversation);
        let entry = Entry { weight: last.shape.weight(), last: Arc::new(last), used: self.clock };
        self.weight += entry.weight;
        match self.last.get_mut(conversation) {
            Some(before) => self.weight -= std::mem::replace(before, entry).weight,
            None => {
                self.last.insert(conversation.clone(), entry);
            }
        }
        if self.weight > MOST_BYTES {
            self.forget_some();
        }
    }

    /// Notes where `payer` has asked `model`. Mostly that is where it was before: then nothing is copied.
    fn ask(&mut self, payer: &str, model: &str, conversation: &ConversationId) {
        if let Some(known) = self.asked.get_mut(payer).and_then(|models| models.get_mut(model)) {
            if known != conversation {
                known.clone_from(conversation);
            }
            return;
        }
        if self.askers >= MOST_ASKERS {
            self.asked.clear();
            self.askers = 0;
        }
        self.askers += 1;
        self.asked.entry(payer.to_owned()).or_default().insert(model.to_owned(), conversation.clone());
    }

    /// Forgets what was not used for longest, until a quarter of the room is free.
    fn forget_some(&mut self) {
        let mut by_use: Vec<(u64, ConversationId)> =
            self.last.iter().map(|(id, entry)| (entry.used, id.clone())).collect();
        by_use.sort_unstable();
        for (_, id) in by_use {
            if self.weight <= MOST_BYTES / 4 * 3 {
                break;
            }
            self.weight -= self.last.remove(&id).map_or(0, |entry| entry.weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use foreword_core::cache::ShapeKey;

    use super::*;

    #[test]
    fn many_conversations_take_a_bounded_room_and_the_last_ones_stay() {
        let key = ShapeKey::from_bytes([1; 32]);
        let shape =
            RequestShape::builder(&key, "m").message("user", "x".repeat(100_000).as_str(), None).build();
        let last = Last {
            shape,
            at: "2026-11-16T08:00:00Z".parse().unwrap(),
            epoch: None,
            usage: None,
            answer_id: None,
        };
        let mut shapes = Shapes::default();
        let id = |number: usize| ConversationId::new(format!("c-{number}")).unwrap();
        for number in 0..10_000 {
            shapes.keep("t", &id(number), last.clone());
            assert!(shapes.weight <= MOST_BYTES);
        }
        let held: usize = shapes.last.values().map(|entry| entry.weight).sum();
        assert_eq!(held, shapes.weight);
        assert!(shapes.of(&id(9_999)).is_some() && shapes.of(&id(0)).is_none());
        assert!(shapes.elsewhere("t", "m").is_some() && shapes.elsewhere("u", "m").is_none());
    }
}
