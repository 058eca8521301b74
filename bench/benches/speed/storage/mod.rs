//! What must last, measured on each engine next to a bare connection with the same library: SQLite always, Postgres if
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

/// The time of everything that is written beforehand: 2026-11-16, 8 o'clock.
const START: i64 = 1_794_816_000_000_000;

pub(crate) fn start() -> Timestamp {
    Timestamp::from_micros(START)
}

/// Measures on each engine there is, and names the one that is not there.
pub(crate) fn on_each_engine(
    table: &mut Table,
    measure: impl AsyncFn(&mut Table, &Engine) -> Outcome,
) -> Outcome {
    // As many threads as in the tests; the caller has one of its own.
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

/// Measures with a database of its own, which is removed whatever comes of it.
async fn with_database<T>(engine: &Engine, measure: impl AsyncFnOnce(&Database) -> Found<T>) -> Found<T> {
    let database = Database::create(engine).await?;
    let measured = measure(&database).await;
    database.remove().await?;
    measured
}
