//! A transaction on a Postgres connection. `BEGIN` is sent together with the first statement, and notifications
//! together with `COMMIT`, so the shortest read takes one round trip and the shortest write two.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use foreword_core::timestamp::Timestamp;
use tokio::time::{Instant, timeout};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row as PostgresRow, Statement};

use super::convert;
use super::failure::Failure;
use super::placeholders::numbered;
use super::pool::{ConnectionPool, Identity, PooledConnection};
use crate::changes::StoreChange;
use crate::engine::{Access, Row, Value, value, values};
use crate::error::StoreError;

/// The maximum number of rows per statement.
const MAX_ROWS_PER_INSERT: usize = 5_000;

/// The timeout for statements on whole tables.
const LONG_STATEMENT_TIMEOUT: Duration = Duration::from_secs(3_600);

/// The constant is a namespace for our advisory locks.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended(?1, 5076852))";

/// In the format of stored timestamps.
const CLOCK: &str =
    r#"SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"#;

/// Sends notifications and updates this connection's write mark: see `commit_outcome`.
const MARK: &str = "WITH mark AS (
         INSERT INTO write_marks (connection, number, at) VALUES (?1, ?2, now())
         ON CONFLICT (connection) DO UPDATE SET number = excluded.number, at = excluded.at)
     SELECT pg_notify('foreword', change) FROM unnest(CAST(?3 AS TEXT[])) AS change";

/// An open transaction.
#[derive(Debug)]
pub(crate) struct Session {
    connection: PooledConnection,
    place: Arc<str>,
    limit: Duration,
    /// The `BEGIN` statement, until it is sent.
    beginning: Option<&'static str>,
    /// Whether a statement has written.
    touched: bool,
    announced: Vec<String>,
    /// The first error. Later results don't count.
    failure: Option<Failure>,
}

/// A write with unknown outcome: its connection and its number there.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) identity: Identity,
    pub(super) number: i64,
}

/// Why a commit did not succeed.
#[derive(Debug)]
pub(super) enum CommitFailure {
    /// Rolled back.
    Failed(Failure),
    /// The response to `COMMIT` is missing.
    InDoubt(String, Mark),
}

impl Session {
    /// A transaction on a connection of its own, which is available before the deadline if there is one.
    pub(super) async fn begin(
        connections: &ConnectionPool,
        access: Access,
        deadline: Option<Instant>,
    ) -> Result<Self, Failure> {
        let beginning = match access {
            Access::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Access::Write => "BEGIN ISOLATION LEVEL READ COMMITTED",
        };
        Ok(Self {
            connection: connections.get(deadline).await?,
            place: Arc::clone(connections.place()),
            limit: connections.address().answer_timeout,
            beginning: Some(beginning),
            touched: false,
            announced: Vec::new(),
            failure: None,
        })
    }

    /// The server process of its connection.
    pub(super) fn identity(&self) -> Identity {
        self.connection.identity.clone()
    }

    /// Takes the first error.
    pub(super) fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    /// Rolls back. Ignores the response: later statements on this connection are queued behind it, and without a
    /// connection the server rolls back by itself.
    pub(super) async fn roll_back(mut self) {
        if self.beginning.is_none() {
            send(self.connection.client.batch_execute("ROLLBACK")).await;
        }
        self.connection.unfinished = false;
    }

    /// Ends a read-only transaction.
    pub(super) async fn end_read(mut self) {
        if self.beginning.is_none() {
            send(self.connection.client.batch_execute("COMMIT")).await;
        }
        self.connection.unfinished = false;
    }

