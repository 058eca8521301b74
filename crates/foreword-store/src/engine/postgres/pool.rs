//! The connection pool. Every wait has a timeout.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{Manager, Metrics, Object, Pool, RecycleError, RecycleResult};
use rustls::ClientConfig;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::{Client, Config, Error, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Address;
use super::failure::Failure;
use super::tls;
use crate::error::StoreError;

/// How long to wait for a free connection.
const POOL_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout for logging in after the TCP connection is made.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the identity of the server process, names the connection, and turns on synchronous commits.
const IDENTIFY: &str = "SELECT pid, CAST(EXTRACT(EPOCH FROM backend_start) AS TEXT),
     CAST(gen_random_uuid() AS TEXT),
     set_config('synchronous_commit', CASE current_setting('synchronous_commit')
         WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)
     FROM pg_stat_get_activity(pg_backend_pid())";

/// The connections of a store, except the one that listens.
#[derive(Debug)]
pub(super) struct ConnectionPool {
    pool: Pool<Connector>,
    address: Address,
    tls: ClientConfig,
    place: Arc<str>,
}

/// A connection for exclusive use. Returns to the pool when dropped.
pub(super) type PooledConnection = Object<Connector>;

impl ConnectionPool {
    pub(super) fn new(address: Address, place: String) -> Result<Self, StoreError> {
        let connect = address.config.get_connect_timeout().copied().unwrap_or(LOGIN_TIMEOUT);
        let tls = tls::client_config(&address)
            .map_err(|reason| StoreError::Unreachable { place: place.clone(), reason })?;
        let pool = Pool::builder(Connector { config: address.config.clone(), tls: tls.clone() })
            .max_size(address.pool_size)
            .wait_timeout(Some(POOL_TIMEOUT))
            .create_timeout(Some((connect + LOGIN_TIMEOUT).min(address.answer_timeout)))
            .recycle_timeout(Some(LOGIN_TIMEOUT))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| StoreError::Unreachable { place: place.clone(), reason: error.to_string() })?;
        Ok(Self { pool, address, tls, place: place.into() })
    }

    /// A connection for exclusive use, before the deadline if there is one.
    pub(super) async fn get(&self, deadline: Option<Instant>) -> Result<PooledConnection, Failure> {
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

    /// Closes idle connections created before `then`: if one connection was lost silently, the others of its age
    /// probably are too.
    pub(super) fn forget_older(&self, then: std::time::Instant) {
        self.pool.retain(|_, metrics| metrics.created > then);
    }

    /// Closes all connections for good.
    pub(super) fn close(&self) {
        self.pool.close();
    }

    pub(super) fn place(&self) -> &Arc<str> {
        &self.place
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    pub(super) fn tls(&self) -> MakeRustlsConnect {
        MakeRustlsConnect::new(self.tls.clone())
    }
}

/// Creates connections.
#[derive(Debug)]
pub(super) struct Connector {
    config: Config,
    tls: ClientConfig,
}

impl Manager for Connector {
    type Type = Connection;
    type Error = Error;

    async fn create(&self) -> Result<Connection, Error> {
        // Boxed, since a TLS stream is large.
        let tls = MakeRustlsConnect::new(self.tls.clone());
        let (client, driver) = Box::pin(self.config.connect(tls)).await?;
        // The client's calls return the driver's error.
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
        let row = connection.client.query_one(IDENTIFY, &[]).await?;
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

/// The server process of a connection; pid and start time are unique. The name is the connection's own, because a
/// proxy may assign the same process to another connection later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) pid: i64,
    /// The start time of the process, as the server formats it.
    pub(super) since: String,
    /// The key of its write marks.
    pub(super) name: String,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A connection with its prepared statements.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) client: Client,
    driver: JoinHandle<()>,
    /// By their SQL in the source.
    pub(super) statements: HashMap<&'static str, Statement>,
    /// Bulk inserts, by their SQL up to `VALUES`.
    pub(super) batches: HashMap<&'static str, Statement>,
    pub(super) identity: Identity,
    /// How many transactions on it have written.
    pub(super) writes: i64,
    /// Whether a transaction is open.
    pub(super) unfinished: bool,
}

impl Drop for Connection {
    /// A connection with an open transaction may never get a response, so it is dropped without waiting.
    fn drop(&mut self) {
        if self.unfinished {
            self.driver.abort();
        }
    }
}
