//! What is kept of a turn between two steps, so that another process can go on with it.

use foreword_core::message::{ContentBlock, Provenance};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn::Turn;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::inbound::{Occasion, Purpose, Watched};

/// A turn as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) turn: Turn,
    /// What was sent for the messages it took up.
    pub(crate) sent: Vec<ContentBlock>,
    /// Whether the first block of it is what was new for the model, and nobody's words.
    #[serde(default)]
    pub(crate) has_context: bool,
    /// Where those words came from, at worst.
    pub(crate) provenance: Provenance,
    /// Who said them, if it was one person.
    pub(crate) author: Option<String>,
    pub(crate) occasion: SavedOccasion,
    /// When it was stored.
    pub(crate) at: Timestamp,
}

impl Saved {
    /// As the store keeps it. Without it a turn that is cut off is begun again, which is a waste and no harm.
    pub(crate) fn to_json(&self) -> Option<Value> {
        serde_json::to_value(self).ok()
    }
}

/// An occasion as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedOccasion {
    user: Option<String>,
    channel: Option<String>,
    sender: Option<String>,
    situation: Option<String>,
    agent: Option<String>,
    purpose: Purpose,
    strangers: Option<Trust>,
    model: Option<String>,
    watched: bool,
}

/// The type of the block in which a message keeps the occasion it was said on. It is never sent.
const OCCASION: &str = "occasion";

impl SavedOccasion {
    /// The occasion as a block of the message that was said on it.
    pub(crate) fn block(&self) -> Option<ContentBlock> {
        let mut value = serde_json::to_value(self).ok()?;
        value.as_object_mut()?.insert("type".to_owned(), OCCASION.into());
        Some(ContentBlock::Other(value))
    }

    /// The occasion a message was said on, if it is kept with it.
    pub(crate) fn in_message(content: &[ContentBlock]) -> Option<Self> {
        content.iter().find_map(|block| match block {
            ContentBlock::Other(value) if value["type"] == OCCASION => {
                serde_json::from_value(value.clone()).ok()
            }
            _ => None,
        })
    }
}

impl From<&Occasion> for SavedOccasion {
    fn from(occasion: &Occasion) -> Self {
        let text = |word: &Option<std::sync::Arc<str>>| word.as_deref().map(str::to_owned);
        Self {
            user: text(&occasion.user),
            channel: occasion.channel.as_ref().map(|channel| channel.as_str().to_owned()),
            sender: occasion.sender.as_ref().map(|sender| sender.as_str().to_owned()),
            situation: text(&occasion.situation),
            agent: text(&occasion.agent),
            purpose: occasion.purpose.clone(),
            strangers: occasion.strangers,
            model: text(&occasion.model),
            watched: occasion.watched == Watched::AtScreen,
        }
    }
}

impl From<SavedOccasion> for Occasion {
    fn from(saved: SavedOccasion) -> Self {
        let text = |word: Option<String>| word.map(Into::into);
        Self {
            user: text(saved.user),
            channel: saved.channel.as_deref().map(Channel::new),
            sender: saved.sender.as_deref().map(Channel::new),
            situation: text(saved.situation),
            agent: text(saved.agent),
            purpose: saved.purpose,
            strangers: saved.strangers,
            model: text(saved.model),
            watched: if saved.watched { Watched::AtScreen } else { Watched::ByNobody },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_occasion_comes_back_as_it_was() {
        let occasion = Occasion {
            user: Some("bob".into()),
            channel: Some(Channel::new("signal:group-7")),
            sender: Some(Channel::new("signal:bob")),
            situation: Some("group".into()),
            agent: Some("clerk".into()),
            purpose: Purpose::Workflow {
                within: vec!["report".to_owned()],
                tainted: true,
                ceiling: Some(Trust::Inner),
            },
            strangers: Some(Trust::Familiar),
            model: Some("offline/echo".into()),
            watched: Watched::ByNobody,
        };
        let stored = serde_json::to_string(&SavedOccasion::from(&occasion)).unwrap();
        let back: SavedOccasion = serde_json::from_str(&stored).unwrap();
        assert_eq!(Occasion::from(back.clone()), occasion);
        let said = [ContentBlock::text("hello"), back.block().unwrap()];
        assert_eq!(SavedOccasion::in_message(&said), Some(back));
    }
}