    pub(super) async fn commit(mut self) -> Result<(), CommitFailure> {
        if !self.touched && self.announced.is_empty() {
            // A failed statement has written nothing either.
            self.end_read().await;
            return Ok(());
        }
        let mark = self.statement(MARK).await.map_err(|_| self.failed())?;
        self.connection.writes += 1;
        let number = self.connection.writes;
        let identity = self.connection.identity.clone();
        let name = identity.to_string();
        let client = &self.connection.client;
        let parameters: [&(dyn ToSql + Sync); 3] = [&name, &number, &self.announced];
        let both = async { tokio::join!(client.query(&mark, &parameters), client.batch_execute("COMMIT")) };
        let lost = |reason| CommitFailure::InDoubt(reason, Mark { identity, number });
        let result = match timeout(self.limit, both).await {
            // The server turns `COMMIT` into a rollback after a failed statement.
            Ok((Err(error), _) | (Ok(_), Err(error))) => Err(error),
            Ok((Ok(_), Ok(()))) => Ok(()),
            Err(_) => return Err(lost("no answer to a commit".to_owned())),
        };
        match result.map_err(|error| Failure::of(&error, &self.place)) {
            Ok(()) => {
                self.connection.unfinished = false;
                Ok(())
            }
            Err(Failure::Lost(reason) | Failure::Absent(reason)) => Err(lost(reason)),
            Err(failure) => {
                self.connection.unfinished = false;
                Err(CommitFailure::Failed(failure))
            }
        }
    }

    fn failed(&mut self) -> CommitFailure {
        let unknown = || Failure::Lost("the connection was lost".to_owned());
        CommitFailure::Failed(self.failure.take().unwrap_or_else(unknown))
    }

