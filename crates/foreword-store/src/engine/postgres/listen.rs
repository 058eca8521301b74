//! Hears what other nodes, and this one, have changed. It has a connection of its own, which is made anew for ever: after
//! each time listeners are told that anything may have changed meanwhile.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::PoolError;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval_at, sleep, timeout};
use tokio_postgres::{AsyncMessage, Client, Connection, Socket};

use super::failure::Failure;
use super::pool::Connections;
use super::tls::TlsStream;
use crate::changes::Change;
use crate::error::StoreError;

/// How many changes are kept for listeners that are slow.
const KEPT_CHANGES: usize = 1_024;
/// How long to wait for the connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often to see whether a connection on which nothing comes is still one.
const SILENCE: Duration = Duration::from_secs(20);
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A task that listens until it is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    changes: broadcast::Sender<Change>,
    task: JoinHandle<()>,
}

impl Listener {
    /// Listens from now on: what is changed when this has returned is told.
    pub(super) async fn start(connections: &Arc<Connections>) -> Result<Self, StoreError> {
        let (changes, _) = broadcast::channel(KEPT_CHANGES);
        let ear = Ear { connections: Arc::clone(connections), changes: changes.clone() };
        let place = connections.place();
        let line = ear.connect().await.map_err(|failure| match failure {
            Failure::Conflict(error) | Failure::Final(error) => error,
            Failure::Lost(reason) | Failure::Absent(reason) => {
                StoreError::Unreachable { place: place.to_owned(), reason }
            }
        })?;
        let task = tokio::spawn(ear.listen(line));
        Ok(Self { changes, task })
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A connection on which notifications come in.
struct Line {
    client: Client,
    connection: Connection<Socket, TlsStream>,
}

struct Ear {
    connections: Arc<Connections>,
    changes: broadcast::Sender<Change>,
}

impl Ear {
    async fn listen(self, mut line: Line) {
        loop {
            self.hear(&mut line).await;
            line = self.reconnect().await;
            self.tell(Change::Anything);
        }
    }

    async fn reconnect(&self) -> Line {
        let mut pause = Duration::from_millis(50);
        loop {
            if let Ok(line) = self.connect().await {
                return line;
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// A connection that listens.
    async fn connect(&self) -> Result<Line, Failure> {
        let silent = || Failure::Absent("the server does not answer".to_owned());
        let connecting = async {
            let (client, connection) =
                self.connections.address().config.connect(self.connections.tls().clone()).await?;
            let mut line = Line { client, connection };
            line.say("LISTEN foreword", &self.changes).await?;
            Ok(line)
        };
        let line = timeout(PATIENCE, connecting).await.map_err(|_| silent())?;
        line.map_err(|error| Failure::of_connecting(&PoolError::Backend(error), self.connections.place()))
    }

    /// Passes on what comes, until the connection is lost.
    async fn hear(&self, line: &mut Line) {
        let mut silence = interval_at(Instant::now() + SILENCE, SILENCE);
        loop {
            tokio::select! {
                message = line.next() => match message {
                    Some(Ok(message)) => pass_on(&message, &self.changes),
                    Some(Err(_)) | None => return,
                },
                _ = silence.tick() => {
                    let answer = timeout(PATIENCE, line.say("", &self.changes)).await;
                    if !matches!(answer, Ok(Ok(()))) {
                        return;
                    }
                }
            }
        }
    }

    fn tell(&self, change: Change) {
        // Nobody may be listening.
        let _ = self.changes.send(change);
    }
}

impl Line {
    async fn next(&mut self) -> Option<Result<AsyncMessage, tokio_postgres::Error>> {
        poll_fn(|context| self.connection.poll_message(context)).await
    }

    /// Sends a command and waits for its answer, passing on what comes meanwhile.
    async fn say(
        &mut self,
        command: &str,
        changes: &broadcast::Sender<Change>,
    ) -> Result<(), tokio_postgres::Error> {
        let connection = &mut self.connection;
        let mut answer = pin!(self.client.batch_execute(command));
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                message = poll_fn(|context| connection.poll_message(context)) => match message {
                    Some(message) => pass_on(&message?, changes),
                    // The connection is closed, which the answer will say.
                    None => return answer.await,
                },
            }
        }
    }
}

fn pass_on(message: &AsyncMessage, changes: &broadcast::Sender<Change>) {
    if let AsyncMessage::Notification(notification) = message {
        let _ = changes.send(Change::from_wire(notification.payload()));
    }
}
