//! Computes the turn context: only what differs from what the model last received, and notes about frozen layers that
//! have changed. Earlier context is never rewritten.
//!
//! The announced state is derived from the history. Each turn stores with its message what was new in it
//! ([`Announced::since`]), and the next turn combines what the model can still read ([`Announced::then`]): parts lost
//! to compaction or withheld at a lower trust are sent again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::prompt::{Frozen, Prompt, TURN_CLOSE, TURN_OPEN};
use crate::text::ContentHash;

/// The state last sent to the model, by layer. A layer announced as removed has no hash.
///
/// ```
/// use foreword_prompt::turn_delta::Announced;
/// let stored = serde_json::to_string(&Announced::default()).unwrap();
/// assert_eq!(stored, "{}");
/// assert_eq!(serde_json::from_str::<Announced>(&stored).unwrap(), Announced::default());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Announced {
    /// Turn layers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    turn: Hashes,
    /// Frozen layers, announced in notes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    notes: Hashes,
}

/// The context to append to this turn's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnDelta {
    /// The marked block, or `None` if nothing is new.
    pub text: Option<String>,
    /// The announced state after this message is sent.
    pub announced: Announced,
}

/// A frozen layer of an epoch: its id, its title, and its text with the heading.
pub type FrozenText<'a> = (&'a str, &'a str, &'a str);

impl Announced {
    /// The changes of `prompt` since this state, with `notes` about changed frozen layers.
    ///
    /// Layers that have become empty are announced as such, so that the model does not rely on their old content.
    #[must_use]
    pub fn delta(&self, prompt: &Prompt, notes: &[String]) -> TurnDelta {
        self.delta_with(prompt, notes, &[])
    }

    /// The same with `words` that belong to no layer, by names that no layer has. They come first, and like layers they
    /// are sent again only when they have changed or can no longer be read.
    #[must_use]
    pub fn delta_with(&self, prompt: &Prompt, notes: &[String], words: &[(&str, &str)]) -> TurnDelta {
        self.delta_of_read(prompt, notes, words, |_| true)
    }

    /// The same if not every turn layer was built: a layer for which `is_read` is false is unchanged.
    #[must_use]
    pub fn delta_of_read(
        &self,
        prompt: &Prompt,
        notes: &[String],
        words: &[(&str, &str)],
        is_read: impl Fn(&str) -> bool,
    ) -> TurnDelta {
        let mut announced = Self { turn: BTreeMap::new(), notes: self.notes.clone() };
        let mut parts: Vec<String> = Vec::new();
        for (name, text) in words {
            let hash = Some(ContentHash::of(text));
            if self.turn.get(*name) != Some(&hash) {
                parts.push((*text).to_owned());
            }
            announced.turn.insert((*name).into(), hash);
        }
        parts.extend(notes.iter().cloned());
        for segment in prompt.turn.iter().filter(|segment| is_read(segment.segment.layer.id.as_str())) {
            let layer = &segment.segment.layer;
            let text = &segment.text[segment.segment.separator..];
            let hash = Some(ContentHash::of(text));
            if self.turn.get(layer.id.as_str()) != Some(&hash) {
                parts.push(text.to_owned());
            }
            announced.turn.insert(layer.id.as_str().into(), hash);
        }
        for (id, hash) in self.turn.iter().filter(|(id, _)| !is_read(id)) {
            announced.turn.insert(Arc::clone(id), *hash);
        }
        let believed = self.turn.iter().filter(|(_, hash)| hash.is_some()).map(|(id, _)| id);
        for gone in believed.filter(|id| !announced.turn.contains_key(*id)) {
            parts.push(format!("`{gone}`: removed; its earlier content no longer applies."));
        }
        let text = (!parts.is_empty()).then(|| format!("{TURN_OPEN}{}{TURN_CLOSE}", parts.join("\n\n")));
        TurnDelta { text, announced }
    }

