//! A transaction on a Postgres connection, as operations see it. It is begun together with its first statement and ended
//! together with its announcements, so that the shortest one goes to the server and back once to read, twice to write.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use foreword_core::timestamp::Timestamp;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row as PostgresRow, Statement};

use super::convert;
use super::failure::Failure;
use super::placeholders::numbered;
use super::pool::{Connection, Connections, Identity};
use crate::changes::Change;
use crate::engine::{Access, Row, Sql, Value, value, values};
use crate::error::StoreError;

/// Rows inserted by one statement at most, so that none grows without bounds.
const ROWS_TOGETHER: usize = 5_000;

/// How long a statement may take that looks at everything there is.
const UNHURRIED: Duration = Duration::from_secs(3_600);

/// Keeps our locks apart from those of others in the same database.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended(?1, 5076852))";

/// In the form that times are stored in.
const CLOCK: &str =
    r#"SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"#;

/// Announces changes, and marks that this connection's next write is done: see `settle`.
const MARK: &str = "WITH mark AS (
         INSERT INTO write_marks (connection, number, at) VALUES (?1, ?2, now())
         ON CONFLICT (connection) DO UPDATE SET number = excluded.number, at = excluded.at)
     SELECT pg_notify('foreword', change) FROM unnest(CAST(?3 AS TEXT[])) AS change";

/// A transaction that is under way.
#[derive(Debug)]
pub(super) struct Session<'c> {
    connection: &'c mut Connection,
    place: &'c str,
    limit: Duration,
    /// What begins the transaction, until it has been sent.
    beginning: Option<&'static str>,
    /// Whether something was written.
    touched: bool,
    announced: Vec<String>,
    /// The first thing that went wrong: nothing behind it counts.
    failure: Option<Failure>,
}

/// A write whose end is not known: the connection it was made on, and its number there.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) identity: Identity,
    pub(super) number: i64,
}

/// How a transaction did not end.
#[derive(Debug)]
pub(super) enum Unended {
    /// Nothing was written.
    Failed(Failure),
    /// The commit was sent, and its answer never came.
    InDoubt(String, Mark),
}

impl<'c> Session<'c> {
    pub(super) fn new(connection: &'c mut Connection, connections: &'c Connections, access: Access) -> Self {
        let beginning = match access {
            Access::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Access::Write => "BEGIN ISOLATION LEVEL READ COMMITTED",
        };
        Self {
            connection,
            place: connections.place(),
            limit: connections.address().answer_timeout,
            beginning: Some(beginning),
            touched: false,
            announced: Vec::new(),
            failure: None,
        }
    }

    /// The first thing that went wrong.
    pub(super) fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    /// Ends the transaction and keeps nothing. Whether the server has heard it is of no interest: what comes next on
    /// this connection comes behind it, and without a connection there is nothing to undo.
    pub(super) async fn roll_back(self) {
        if self.beginning.is_none() {
            send(self.connection.client.batch_execute("ROLLBACK")).await;
        }
        self.connection.unfinished = false;
    }

    /// Ends a transaction that has read only.
    pub(super) async fn end_read(self) {
        if self.beginning.is_none() {
            send(self.connection.client.batch_execute("COMMIT")).await;
        }
        self.connection.unfinished = false;
    }

    /// Makes durable what was written.
    pub(super) async fn commit(mut self) -> Result<(), Unended> {
        if !self.touched && self.announced.is_empty() {
            // A statement that went wrong unnoticed has written nothing either.
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
        let lost = |reason| Unended::InDoubt(reason, Mark { identity, number });
        let result = match timeout(self.limit, both).await {
            // A statement that was refused makes a rollback of the commit behind it.
            Ok((Err(error), _) | (Ok(_), Err(error))) => Err(error),
            Ok((Ok(_), Ok(()))) => Ok(()),
            Err(_) => return Err(lost("no answer to a commit".to_owned())),
        };
        match result.map_err(|error| Failure::of(&error, self.place)) {
            Ok(()) => {
                self.connection.unfinished = false;
                Ok(())
            }
            Err(Failure::Lost(reason) | Failure::Absent(reason)) => Err(lost(reason)),
            Err(failure) => {
                self.connection.unfinished = false;
                Err(Unended::Failed(failure))
            }
        }
    }

    fn failed(&mut self) -> Unended {
        let unknown = || Failure::Lost("the connection was lost".to_owned());
        Unended::Failed(self.failure.take().unwrap_or_else(unknown))
    }

    /// The statement, kept ready on this connection from now on.
    async fn statement(&mut self, sql: &'static str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.connection.statements.get(sql) {
            return Ok(statement.clone());
        }
        let text = numbered(sql);
        let beginning = self.begin();
        let prepared = self.connection.client.prepare(&text);
        let statement = self.answer(beginning, prepared).await;
        let statement = self.noted(statement)?;
        self.connection.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// What begins the transaction, once.
    fn begin(&mut self) -> Option<&'static str> {
        self.connection.unfinished = true;
        self.beginning.take()
    }

    fn noted<T>(&mut self, result: Result<T, Failure>) -> Result<T, StoreError> {
        result.map_err(|failure| {
            let error = match &failure {
                Failure::Conflict(error) | Failure::Final(error) => error.clone(),
                Failure::Lost(reason) | Failure::Absent(reason) => {
                    StoreError::Disconnected { place: self.place.to_owned(), reason: reason.clone() }
                }
            };
            self.failure.get_or_insert(failure);
            error
        })
    }

