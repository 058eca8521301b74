//! The Postgres engine: a connection pool, one transaction per operation. Retries after lost connections where that
//! is safe; see `run`.

mod address;
mod commit_outcome;
mod convert;
mod failure;
mod listen;
mod placeholders;
mod pool;
mod run;
mod schema;
pub(crate) mod session;
mod tls;

use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::{RwLock, broadcast};

use super::job::Job;
use crate::changes::StoreChange;
use crate::error::StoreError;
use crate::migrated::Migrated;
pub(crate) use address::Address;
use listen::Listener;
use pool::ConnectionPool;

/// An open Postgres database.
#[derive(Debug, Clone)]
pub(crate) struct Postgres(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    connections: Arc<ConnectionPool>,
    listener: Listener,
    /// Read-locked by running operations, write-locked by `close`.
    under_way: Arc<RwLock<()>>,
    /// The runtime that opened the database. Connections live on it, also if another runtime uses them.
    runtime: Handle,
}

impl Postgres {
    /// Connects to the database at `url`, checks the server, migrates the tables, and starts listening.
    pub(crate) async fn open(
        url: &str,
        place: String,
        now: Timestamp,
    ) -> Result<(Self, Option<Migrated>), StoreError> {
        let address = Address::parse(url, &place)?;
        let connections = Arc::new(ConnectionPool::new(address, place)?);
        let migrated = schema::prepare(&connections, now).await?;
        let listener = Listener::start(&connections).await?;
        let inner = Inner { connections, listener, under_way: Arc::default(), runtime: Handle::current() };
        Ok((Self(Arc::new(inner)), migrated))
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<StoreChange> {
        self.0.listener.subscribe()
    }

    /// Starts an operation in its own task, so that it completes even if the caller is cancelled.
    pub(crate) async fn submit(&self, mut job: Box<dyn Job>) {
        let connections = Arc::clone(&self.0.connections);
        let under_way = Arc::clone(&self.0.under_way).read_owned().await;
        self.0.runtime.spawn(async move {
            let result = run::run(&connections, job.as_mut()).await;
            drop(under_way);
            job.reply(result);
        });
    }

    /// The error of an operation that got no answer.
    pub(crate) fn unanswered(&self) -> StoreError {
        let reason = "the operation was ended in the middle".into();
        StoreError::Engine { place: self.0.connections.place().to_string(), reason }
    }

    /// Waits for running operations and closes the connections, for all clones.
    pub(crate) async fn close(&self) {
        let _alone = self.0.under_way.write().await;
        self.0.connections.close();
    }
}