    /// Notes about frozen layers that differ from the model's state, each sent once, and the announced state after
    /// them. The model's state of a layer is the last note about it, otherwise its text in `frozen`. Both must be of
    /// the same trust; for another trust, the caller opens a new epoch.
    #[must_use]
    pub fn notes<'a>(
        &self,
        frozen: impl IntoIterator<Item = FrozenText<'a>>,
        now: &Frozen,
    ) -> (Vec<String>, Self) {
        self.notes_on_read(frozen, now, |_| true)
    }

    /// The same if not every layer could be read: no note is made for a layer for which `is_read` is false.
    #[must_use]
    pub fn notes_on_read<'a>(
        &self,
        frozen: impl IntoIterator<Item = FrozenText<'a>>,
        now: &Frozen,
        is_read: impl Fn(&str) -> bool,
    ) -> (Vec<String>, Self) {
        let frozen: Vec<FrozenText<'_>> = frozen.into_iter().collect();
        let mut announced = self.clone();
        let mut notes = Vec::new();
        for segment in &now.segments {
            let (id, words) = (segment.layer.id.as_str(), now.text_of(segment));
            let hash = ContentHash::of(words);
            let noted = self.notes.get(id);
            let frozen = frozen.iter().find(|(frozen, ..)| *frozen == id).map(|(.., words)| *words);
            let verb = match (noted, frozen) {
                (Some(Some(noted)), _) if *noted == hash => continue,
                (None, Some(frozen)) if frozen == words => continue,
                (Some(Some(_)), _) => "has changed again",
                (Some(None), _) => "applies again",
                (None, Some(_)) => "has changed since this conversation began",
                (None, None) => "is new",
            };
            notes.push(format!("Note: \"{}\" {verb}. It now reads:\n\n{words}", segment.layer.title));
            announced.notes.insert(id.into(), Some(hash));
        }
        let is_there = |id: &str| now.segments.iter().any(|segment| segment.layer.id.as_str() == id);
        let known = frozen.iter().map(|(id, title, _)| (*id, *title));
        // A layer that only appeared in a note has no title, only its id.
        let noted = self.notes.iter().filter(|(_, hash)| hash.is_some()).map(|(id, _)| (&**id, &**id));
        for (id, title) in known.chain(noted).filter(|(id, _)| !is_there(id) && is_read(id)) {
            if announced.notes.get(id) != Some(&None) {
                notes.push(format!("Note: \"{title}\" no longer applies."));
                announced.notes.insert(id.into(), None);
            }
        }
        (notes, announced)
    }

    /// The difference between `before` and now, stored with the turn's message.
    ///
    /// ```
    /// use foreword_prompt::turn_delta::Announced;
    /// let before = Announced::default();
    /// let now: Announced = serde_json::from_str(r#"{"notes":{"soul":null}}"#).unwrap();
    /// let news = now.since(&before);
    /// assert_eq!(before.then(&news), now);
    /// ```
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self { turn: news(&before.turn, &self.turn), notes: news(&before.notes, &self.notes) }
    }

    /// The announced state after the model has read `news`.
    #[must_use]
    pub fn then(mut self, news: &Self) -> Self {
        for (id, hash) in &news.turn {
            match hash {
                Some(hash) => drop(self.turn.insert(Arc::clone(id), Some(*hash))),
                // As if it had never been announced.
                None => drop(self.turn.remove(id)),
            }
        }
        self.notes.extend(news.notes.iter().map(|(id, hash)| (Arc::clone(id), *hash)));
        self
    }
}

type Hashes = BTreeMap<Arc<str>, Option<ContentHash>>;

fn news(before: &Hashes, now: &Hashes) -> Hashes {
    let changed =
        now.iter().filter(|(id, hash)| before.get(*id) != Some(*hash)).map(|(id, hash)| (id, *hash));
    let gone = before.keys().filter(|id| !now.contains_key(*id)).map(|id| (id, None));
    changed.chain(gone).map(|(id, hash)| (Arc::clone(id), hash)).collect()
}

/// Notes about layers of an epoch that have changed, for a model that has received none yet.
#[must_use]
pub fn drift_notes(frozen: &Frozen, now: &Frozen) -> Vec<String> {
    let words = frozen
        .segments
        .iter()
        .map(|segment| (segment.layer.id.as_str(), segment.layer.title.as_str(), frozen.text_of(segment)));
    Announced::default().notes(words, now).0
}
