//! A value for a statement parameter.

use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;

use crate::error::StoreError;

/// A column value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// SQL `NULL`.
    Null,
    /// An integer.
    Int(i64),
    /// A float.
    Real(f64),
    Text(String),
}

impl Value {
    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Int(_) | Self::Real(_) => None,
        }
    }
}

/// Fails if a text contains a zero byte, which Postgres can't store; SQLite must behave the same.
pub(crate) fn storable(values: &[Value]) -> Result<(), StoreError> {
    let zero = |value: &Value| matches!(value, Value::Text(text) if text.contains('\0'));
    if values.iter().any(zero) { Err(StoreError::ZeroByte) } else { Ok(()) }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

/// Counts are far below the maximum; a larger one saturates.
impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

/// The engines have no common boolean type.
impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Int(truth.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Timestamp> for Value {
    fn from(at: Timestamp) -> Self {
        Self::Text(at.to_string())
    }
}

impl From<Trust> for Value {
    fn from(trust: Trust) -> Self {
        Self::Text(trust.as_str().to_owned())
    }
}

impl From<ContentHash> for Value {
    fn from(hash: ContentHash) -> Self {
        Self::Text(hash.to_string())
    }
}

impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Self {
        Self::Text(json.to_string())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! from_ids {
    ($($id:ident),*) => {$(
        impl From<&foreword_core::id::$id> for Value {
            fn from(id: &foreword_core::id::$id) -> Self {
                Self::Text(id.as_str().to_owned())
            }
        }
    )*};
}

from_ids!(
    ConversationId,
    MessageId,
    TurnId,
    CallId,
    NodeId,
    InboxId,
    OutboxId,
    ObservationId,
    TokenId,
    DeliveryId,
    RunId
);
