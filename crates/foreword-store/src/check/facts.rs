//! Facts from the engine: its version, sizes, and the result of its own integrity check.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Problems, RESTORE};
use crate::engine::migrations;
use crate::engine::{Access, Operation, Transaction};
use crate::error::StoreError;
use crate::schema::Table;
use crate::store::{Engine, Store};

/// What the engine reports about itself and the database.
pub(super) struct Facts {
    pub(super) engine: &'static str,
    pub(super) version: String,
    pub(super) schema_version: u32,
    pub(super) bytes: u64,
    tables: BTreeMap<String, u64>,
}

impl Facts {
    pub(super) fn bytes_of(&self, table: &str) -> Option<u64> {
        self.tables.get(table).copied()
    }
}

pub(super) async fn facts(store: &Store) -> Result<Facts, StoreError> {
    match store.engine() {
        Engine::Sqlite(sqlite) => {
            let mut facts = store.run(Ask(&OF_SQLITE)).await?;
            facts.bytes = size_on_disk(sqlite.file().path());
            Ok(facts)
        }
        Engine::Postgres(_) => store.run(Ask(&OF_POSTGRES)).await,
    }
}

/// The size of the file and its write-ahead log.
fn size_on_disk(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let sizes = [path, Path::new(&log)].map(|path| path.metadata().map_or(0, |file| file.len()));
    sizes.iter().sum()
}

/// The queries in an engine's SQL dialect.
struct Questions {
    engine: &'static str,
    version: &'static str,
    size: &'static str,
    sizes_of_tables: &'static str,
}

static OF_SQLITE: Questions = Questions {
    engine: "SQLite",
    version: "SELECT sqlite_version()",
    size: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    sizes_of_tables: "SELECT made.tbl_name, SUM(pages.pgsize) FROM dbstat AS pages
        JOIN sqlite_schema AS made ON made.name = pages.name WHERE pages.aggregate = TRUE GROUP BY made.tbl_name",
};

static OF_POSTGRES: Questions = Questions {
    engine: "PostgreSQL",
    version: "SELECT current_setting('server_version')",
    size: "SELECT pg_database_size(current_database())",
    sizes_of_tables: "SELECT CAST(relname AS TEXT), pg_total_relation_size(oid) FROM pg_class
        WHERE relkind = 'r' AND relnamespace = to_regnamespace(CAST(current_schema() AS TEXT))",
};

struct Ask(&'static Questions);

impl Operation for Ask {
    type Output = Facts;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Facts, StoreError> {
        sql.allow_long_statements().await?;
        let version = one(sql, self.0.version).await?;
        let bytes = one(sql, self.0.size).await?;
        let schema_version = migrations::version(sql.query_optional(migrations::VERSION, &[]).await?)?;
        let tables = match sql.query(self.0.sizes_of_tables, &[]).await {
            Ok(rows) => {
                rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect::<Result<_, StoreError>>()?
            }
            // A damaged table has no size. The integrity check reports the damage.
            Err(StoreError::Corrupt { .. }) => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        Ok(Facts { engine: self.0.engine, version, schema_version, bytes, tables })
    }
}

async fn one<T: crate::engine::FromValue>(
    sql: &mut Transaction<'_>,
    select: &'static str,
) -> Result<T, StoreError> {
    let row = sql.query_optional(select, &[]).await?;
    row.ok_or_else(|| StoreError::Unreadable { what: format!("no answer to `{select}`") })?.get(0)
}

/// The number of rows of a table.
pub(super) async fn count(store: &Store, table: &'static Table) -> Result<u64, StoreError> {
    store.run(Count(table)).await
}

struct Count(&'static Table);

impl Operation for Count {
    type Output = u64;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<u64, StoreError> {
        sql.allow_long_statements().await?;
        one(sql, &self.0.count).await
    }
}

/// Runs SQLite's integrity check. Postgres checks its own files.
pub(super) async fn integrity(store: &Store, problems: &mut Problems) -> Result<(), StoreError> {
    let Engine::Sqlite(_) = store.engine() else { return Ok(()) };
    let questions: [(&'static str, &str, &'static str); 3] = [
        ("PRAGMA integrity_check(100)", "", RESTORE),
        (
            "SELECT \"table\" || ' refers to ' || COUNT(*) || ' rows of ' || parent || ' that are not there'
                FROM pragma_foreign_key_check GROUP BY \"table\", parent",
            "",
            RESTORE,
        ),
        (
            "SELECT journal_mode FROM pragma_journal_mode WHERE journal_mode <> 'wal'",
            "the journal is not a write-ahead log, but ",
            "open it on a file system that can share memory between processes, not on a network drive",
        ),
    ];
    for (select, before, help) in questions {
        let answer = store.run(Texts(select)).await;
        let answer = problems.note(None, answer)?.unwrap_or_default();
        for words in answer.into_iter().filter(|words| words != "ok") {
            problems.add(None, format!("{before}{words}"), help);
        }
    }
    Ok(())
}

/// Returns the first column of every row as text.
pub(super) struct Texts(pub(super) &'static str);

impl Operation for Texts {
    type Output = Vec<String>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<String>, StoreError> {
        sql.allow_long_statements().await?;
        sql.query(self.0, &[]).await?.iter().map(|row| row.get(0)).collect()
    }
}
