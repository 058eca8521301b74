//! What to tell the model this turn: only what differs from what it was last told, and notes about frozen layers that
//! have drifted. What was told is never rewritten.
//!
//! What a model has been told stands in its history. So each turn keeps, next to its message, what was new in it
//! ([`Told::since`]), and the next one puts together what it can still read ([`Told::then`]): what a summary has swallowed,
//! or a lower trust withholds, is told again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::prompt::{Frozen, Prompt, TURN_CLOSE, TURN_OPEN};
use crate::text::ContentHash;

/// What the model was last told, by layer. A layer of which it was told that it is gone has no content.
///
/// ```
/// use foreword_prompt::turn_delta::Told;
/// let stored = serde_json::to_string(&Told::default()).unwrap();
/// assert_eq!(stored, "{}");
/// assert_eq!(serde_json::from_str::<Told>(&stored).unwrap(), Told::default());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Told {
    /// The turn's own layers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    turn: Hashes,
    /// Frozen layers, in notes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    notes: Hashes,
}

/// The context to append to this turn's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnDelta {
    /// The marked block, or `None` when there is nothing new.
    pub text: Option<String>,
    /// What the model has been told once this is sent.
    pub told: Told,
}

/// A frozen layer as an epoch holds it: its id, its title, and its words with their heading.
pub type FrozenWords<'a> = (&'a str, &'a str, &'a str);

impl Told {
    /// What is new in `prompt` for a model that was told this much, with `notes` about drift.
    ///
    /// Layers that said something before and now have nothing to say are told as such, so that the model does not go
    /// on believing them.
    #[must_use]
    pub fn delta(&self, prompt: &Prompt, notes: &[String]) -> TurnDelta {
        self.delta_with(prompt, notes, &[])
    }

    /// The same with `words` that belong to no layer, each by a name that no layer has: they are told first, and as a layer's
    /// are, again only when they have changed or can't be read any more.
    #[must_use]
    pub fn delta_with(&self, prompt: &Prompt, notes: &[String], words: &[(&str, &str)]) -> TurnDelta {
        self.delta_of_read(prompt, notes, words, |_| true)
    }

    /// The same where not every layer of the turn was built: what was said of one for which `is_read` is false still holds.
    #[must_use]
    pub fn delta_of_read(
        &self,
        prompt: &Prompt,
        notes: &[String],
        words: &[(&str, &str)],
        is_read: impl Fn(&str) -> bool,
    ) -> TurnDelta {
        let mut told = Self { turn: BTreeMap::new(), notes: self.notes.clone() };
        let mut parts: Vec<String> = Vec::new();
        for (name, text) in words {
            let hash = Some(ContentHash::of(text));
            if self.turn.get(*name) != Some(&hash) {
                parts.push((*text).to_owned());
            }
            told.turn.insert((*name).into(), hash);
        }
        parts.extend(notes.iter().cloned());
        for segment in prompt.turn.iter().filter(|segment| is_read(segment.segment.layer.id.as_str())) {
            let layer = &segment.segment.layer;
            let text = &segment.text[segment.segment.separator..];
            let hash = Some(ContentHash::of(text));
            if self.turn.get(layer.id.as_str()) != Some(&hash) {
                parts.push(text.to_owned());
            }
            told.turn.insert(layer.id.as_str().into(), hash);
        }
        for (id, hash) in self.turn.iter().filter(|(id, _)| !is_read(id)) {
            told.turn.insert(Arc::clone(id), *hash);
        }
        let believed = self.turn.iter().filter(|(_, hash)| hash.is_some()).map(|(id, _)| id);
        for gone in believed.filter(|id| !told.turn.contains_key(*id)) {
            parts.push(format!("`{gone}`: nothing any more; what was said before no longer holds."));
        }
        let text = (!parts.is_empty()).then(|| format!("{TURN_OPEN}{}{TURN_CLOSE}", parts.join("\n\n")));
        TurnDelta { text, told }
    }

    /// Notes about the layers that the model believes to read otherwise than they do `now`, each told once, and what it
    /// has been told with them. It believes what the last note about a layer said, else the words in `frozen`, the epoch
    /// it is sent. Both must be of the same trust; a caller that asks about another trust opens a new epoch instead.
    #[must_use]
    pub fn notes<'a>(
        &self,
        frozen: impl IntoIterator<Item = FrozenWords<'a>>,
        now: &Frozen,
    ) -> (Vec<String>, Self) {
        self.notes_on_read(frozen, now, |_| true)
    }

    /// The same where not every layer could be read: nothing is noted about one for which `is_read` is false.
    #[must_use]
    pub fn notes_on_read<'a>(
        &self,
        frozen: impl IntoIterator<Item = FrozenWords<'a>>,
        now: &Frozen,
        is_read: impl Fn(&str) -> bool,
    ) -> (Vec<String>, Self) {
        let frozen: Vec<FrozenWords<'_>> = frozen.into_iter().collect();
        let mut told = self.clone();
        let mut notes = Vec::new();
        for segment in &now.segments {
            let (id, words) = (segment.layer.id.as_str(), now.words(segment));
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
            told.notes.insert(id.into(), Some(hash));
        }
        let is_there = |id: &str| now.segments.iter().any(|segment| segment.layer.id.as_str() == id);
        let known = frozen.iter().map(|(id, title, _)| (*id, *title));
        // A layer that was only ever in a note has left nothing but its id.
        let noted = self.notes.iter().filter(|(_, hash)| hash.is_some()).map(|(id, _)| (&**id, &**id));
        for (id, title) in known.chain(noted).filter(|(id, _)| !is_there(id) && is_read(id)) {
            if told.notes.get(id) != Some(&None) {
                notes.push(format!("Note: \"{title}\" no longer applies."));
                told.notes.insert(id.into(), None);
            }
        }
        (notes, told)
    }

    /// What was told between `before` and now: what a turn keeps with its message.
    ///
    /// ```
    /// use foreword_prompt::turn_delta::Told;
    /// let before = Told::default();
    /// let now: Told = serde_json::from_str(r#"{"notes":{"soul":null}}"#).unwrap();
    /// let news = now.since(&before);
    /// assert_eq!(before.then(&news), now);
    /// ```
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self { turn: news(&before.turn, &self.turn), notes: news(&before.notes, &self.notes) }
    }

    /// What the model has been told once it has read `news` behind this.
    #[must_use]
    pub fn then(mut self, news: &Self) -> Self {
        for (id, hash) in &news.turn {
            match hash {
                Some(hash) => drop(self.turn.insert(Arc::clone(id), Some(*hash))),
                // It believes nothing of it, as if it had never been told.
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

/// Notes about the layers of an epoch that would read differently now, for a model that was told nothing of it yet.
#[must_use]
pub fn drift_notes(frozen: &Frozen, now: &Frozen) -> Vec<String> {
    let words = frozen
        .segments
        .iter()
        .map(|segment| (segment.layer.id.as_str(), segment.layer.title.as_str(), frozen.words(segment)));
    Told::default().notes(words, now).0
}
