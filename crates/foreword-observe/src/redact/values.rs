//! Redacts JSON: by key at any depth, by form, in key names, and in arrays that are command lines or headers.

use serde_json::{Map, Value};

use super::Redactor;

impl Redactor {
    /// Redacts `value` at any depth.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.string(text),
            Value::Array(items) => self.array(items),
            Value::Object(map) => self.object(map),
        }
    }

    fn string(&self, text: &mut String) {
        if let std::borrow::Cow::Owned(masked) = self.text(text) {
            *text = masked;
        }
    }

    fn array(&self, items: &mut [Value]) {
        let is_pair = items.len() == 2;
        let mut under_key = false;
        for item in items {
            if under_key && item.is_string() {
                self.mask_all(item);
                under_key = false;
                continue;
            }
            self.value(item);
            // `["--token", "…"]` is a command line, and `["Authorization", "…"]` a header.
            under_key = item.as_str().is_some_and(|text| {
                (is_pair || text.starts_with('-')) && self.is_secret_key(text) && !text.contains('=')
            });
        }
    }

    fn object(&self, map: &mut Map<String, Value>) {
        let named = ["name", "key", "header"].iter().any(|field| {
            map.get(*field).and_then(Value::as_str).is_some_and(|name| self.is_secret_key(name))
        });
        for (key, value) in map.iter_mut() {
            if self.is_secret_key(key) || (named && key == "value") {
                self.mask_all(value);
            } else {
                self.value(value);
            }
        }
        self.names(map);
    }

    /// Key names can be secrets too, where an object counts by them.
    fn names(&self, map: &mut Map<String, Value>) {
        let renamed: Vec<(String, String)> = map
            .keys()
            .filter_map(|key| match self.text(key) {
                std::borrow::Cow::Owned(masked) => Some((key.clone(), masked)),
                std::borrow::Cow::Borrowed(_) => None,
            })
            .collect();
        for (key, masked) in renamed {
            let Some(value) = map.remove(&key) else { continue };
            let mut name = masked.clone();
            let mut number = 2;
            while map.contains_key(&name) {
                name = format!("{masked} ({number})");
                number += 1;
            }
            map.insert(name, value);
        }
    }

    /// Masks all scalar content of `value`.
    fn mask_all(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => *value = Value::String(self.mask(&number.to_string())),
            Value::String(text) if text.is_empty() => {}
            Value::String(text) => *text = self.mask(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_all(item)),
            Value::Object(map) => {
                map.values_mut().for_each(|value| self.mask_all(value));
                self.names(map);
            }
        }
    }

    fn is_secret_key(&self, key: &str) -> bool {
        self.0.scanner.keys.judge(key).is_some()
    }
}
