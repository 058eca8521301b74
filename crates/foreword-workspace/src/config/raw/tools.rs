//! Section `tools` as people write it.

use std::collections::BTreeMap;

use foreword_prompt::trust::Trust;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::{Named, RawMcpServer};

/// The tools an agent may use.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawTools {
    /// Tools that are switched off. A tool of a server is named with it, as in `files__write_file`; `files__*` are all of them.
    /// Of several rules about one tool, here and below, the strictest holds.
    #[schemars(with = "Vec<String>")]
    pub disabled: Vec<Spanned<String>>,
    /// Another minimum trust for a tool, by name. For a tool of a server it can only be higher than the server's.
    #[schemars(with = "BTreeMap<String, Trust>")]
    pub trust: BTreeMap<String, Spanned<Trust>>,
    /// Tools that a turn which has read text from outside may only call once the owner has agreed. Default: `bash`,
    /// `write_file`, `update_prompt_layer`, `hand_over`.
    #[schemars(with = "Option<Vec<String>>")]
    pub sensitive: Option<Vec<Spanned<String>>>,
    /// How many seconds the owner is waited for before the answer counts as no. Default: 300.
    #[schemars(with = "Option<u64>")]
    pub confirm_seconds: Option<Spanned<u64>>,
    /// The tool `bash`.
    pub bash: RawBash,
    /// Servers of tools, by a name of up to twenty of `a` to `z`, `0` to `9` and `-`. It stands in front of the names of
    /// their tools, as in `time__now`.
    #[schemars(with = "BTreeMap<String, RawMcpServer>")]
    pub mcp: Named<RawMcpServer>,
}

/// The tool `bash`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawBash {
    /// How many milliseconds a command may run. Default: 120,000.
    #[schemars(with = "Option<u64>")]
    pub timeout_ms: Option<Spanned<u64>>,
    /// The most bytes of its output the model reads; what is too much is cut out of the middle. Default: 32,768.
    #[schemars(with = "Option<usize>")]
    pub max_output_bytes: Option<Spanned<usize>>,
    /// Commands that are refused, besides the built-in ones: whole words, wherever they stand; `*` is any text.
    #[schemars(with = "Vec<String>")]
    pub blocked: Vec<Spanned<String>>,
}
