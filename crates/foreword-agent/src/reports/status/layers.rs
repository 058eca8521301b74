//! Prompt layers in the status: their ids, versions, and whether the agent may edit them. Never their text, and never a
//! layer above the viewer's trust.

use std::fmt;

use foreword_core::timestamp::Timestamp;
use foreword_prompt::layer::{FileSelection, Layer, Source};
use foreword_prompt::plan::FileRule;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use foreword_store::error::StoreError;
use foreword_store::layers::MutableLayer;
use foreword_workspace::config::Config;
use serde::Serialize;

use super::NAME_CHARS;
use crate::reports::viewer::Viewer;

/// A prompt layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LayerStatus {
    pub id: String,
    /// Its display name.
    pub title: String,
    /// How often its text may change.
    pub stability: &'static str,
    /// The trust needed to see it.
    pub trust: Trust,
    /// Whether the agent may edit it.
    pub mutable: bool,
    /// The version of its stored text; `None` if there is none.
    pub version: Option<u64>,
    /// The time that version was stored.
    pub updated_at: Option<Timestamp>,
}

/// The layers visible at this trust, in the order of the blueprint, with their stored versions.
pub(super) fn permitted(config: &Config, trust: Trust, stored: &[MutableLayer]) -> Vec<LayerStatus> {
    let all = config.blueprint.layers.iter().flat_map(|layer| match &layer.source {
        Source::Files(selection) => of_files(layer, selection, &config.prompt.files),
        Source::File(file) => {
            let rule = config.prompt.files.iter().find(|rule| !rule.per_user && rule.path == file.path);
            let trust = layer.trust.stricter(rule.map_or(file.unlisted, |rule| rule.trust));
            vec![LayerStatus { trust, ..of_layer(layer, stored) }]
        }
        _ => vec![of_layer(layer, stored)],
    });
    all.filter(|layer| trust.permits(layer.trust)).collect()
}

fn of_layer(layer: &Layer, stored: &[MutableLayer]) -> LayerStatus {
    let current = stored.iter().map(|one| &one.current).find(|one| one.layer == layer.id);
    LayerStatus {
        id: layer.id.to_string(),
        title: layer.title.clone(),
        stability: layer.stability.as_str(),
        trust: layer.trust,
        mutable: layer.mutable.is_some(),
        version: current.map(|current| current.version),
        updated_at: current.map(|current| current.at),
    }
}

/// A layer of files becomes one entry per file, as in a prompt, with the trust the file needs.
fn of_files(layer: &Layer, selection: &FileSelection, rules: &[FileRule]) -> Vec<LayerStatus> {
    let taken = rules.iter().filter(|rule| selection.takes(&rule.path, rule.per_user));
    let status = taken.map(|rule| LayerStatus {
        id: layer.id.for_file(&rule.path).to_string(),
        title: rule.path.clone(),
        trust: layer.trust.stricter(rule.trust),
        ..of_layer(layer, &[])
    });
    status.collect()
}

/// As [`permitted`], with the versions in the viewer's store.
pub(super) async fn visible_to(viewer: &Viewer, config: &Config) -> Result<Vec<LayerStatus>, StoreError> {
    let stored = viewer.store.layers(&config.blueprint.name).await?;
    Ok(permitted(config, viewer.trust, &stored))
}

/// The line for the model.
pub(super) struct Line<'a>(pub(super) &'a [LayerStatus]);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("\nprompt layers: none here");
        }
        let name = |layer: &LayerStatus| match layer.version {
            Some(version) => format!("{} (version {version})", single_line(&layer.id, NAME_CHARS)),
            None => single_line(&layer.id, NAME_CHARS),
        };
        let names: Vec<String> = self.0.iter().map(name).collect();
        write!(f, "\nprompt layers: {}", names.join(", "))?;
        let editable =
            self.0.iter().filter(|layer| layer.mutable).map(|layer| single_line(&layer.id, NAME_CHARS));
        match editable.collect::<Vec<_>>().as_slice() {
            [] => Ok(()),
            ids => write!(f, "; the agent may edit {}", ids.join(", ")),
        }
    }
}
