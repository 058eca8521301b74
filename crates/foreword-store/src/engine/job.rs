//! A submitted operation with the channel to its caller. The engines handle all operations as one type, so that their
//! queues, retries and commits are compiled once and not for each operation.

use std::future::Future;
use std::pin::Pin;

use tokio::sync::oneshot;

use super::{Access, Operation, Transaction};
use crate::error::StoreError;

/// A submitted operation.
pub(crate) trait Job: Send {
    fn access(&self) -> Access;

    /// Runs the operation. It may run again if the transaction fails; only the last run counts.
    fn run<'a>(
        &'a mut self,
        sql: &'a mut Transaction<'_>,
    ) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 'a>>;

    /// Sends the output of the last run to the caller, or the error. A write is durable by then.
    fn reply(self: Box<Self>, result: Result<(), StoreError>);
}

/// The caller's end of the channel. Closed without an answer if the engine has stopped.
pub(crate) type Answer<T> = oneshot::Receiver<Result<T, StoreError>>;

/// Prepares an operation for an engine.
pub(crate) fn submitted<O: Operation>(operation: O) -> (Box<dyn Job>, Answer<O::Output>) {
    let (caller, answer) = oneshot::channel();
    (Box::new(Submitted { operation, output: None, caller }), answer)
}

struct Submitted<O: Operation> {
    operation: O,
    output: Option<O::Output>,
    caller: oneshot::Sender<Result<O::Output, StoreError>>,
}

impl<O: Operation> Job for Submitted<O> {
    fn access(&self) -> Access {
        O::ACCESS
    }

    fn run<'a>(
        &'a mut self,
        sql: &'a mut Transaction<'_>,
    ) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 'a>> {
        Box::pin(async {
            self.output = Some(self.operation.run(sql).await?);
            Ok(())
        })
    }

    fn reply(self: Box<Self>, result: Result<(), StoreError>) {
        let answer = match result {
            Ok(()) => self.output.map(Ok),
            Err(error) => Some(Err(error)),
        };
        if let Some(answer) = answer {
            // The caller may have been cancelled.
            let _ = self.caller.send(answer);
        }
    }
}
