//! The last good version of each prompt source, shared by all nodes. A new epoch uses it while the source can't be
//! read or rendered.

use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use foreword_prompt::last_good::{LastGood, SourceVersion};

use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

impl Store {
    /// The last good version of each source.
    pub async fn last_good_sources(&self) -> Result<LastGood, StoreError> {
        self.run(Read).await
    }

    /// Replaces the last good versions of these sources.
    pub async fn save_good_sources(
        &self,
        versions: Vec<SourceVersion>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.run(Save { versions, at }).await
    }
}

struct Read;

impl Operation for Read {
    type Output = LastGood;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<LastGood, StoreError> {
        let rows = sql.query("SELECT source, resolved, text FROM source_versions", &[]).await?;
        let versions: Result<Vec<SourceVersion>, StoreError> = rows.iter().map(version).collect();
        Ok(LastGood::new(versions?))
    }
}

fn version(row: &Row) -> Result<SourceVersion, StoreError> {
    let text = |column| row.get::<String>(column).map(Arc::<str>::from);
    Ok(SourceVersion { source: text(0)?, resolved: text(1)?, text: text(2)? })
}

struct Save {
    versions: Vec<SourceVersion>,
    at: Timestamp,
}

impl Operation for Save {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        for version in &self.versions {
            sql.execute(
                "INSERT INTO source_versions (source, resolved, text, read_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (source) DO UPDATE
                 SET resolved = excluded.resolved, text = excluded.text, read_at = excluded.read_at",
                values![&*version.source, &*version.resolved, &*version.text, self.at],
            )
            .await?;
        }
        Ok(())
    }
}
