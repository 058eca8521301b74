//! Section `conversations` as people write it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

/// What conversations may be set to.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawConversations {
    /// Directories besides the workspace that the working directory of a conversation may be or lie below: absolute
    /// paths, or paths that begin with `~/`. Default: none.
    #[schemars(with = "Vec<String>")]
    pub cwd_roots: Vec<Spanned<String>>,
}
