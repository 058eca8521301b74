//! Whether everything stored is as it should be, and how much there is of it. Looks only; repairs nothing. Reads page by
//! page and lets others write meanwhile.

mod facts;
mod laws;
mod rows;

use serde::Serialize;

use crate::error::StoreError;
use crate::progress::Progress;
use crate::schema::schema;
use crate::store::Store;

/// So many problems are listed; if there are more, what helps is the same.
const LISTED_PROBLEMS: usize = 100;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The engine: `SQLite` or `PostgreSQL`.
    pub engine: &'static str,
    /// Its version.
    pub engine_version: String,
    /// The version of the tables.
    pub schema_version: u32,
    /// Where the database is, without secrets.
    pub place: String,
    /// What it takes on the disk.
    pub bytes: u64,
    /// Every table.
    pub tables: Vec<TableReport>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// How many more problems there are than are listed.
    pub more_problems: u64,
}

/// How much there is in a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableReport {
    /// Its name.
    pub name: &'static str,
    /// How many rows it has.
    pub rows: u64,
    /// What it takes, its indexes included, if the engine can tell.
    pub bytes: Option<u64>,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where; `None` for the database as a whole.
    pub table: Option<&'static str>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub help: &'static str,
}

/// What to do when bytes are not what they were.
const RESTORE: &str = "restore a backup into a new database: `foreword store restore FILE`";

impl Store {
    /// Looks at everything stored. `progress` hears how many rows were seen, of how many.
    ///
    /// # Errors
    /// If the database can't be read at all. What can be read and is wrong is in the report.
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
    pub async fn check(&self, progress: impl Fn(Progress) + Send + Sync) -> Result<Report, StoreError> {
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
        progress(Progress { what: "the database", done: 0, of });
        facts::integrity(self, &mut problems).await?;
        let mut done = 0;
        for (table, report) in schema.tables.iter().zip(&tables) {
            let seen = |rows| progress(Progress { what: &table.name, done: done + rows, of });
            let checked = rows::check(self, table, &mut problems, seen).await;
            problems.note(Some(&table.name), checked)?;
            laws::check(self, &table.name, &mut problems).await?;
            done += report.rows;
            progress(Progress { what: &table.name, done, of });
        }
        let (engine, engine_version, bytes) = (facts.engine, facts.version, facts.bytes);
        let (schema_version, place) = (facts.schema_version, self.location().to_string());
        let (problems, more_problems) = (problems.listed, problems.more);
        Ok(Report { engine, engine_version, schema_version, place, bytes, tables, problems, more_problems })
    }
}

/// The problems found so far.
#[derive(Debug, Default)]
struct Problems {
    listed: Vec<Problem>,
    more: u64,
}

impl Problems {
    fn add(&mut self, table: Option<&'static str>, what: String, help: &'static str) {
        if self.listed.len() < LISTED_PROBLEMS {
            self.listed.push(Problem { table, what, help });
        } else {
            self.more += 1;
        }
    }

    /// What can't be read because it is damaged is a problem like others; any other error ends the check.
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
