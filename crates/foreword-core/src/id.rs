//! Typed ids: short strings without spaces. Callers generate the ids.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::serde_text::serde_as_text;

/// The maximum length of an id, in bytes.
pub const MAX_ID_BYTES: usize = 200;

/// An invalid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not a valid {what}: it needs 1 to {MAX_ID_BYTES} bytes without spaces or control characters", excerpt(.text))]
pub struct BadId {
    /// The expected kind of id.
    pub what: &'static str,
    /// The given text.
    pub text: String,
}

/// The text, escaped and cut to 40 characters.
fn excerpt(text: &str) -> String {
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
            /// Validates `text` as an id.
            ///
            /// # Errors
            /// If it is empty, too long, or contains a space or a control character.
            pub fn new(text: impl AsRef<str>) -> Result<Self, BadId> {
                let text = text.as_ref();
                if is_id(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(BadId { what: $what, text: text.to_owned() })
                }
            }

            /// The id as text.
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

        serde_as_text!($name);

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
    /// A tool call within a turn.
    CallId = "call id";
    /// A process that runs turns.
    NodeId = "node id";
    /// A message in the agent's inbox.
    InboxId = "inbox id";
    /// A message in the agent's outbox.
    OutboxId = "outbox id";
    /// An observation in the memory.
    ObservationId = "observation id";
    /// An API token.
    TokenId = "token id";
    /// A delivery of an answer to a bridge.
    DeliveryId = "delivery id";
    /// A run of a workflow.
    RunId = "run id";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_short_without_spaces() {
        for good in ["a", "signal:+15550100", "0190-7b", &"x".repeat(MAX_ID_BYTES)] {
            assert!(TurnId::new(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "a b", "a\n", "a\u{0}", "\u{a0}", &"x".repeat(MAX_ID_BYTES + 1)] {
            assert!(TurnId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn error_names_the_expected_id_on_one_line() {
        let error = TurnId::new("a\nb").unwrap_err().to_string();
        assert!(error.starts_with("`a\\nb` is not a valid turn id") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn invalid_ids_in_json_are_rejected() {
        assert!(serde_json::from_str::<MessageId>("\"m-1\"").is_ok());
        assert!(serde_json::from_str::<MessageId>("\"\"").is_err());
    }
}
