//! Receives change notifications with `LISTEN` on a dedicated connection. Reconnects forever; after each reconnect
//! subscribers receive [`StoreChange::Anything`], because notifications may have been missed.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::PoolError;
use foreword_core::backoff::Backoff;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval_at, sleep, timeout};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::Failure;
use super::pool::ConnectionPool;
use crate::changes::StoreChange;
use crate::error::StoreError;

/// The capacity of the broadcast channel for slow subscribers.
const CHANGES_CAPACITY: usize = 1_024;
/// The timeout for connecting and for a keep-alive.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often to send a keep-alive query on an idle connection.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(20);
/// The pauses between attempts to connect.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(50), max: Duration::from_secs(5) };

/// A task that listens until dropped.
#[derive(Debug)]
pub(super) struct Listener {
    changes: broadcast::Sender<StoreChange>,
    task: JoinHandle<()>,
}

impl Listener {
    /// Starts listening. Every change committed after this returns is received.
    pub(super) async fn start(connections: &Arc<ConnectionPool>) -> Result<Self, StoreError> {
        let (changes, _) = broadcast::channel(CHANGES_CAPACITY);
        let task = ListenTask { connections: Arc::clone(connections), changes: changes.clone() };
        let place = connections.place();
        let connection = task.connect().await.map_err(|failure| match failure {
            Failure::Conflict(error) | Failure::Final(error) => error,
            Failure::Lost(reason) | Failure::Absent(reason) => {
                StoreError::Unreachable { place: place.to_string(), reason }
            }
        })?;
        let task = tokio::spawn(task.listen(connection));
        Ok(Self { changes, task })
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<StoreChange> {
        self.changes.subscribe()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A connection that receives notifications.
struct ListenConnection {
    client: Client,
    /// Boxed, since a TLS stream is large.
    connection: Box<Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>>,
}

struct ListenTask {
    connections: Arc<ConnectionPool>,
    changes: broadcast::Sender<StoreChange>,
}

impl ListenTask {
    async fn listen(self, mut connection: ListenConnection) {
        loop {
            self.forward_notifications(&mut connection).await;
            connection = self.reconnect().await;
            self.broadcast(StoreChange::Anything);
        }
    }

    async fn reconnect(&self) -> ListenConnection {
        let mut failures = 0;
        loop {
            if let Ok(connection) = self.connect().await {
                return connection;
            }
            failures += 1;
            sleep(BACKOFF.delay(failures)).await;
        }
    }

    /// Connects and runs `LISTEN`.
    async fn connect(&self) -> Result<ListenConnection, Failure> {
        let silent = || Failure::Absent("the server does not answer".to_owned());
        let connecting = async {
            let config = &self.connections.address().config;
            let (client, connection) = Box::pin(config.connect(self.connections.tls())).await?;
            let mut connection = ListenConnection { client, connection: Box::new(connection) };
            connection.execute("LISTEN foreword", &self.changes).await?;
            Ok(connection)
        };
        let connection = timeout(CONNECT_TIMEOUT, connecting).await.map_err(|_| silent())?;
        connection
            .map_err(|error| Failure::of_connecting(&PoolError::Backend(error), self.connections.place()))
    }

    /// Forwards notifications until the connection is lost.
    async fn forward_notifications(&self, connection: &mut ListenConnection) {
        let mut keepalive = interval_at(Instant::now() + KEEPALIVE_INTERVAL, KEEPALIVE_INTERVAL);
        loop {
            tokio::select! {
                message = connection.next() => match message {
                    Some(Ok(message)) => forward(&message, &self.changes),
                    Some(Err(_)) | None => return,
                },
                _ = keepalive.tick() => {
                    let answer = timeout(CONNECT_TIMEOUT, connection.execute("", &self.changes)).await;
                    if !matches!(answer, Ok(Ok(()))) {
                        return;
                    }
                }
            }
        }
    }

    fn broadcast(&self, change: StoreChange) {
        // There may be no subscribers.
        let _ = self.changes.send(change);
    }
}

impl ListenConnection {
    async fn next(&mut self) -> Option<Result<AsyncMessage, tokio_postgres::Error>> {
        poll_fn(|context| self.connection.poll_message(context)).await
    }

    /// Executes a command and forwards notifications meanwhile.
    async fn execute(
        &mut self,
        command: &str,
        changes: &broadcast::Sender<StoreChange>,
    ) -> Result<(), tokio_postgres::Error> {
        let connection = &mut self.connection;
        let mut answer = pin!(self.client.batch_execute(command));
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                message = poll_fn(|context| connection.poll_message(context)) => match message {
                    Some(message) => forward(&message?, changes),
                    // The connection is closed; the command returns the error.
                    None => return answer.await,
                },
            }
        }
    }
}

fn forward(message: &AsyncMessage, changes: &broadcast::Sender<StoreChange>) {
    if let AsyncMessage::Notification(notification) = message {
        let _ = changes.send(StoreChange::from_wire(notification.payload()));
    }
}
