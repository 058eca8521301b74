//! Checks the consistency of everything stored and counts it. Read-only: repairs nothing. Reads page by page, so that
//! others can write meanwhile.

mod facts;
mod invariants;
mod rows;

use serde::Serialize;

use crate::error::StoreError;
use crate::progress::WorkProgress;
use crate::schema::schema;
use crate::store::Store;

/// Further problems are only counted: the remedy is the same.
const MAX_LISTED_PROBLEMS: usize = 100;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// The engine: `SQLite` or `PostgreSQL`.
    pub engine: &'static str,
    /// The engine's version.
    pub engine_version: String,
    pub schema_version: u32,
    /// The database's path or address, without secrets.
    pub place: String,
    /// The size on disk.
    pub bytes: u64,
    /// All tables.
    pub tables: Vec<TableReport>,
    /// The problems found, at most 100.
    pub problems: Vec<CheckProblem>,
    /// The number of problems not listed.
    pub more_problems: u64,
}

/// The size of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableReport {
    /// The table's name.
    pub name: &'static str,
    /// The number of rows.
    pub rows: u64,
    /// The size in bytes including indexes, if the engine can tell.
    pub bytes: Option<u64>,
}

/// An inconsistency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckProblem {
    /// The table; `None` for the database as a whole.
    pub table: Option<&'static str>,
    /// The problem.
    pub what: String,
    /// The remedy.
    pub help: &'static str,
}

/// The remedy for damaged data.
const RESTORE: &str = "restore a backup into a new database: `foreword store restore FILE`";

impl Store {
    /// Checks all tables. `progress` receives the number of rows checked and the total.
    ///
    /// # Errors
    /// If the database can't be read at all. Damaged data is reported as a problem.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let location = foreword_store::location::Location::file(folder.path().join("foreword.db"));
    /// # let now = "2026-11-16T08:00:00Z".parse()?;
    /// # let store = foreword_store::store::Store::open(&location, now).await?;
    /// let report = store.check(|_| {}).await?;
    /// assert_eq!(report.engine, "SQLite");
    /// assert!(report.problems.is_empty());
    /// # Ok(()) }
    /// ```
    pub async fn check(
        &self,
        progress: impl Fn(WorkProgress) + Send + Sync,
    ) -> Result<CheckReport, StoreError> {
        let mut problems = Problems::default();
        let facts = facts::facts(self).await?;
        let mut tables = Vec::new();
        let schema = schema()?;
        for table in schema.tables.iter().chain([&schema.versions]) {
            let counted = facts::count(self, table).await;
            let rows = problems.note(Some(&table.name), counted)?.unwrap_or(0);
            tables.push(TableReport { name: &table.name, rows, bytes: facts.bytes_of(&table.name) });
        }
        let of = tables.iter().map(|table| table.rows).sum();
        progress(WorkProgress { what: "the database", done: 0, of });
        facts::integrity(self, &mut problems).await?;
        let mut done = 0;
        for (table, report) in schema.tables.iter().zip(&tables) {
            let seen = |rows| progress(WorkProgress { what: &table.name, done: done + rows, of });
            let checked = rows::check(self, table, &mut problems, seen).await;
            problems.note(Some(&table.name), checked)?;
            invariants::check(self, &table.name, &mut problems).await?;
            done += report.rows;
            progress(WorkProgress { what: &table.name, done, of });
        }
        let (engine, engine_version, bytes) = (facts.engine, facts.version, facts.bytes);
        let (schema_version, place) = (facts.schema_version, self.location().to_string());
        let (problems, more_problems) = (problems.listed, problems.more);
        Ok(CheckReport {
            engine,
            engine_version,
            schema_version,
            place,
            bytes,
            tables,
            problems,
            more_problems,
        })
    }
}

/// The problems found so far.
#[derive(Debug, Default)]
struct Problems {
    listed: Vec<CheckProblem>,
    more: u64,
}

impl Problems {
    fn add(&mut self, table: Option<&'static str>, what: String, help: &'static str) {
        if self.listed.len() < MAX_LISTED_PROBLEMS {
            self.listed.push(CheckProblem { table, what, help });
        } else {
            self.more += 1;
        }
    }

    /// Records damaged data as a problem. Any other error aborts the check.
    fn note<T>(
        &mut self,
        table: Option<&'static str>,
        result: Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error @ (StoreError::Corrupt { .. } | StoreError::Unreadable { .. })) => {
                self.add(table, error.to_string(), RESTORE);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
