//! Names of things that last: short texts that are told apart by their type. Whoever makes a thing makes its id; nothing
//! here does.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest id, in bytes.
pub const MAX_ID_BYTES: usize = 200;

/// A text that is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is no {what}: it needs 1 to {MAX_ID_BYTES} bytes without spaces or control characters", shown(.text))]
pub struct BadId {
    /// Which kind was wanted.
    pub what: &'static str,
    /// What was given.
    pub text: String,
}

/// At most a line's worth of a text that may be anything.
fn shown(text: &str) -> String {
    let short: String = text.escape_debug().take(40).collect();
    if text.is_empty() { "an empty text".to_owned() } else { format!("`{short}`") }
}

fn is_id(text: &str) -> bool {
    (1..=MAX_ID_BYTES).contains(&text.len()) && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id written as `text`.
            ///
            /// # Errors
            /// If it is empty, too long, or holds a space or a control character.
            pub fn new(text: impl AsRef<str>) -> Result<Self, BadId> {
                let text = text.as_ref();
                if is_id(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(BadId { what: $what, text: text.to_owned() })
                }
            }

            /// The id as it is written.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;

            fn try_from(text: String) -> Result<Self, BadId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().to_owned()
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )*};
}

ids! {
    /// A conversation.
    ///
    /// ```
    /// use foreword_core::id::ConversationId;
    /// assert_eq!(ConversationId::new("signal:group-7").unwrap().as_str(), "signal:group-7");
    /// assert!(ConversationId::new("two words").is_err());
    /// ```
    ConversationId = "conversation id";
    /// A message of a conversation.
    MessageId = "message id";
    /// A turn: from a message to the agent's answer.
    TurnId = "turn id";
    /// A call of a tool within a turn.
    CallId = "call id";
    /// A process that runs turns.
    NodeId = "node id";
    /// A message that somebody left for the agent.
    InboxId = "inbox id";
    /// A message that the agent left for somebody.
    OutboxId = "outbox id";
    /// Something worth remembering.
    ObservationId = "observation id";
    /// A token that opens the HTTP interface.
    TokenId = "token id";
    /// An answer on its way to a bridge.
    DeliveryId = "delivery id";
    /// One run of a workflow.
    RunId = "run id";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_short_text_without_spaces() {
        for good in ["a", "signal:+15550100", "0190-7b", &"x".repeat(MAX_ID_BYTES)] {
            assert!(TurnId::new(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "a b", "a\n", "a\u{0}", "\u{a0}", &"x".repeat(MAX_ID_BYTES + 1)] {
            assert!(TurnId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_refusal_says_what_was_wanted_and_stays_on_one_line() {
        let error = TurnId::new("a\nb").unwrap_err().to_string();
        assert!(error.starts_with("`a\\nb` is no turn id") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn a_bad_id_is_refused_when_it_is_read_from_json() {
        assert!(serde_json::from_str::<MessageId>("\"m-1\"").is_ok());
        assert!(serde_json::from_str::<MessageId>("\"\"").is_err());
    }
}
