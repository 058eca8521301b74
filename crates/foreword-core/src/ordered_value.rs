//! JSON whose maps keep the order they were written in, for values that a template iterates over. `serde_json`'s own
//! maps are sorted here, and much else relies on that: stored records, hashes of schemas, snapshots.

use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A JSON value with ordered maps.
///
/// ```
/// use foreword_core::ordered_value::OrderedValue;
/// let value: OrderedValue = serde_json::from_str(r#"{"z":{"b":1,"a":2},"y":[null]}"#).unwrap();
/// assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"z":{"b":1,"a":2},"y":[null]}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderedValue {
    /// Neither a list nor a map.
    Leaf(Value),
    /// A list.
    List(Vec<OrderedValue>),
    /// A map, in the order of its keys.
    Map(Vec<(String, OrderedValue)>),
}

impl OrderedValue {
    /// A map without keys.
    #[must_use]
    pub fn empty_map() -> Self {
        Self::Map(Vec::new())
    }

    /// Sets `key`, at the end if it is new. Does nothing to what is not a map.
    pub fn insert(&mut self, key: &str, value: Self) {
        let Self::Map(entries) = self else { return };
        match entries.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = value,
            None => entries.push((key.to_owned(), value)),
        }
    }
}

impl From<Value> for OrderedValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(map) => {
                Self::Map(map.into_iter().map(|(key, value)| (key, Self::from(value))).collect())
            }
            leaf => Self::Leaf(leaf),
        }
    }
}

impl From<OrderedValue> for Value {
    fn from(value: OrderedValue) -> Self {
        match value {
            OrderedValue::Leaf(leaf) => leaf,
            OrderedValue::List(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            OrderedValue::Map(entries) => {
                Self::Object(entries.into_iter().map(|(key, value)| (key, Self::from(value))).collect())
            }
        }
    }
}

impl Serialize for OrderedValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Leaf(value) => value.serialize(serializer),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for OrderedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = OrderedValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<OrderedValue, E> {
        Ok(OrderedValue::Leaf(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<OrderedValue, E> {
        Ok(OrderedValue::Leaf(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<OrderedValue, E> {
        Ok(OrderedValue::Leaf(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<OrderedValue, E> {
        Ok(OrderedValue::Leaf(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<OrderedValue, E> {
        Ok(OrderedValue::Leaf(value.into()))
    }

    fn visit_none<E>(self) -> Result<OrderedValue, E> {
        Ok(OrderedValue::Leaf(Value::Null))
    }

    fn visit_unit<E>(self) -> Result<OrderedValue, E> {
        Ok(OrderedValue::Leaf(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<OrderedValue, D::Error> {
        Deserialize::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OrderedValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(OrderedValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OrderedValue, A::Error> {
        let mut value = OrderedValue::empty_map();
        while let Some((key, entry)) = map.next_entry::<String, OrderedValue>()? {
            value.insert(&key, entry);
        }
        Ok(value)
    }
}