    /// Waits for an answer, but not for ever. What begins the transaction goes ahead, in the same packet.
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
            Ok(answer) => answer.map_err(|error| Failure::of(&error, self.place)),
            Err(_) => Err(Failure::Lost(format!("no answer within {} s", self.limit.as_secs()))),
        }
    }

    async fn rows(&mut self, sql: &'static str, values: &[Value]) -> Result<Vec<PostgresRow>, StoreError> {
        value::storable(values)?;
        let statement = self.statement(sql).await?;
        let beginning = self.begin();
        let parameters = parameters(values);
        let rows = self.answer(beginning, self.connection.client.query(&statement, &parameters)).await;
        self.noted(rows)
    }

    /// Runs statements that belong to no operation: those of a migration.
    pub(super) async fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        let beginning = self.begin();
        self.touched = true;
        let done = self.answer(beginning, self.connection.client.batch_execute(sql)).await;
        self.noted(done)
    }

    /// Waits longer than usual, here and on the server.
    pub(super) async fn take_time(&mut self, limit: Duration) -> Result<(), StoreError> {
        self.limit = limit;
        let limits = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
             SET LOCAL idle_in_transaction_session_timeout = '60s'";
        self.script(limits).await
    }

    /// A statement that takes one array for each column: the same one however many rows there are.
    async fn batch(&mut self, insert: &'static str, columns: usize) -> Result<Statement, StoreError> {
        if let Some(statement) = self.connection.batches.get(insert) {
            return Ok(statement.clone());
        }
        let marks: Vec<String> = (1..=columns).map(|number| format!("${number}")).collect();
        let beginning = self.begin();
        let single = format!("{insert} VALUES ({})", marks.join(", "));
        let single = self.answer(beginning, self.connection.client.prepare(&single)).await;
        // What the columns hold, in the server's words.
        let kinds = self.noted(single)?;
        let arrays =
            kinds.params().iter().zip(&marks).map(|(kind, mark)| format!("{mark}::{}[]", kind.name()));
        let many = format!("{insert} SELECT * FROM unnest({})", arrays.collect::<Vec<_>>().join(", "));
        let many = self.answer(None, self.connection.client.prepare(&many)).await;
        let many = self.noted(many)?;
        self.connection.batches.insert(insert, many.clone());
        Ok(many)
    }
}

impl Sql for Session<'_> {
    async fn execute(&mut self, sql: &'static str, values: &[Value]) -> Result<u64, StoreError> {
        value::storable(values)?;
        let statement = self.statement(sql).await?;
        let beginning = self.begin();
        let parameters = parameters(values);
        let touched = self.answer(beginning, self.connection.client.execute(&statement, &parameters)).await;
        let touched = self.noted(touched)?;
        self.touched |= touched > 0 || !is_plain(sql);
        Ok(touched)
    }

    async fn query(&mut self, sql: &'static str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let rows = self.rows(sql, values).await?;
        // What gives back what it wrote has written nothing if it gives nothing; of all else we don't know.
        self.touched |= !(sql.trim_start().starts_with("SELECT")
            || (rows.is_empty() && is_plain(sql) && sql.contains("RETURNING")));
        let rows = rows.iter().map(convert::row).collect::<Result<_, _>>();
        let rows = rows.map_err(|error| Failure::of(&error, self.place));
        self.noted(rows)
    }

    async fn insert_many(&mut self, insert: &'static str, rows: &[Vec<Value>]) -> Result<(), StoreError> {
        let Some(first) = rows.first() else { return Ok(()) };
        rows.iter().try_for_each(|row| value::storable(row))?;
        let statement = self.batch(insert, first.len()).await?;
        for rows in rows.chunks(ROWS_TOGETHER) {
            let columns: Vec<Vec<&Value>> = (0..first.len())
                .map(|column| rows.iter().map(|row| row.get(column).unwrap_or(&Value::Null)).collect())
                .collect();
            let parameters: Vec<&(dyn ToSql + Sync)> =
                columns.iter().map(|column| column as &(dyn ToSql + Sync)).collect();
            let beginning = self.begin();
            let done = self.answer(beginning, self.connection.client.execute(&statement, &parameters)).await;
            self.noted(done)?;
            self.touched = true;
        }
        Ok(())
    }

    async fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        self.rows(LOCK, values![name]).await.map(|_| ())
    }

    async fn clock(&mut self, _caller: Timestamp) -> Result<Timestamp, StoreError> {
        match self.query_optional(CLOCK, &[]).await? {
            Some(row) => row.parse(0),
            None => Err(StoreError::Unreadable { what: "the server's clock".to_owned() }),
        }
    }

    async fn unhurried(&mut self) -> Result<(), StoreError> {
        self.take_time(UNHURRIED).await
    }

    /// Sent with the commit.
    async fn announce(&mut self, change: Change) -> Result<(), StoreError> {
        self.announced.push(change.to_wire());
        Ok(())
    }
}

/// Whether a statement does no more than its first word says.
fn is_plain(sql: &str) -> bool {
    !sql.trim_start().starts_with("WITH")
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Sends something whose answer nobody waits for: asking once is what puts it on its way.
async fn send(message: impl Future<Output = Result<(), Error>>) {
    let mut message = pin!(message);
    poll_fn(|context| {
        let _ = message.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}
