//! The saved state of a turn, from which another process can resume it.

use foreword_core::message::{ContentBlock, Provenance};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn::Turn;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use foreword_workspace::speaker::Speaker;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::inbound::{Attendance, Purpose, TurnOrigin};

/// The saved state of a turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) turn: Turn,
    /// The content sent for the messages that the turn answers.
    pub(crate) sent: Vec<ContentBlock>,
    /// Whether the first block of `sent` is turn context and not message text.
    #[serde(default)]
    pub(crate) has_context: bool,
    /// The least trusted provenance of `sent`.
    pub(crate) provenance: Provenance,
    /// The author of the messages, if all have the same.
    pub(crate) author: Option<String>,
    #[serde(rename = "occasion")]
    pub(crate) origin: SavedOrigin,
    /// The time of saving.
    pub(crate) at: Timestamp,
}

impl Saved {
    /// The state as JSON. Without a saved state, an interrupted turn starts again from the beginning.
    pub(crate) fn to_json(&self) -> Option<Value> {
        serde_json::to_value(self).ok()
    }
}

/// The stored form of a [`TurnOrigin`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedOrigin {
    user: Option<String>,
    channel: Option<String>,
    sender: Option<String>,
    situation: Option<String>,
    agent: Option<String>,
    purpose: Purpose,
    #[serde(rename = "strangers")]
    unknown_trust: Option<Trust>,
    model: Option<String>,
    #[serde(rename = "watched")]
    interactive: bool,
}

/// The type of the content block that stores the origin of a message. It is never sent to a model.
const OCCASION: &str = "occasion";

impl SavedOrigin {
    /// The origin as a content block of its message.
    pub(crate) fn block(&self) -> Option<ContentBlock> {
        let mut value = serde_json::to_value(self).ok()?;
        value.as_object_mut()?.insert("type".to_owned(), OCCASION.into());
        Some(ContentBlock::Other(value))
    }

    /// The origin that is stored in the content of a message.
    pub(crate) fn in_message(content: &[ContentBlock]) -> Option<Self> {
        content.iter().find_map(|block| match block {
            ContentBlock::Other(value) if value["type"] == OCCASION => {
                serde_json::from_value(value.clone()).ok()
            }
            _ => None,
        })
    }
}

impl From<&TurnOrigin> for SavedOrigin {
    fn from(origin: &TurnOrigin) -> Self {
        let text = |word: &Option<std::sync::Arc<str>>| word.as_deref().map(str::to_owned);
        Self {
            user: text(&origin.speaker.user),
            channel: origin.speaker.channel.as_ref().map(|channel| channel.as_str().to_owned()),
            sender: origin.speaker.sender.as_ref().map(|sender| sender.as_str().to_owned()),
            situation: text(&origin.speaker.situation),
            agent: text(&origin.speaker.agent),
            purpose: origin.purpose.clone(),
            unknown_trust: origin.speaker.unknown_trust,
            model: text(&origin.speaker.model),
            interactive: origin.attendance == Attendance::Interactive,
        }
    }
}

impl From<SavedOrigin> for TurnOrigin {
    fn from(saved: SavedOrigin) -> Self {
        let text = |word: Option<String>| word.map(Into::into);
        Self {
            speaker: Speaker {
                user: text(saved.user),
                channel: saved.channel.as_deref().map(Channel::new),
                sender: saved.sender.as_deref().map(Channel::new),
                situation: text(saved.situation),
                agent: text(saved.agent),
                model: text(saved.model),
                unknown_trust: saved.unknown_trust,
                // Derived from the purpose when the speaker is resolved.
                audience: None,
            },
            purpose: saved.purpose,
            attendance: if saved.interactive { Attendance::Interactive } else { Attendance::Unattended },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_origin_round_trips() {
        let origin = TurnOrigin {
            speaker: Speaker {
                user: Some("bob".into()),
                channel: Some(Channel::new("signal:group-7")),
                sender: Some(Channel::new("signal:bob")),
                situation: Some("group".into()),
                agent: Some("clerk".into()),
                unknown_trust: Some(Trust::Familiar),
                model: Some("offline/echo".into()),
                audience: None,
            },
            purpose: Purpose::Workflow {
                within: vec!["report".to_owned()],
                tainted: true,
                ceiling: Some(Trust::Inner),
            },
            attendance: Attendance::Unattended,
        };
        let stored = serde_json::to_string(&SavedOrigin::from(&origin)).unwrap();
        let back: SavedOrigin = serde_json::from_str(&stored).unwrap();
        assert_eq!(TurnOrigin::from(back.clone()), origin);
        let content = [ContentBlock::text("hello"), back.block().unwrap()];
        assert_eq!(SavedOrigin::in_message(&content), Some(back));
    }
}
