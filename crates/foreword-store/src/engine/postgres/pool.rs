//! The connections: made when needed, kept, and thrown away when they are of no use any more. Nothing here waits for ever.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{Manager, Metrics, Object, Pool, RecycleError, RecycleResult};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::{Client, Config, Error, Statement};

use super::address::Address;
use super::failure::Failure;
use super::tls::Tls;
use crate::error::StoreError;

/// How long to wait for one of the connections to become free.
const WAIT: Duration = Duration::from_secs(10);
/// How long logging in may take once the server was reached.
const LOG_IN: Duration = Duration::from_secs(5);

/// Says who a connection is to the server, gives it a name of its own, and sees that a commit that was told is on the
/// server's disk.
const INTRODUCTION: &str = "SELECT pid, CAST(EXTRACT(EPOCH FROM backend_start) AS TEXT),
     CAST(gen_random_uuid() AS TEXT),
     set_config('synchronous_commit', CASE current_setting('synchronous_commit')
         WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)
     FROM pg_stat_get_activity(pg_backend_pid())";

/// All connections of a store, but the one that listens.
#[derive(Debug)]
pub(super) struct Connections {
    pool: Pool<Maker>,
    address: Address,
    tls: Tls,
    place: String,
}

impl Connections {
    pub(super) fn new(address: Address, place: String) -> Result<Self, StoreError> {
        let connect = address.config.get_connect_timeout().copied().unwrap_or(LOG_IN);
        let tls =
            Tls::new(&address).map_err(|reason| StoreError::Unreachable { place: place.clone(), reason })?;
        let pool = Pool::builder(Maker { config: address.config.clone(), tls: tls.clone() })
            .max_size(address.pool_size)
            .wait_timeout(Some(WAIT))
            .create_timeout(Some((connect + LOG_IN).min(address.answer_timeout)))
            .recycle_timeout(Some(LOG_IN))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| StoreError::Unreachable { place: place.clone(), reason: error.to_string() })?;
        Ok(Self { pool, address, tls, place })
    }

    /// A connection that nobody else uses meanwhile; in time, if there is a deadline.
    pub(super) async fn get(&self, deadline: Option<Instant>) -> Result<Object<Maker>, Failure> {
        let get = self.pool.get();
        let connection = match deadline {
            Some(deadline) => match timeout_at(deadline, get).await {
                Ok(connection) => connection,
                Err(_) => return Err(Failure::Absent("the server does not answer".to_owned())),
            },
            None => get.await,
        };
        connection.map_err(|error| Failure::of_connecting(&error, &self.place))
    }

    /// Throws away what is not in use and was made before `then`: where one connection went dead without a sound, the
    /// others of its time did too.
    pub(super) fn forget_older(&self, then: std::time::Instant) {
        self.pool.retain(|_, metrics| metrics.created > then);
    }

    /// Lets go of all of them, and gives none any more.
    pub(super) fn close(&self) {
        self.pool.close();
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    pub(super) fn tls(&self) -> &Tls {
        &self.tls
    }
}

/// Makes connections.
#[derive(Debug)]
pub(super) struct Maker {
    config: Config,
    tls: Tls,
}

impl Manager for Maker {
    type Type = Connection;
    type Error = Error;

    async fn create(&self) -> Result<Connection, Error> {
        let (client, driver) = self.config.connect(self.tls.clone()).await?;
        // What ends the driver is told to whoever uses the client.
        let driver = tokio::spawn(async move {
            let _ = driver.await;
        });
        let mut connection = Connection {
            client,
            driver,
            statements: HashMap::new(),
            batches: HashMap::new(),
            identity: Identity::default(),
            writes: 0,
            unfinished: true,
        };
        let row = connection.client.query_one(INTRODUCTION, &[]).await?;
        let pid: i32 = row.try_get(0)?;
        connection.identity = Identity { pid: pid.into(), since: row.try_get(1)?, name: row.try_get(2)? };
        connection.unfinished = false;
        Ok(connection)
    }

    async fn recycle(&self, connection: &mut Connection, _: &Metrics) -> RecycleResult<Error> {
        if connection.unfinished || connection.client.is_closed() {
            return Err(RecycleError::message("in the middle of something, or closed"));
        }
        Ok(())
    }
}

/// Which of the server's processes a connection talks to; the time makes that unique. The name is the connection's own,
/// because whatever stands in between may give the same process to another connection later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) pid: i64,
    /// Since when, in the server's words.
    pub(super) since: String,
    /// What its marks are found by.
    pub(super) name: String,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A connection, and the statements that are kept ready on it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) client: Client,
    driver: JoinHandle<()>,
    /// By the SQL as it stands in the source.
    pub(super) statements: HashMap<&'static str, Statement>,
    /// Those that insert many rows, by the SQL up to `VALUES`.
    pub(super) batches: HashMap<&'static str, Statement>,
    pub(super) identity: Identity,
    /// How many transactions on it have written something.
    pub(super) writes: i64,
    /// Whether a transaction was begun and not brought to an end.
    pub(super) unfinished: bool,
}

impl Drop for Connection {
    /// A connection that was left in the middle may never hear from its server again: it is not waited for.
    fn drop(&mut self) {
        if self.unfinished {
            self.driver.abort();
        }
    }
}
