//! A blueprint as written in `foreword.yaml` and in the built-in ones. Checks only types and words;
//! [`super::Blueprint`] checks whether the layers are consistent.

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::layer::{Authority, Dialect, Dynamic, Generated, Merge, Overflow, Stability};
use crate::trust::Trust;

/// A blueprint: the layers of a prompt, in the order they are read.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlueprintSpec {
    /// The separator between two layers. Default: an empty line.
    pub separator: Option<String>,
    /// Keeps the order as written even where a less stable layer stands before a more stable one, at a price that
    /// `foreword explain` shows.
    #[serde(default)]
    pub allow_cache_unsafe: bool,
    /// Models with a context window below this many tokens get the compact form. Default: never.
    pub compact_below: Option<usize>,
    /// The most characters all mutable layers together may make of the prompt.
    pub max_chars: Option<usize>,
    /// The layers.
    pub layers: Vec<LayerSpec>,
}

/// A layer as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LayerSpec {
    /// A short name, unique in the blueprint.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: Spanned<String>,
    /// A name for people. Default: the id.
    pub title: Option<String>,
    /// Which layer wins a conflict. Default: `instructions`.
    pub authority: Option<Authority>,
    /// How long its bytes stay the same.
    pub stability: Stability,
    /// The trust required to see it. Default: that of its files, otherwise `full`, so that a missing key reveals
    /// nothing.
    pub trust: Option<Trust>,
    /// Where its text comes from.
    #[cfg_attr(feature = "schema", schemars(with = "SourceSpec"))]
    pub source: Spanned<SourceSpec>,
    /// A line before the text. Default: none.
    pub heading: Option<String>,
    /// How a file and the built-in text go together. Default: `fallback`.
    pub merge: Option<Merge>,
    /// What happens when it does not fit. Default: `reject` for policy layers, else `head_tail`.
    pub overflow: Option<Overflow>,
    /// From 0 to 100: the lowest is cut first. Default: 50.
    pub priority: Option<u8>,
    /// Never cut below this many tokens.
    pub min_tokens: Option<usize>,
    /// Never more than this many tokens.
    pub max_tokens: Option<usize>,
    /// Lets the agent rewrite the layer, up to `max_chars`.
    pub mutable: Option<MutableSpec>,
    /// Its one-line replacement in the compact form. Default: it is kept whole.
    pub compact: Option<String>,
}

/// How a mutable layer may be changed.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MutableSpec {
    /// The most characters it may hold.
    pub max_chars: usize,
}

/// Where a layer's text comes from: exactly one of `builtin` (alone), `text`, `file`, `files`, `overlay`, `template`,
/// `instructions`, `stored`, `generated`, `dynamic`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceSpec {
    /// The name of a built-in text; with `file`, the text used without the file.
    pub builtin: Option<String>,
    /// Beside `builtin`: the instructions of the active skills follow the text.
    #[serde(default)]
    pub active_skills: bool,
    /// The text itself.
    pub text: Option<String>,
    /// A file of the workspace; `{family}` and `{user}` are filled in.
    pub file: Option<String>,
    /// Beside `file`: the build fails without it.
    #[serde(default)]
    pub required: bool,
    /// With `file`: the trust required if `prompt.files` does not list it. Default: that of the layer.
    pub unlisted: Option<Trust>,
    /// Files listed in `prompt.files`, a layer each.
    pub files: Option<FilesSpec>,
    /// The overlay file of the situation.
    pub overlay: Option<OverlayOf>,
    /// A template file, or `configured` for `prompt.template_file`.
    pub template: Option<String>,
    /// Beside `template`: its language.
    pub dialect: Option<Dialect>,
    /// The agent's instructions, as configured.
    pub instructions: Option<InstructionsOf>,
    /// A text the agent may edit; the name of the built-in one it starts from.
    pub stored: Option<String>,
    /// Made from what the workspace offers.
    pub generated: Option<Generated>,
    /// Made each turn.
    pub dynamic: Option<Dynamic>,
}

/// Which files of `prompt.files` a layer takes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilesSpec {
    /// Only these paths.
    pub only: Vec<String>,
    /// Never these paths.
    pub except: Vec<String>,
    /// The per-user files instead of the others.
    pub per_user: bool,
}

/// Whose overlay.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum OverlayOf {
    /// The situation's.
    Situation,
}

/// Whose instructions.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum InstructionsOf {
    /// The configured agent's.
    Configured,
}
