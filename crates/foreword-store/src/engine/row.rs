//! A result row. A value of an unexpected type is an error that names the column.

use std::str::FromStr;

use super::Value;
use crate::error::StoreError;

/// A result row. Columns are numbered from 0 in the order of the `SELECT`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    /// Reads a column.
    pub(crate) fn get<T: FromValue>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.value(column);
        T::from_value(value).ok_or_else(|| unreadable::<T>(column, value))
    }

    /// Reads a text column and parses it: an id, a time, a trust, a hash.
    pub(crate) fn parse<T: FromStr>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.value(column);
        value.text().and_then(|text| text.parse().ok()).ok_or_else(|| unreadable::<T>(column, value))
    }

    /// Same, for a nullable column.
    pub(crate) fn parse_optional<T: FromStr>(&self, column: usize) -> Result<Option<T>, StoreError> {
        match self.value(column) {
            Value::Null => Ok(None),
            _ => self.parse(column).map(Some),
        }
    }

    /// Reads a JSON column.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.value(column);
        let parsed = value.text().and_then(|text| serde_json::from_str(text).ok());
        parsed.ok_or_else(|| unreadable::<T>(column, value))
    }

    /// Borrows the text of a column.
    pub(crate) fn text(&self, column: usize) -> Result<&str, StoreError> {
        let value = self.value(column);
        value.text().ok_or_else(|| unreadable::<&str>(column, value))
    }

    fn value(&self, column: usize) -> &Value {
        self.0.get(column).unwrap_or(&Value::Null)
    }
}

fn unreadable<T>(column: usize, value: &Value) -> StoreError {
    // Names only the type: the value may be private.
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

/// A type that a column can be read as.
pub(crate) trait FromValue: Sized {
    /// Converts the value if the type matches.
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
            // SQLite may return a whole number as an integer.
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
