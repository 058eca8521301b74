//! The store handle. Its operations are in the other modules, one per kind of record.

use std::path::Path;
use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use tokio::sync::{Semaphore, broadcast};

use crate::changes::StoreChange;
use crate::engine::postgres::Postgres;
use crate::engine::sqlite::Sqlite;
use crate::engine::{Operation, job};
use crate::error::StoreError;
use crate::health::Health;
use crate::location::{Kind, Location};
use crate::migrated::Migrated;

/// A handle to the database. Clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    engine: Engine,
    location: Location,
    migrated: Option<Arc<Migrated>>,
    health: Arc<Health>,
    /// Limits searches in messages to one at a time.
    searching: Arc<Semaphore>,
}

#[derive(Debug, Clone)]
pub(crate) enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Store {
    /// Opens the database at `location`, creates the file if missing, and migrates the tables. `now` is recorded with
    /// the migrations. A SQLite file with tables of an older Foreword is copied first: see [`Store::migrated`].
    ///
    /// # Errors
    /// If the database can't be reached, belongs to another program, is damaged, was migrated by a newer Foreword, or
    /// can't be backed up before a migration.
    pub async fn open(location: &Location, now: Timestamp) -> Result<Self, StoreError> {
        let (engine, migrated) = match location.kind() {
            Kind::File(path) => {
                let (sqlite, migrated) = Sqlite::open(path, now).await?;
                (Engine::Sqlite(sqlite), migrated)
            }
            Kind::Postgres(url) => {
                let (postgres, migrated) = Postgres::open(url, location.to_string(), now).await?;
                (Engine::Postgres(postgres), migrated)
            }
        };
        let (location, migrated) = (location.clone(), migrated.map(Arc::new));
        let searching = Arc::new(Semaphore::new(1));
        Ok(Self { engine, location, migrated, health: Arc::default(), searching })
    }

    /// Opens the database if it exists. Does not create a missing file.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_existing(location: &Location, now: Timestamp) -> Result<Option<Self>, StoreError> {
        match location.path().map(Path::try_exists) {
            Some(Ok(false)) => Ok(None),
            _ => Self::open(location, now).await.map(Some),
        }
    }

    /// Its location.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The migration that opening it has made; `None` if its tables were up to date or new.
    #[must_use]
    pub fn migrated(&self) -> Option<&Migrated> {
        self.migrated.as_deref()
    }

    /// Whether several nodes may share it.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        match &self.engine {
            Engine::Sqlite(_) => false,
            Engine::Postgres(_) => true,
        }
    }

    /// Subscribes to changes. A receiver that lags gets an error from the channel and should read everything again.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<StoreChange> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.changes(),
            Engine::Postgres(postgres) => postgres.changes(),
        }
    }

    /// Waits for all submitted operations and closes the database, for all clones. Later operations fail. Dropping
    /// the store instead loses nothing that was acknowledged; at worst the next open has to read the log.
    ///
    /// # Errors
    /// If no thread can be started.
    pub async fn close(self) -> Result<(), StoreError> {
        match self.engine {
            Engine::Sqlite(sqlite) => sqlite.close().await,
            Engine::Postgres(postgres) => {
                postgres.close().await;
                Ok(())
            }
        }
    }

    /// Its health, as callers have seen it.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.health
    }

    pub(crate) fn searching(&self) -> &Semaphore {
        &self.searching
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    fn unanswered(&self) -> StoreError {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.unanswered(),
            Engine::Postgres(postgres) => postgres.unanswered(),
        }
    }

    /// Runs an operation. A write is durable when this returns.
    pub(crate) async fn run<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        let (job, answer) = job::submitted(operation);
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.submit(job),
            Engine::Postgres(postgres) => postgres.submit(job).await,
        }
        let result = answer.await.unwrap_or_else(|_| Err(self.unanswered()));
        if let Err(error) = &result {
            self.health.note(error);
        }
        result
    }
}
