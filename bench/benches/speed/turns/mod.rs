//! The turn: how long until the provider hears of a message, and many answers at once. The agent is whole, with the
//! workspace that everything else is measured on, a database, and a provider on a loopback port.

pub(crate) mod first_byte;
mod loopback;
mod scene;
pub(crate) mod streams;

use std::error::Error;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// What a task gives.
type Found<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The program has as many threads for turns.
const WORKERS: usize = 2;

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()
}

/// A client as the agent's, and nothing around it.
fn bare_client() -> Result<reqwest::Client, Box<dyn Error>> {
    // Nothing here is encrypted, but the client wants to know how it would be.
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy();
    Ok(client.http1_only().tcp_nodelay(true).build()?)
}

/// What a task has given.
async fn given<T>(task: JoinHandle<Found<T>>) -> Result<T, Box<dyn Error>> {
    task.await?.map_err(|error| -> Box<dyn Error> { error })
}
