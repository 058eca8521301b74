//! Postgres: a pool of connections, one transaction per operation. What is lost on the way to the server is done again
//! as long as that is certain to be right; see `run`.

mod address;
mod convert;
mod failure;
mod listen;
mod placeholders;
mod pool;
mod run;
mod schema;
mod session;
mod settle;
mod tls;

use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use tokio::sync::broadcast;

use super::Operation;
use crate::changes::Change;
use crate::error::StoreError;
pub(crate) use address::Address;
use listen::Listener;
use pool::Connections;

/// An open Postgres database.
#[derive(Debug, Clone)]
pub(crate) struct Postgres(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    connections: Arc<Connections>,
    listener: Listener,
}

impl Postgres {
    /// Connects to the database at `url`, sees that it can be used, brings its tables up to date, and begins to listen.
    pub(crate) async fn open(url: &str, place: String, now: Timestamp) -> Result<Self, StoreError> {
        let address = Address::parse(url, &place)?;
        let connections = Arc::new(Connections::new(address, place)?);
        schema::prepare(&connections, now).await?;
        let listener = Listener::start(&connections).await?;
        Ok(Self(Arc::new(Inner { connections, listener })))
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.0.listener.subscribe()
    }

    /// Runs an operation in a task of its own: once begun it is ended, even if nobody waits for the answer any more. A
    /// write is durable when this returns.
    pub(crate) async fn run<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        let connections = Arc::clone(&self.0.connections);
        let task = tokio::spawn(async move { run::run(&connections, &operation).await });
        task.await.unwrap_or_else(|_| {
            let reason = "the operation was ended in the middle".into();
            Err(StoreError::Engine { place: self.0.connections.place().to_owned(), reason })
        })
    }
}
