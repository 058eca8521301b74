//! Section `agent.compaction`: when conversations are compacted automatically.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use foreword_core::compaction::{CompactionPolicy, Share};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_saphyr::Spanned;

use super::parse::ConfigParser;

/// When a conversation is compacted automatically, which replaces it by a summary. No message is lost: `foreword
/// conversations show` still shows them.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawCompaction {
    /// The share of the model's context window that a conversation may use after a turn, 0.2 to 0.95, or `off`.
    /// Default: 0.8. With an unknown context window, compaction happens only on request, or when the model rejects a
    /// request as too long.
    #[schemars(with = "Option<RawShare>")]
    pub share: Option<Spanned<RawShare>>,
    /// The same for background compaction, such as a schedule with `compact: true`. Default: 0.3.
    #[schemars(with = "Option<RawShare>")]
    pub night_share: Option<Spanned<RawShare>>,
    /// The same in tokens, for models with an unknown context window. Default: 60,000.
    #[schemars(with = "Option<usize>")]
    pub night_tokens: Option<Spanned<usize>>,
}

/// A fraction, or `off`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RawShare {
    /// A fraction.
    Part(f64),
    /// Disabled.
    Off,
}

impl<'de> Deserialize<'de> for RawShare {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShareVisitor)
    }
}

struct ShareVisitor;

impl Visitor<'_> for ShareVisitor {
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

    // Some YAML parsers read `off` as a string, some as `false`.
    fn visit_bool<E: Error>(self, on: bool) -> Result<RawShare, E> {
        if on { Err(E::custom("expected a number such as 0.8, or `off`")) } else { Ok(RawShare::Off) }
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
            "description": "A fraction, or `off`.",
            "anyOf": [{ "type": "number", "minimum": 0.05, "maximum": 0.95 }, { "const": "off" }],
        })
    }
}

/// A lower share would compact a conversation right after its start; with a higher one the summary may not fit.
const SHARES: RangeInclusive<f64> = 0.2..=0.95;
/// Background compaction may use a smaller share.
const NIGHT_SHARES: RangeInclusive<f64> = 0.05..=0.95;
const NIGHT_TOKENS: RangeInclusive<usize> = 1_000..=10_000_000;

impl ConfigParser<'_> {
    pub(super) fn compaction(&mut self, raw: &RawCompaction) -> CompactionPolicy {
        let default = CompactionPolicy::default();
        let share = self.share(raw.share.as_ref(), "agent.compaction.share", SHARES, default.share);
        let night_share = raw.night_share.as_ref();
        let night_share =
            self.share(night_share, "agent.compaction.night_share", NIGHT_SHARES, default.night_share);
        let tokens = raw.night_tokens.as_ref();
        let night_tokens =
            self.within(tokens, "agent.compaction.night_tokens", NIGHT_TOKENS, default.night_tokens);
        CompactionPolicy { share, night_share, night_tokens }
    }

    fn share(
        &mut self,
        written: Option<&Spanned<RawShare>>,
        key: &str,
        bounds: RangeInclusive<f64>,
        default: Option<Share>,
    ) -> Option<Share> {
        let Some(written) = written else { return default };
        let part = match written.value {
            RawShare::Off => return None,
            RawShare::Part(part) => part,
        };
        if let Some(share) = Share::of_a_whole(part).filter(|_| bounds.contains(&part)) {
            return Some(share);
        }
        let (least, most) = bounds.into_inner();
        let default_words = default.map_or_else(|| "off".to_owned(), |share| share.to_string());
        self.refuse(
            written.defined,
            format!("`{key}` is {part}, which is out of range"),
            format!("use {least} to {most}, `off`, or leave it out for {default_words}"),
        );
        default
    }
}
