//! Section `budgets` as people write it.

use std::borrow::Cow;
use std::fmt;

use foreword_core::allowance::SpentBy;
use foreword_core::budget::Period;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_saphyr::Spanned;

/// So much may be spent on calls to models, each day, week or month.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawAllowance {
    /// US dollars.
    #[schemars(with = "f64")]
    pub usd: Spanned<f64>,
    /// How often it begins anew, where this machine is: `day`, `week` or `month`. Default: `month`.
    #[serde(default)]
    pub per: Period,
    /// Whose spending counts together: `all`, or that of each `user`, `session` or `agent` by itself. Default: `all`.
    #[serde(default)]
    pub of: SpentBy,
    /// Only this user's spending counts.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub user: Option<Spanned<String>>,
    /// How much of it may be spent before there is a warning: `0.8` or `80 %`. Default: `80 %`.
    #[serde(default)]
    #[schemars(with = "Option<RawPart>")]
    pub warn_at: Option<Spanned<RawPart>>,
    /// Whether no more calls are made once it is used up; `false` means warnings alone. Default: `true`.
    #[serde(default)]
    pub stop: Option<bool>,
}

/// A part of a whole: `0.8`, or `80 %`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RawPart {
    /// In percent.
    pub percent: f64,
}

impl<'de> Deserialize<'de> for RawPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl Visitor<'_> for Written {
    type Value = RawPart;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part such as 0.8 or `80 %`")
    }

    fn visit_f64<E: Error>(self, part: f64) -> Result<RawPart, E> {
        Ok(RawPart { percent: part * 100.0 })
    }

    fn visit_u64<E: Error>(self, part: u64) -> Result<RawPart, E> {
        self.visit_f64(part as f64)
    }

    fn visit_i64<E: Error>(self, part: i64) -> Result<RawPart, E> {
        self.visit_f64(part as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RawPart, E> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        percent
            .map(|percent| RawPart { percent })
            .ok_or_else(|| E::custom("expected a part such as 0.8 or `80 %`"))
    }
}

impl JsonSchema for RawPart {
    fn schema_name() -> Cow<'static, str> {
        "RawPart".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "A part of a whole: `0.8`, or `80 %`.", "type": ["number", "string"] })
    }
}
