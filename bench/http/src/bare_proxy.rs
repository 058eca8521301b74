//! The baseline: a bare pass-through proxy on the libraries that Foreword uses. Runs in its own process, so that its CPU
//! time is separate.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

use crate::process::Process;
use crate::target::Target;
use crate::upstream::Upstream;
use crate::{Found, Outcome, program};

/// Starts it in front of the upstream.
pub(crate) fn start(upstream: &Upstream) -> Found<Target> {
    let program = program::bare_proxy()?;
    let command = |port: u16| {
        let mut proxy = Command::new(program);
        proxy.arg(port.to_string()).arg(upstream.address.to_string());
        proxy
    };
    let process = Arc::new(Process::start(command, Duration::from_secs(10))?);
    Ok(Target::gateway("bare proxy", process, "/v1/chat/completions", String::new(), true))
}

/// Runs the baseline proxy until killed.
pub fn run(port: &str, upstream: &str) -> Outcome {
    let (port, upstream): (u16, SocketAddr) = (port.parse()?, upstream.parse()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve(port, upstream))
}

async fn serve(port: u16, upstream: SocketAddr) -> Outcome {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let client = client.clone();
        let service = service_fn(move |request| pass(client.clone(), upstream, request));
        tokio::spawn(async move {
            // Ignores disconnects.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn pass(
    client: Client<HttpConnector, Incoming>,
    upstream: SocketAddr,
    mut request: http::Request<Incoming>,
) -> Result<http::Response<Incoming>, hyper_util::client::legacy::Error> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    // An address with a valid path is a valid URI.
    *request.uri_mut() = format!("http://{upstream}{path}").parse::<Uri>().unwrap_or_default();
    client.request(request).await
}
