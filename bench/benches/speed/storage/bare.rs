//! The peer: the same library, tables, indexes and durability, without the store.

use std::path::Path;

use rusqlite::Connection;
use tokio_postgres::{Client, NoTls, Statement};

use super::Found;
use super::sample_events::{EventRow, INSERT};
use crate::Outcome;

/// A bare connection.
pub(crate) enum Bare {
    Sqlite(Connection),
    Postgres {
        client: Client,
        /// Prepared once.
        insert: Box<Statement>,
    },
}

/// A client and its connection task.
pub(crate) async fn connect(address: &str) -> Found<Client> {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
    // The client's calls return the connection's error.
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
        connection.pragma_update(None, "fullfsync", true)?;
        connection.busy_timeout(std::time::Duration::from_secs(60))?;
        Ok(Self::Sqlite(connection))
    }

    pub(crate) async fn postgres(address: &str) -> Found<Self> {
        let client = connect(address).await?;
        client.batch_execute("SET synchronous_commit = on").await?;
        let insert = Box::new(client.prepare(&numbered(INSERT)).await?);
        Ok(Self::Postgres { client, insert })
    }

    /// Inserts one event, and waits until it is durable unless a transaction is open.
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

    /// Runs statements that both engines support.
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

    /// Enlarges the page cache for a large load, on SQLite.
    pub(crate) async fn make_room(&self) -> Outcome {
        match self {
            Self::Sqlite(_) => self.script("PRAGMA cache_size = -500000").await,
            Self::Postgres { .. } => Ok(()),
        }
    }

    /// Runs the maintenance that an engine does after a large load, so that it is not measured.
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

/// Rewrites `?1` to Postgres's `$1`.
fn numbered(sql: &str) -> String {
    sql.replace('?', "$")
}