    /// Prepares a statement, and caches it on the connection.
    async fn statement(&mut self, sql: &'static str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.connection.statements.get(sql) {
            return Ok(statement.clone());
        }
        let text = numbered(sql);
        let beginning = self.take_begin();
        let prepared = self.connection.client.prepare(&text);
        let statement = self.answer(beginning, prepared).await;
        let statement = self.noted(statement)?;
        self.connection.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// Takes the `BEGIN` statement.
    fn take_begin(&mut self) -> Option<&'static str> {
        self.connection.unfinished = true;
        self.beginning.take()
    }

    fn noted<T>(&mut self, result: Result<T, Failure>) -> Result<T, StoreError> {
        result.map_err(|failure| {
            let error = match &failure {
                Failure::Conflict(error) | Failure::Final(error) => error.clone(),
                Failure::Lost(reason) | Failure::Absent(reason) => {
                    StoreError::Disconnected { place: self.place.to_string(), reason: reason.clone() }
                }
            };
            self.failure.get_or_insert(failure);
            error
        })
    }

    /// Waits for a response with a timeout. Sends `BEGIN` first, in the same packet.
    async fn answer<T>(
        &self,
        beginning: Option<&'static str>,
        future: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Failure> {
        let both = async {
            let Some(beginning) = beginning else { return future.await };
            let (begun, answer) = tokio::join!(self.connection.client.batch_execute(beginning), future);
            begun.and(answer)
        };
        match timeout(self.limit, both).await {
            Ok(answer) => answer.map_err(|error| Failure::of(&error, &self.place)),
            Err(_) => Err(Failure::Lost(format!("no answer within {} s", self.limit.as_secs()))),
        }
    }

    async fn rows(&mut self, sql: &'static str, values: &[Value]) -> Result<Vec<PostgresRow>, StoreError> {
        value::storable(values)?;
        let statement = self.statement(sql).await?;
        let beginning = self.take_begin();
        let parameters = parameters(values);
        let rows = self.answer(beginning, self.connection.client.query(&statement, &parameters)).await;
        self.noted(rows)
    }

    /// Runs the statements of a migration.
    pub(super) async fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        let beginning = self.take_begin();
        self.touched = true;
        let done = self.answer(beginning, self.connection.client.batch_execute(sql)).await;
        self.noted(done)
    }

    /// Raises the timeout here and on the server.
    pub(super) async fn take_time(&mut self, limit: Duration) -> Result<(), StoreError> {
        self.limit = limit;
        let limits = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
             SET LOCAL idle_in_transaction_session_timeout = '60s'";
        self.script(limits).await
    }

    /// A statement that takes one array per column, so it is the same for any number of rows.
    async fn batch(&mut self, insert: &'static str, columns: usize) -> Result<Statement, StoreError> {
        if let Some(statement) = self.connection.batches.get(insert) {
            return Ok(statement.clone());
        }
        let marks: Vec<String> = (1..=columns).map(|number| format!("${number}")).collect();
        let beginning = self.take_begin();
        let single = format!("{insert} VALUES ({})", marks.join(", "));
        let single = self.answer(beginning, self.connection.client.prepare(&single)).await;
        // The column types as the server names them.
        let kinds = self.noted(single)?;
        let arrays =
            kinds.params().iter().zip(&marks).map(|(kind, mark)| format!("{mark}::{}[]", kind.name()));
        let many = format!("{insert} SELECT * FROM unnest({})", arrays.collect::<Vec<_>>().join(", "));
        let many = self.answer(None, self.connection.client.prepare(&many)).await;
        let many = self.noted(many)?;
        self.connection.batches.insert(insert, many.clone());
        Ok(many)
    }

    pub(crate) async fn execute(&mut self, sql: &'static str, values: &[Value]) -> Result<u64, StoreError> {
        value::storable(values)?;
        let statement = self.statement(sql).await?;
        let beginning = self.take_begin();
        let parameters = parameters(values);
        let touched = self.answer(beginning, self.connection.client.execute(&statement, &parameters)).await;
        let touched = self.noted(touched)?;
        self.touched |= touched > 0 || !is_plain(sql);
        Ok(touched)
    }

    pub(crate) async fn query(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> Result<Vec<Row>, StoreError> {
        let rows = self.rows(sql, values).await?;
        // A statement with `RETURNING` has written nothing if it returns no row. All others count as writes.
        self.touched |= !(sql.trim_start().starts_with("SELECT")
            || (rows.is_empty() && is_plain(sql) && sql.contains("RETURNING")));
        let rows = rows.iter().map(convert::row).collect::<Result<_, _>>();
        let rows = rows.map_err(|error| Failure::of(&error, &self.place));
        self.noted(rows)
    }

    /// The first row, if any.
    pub(crate) async fn query_optional(
        &mut self,
        sql: &'static str,
        values: &[Value],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    pub(crate) async fn insert_many(
        &mut self,
        insert: &'static str,
        rows: &[Vec<Value>],
    ) -> Result<(), StoreError> {
        let Some(first) = rows.first() else { return Ok(()) };
        rows.iter().try_for_each(|row| value::storable(row))?;
        let statement = self.batch(insert, first.len()).await?;
        for rows in rows.chunks(MAX_ROWS_PER_INSERT) {
            let columns: Vec<Vec<&Value>> = (0..first.len())
                .map(|column| rows.iter().map(|row| row.get(column).unwrap_or(&Value::Null)).collect())
                .collect();
            let parameters: Vec<&(dyn ToSql + Sync)> =
                columns.iter().map(|column| column as &(dyn ToSql + Sync)).collect();
            let beginning = self.take_begin();
            let done = self.answer(beginning, self.connection.client.execute(&statement, &parameters)).await;
            self.noted(done)?;
            self.touched = true;
        }
        Ok(())
    }

    pub(crate) async fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        self.rows(LOCK, values![name]).await.map(|_| ())
    }

    /// The server's clock.
    pub(crate) async fn clock(&mut self) -> Result<Timestamp, StoreError> {
        match self.query_optional(CLOCK, &[]).await? {
            Some(row) => row.parse(0),
            None => Err(StoreError::Unreadable { what: "the server's clock".to_owned() }),
        }
    }

    pub(crate) async fn allow_long_statements(&mut self) -> Result<(), StoreError> {
        self.take_time(LONG_STATEMENT_TIMEOUT).await
    }

    /// Queued until the commit.
    pub(crate) fn announce(&mut self, change: StoreChange) {
        self.announced.push(change.to_wire());
    }
}

/// Whether the first keyword determines what the statement does.
fn is_plain(sql: &str) -> bool {
    !sql.trim_start().starts_with("WITH")
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Sends a message without waiting for the response: one poll is enough to send it.
async fn send(message: impl Future<Output = Result<(), Error>>) {
    let mut message = pin!(message);
    poll_fn(|context| {
        let _ = message.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}
