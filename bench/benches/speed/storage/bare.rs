//! The peer: the same library, the same tables and indexes, the same durability, and nothing else.

use std::path::Path;

use rusqlite::Connection;
use tokio_postgres::{Client, NoTls, Statement};

use super::Found;
use super::sample_events::{EventRow, INSERT};
use crate::Outcome;

/// A connection without a store around it.
pub(crate) enum Bare {
    Sqlite(Connection),
    Postgres {
        client: Client,
        /// Prepared once, as whoever writes such a loop would.
        insert: Box<Statement>,
    },
}

/// A client, and a task that talks for it.
pub(crate) async fn connect(address: &str) -> Found<Client> {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
    // What ends the connection is told to whoever uses the client.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(client)
}

impl Bare {
    pub(crate) fn sqlite(file: &Path) -> Found<Self> {
        let connection = Connection::open(file)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.busy_timeout(std::time::Duration::from_secs(60))?;
        Ok(Self::Sqlite(connection))
    }

    pub(crate) async fn postgres(address: &str) -> Found<Self> {
        let client = connect(address).await?;
        client.batch_execute("SET synchronous_commit = on").await?;
        let insert = Box::new(client.prepare(&numbered(INSERT)).await?);
        Ok(Self::Postgres { client, insert })
    }

    /// Inserts one event, and waits until that is durable, unless a transaction was begun.
    pub(crate) async fn insert_event(&self, row: &EventRow) -> Outcome {
        match self {
            Self::Sqlite(connection) => {
                connection.prepare_cached(INSERT)?.execute(row.sqlite().as_slice())?;
            }
            Self::Postgres { client, insert } => {
                client.execute(insert.as_ref(), &row.postgres()).await?;
            }
        }
        Ok(())
    }

    /// Runs statements in the words both engines know.
    pub(crate) async fn script(&self, sql: &str) -> Outcome {
        match self {
            Self::Sqlite(connection) => connection.execute_batch(sql)?,
            Self::Postgres { client, .. } => client.batch_execute(sql).await?,
        }
        Ok(())
    }

    /// Fills the temporary table `ids`, in the order given.
    pub(crate) async fn load_ids(&self, ids: &[String]) -> Outcome {
        self.script("CREATE TEMPORARY TABLE ids (number INTEGER PRIMARY KEY, id TEXT NOT NULL)").await?;
        match self {
            Self::Sqlite(connection) => {
                let transaction = connection.unchecked_transaction()?;
                let mut insert = transaction.prepare("INSERT INTO ids (number, id) VALUES (?1, ?2)")?;
                for (number, id) in ids.iter().enumerate() {
                    insert.execute((number as i64, id))?;
                }
                drop(insert);
                transaction.commit()?;
            }
            Self::Postgres { client, .. } => {
                let insert = "INSERT INTO ids (number, id)
                     SELECT number - 1, id FROM unnest($1::TEXT[]) WITH ORDINALITY AS given (id, number)";
                client.execute(insert, &[&ids]).await?;
            }
        }
        Ok(())
    }

    /// What an engine does by itself some time after a large load, done now, so that it is not measured.
    pub(crate) async fn settle(&self) -> Outcome {
        match self {
            Self::Sqlite(_) => self.script("PRAGMA wal_checkpoint(TRUNCATE)").await,
            Self::Postgres { .. } => {
                self.script("VACUUM ANALYZE").await?;
                self.script("CHECKPOINT").await
            }
        }
    }
}

/// `?1` as Postgres writes it.
fn numbered(sql: &str) -> String {
    sql.replace('?', "$")
}
