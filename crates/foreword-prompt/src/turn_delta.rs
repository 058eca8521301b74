//! What to tell the model this turn: only what differs from what it was last told, and notes about frozen layers that
//! have drifted. What was told is never rewritten.

use std::collections::BTreeMap;

use crate::layer::LayerId;
use crate::prompt::{Frozen, Prompt, TURN_CLOSE, TURN_OPEN};
use crate::text::ContentHash;

/// What the model was last told, by layer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told(BTreeMap<LayerId, ContentHash>);

/// The context to append to this turn's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnDelta {
    /// The marked block, or `None` when there is nothing new.
    pub text: Option<String>,
    /// What the model has been told once this is sent.
    pub told: Told,
}

impl Told {
    /// What is new in `prompt` for a model that was told this much, with `notes` about drift.
    ///
    /// Layers that said something before and now have nothing to say are told as such, so that the model does not go
    /// on believing them.
    #[must_use]
    pub fn delta(&self, prompt: &Prompt, notes: &[String]) -> TurnDelta {
        let mut told = Self::default();
        let mut parts: Vec<String> = notes.to_vec();
        for segment in &prompt.turn {
            let layer = &segment.segment.layer;
            let text = &segment.text[segment.segment.separator..];
            let hash = ContentHash::of(text);
            if self.0.get(&layer.id) != Some(&hash) {
                parts.push(text.to_owned());
            }
            told.0.insert(layer.id.clone(), hash);
        }
        for gone in self.0.keys().filter(|id| !told.0.contains_key(*id)) {
            parts.push(format!("`{gone}`: nothing any more; what was said before no longer holds."));
        }
        let text = (!parts.is_empty()).then(|| format!("{TURN_OPEN}{}{TURN_CLOSE}", parts.join("\n\n")));
        TurnDelta { text, told }
    }
}

/// Notes about the layers of an epoch that would read differently now. Both must be of the same trust; a caller that
/// asks about another trust opens a new epoch instead.
#[must_use]
pub fn drift_notes(frozen: &Frozen, now: &Frozen) -> Vec<String> {
    let mut notes = Vec::new();
    for segment in &now.segments {
        let before = frozen.segments.iter().find(|before| before.layer.id == segment.layer.id);
        let words = now.words(segment);
        if before.is_some_and(|before| frozen.words(before) == words) {
            continue;
        }
        let verb = if before.is_some() { "has changed since this conversation began" } else { "is new" };
        notes.push(format!("Note: \"{}\" {verb}. It now reads:\n\n{words}", segment.layer.title));
    }
    for gone in &frozen.segments {
        if !now.segments.iter().any(|segment| segment.layer.id == gone.layer.id) {
            notes.push(format!("Note: \"{}\" no longer applies.", gone.layer.title));
        }
    }
    notes
}
