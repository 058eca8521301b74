//! The store: opened once, shared by all. What it can do stands in the modules beside this one, a file for each kind of
//! thing that lasts.

use std::path::Path;
use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use tokio::sync::{Semaphore, broadcast};

use crate::changes::Change;
use crate::engine::Operation;
use crate::engine::postgres::Postgres;
use crate::engine::sqlite::Sqlite;
use crate::error::StoreError;
use crate::health::Health;
use crate::location::{Kind, Location};

/// Everything that must last.
#[derive(Debug, Clone)]
pub struct Store {
    engine: Engine,
    location: Location,
    health: Arc<Health>,
    /// Held while somebody looks through what was said.
    searching: Arc<Semaphore>,
}

#[derive(Debug, Clone)]
pub(crate) enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Store {
    /// Opens the database at `location`, makes it if it is a file that is not there yet, and brings its tables up to
    /// date. `now` is when that is, for the record.
    ///
    /// # Errors
    /// If it can't be reached, is not ours, is damaged, or was written by a newer Foreword.
    pub async fn open(location: &Location, now: Timestamp) -> Result<Self, StoreError> {
        let engine = match location.kind() {
            Kind::File(path) => Engine::Sqlite(Sqlite::open(path, now).await?),
            Kind::Postgres(url) => Engine::Postgres(Postgres::open(url, location.to_string(), now).await?),
        };
        let searching = Arc::new(Semaphore::new(1));
        Ok(Self { engine, location: location.clone(), health: Arc::default(), searching })
    }

    /// Opens the database if there is one. A file that is not there is not made: nothing has been stored yet.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_existing(location: &Location, now: Timestamp) -> Result<Option<Self>, StoreError> {
        match location.path().map(Path::try_exists) {
            Some(Ok(false)) => Ok(None),
            _ => Self::open(location, now).await.map(Some),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Whether several nodes may share it.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        match &self.engine {
            Engine::Sqlite(_) => false,
            Engine::Postgres(_) => true,
        }
    }

    /// What changes from now on. Whoever reads too slowly is told so by the channel, and should look at everything.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.changes(),
            Engine::Postgres(postgres) => postgres.changes(),
        }
    }

    /// Waits until everything handed over is done, and lets go of the database; for all who share this store. What they
    /// ask for afterwards is refused. A store that is dropped instead loses nothing that was acknowledged: at worst the
    /// next to open it has a little more to read.
    ///
    /// # Errors
    /// If there is no thread to wait on.
    pub async fn close(self) -> Result<(), StoreError> {
        match self.engine {
            Engine::Sqlite(sqlite) => sqlite.close().await,
            Engine::Postgres(postgres) => {
                postgres.close().await;
                Ok(())
            }
        }
    }

    /// Whether it works, as callers have seen it.
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

    pub(crate) async fn run<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        let result = match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.run(operation).await,
            Engine::Postgres(postgres) => postgres.run(operation).await,
        };
        if let Err(error) = &result {
            self.health.note(error);
        }
        result
    }
}
