//! Temporary databases: a file in a temporary folder, or a database on the server.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use foreword_store::location::Location;
use foreword_store::store::Store;
use tempfile::TempDir;

use super::bare::{self, Bare};
use super::{Found, start};
use crate::Outcome;

/// The engine to measure.
pub(crate) enum Engine {
    Sqlite,
    /// The address of the server.
    Postgres(String),
}

impl Engine {
    /// The server from the environment.
    pub(crate) fn of_environment() -> Option<Self> {
        let named = env::var("FOREWORD_TEST_POSTGRES").ok();
        named.filter(|address| !address.is_empty() && address != "skip").map(Self::Postgres)
    }

    /// Name, version, and whether commits are synced: without that they cost next to nothing, and ratios are
    /// meaningless.
    pub(crate) async fn describe(&self) -> Found<String> {
        let Self::Postgres(server) = self else { return Ok("SQLite".to_owned()) };
        let client = bare::connect(server).await?;
        let mut settings = Vec::new();
        for name in ["server_version", "fsync", "full_page_writes"] {
            let row = client.query_one(&format!("SHOW {name}"), &[]).await?;
            // The version is followed by the vendor.
            settings.extend(row.get::<_, String>(0).split(' ').next().map(str::to_owned));
        }
        let [version, fsync, full_pages] = settings.as_slice() else { return Err("no settings".into()) };
        let unfair =
            if fsync == "on" { "" } else { " — it does not wait for its disk: start it with `durable`" };
        Ok(format!(
            "Postgres {version} (fsync = {fsync}, full_page_writes = {full_pages}, synchronous_commit = on){unfair}"
        ))
    }
}

/// A temporary database.
pub(crate) struct Database {
    kind: DatabaseKind,
    location: Location,
}

enum DatabaseKind {
    File(TempDir),
    Server { server: String, address: String, name: String },
}

impl Database {
    /// Creates a database with empty tables.
    pub(crate) async fn create(engine: &Engine) -> Found<Self> {
        let database = match engine {
            Engine::Sqlite => Self::in_folder(tempfile::tempdir()?),
            Engine::Postgres(server) => Self::on_server(server, "template0").await?,
        };
        database.open().await?.close().await?;
        Ok(database)
    }

    pub(crate) async fn open(&self) -> Found<Store> {
        Ok(Store::open(&self.location, start()).await?)
    }

    /// A bare connection, as durable as the store's.
    pub(crate) async fn connect(&self) -> Found<Bare> {
        match &self.kind {
            DatabaseKind::File(folder) => Bare::sqlite(&file(folder)),
            DatabaseKind::Server { address, .. } => Bare::postgres(address).await,
        }
    }

    /// A copy. No writer may be active.
    pub(crate) async fn copy(&self) -> Found<Self> {
        match &self.kind {
            DatabaseKind::File(folder) => {
                let copy = tempfile::tempdir()?;
                std::fs::copy(file(folder), file(&copy))?;
                std::fs::File::open(file(&copy))?.sync_all()?;
                Ok(Self::in_folder(copy))
            }
            DatabaseKind::Server { server, name, .. } => {
                // The server may still have connections of a closed store.
                let end = format!(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
                );
                bare::connect(server).await?.batch_execute(&end).await?;
                tokio::time::sleep(Duration::from_millis(300)).await;
                Self::on_server(server, name).await
            }
        }
    }

    pub(crate) async fn remove(self) -> Outcome {
        match self.kind {
            DatabaseKind::File(folder) => folder.close()?,
            DatabaseKind::Server { server, name, .. } => {
                let drop = format!("DROP DATABASE {name} WITH (FORCE)");
                bare::connect(&server).await?.batch_execute(&drop).await?;
            }
        }
        Ok(())
    }

    fn in_folder(folder: TempDir) -> Self {
        Self { location: Location::file(file(&folder)), kind: DatabaseKind::File(folder) }
    }

    async fn on_server(server: &str, template: &str) -> Found<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("bench_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let create = format!("CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE {template}");
        bare::connect(server).await?.batch_execute(&create).await?;
        let (before, options) = server.split_once('?').unwrap_or((server, ""));
        let (before, _) = before.rsplit_once('/').ok_or("the server's address names no database")?;
        let address = format!("{before}/{name}?{options}");
        let location = Location::parse(&address, Path::new("/"))?;
        Ok(Self { location, kind: DatabaseKind::Server { server: server.to_owned(), address, name } })
    }
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("foreword.db")
}
