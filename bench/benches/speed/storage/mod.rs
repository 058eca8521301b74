//! Storage benchmarks on each engine, compared with a bare connection of the same library: SQLite always, Postgres if
//! `FOREWORD_TEST_POSTGRES` names a server.

pub(crate) mod bare;
pub(crate) mod conversations;
pub(crate) mod database;
pub(crate) mod events;
pub(crate) mod retention;
mod sample_events;
pub(crate) mod spread;

use std::error::Error;

use foreword_core::timestamp::Timestamp;

use crate::Outcome;
use crate::table::Table;
use database::{Database, Engine};

type Found<T> = Result<T, Box<dyn Error>>;

/// The time of all prepared data: 2026-11-16, 8 o'clock.
const START: i64 = 1_794_816_000_000_000;

pub(crate) fn start() -> Timestamp {
    Timestamp::from_micros(START)
}

/// Measures on each available engine, and reports a missing one.
pub(crate) fn on_each_engine(
    table: &mut Table,
    measure: impl AsyncFn(&mut Table, &Engine) -> Outcome,
) -> Outcome {
    // As many threads as in the tests, besides the caller's.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        table.note("SQLite (WAL, synchronous = FULL)");
        measure(table, &Engine::Sqlite).await?;
        let Some(server) = Engine::of_environment() else {
            table.note("Postgres: not measured: no server named (see docs/benchmarks.md)");
            return Ok(());
        };
        table.note(&server.describe().await?);
        measure(table, &server).await
    })
}

/// Measures with a temporary database, which is always removed.
async fn with_database<T>(engine: &Engine, measure: impl AsyncFnOnce(&Database) -> Found<T>) -> Found<T> {
    let database = Database::create(engine).await?;
    let measured = measure(&database).await;
    database.remove().await?;
    measured
}
