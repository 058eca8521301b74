//! Checks the server and migrates the tables. Nodes that start at the same time wait for each other's migration.

use std::time::Duration;

use foreword_core::timestamp::Timestamp;
use tokio::time::{Instant, sleep};

use super::commit_outcome;
use super::failure::Failure;
use super::pool::ConnectionPool;
use super::run;
use super::session::{CommitFailure, Session};
use crate::engine::{Access, Operation, Transaction, job, migrations};
use crate::error::StoreError;
use crate::migrated::Migrated;

/// PostgreSQL 13, in the format of `server_version_num`.
const MIN_SERVER_VERSION: u32 = 130_000;
/// The timeout of a migration, and of waiting for another node's.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(600);
/// How long to wait for a server that is starting up.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Checks the server and migrates the tables. Returns what was done to tables of an older Foreword.
pub(super) async fn prepare(
    connections: &ConnectionPool,
    now: Timestamp,
) -> Result<Option<Migrated>, StoreError> {
    let deadline = Instant::now() + STARTUP_TIMEOUT;
    let migrated = loop {
        let place = connections.place();
        match up_to_date(connections, now).await {
            Ok(migrated) => break migrated,
            Err(Failure::Final(error) | Failure::Conflict(error)) => return Err(error),
            // The next attempt sees whether the migration was committed.
            Err(Failure::Lost(_)) if Instant::now() < deadline => sleep(Duration::from_millis(200)).await,
            Err(Failure::Lost(reason) | Failure::Absent(reason)) => {
                return Err(StoreError::Unreachable { place: place.to_string(), reason });
            }
        }
    };
    // Old marks are harmless, and a read-only server keeps them.
    let (mut sweep, _) = job::submitted(Sweep);
    let _ = run::run(connections, sweep.as_mut()).await;
    Ok(migrated)
}

async fn up_to_date(connections: &ConnectionPool, now: Timestamp) -> Result<Option<Migrated>, Failure> {
    let mut session = Session::begin(connections, Access::Read, None).await?;
    let complete = is_up_to_date(&mut session, connections.place()).await;
    let complete = complete.map_err(|error| session.failure().unwrap_or(Failure::Final(error)))?;
    session.end_read().await;
    if complete {
        return Ok(None);
    }
    let mut session = Session::begin(connections, Access::Write, None).await?;
    let found = match migrate(&mut session, connections.place(), now).await {
        Ok(found) => found,
        Err(error) => {
            let failure = session.failure().unwrap_or(Failure::Final(error));
            session.roll_back().await;
            return Err(failure);
        }
    };
    session.commit().await.map_err(|unended| match unended {
        CommitFailure::Failed(failure) => failure,
        CommitFailure::InDoubt(reason, _) => Failure::Lost(reason),
    })?;
    let to = migrations::latest_version();
    Ok((1..to).contains(&found).then_some(Migrated { from: found, to, backup: None }))
}

/// The server's version and encoding, and the number of columns of our tables.
const SERVER_FACTS: &str = "SELECT CAST(current_setting('server_version_num') AS BIGINT),
     current_setting('server_encoding'),
     (SELECT COUNT(*) FROM pg_attribute WHERE attrelid = to_regclass('schema_migrations')
         AND attname IN ('version', 'name', 'applied_at') AND NOT attisdropped),
     to_regclass('schema_migrations') IS NOT NULL, to_regclass('write_marks') IS NOT NULL";

/// Whether the schema is up to date.
async fn is_up_to_date(session: &mut Session, place: &str) -> Result<bool, StoreError> {
    let Some(row) = session.query_optional(SERVER_FACTS, &[]).await? else { return Ok(false) };
    usable(row.get(0)?, &row.get::<String>(1)?, place)?;
    let (columns, has_versions, has_marks): (u32, bool, bool) = (row.get(2)?, row.get(3)?, row.get(4)?);
    if has_versions && columns < 3 {
        let reason = "its table `schema_migrations` is not Foreword's".to_owned();
        return Err(StoreError::Foreign { place: place.to_owned(), reason });
    }
    if !has_versions || !has_marks {
        return Ok(false);
    }
    let found = migrations::version(session.query_optional(migrations::VERSION, &[]).await?)?;
    Ok(migrations::missing(found, place)?.is_empty())
}

/// Fails if the server's version or encoding is unsupported.
fn usable(version: u32, encoding: &str, place: &str) -> Result<(), StoreError> {
    let unusable = |reason| Err(StoreError::Unreachable { place: place.to_owned(), reason });
    if version < MIN_SERVER_VERSION {
        let major =
            if version < 100_000 { "older than 10".to_owned() } else { (version / 10_000).to_string() };
        return unusable(format!("its PostgreSQL is {major}, and Foreword needs 13 or newer"));
    }
    if encoding != "UTF8" {
        return unusable(format!(
            "its encoding is {encoding}, which can't hold every text; make it with `createdb --encoding UTF8`"
        ));
    }
    Ok(())
}

/// Returns the version found.
async fn migrate(session: &mut Session, place: &str, now: Timestamp) -> Result<u32, StoreError> {
    session.take_time(MIGRATION_TIMEOUT).await?;
    session.lock("migrations").await?;
    session.script(commit_outcome::TABLE).await?;
    let table = "CREATE TABLE IF NOT EXISTS schema_migrations (
        version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)";
    session.script(table).await?;
    let found = migrations::version(session.query_optional(migrations::VERSION, &[]).await?)?;
    for migration in migrations::missing(found, place)? {
        for part in migration.postgres {
            session.script(part).await?;
        }
        session.execute(migrations::RECORD, &migrations::applied(migration, now)).await?;
    }
    Ok(found)
}

struct Sweep;

impl Operation for Sweep {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        sql.execute(commit_outcome::SWEEP, &[]).await.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_13_and_utf8_are_required() {
        for (version, encoding, problem) in [
            (130_000, "UTF8", None),
            (180_001, "UTF8", None),
            (120_022, "UTF8", Some("is 12, and Foreword needs 13")),
            (90_624, "UTF8", Some("older than 10")),
            (150_000, "SQL_ASCII", Some("SQL_ASCII")),
            (150_000, "LATIN1", Some("createdb --encoding UTF8")),
        ] {
            let said = usable(version, encoding, "postgres://db/x").map_err(|error| error.to_string());
            match problem {
                None => assert_eq!(said, Ok(())),
                Some(problem) => assert!(said.unwrap_err().contains(problem)),
            }
        }
    }
}
