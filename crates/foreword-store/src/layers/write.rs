//! Writes a layer: locks the blueprint's layers, validates the text, and adds a version.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use foreword_prompt::blueprint::Blueprint;
use foreword_prompt::layer::LayerId;
use foreword_prompt::layer_update::{Accepted, check_update, default_text, mutable_layer};
use foreword_prompt::text::ContentHash;

use super::read::one_version;
use super::row::{as_found, columns, insert};
use super::{LayerVersion, LayerWrite, Updated, VersionOrigin, VersionWriter};
use crate::changes::StoreChange;
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;

pub(super) struct Write {
    pub(super) blueprint: Arc<Blueprint>,
    pub(super) id: String,
    pub(super) text: NewText,
    pub(super) by: LayerWrite,
}

/// The source of the new text.
pub(super) enum NewText {
    Edit(String),
    /// The text of an earlier version.
    Rollback(u64),
}

impl Operation for Write {
    type Output = Updated;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Updated, StoreError> {
        let blueprint = &*self.blueprint;
        let layer = mutable_layer(blueprint, &self.id)?;
        let mut layers = Layers::lock(sql, blueprint).await?;
        let (origin, text) = match &self.text {
            NewText::Edit(text) => (VersionOrigin::Edit, text.clone()),
            NewText::Rollback(to) => {
                let restored = one_version(sql, &blueprint.name, &self.id, *to).await?;
                (VersionOrigin::Rollback { restores: *to }, restored.text)
            }
        };
        let accepted = layers.check(blueprint, &self.id, &text)?;
        let hash = ContentHash::of(&accepted.text);
        // Before the conflict check, so that a retry after a lost response succeeds.
        if let Some(same) = layers.with_text(&layer.id, hash) {
            return Ok(Updated { version: same, accepted });
        }
        self.conflict(layers.current.get(&layer.id))?;
        if let (None, Some(text)) = (layers.current.get(&layer.id), default_text(layer)) {
            layers.add(sql, default_version(&layer.id, text, true, self.by.at)).await?;
            if let Some(same) = layers.with_text(&layer.id, hash) {
                return Ok(Updated { version: same, accepted });
            }
        }
        let new = LayerVersion {
            layer: layer.id.clone(),
            version: 0,
            text: accepted.text.clone(),
            hash,
            origin,
            applied: true,
            writer: self.by.writer.clone(),
            turn: self.by.turn.clone(),
            message: self.by.message.clone(),
            at: self.by.at,
        };
        let version = layers.add(sql, new).await?;
        Ok(Updated { version, accepted })
    }
}

impl Write {
    fn conflict(&self, current: Option<&LayerVersion>) -> Result<(), StoreError> {
        let found = current.map_or(0, |current| current.version);
        match self.by.expected {
            Some(expected) if expected != found => {
                Err(StoreError::VersionConflict { what: "layer", id: self.id.clone(), expected, found })
            }
            _ => Ok(()),
        }
    }
}

/// A version for a built-in default. It is current only if `applied`.
pub(super) fn default_version(layer: &LayerId, text: String, applied: bool, at: Timestamp) -> LayerVersion {
    LayerVersion {
        layer: layer.clone(),
        version: 0,
        hash: ContentHash::of(&text),
        text,
        origin: VersionOrigin::Default,
        applied,
        writer: VersionWriter::Program,
        turn: None,
        message: None,
        at,
    }
}

/// The locked layers of a blueprint.
pub(super) struct Layers {
    blueprint: Arc<str>,
    /// The current version of each layer.
    pub(super) current: BTreeMap<LayerId, LayerVersion>,
    /// Whether the change was announced: one announcement covers all added versions.
    announced: bool,
}

impl Layers {
    /// Takes the lock for the layers of `blueprint` and reads them.
    pub(super) async fn lock(sql: &mut Transaction<'_>, blueprint: &Blueprint) -> Result<Self, StoreError> {
        let name = &*blueprint.name;
        sql.lock(&format!("layers:{name}")).await?;
        let select = concat!(
            "SELECT ",
            columns!(),
            " FROM layers c \
             JOIN layer_versions v ON v.blueprint = c.blueprint AND v.layer_id = c.layer_id AND v.version = c.version \
             WHERE c.blueprint = ?1"
        );
        let mut current = BTreeMap::new();
        for row in sql.query(select, values![name]).await? {
            let version = as_found(&row)?;
            current.insert(version.layer.clone(), version);
        }
        Ok(Self { blueprint: name.into(), current, announced: false })
    }

    /// Checks whether the text `text` is allowed for layer `id`, given the other layers.
    pub(super) fn check(&self, blueprint: &Blueprint, id: &str, text: &str) -> Result<Accepted, StoreError> {
        let stored = |id: &LayerId| self.current.get(id).map(|version| version.text.as_str());
        Ok(check_update(blueprint, id, text, stored)?)
    }

    /// The current version, if it has this text.
    fn with_text(&self, id: &LayerId, hash: ContentHash) -> Option<LayerVersion> {
        let is_whole =
            |current: &&LayerVersion| current.hash == hash && ContentHash::of(&current.text) == hash;
        self.current.get(id).filter(is_whole).cloned()
    }

    /// Adds the next version and announces the change.
    pub(super) async fn add(
        &mut self,
        sql: &mut Transaction<'_>,
        mut new: LayerVersion,
    ) -> Result<LayerVersion, StoreError> {
        let select = "SELECT MAX(version) FROM layer_versions WHERE blueprint = ?1 AND layer_id = ?2";
        let row = sql.query_optional(select, values![&*self.blueprint, new.layer.as_str()]).await?;
        let highest = row.map_or(Ok(None), |row| row.get::<Option<u64>>(0))?;
        new.version = highest.unwrap_or(0) + 1;
        insert(sql, &self.blueprint, &new).await?;
        if new.applied {
            let put_in_force = "INSERT INTO layers (blueprint, layer_id, version) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (blueprint, layer_id) DO UPDATE SET version = excluded.version";
            sql.execute(put_in_force, values![&*self.blueprint, new.layer.as_str(), new.version]).await?;
            self.current.insert(new.layer.clone(), new.clone());
        }
        if !std::mem::replace(&mut self.announced, true) {
            sql.announce(StoreChange::Layers);
        }
        Ok(new)
    }
}
