//! Key `agent.state` as people write it.

use foreword_core::budget::Period;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

/// Where the agent learns how it stands: one of `file`, `command` and `budget`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawState {
    /// A JSON or YAML file below the workspace: a mapping of names to values.
    #[schemars(with = "Option<String>")]
    pub file: Option<Spanned<String>>,
    /// A program and its arguments; it prints such a mapping. It runs in the workspace, with hardly any environment.
    #[schemars(with = "Option<Vec<String>>")]
    pub command: Option<Spanned<Vec<String>>>,
    /// How many milliseconds the program may take. Default: 2,000.
    #[schemars(with = "Option<u64>")]
    pub timeout_ms: Option<Spanned<u64>>,
    /// What calls to models cost, against this budget.
    #[schemars(with = "Option<RawSpending>")]
    pub budget: Option<Spanned<RawSpending>>,
}

/// So much money, each day, week or month.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSpending {
    /// US dollars.
    pub usd: f64,
    /// How often it begins anew: `day`, `week` or `month`. Default: `month`.
    #[serde(default)]
    pub per: Period,
}
