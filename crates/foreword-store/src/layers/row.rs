//! Converts versions of layers to rows and back.

use foreword_prompt::layer::LayerId;
use foreword_prompt::text::ContentHash;

use super::{LayerVersion, VersionOrigin, VersionWriter};
use crate::engine::{Row, Transaction, values};
use crate::error::StoreError;

/// The columns of a version, in the order that [`version`] reads them.
macro_rules! columns {
    () => {
        "v.layer_id, v.version, v.content, v.hash, v.origin, v.restores, v.applied, v.writer_kind, v.writer, v.turn_id, v.message, v.created_at"
    };
}
pub(super) use columns;

/// The number of columns.
pub(super) const COLUMNS: usize = 12;

/// Reads a version, and fails if its text does not match its hash.
pub(super) fn version(row: &Row) -> Result<LayerVersion, StoreError> {
    let version = as_found(row)?;
    if ContentHash::of(&version.text) != version.hash {
        let id = format!("{} v{}", version.layer, version.version);
        return Err(StoreError::Damaged { what: "layer", id });
    }
    Ok(version)
}

/// As [`version`], without the hash check: a damaged text can be replaced.
pub(super) fn as_found(row: &Row) -> Result<LayerVersion, StoreError> {
    Ok(LayerVersion {
        layer: layer_id(row)?,
        version: row.get(1)?,
        text: row.get(2)?,
        hash: row.parse(3)?,
        origin: origin(row)?,
        applied: row.get(6)?,
        writer: writer(row)?,
        turn: row.parse_optional(9)?,
        message: row.get(10)?,
        at: row.parse(11)?,
    })
}

/// The layer id in a row's first column.
pub(super) fn layer_id(row: &Row) -> Result<LayerId, StoreError> {
    LayerId::parse(&row.get::<String>(0)?).ok_or_else(|| unreadable("the name of a layer"))
}

fn origin(row: &Row) -> Result<VersionOrigin, StoreError> {
    match (row.get::<String>(4)?.as_str(), row.get(5)?) {
        ("default", _) => Ok(VersionOrigin::Default),
        ("edit", _) => Ok(VersionOrigin::Edit),
        ("rollback", Some(restores)) => Ok(VersionOrigin::Rollback { restores }),
        _ => Err(unreadable("the origin of a layer")),
    }
}

fn writer(row: &Row) -> Result<VersionWriter, StoreError> {
    match (row.get::<String>(7)?.as_str(), row.get(8)?) {
        ("program", _) => Ok(VersionWriter::Program),
        ("owner", Some(name)) => Ok(VersionWriter::Owner(name)),
        ("agent", Some(name)) => Ok(VersionWriter::Agent(name)),
        _ => Err(unreadable("the writer of a layer")),
    }
}

fn unreadable(what: &str) -> StoreError {
    StoreError::Unreadable { what: what.to_owned() }
}

/// Inserts a version.
pub(super) async fn insert(
    sql: &mut Transaction<'_>,
    blueprint: &str,
    version: &LayerVersion,
) -> Result<(), StoreError> {
    let restores = match version.origin {
        VersionOrigin::Rollback { restores } => Some(restores),
        VersionOrigin::Default | VersionOrigin::Edit => None,
    };
    sql.execute(
        "INSERT INTO layer_versions (blueprint, layer_id, version, content, hash, origin, restores, applied, writer_kind, writer, turn_id, message, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        values![
            blueprint,
            version.layer.as_str(),
            version.version,
            &version.text,
            version.hash,
            version.origin.as_str(),
            restores,
            version.applied,
            version.writer.kind(),
            version.writer.name(),
            version.turn.as_ref(),
            version.message.as_deref(),
            version.at,
        ],
    )
    .await?;
    Ok(())
}
