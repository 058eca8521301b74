//! A row on its way out of the database. What can't be understood is an error that names the column, never a guess.

use std::str::FromStr;

use super::Value;
use crate::error::StoreError;

/// One row of an answer; columns are numbered from 0, in the order of the `SELECT`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    /// The value of a column.
    pub(crate) fn get<T: FromValue>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.value(column);
        T::from_value(value).ok_or_else(|| unreadable::<T>(column, value))
    }

    /// The value of a column of text that is written form of something: an id, a time, a trust, a hash.
    pub(crate) fn parse<T: FromStr>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.value(column);
        value.text().and_then(|text| text.parse().ok()).ok_or_else(|| unreadable::<T>(column, value))
    }

    /// The same for a column that may be empty.
    pub(crate) fn parse_optional<T: FromStr>(&self, column: usize) -> Result<Option<T>, StoreError> {
        match self.value(column) {
            Value::Null => Ok(None),
            _ => self.parse(column).map(Some),
        }
    }

    /// The value of a column of JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.value(column);
        let parsed = value.text().and_then(|text| serde_json::from_str(text).ok());
        parsed.ok_or_else(|| unreadable::<T>(column, value))
    }

    /// The text of a column, without a copy.
    pub(crate) fn text(&self, column: usize) -> Result<&str, StoreError> {
        let value = self.value(column);
        value.text().ok_or_else(|| unreadable::<&str>(column, value))
    }

    fn value(&self, column: usize) -> &Value {
        self.0.get(column).unwrap_or(&Value::Null)
    }
}

fn unreadable<T>(column: usize, value: &Value) -> StoreError {
    // Only the kind of what was found: its text may be anybody's.
    let found = match value {
        Value::Null => "nothing",
        Value::Int(_) => "a whole number",
        Value::Real(_) => "a number",
        Value::Text(_) => "another text",
    };
    StoreError::Unreadable {
        what: format!("column {column} should hold {} and holds {found}", std::any::type_name::<T>()),
    }
}

/// What a column can be read as.
pub(crate) trait FromValue: Sized {
    /// The value, if it is one.
    fn from_value(value: &Value) -> Option<Self>;
}

impl FromValue for i64 {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }
}

impl FromValue for u64 {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).and_then(|number| number.try_into().ok())
    }
}

impl FromValue for u32 {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).and_then(|number| number.try_into().ok())
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).map(|number| number != 0)
    }
}

impl FromValue for f64 {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Real(number) => Some(*number),
            // SQLite gives a whole number back as one.
            #[expect(clippy::cast_precision_loss, reason = "costs are far below 2^53")]
            Value::Int(number) => Some(*number as Self),
            _ => None,
        }
    }
}

impl FromValue for String {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}
