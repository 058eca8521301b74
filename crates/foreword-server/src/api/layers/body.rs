//! The JSON of layers.

use std::collections::BTreeMap;

use foreword_core::timestamp::Timestamp;
use foreword_prompt::blueprint::{Blueprint, builtin};
use foreword_prompt::layer::{Layer, LayerId, Source, Stability};
use foreword_prompt::layer_update::{check_update, default_text};
use foreword_prompt::trust::Trust;
use foreword_store::layers::{LayerVersion, MutableLayer, VersionOrigin};
use serde::Serialize;
use utoipa::ToSchema;

/// A layer without its text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LayerLine {
    /// Its id within the blueprint.
    #[schema(example = "6")]
    pub(super) id: String,
    /// Its title.
    pub(super) title: String,
    /// `mutable`, `immutable`, or `dynamic` if it is generated for each turn.
    #[schema(example = "mutable")]
    pub(super) kind: &'static str,
    /// Whether it can be changed.
    pub(super) mutable: bool,
    /// How long its text stays the same.
    #[schema(value_type = String, example = "agent")]
    pub(super) stability: Stability,
    /// The trust needed to see it.
    #[schema(value_type = String, example = "public")]
    pub(super) trust: Trust,
    /// Its length in characters, if the text does not depend on the occasion.
    pub(super) chars: Option<usize>,
    /// The maximum length, if it is mutable.
    pub(super) max_chars: Option<usize>,
    /// The current version, if stored.
    pub(super) version: Option<u64>,
    /// Whether a new default replaces its text.
    pub(super) follows_defaults: Option<bool>,
    /// The version of a newer default that was never used.
    pub(super) newer_default: Option<u64>,
}

impl LayerLine {
    pub(super) fn of(layer: &Layer, stored: Option<&MutableLayer>) -> Self {
        let text = stored.map(|stored| stored.current.text.clone()).or_else(|| fixed_text(layer));
        Self {
            id: layer.id.to_string(),
            title: layer.title.clone(),
            kind: match (layer.mutable, layer.stability) {
                (Some(_), _) => "mutable",
                (None, Stability::Turn) => "dynamic",
                (None, _) => "immutable",
            },
            mutable: layer.mutable.is_some(),
            stability: layer.stability,
            trust: layer.trust,
            chars: text.map(|text| text.chars().count()),
            max_chars: layer.mutable.map(|mutable| mutable.max_chars),
            version: stored.map(|stored| stored.current.version),
            follows_defaults: stored.map(|stored| stored.follows_defaults),
            newer_default: stored.and_then(|stored| stored.newer_default),
        }
    }
}

/// A layer with its text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LayerBody {
    /// The layer.
    #[serde(flatten)]
    pub(super) layer: LayerLine,
    /// Its text; `null` if it depends on the occasion.
    pub(super) content: Option<String>,
    /// The current version, if stored.
    pub(super) current: Option<VersionBody>,
}

impl LayerBody {
    pub(super) fn of(layer: &Layer, stored: Option<MutableLayer>) -> Self {
        let line = LayerLine::of(layer, stored.as_ref());
        let current = stored.map(|stored| VersionBody::from(stored.current));
        let content = current.as_ref().map(|current| current.content.clone()).or_else(|| fixed_text(layer));
        Self { layer: line, content, current }
    }
}

/// A version of a layer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct VersionBody {
    /// The layer.
    pub(super) layer: String,
    /// Its number, from 1.
    pub(super) version: u64,
    /// Its origin: `default`, `edit` or `rollback`.
    #[schema(example = "edit")]
    pub(super) origin: &'static str,
    /// The version that a rollback restored.
    pub(super) restores: Option<u64>,
    /// Whether it was ever used, rather than only stored.
    pub(super) in_force: bool,
    /// The author.
    pub(super) writer: WriterBody,
    /// The turn it was written in.
    pub(super) turn: Option<String>,
    /// The author's message.
    pub(super) message: Option<String>,
    /// When it was stored.
    #[schema(value_type = String, format = DateTime)]
    pub(super) at: Timestamp,
    /// The hash of its content.
    pub(super) hash: String,
    /// The text.
    pub(super) content: String,
}

/// The author of a version.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WriterBody {
    /// `program`, `owner` or `agent`.
    #[schema(example = "owner")]
    kind: &'static str,
    /// The name.
    name: Option<String>,
}

impl From<LayerVersion> for VersionBody {
    fn from(version: LayerVersion) -> Self {
        Self {
            layer: version.layer.to_string(),
            version: version.version,
            origin: version.origin.as_str(),
            restores: match version.origin {
                VersionOrigin::Rollback { restores } => Some(restores),
                VersionOrigin::Default | VersionOrigin::Edit => None,
            },
            in_force: version.applied,
            writer: WriterBody {
                kind: version.writer.kind(),
                name: version.writer.name().map(str::to_owned),
            },
            turn: version.turn.map(|turn| turn.to_string()),
            message: version.message,
            at: version.at,
            hash: version.hash.to_string(),
            content: version.text,
        }
    }
}

/// The remaining length of all layers, by the rule that checks updates.
pub(super) fn remaining(blueprint: &Blueprint, stored: &BTreeMap<LayerId, MutableLayer>) -> Option<usize> {
    let text_of = |id: &LayerId| stored.get(id).map(|layer| layer.current.text.as_str());
    blueprint.layers.iter().filter(|layer| layer.mutable.is_some()).find_map(|layer| {
        let default = default_text(layer);
        let text = text_of(&layer.id).or(default.as_deref())?;
        check_update(blueprint, layer.id.as_str(), text, text_of).ok()?.remaining
    })
}

/// The text of a layer that does not depend on the occasion and is not stored.
fn fixed_text(layer: &Layer) -> Option<String> {
    match &layer.source {
        Source::Builtin { name, .. } => builtin::text(name).map(|text| text.trim_end().to_owned()),
        Source::Text(text) => Some(text.to_string()),
        _ => default_text(layer),
    }
}
