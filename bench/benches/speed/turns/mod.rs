//! Turns: the time until the provider receives a request, and many concurrent responses. Uses a complete agent with
//! the sample workspace, a database, and a provider on a loopback port.

pub(crate) mod first_byte;
mod fixture;
mod loopback;
pub(crate) mod streams;

use std::error::Error;

use tokio::task::JoinHandle;

/// The result of a task.
type Found<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The number of worker threads in the program.
const WORKERS: usize = 2;

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()
}

/// An HTTP client like the agent's.
fn bare_client() -> Result<reqwest::Client, Box<dyn Error>> {
    // The client requires a TLS configuration even without TLS.
    let tls = foreword_tls::client_config(Vec::new())?;
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy();
    Ok(client.http1_only().tcp_nodelay(true).build()?)
}

/// The output of a task.
async fn given<T>(task: JoinHandle<Found<T>>) -> Result<T, Box<dyn Error>> {
    task.await?.map_err(|error| -> Box<dyn Error> { error })
}
