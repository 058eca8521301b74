//! Reads layers: current state, history, and the texts for a prompt.

use std::collections::BTreeMap;

use foreword_prompt::stored::{StoredLayer, StoredTemplate, StoredTexts};

use super::row::{COLUMNS, columns, version};
use super::{LayerVersion, MutableLayer};
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::templates;

/// The current version of each layer, with the default of the same text, the newest default, and the newest default
/// that was never applied.
macro_rules! current_layers {
    ($condition:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            ", (SELECT MAX(d.version) FROM layer_versions d \
                WHERE d.blueprint = v.blueprint AND d.layer_id = v.layer_id AND d.origin = 'default' AND d.hash = v.hash)\
             , (SELECT MAX(d.version) FROM layer_versions d \
                WHERE d.blueprint = v.blueprint AND d.layer_id = v.layer_id AND d.origin = 'default')\
             , (SELECT MAX(d.version) FROM layer_versions d \
                WHERE d.blueprint = v.blueprint AND d.layer_id = v.layer_id AND d.origin = 'default' AND NOT EXISTS \
                  (SELECT 1 FROM layer_versions a \
                   WHERE a.blueprint = d.blueprint AND a.layer_id = d.layer_id AND a.hash = d.hash AND a.applied = 1)) \
             FROM layers c \
             JOIN layer_versions v ON v.blueprint = c.blueprint AND v.layer_id = c.layer_id AND v.version = c.version \
             WHERE c.blueprint = ?1",
            $condition
        )
    };
}

pub(super) struct One {
    pub(super) blueprint: String,
    pub(super) id: String,
}

impl Operation for One {
    type Output = Option<MutableLayer>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<MutableLayer>, StoreError> {
        let select = current_layers!(" AND c.layer_id = ?2");
        let row = sql.query_optional(select, values![&self.blueprint, &self.id]).await?;
        row.as_ref().map(layer).transpose()
    }
}

pub(super) struct All {
    pub(super) blueprint: String,
}

impl Operation for All {
    type Output = Vec<MutableLayer>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<MutableLayer>, StoreError> {
        all(sql, &self.blueprint).await
    }
}

/// The current state of all stored layers of a blueprint. Sorted here, because the engines collate differently.
async fn all(sql: &mut Transaction<'_>, blueprint: &str) -> Result<Vec<MutableLayer>, StoreError> {
    let rows = sql.query(current_layers!(""), values![blueprint]).await?;
    let mut layers = rows.iter().map(layer).collect::<Result<Vec<_>, _>>()?;
    layers.sort_by(|one, other| one.current.layer.cmp(&other.current.layer));
    Ok(layers)
}

fn layer(row: &Row) -> Result<MutableLayer, StoreError> {
    let same: Option<u64> = row.get(COLUMNS)?;
    let newest: Option<u64> = row.get(COLUMNS + 1)?;
    let never_in_force: Option<u64> = row.get(COLUMNS + 2)?;
    Ok(MutableLayer {
        current: version(row)?,
        is_default: same.is_some(),
        follows_defaults: same.is_some() && same == newest,
        newer_default: never_in_force.filter(|version| newest == Some(*version)),
    })
}

pub(super) struct History {
    pub(super) blueprint: String,
    pub(super) id: String,
    pub(super) before: Option<u64>,
    pub(super) limit: u32,
}

impl Operation for History {
    type Output = Vec<LayerVersion>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<LayerVersion>, StoreError> {
        let select = concat!(
            "SELECT ",
            columns!(),
            " FROM layer_versions v WHERE v.blueprint = ?1 AND v.layer_id = ?2 AND v.version < ?3 \
              ORDER BY v.version DESC LIMIT ?4"
        );
        let before = self.before.unwrap_or(u64::MAX);
        let values = values![&self.blueprint, &self.id, before, i64::from(self.limit)];
        sql.query(select, values).await?.iter().map(version).collect()
    }
}

pub(super) struct Version {
    pub(super) blueprint: String,
    pub(super) id: String,
    pub(super) version: u64,
}

impl Operation for Version {
    type Output = LayerVersion;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<LayerVersion, StoreError> {
        one_version(sql, &self.blueprint, &self.id, self.version).await
    }
}

/// One version of a layer.
pub(super) async fn one_version(
    sql: &mut Transaction<'_>,
    blueprint: &str,
    id: &str,
    number: u64,
) -> Result<LayerVersion, StoreError> {
    let select = concat!(
        "SELECT ",
        columns!(),
        " FROM layer_versions v WHERE v.blueprint = ?1 AND v.layer_id = ?2 AND v.version = ?3"
    );
    match sql.query_optional(select, values![blueprint, id, number]).await? {
        Some(row) => version(&row),
        None => {
            let id = format!("{} v{number}", id.escape_debug());
            Err(StoreError::NotFound { what: "layer version", id })
        }
    }
}

pub(super) struct Texts {
    pub(super) blueprint: String,
}

impl Operation for Texts {
    type Output = StoredTexts;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<StoredTexts, StoreError> {
        let template = templates::newest(sql)
            .await?
            .map(|newest| StoredTemplate { version: newest.version, text: newest.text.into() });
        let mut layers = BTreeMap::new();
        for MutableLayer { current, is_default, .. } in all(sql, &self.blueprint).await? {
            let text = StoredLayer { version: current.version, text: current.text.into(), is_default };
            layers.insert(current.layer, text);
        }
        Ok(StoredTexts::new(&self.blueprint, template, layers))
    }
}
