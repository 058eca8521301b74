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
use tokio::sync::{RwLock, broadcast};

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
    /// Shared by the operations under way, and owned alone by whoever waits for their end.
    under_way: Arc<RwLock<()>>,
}

impl Postgres {
    /// Connects to the database at `url`, sees that it can be used, brings its tables up to date, and begins to listen.
    pub(crate) async fn open(url: &str, place: String, now: Timestamp) -> Result<Self, StoreError> {
        let address = Address::parse(url, &place)?;
        let connections = Arc::new(Connections::new(address, place)?);
        schema::prepare(&connections, now).await?;
        let listener = Listener::start(&connections).await?;
        Ok(Self(Arc::new(Inner { connections, listener, under_way: Arc::default() })))
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.0.listener.subscribe()
    }

    /// Runs an operation in a task of its own: once begun it is ended, even if nobody waits for the answer any more. A
    /// write is durable when this returns.
    pub(crate) async fn run<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        let connections = Arc::clone(&self.0.connections);
        let under_way = Arc::clone(&self.0.under_way).read_owned().await;
        let task = tokio::spawn(async move {
            let result = run::run(&connections, &operation).await;
            drop(under_way);
            result
        });
        task.await.unwrap_or_else(|_| {
            let reason = "the operation was ended in the middle".into();
            Err(StoreError::Engine { place: self.0.connections.place().to_owned(), reason })
        })
    }

    /// Waits for the operations under way, and lets go of the connections, for all who share them.
    pub(crate) async fn close(&self) {
        let _alone = self.0.under_way.write().await;
        self.0.connections.close();
    }
}
