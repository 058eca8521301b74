//! The values that a caller passes to templates. A template iterates over a map in the order it was written in.

use std::ops::Deref;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::ordered_value::OrderedValue;

/// Values for templates: read like a JSON object, written and rendered in the order of the input.
///
/// ```
/// use foreword_core::template_context::TemplateContext;
/// let context: TemplateContext = serde_json::from_str(r#"{"z":{"b":1,"a":2},"y":3}"#).unwrap();
/// assert_eq!(context["y"], 3);
/// assert_eq!(serde_json::to_string(&context).unwrap(), r#"{"z":{"b":1,"a":2},"y":3}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateContext {
    values: Map<String, Value>,
    ordered: OrderedValue,
}

impl TemplateContext {
    /// Sets a value, at the end if the key is new.
    pub fn insert(&mut self, key: &str, value: OrderedValue) {
        self.values.insert(key.to_owned(), value.clone().into());
        self.ordered.insert(key, value);
    }
}

impl Default for TemplateContext {
    fn default() -> Self {
        Self { values: Map::new(), ordered: OrderedValue::empty_map() }
    }
}

impl Deref for TemplateContext {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.values
    }
}

impl From<Map<String, Value>> for TemplateContext {
    fn from(values: Map<String, Value>) -> Self {
        let ordered = Value::Object(values.clone()).into();
        Self { values, ordered }
    }
}

impl FromIterator<(String, OrderedValue)> for TemplateContext {
    fn from_iter<I: IntoIterator<Item = (String, OrderedValue)>>(entries: I) -> Self {
        let mut context = Self::default();
        entries.into_iter().for_each(|(key, value)| context.insert(&key, value));
        context
    }
}

impl Serialize for TemplateContext {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.ordered.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TemplateContext {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ordered = OrderedValue::deserialize(deserializer)?;
        match ordered {
            OrderedValue::Map(entries) => Ok(entries.into_iter().collect()),
            _ => Err(D::Error::custom("expected a map of names and values")),
        }
    }
}
