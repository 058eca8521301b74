//! Records this program's built-in defaults. [`foreword_prompt::layer_defaults`] decides whether each is applied.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use foreword_prompt::blueprint::Blueprint;
use foreword_prompt::layer::{Layer, LayerId};
use foreword_prompt::layer_defaults::{self, DefaultAction, decide};
use foreword_prompt::layer_update::default_text;
use foreword_prompt::text::ContentHash;

use super::LayerVersion;
use super::row::layer_id;
use super::write::{Layers, default_version};
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;

pub(super) struct Sync {
    pub(super) blueprint: Arc<Blueprint>,
    pub(super) at: Timestamp,
}

impl Operation for Sync {
    type Output = Vec<LayerVersion>;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<LayerVersion>, StoreError> {
        let blueprint = &*self.blueprint;
        let mut layers = Layers::lock(sql, blueprint).await?;
        let recorded = recorded_defaults(sql, &blueprint.name).await?;
        let mut added = Vec::new();
        for layer in &blueprint.layers {
            let Some(text) = default_text(layer) else { continue };
            let current = layers.current.get(&layer.id).map(|current| current.hash);
            let defaults = recorded.get(&layer.id).map_or(&[][..], Vec::as_slice);
            let applied =
                match decide(ContentHash::of(&text), layer_defaults::LayerVersions { current, defaults }) {
                    DefaultAction::Nothing => continue,
                    DefaultAction::Record => false,
                    // The first is what prompts hold anyway. A later one has to fit beside what was written since.
                    DefaultAction::Apply => {
                        current.is_none() || layers.check(blueprint, layer.id.as_str(), &text).is_ok()
                    }
                };
            added.push(layers.add(sql, default_version(&layer.id, text, applied, self.at)).await?);
        }
        Ok(added)
    }
}

/// Checks whether all defaults of a blueprint are recorded.
pub(super) struct DefaultsRecorded {
    pub(super) blueprint: Arc<Blueprint>,
}

impl Operation for DefaultsRecorded {
    type Output = bool;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<bool, StoreError> {
        let recorded = recorded_defaults(sql, &self.blueprint.name).await?;
        let is_known = |layer: &Layer| {
            let Some(text) = default_text(layer) else { return true };
            recorded.get(&layer.id).is_some_and(|known| known.contains(&ContentHash::of(&text)))
        };
        Ok(self.blueprint.layers.iter().all(is_known))
    }
}

/// All recorded defaults by layer, the oldest first.
async fn recorded_defaults(
    sql: &mut Transaction<'_>,
    blueprint: &str,
) -> Result<BTreeMap<LayerId, Vec<ContentHash>>, StoreError> {
    let select = "SELECT layer_id, hash FROM layer_versions \
         WHERE blueprint = ?1 AND origin = 'default' ORDER BY layer_id, version";
    let mut recorded: BTreeMap<LayerId, Vec<ContentHash>> = BTreeMap::new();
    for row in sql.query(select, values![blueprint]).await? {
        recorded.entry(layer_id(&row)?).or_default().push(row.parse(1)?);
    }
    Ok(recorded)
}
