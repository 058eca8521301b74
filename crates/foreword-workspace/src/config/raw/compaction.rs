//! Section `agent.compaction` as people write it.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_saphyr::Spanned;

/// When a conversation is replaced by its summary without being asked. No message is lost: what a summary stands for can
/// still be read with `foreword conversations show`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawCompaction {
    /// The part of the model's context window a conversation may take up when a turn has ended, 0.2 to 0.95, or `off`.
    /// Default: 0.8. Models whose window is not known: only if it is asked for, or the model refuses it as too long.
    #[schemars(with = "Option<RawShare>")]
    pub share: Option<Spanned<RawShare>>,
    /// The same for when nobody waits, such as in a schedule with `compact: true`. Default: 0.3.
    #[schemars(with = "Option<RawShare>")]
    pub night_share: Option<Spanned<RawShare>>,
    /// The same in tokens, for models whose window is not known. Default: 60,000.
    #[schemars(with = "Option<usize>")]
    pub night_tokens: Option<Spanned<usize>>,
}

/// A part of one, or `off`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RawShare {
    /// A part of one.
    Part(f64),
    /// Never.
    Off,
}

impl<'de> Deserialize<'de> for RawShare {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl Visitor<'_> for Written {
    type Value = RawShare;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number such as 0.8, or `off`")
    }

    fn visit_f64<E: Error>(self, part: f64) -> Result<RawShare, E> {
        Ok(RawShare::Part(part))
    }

    fn visit_u64<E: Error>(self, part: u64) -> Result<RawShare, E> {
        Ok(RawShare::Part(part as f64))
    }

    fn visit_i64<E: Error>(self, part: i64) -> Result<RawShare, E> {
        Ok(RawShare::Part(part as f64))
    }

    // Some readers of YAML take `off` for a word, some for `false`.
    fn visit_bool<E: Error>(self, on: bool) -> Result<RawShare, E> {
        if on { Err(E::custom("say how much: a number such as 0.8")) } else { Ok(RawShare::Off) }
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<RawShare, E> {
        match word {
            "off" => Ok(RawShare::Off),
            word => Err(E::custom(format!("`{}` is neither a number nor `off`", word.escape_debug()))),
        }
    }
}

impl JsonSchema for RawShare {
    fn schema_name() -> Cow<'static, str> {
        "RawShare".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A part of one, or `off`.",
            "anyOf": [{ "type": "number", "minimum": 0.05, "maximum": 0.95 }, { "const": "off" }],
        })
    }
}
