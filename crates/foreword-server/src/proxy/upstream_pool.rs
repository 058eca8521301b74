//! Connections to one provider that stay open between requests (keep-alive). Each worker thread has its own pool, so a
//! request and its connection share a thread. Does less than `hyper_util`'s client, which starts a task per response and
//! parses an absolute URI per request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::ServiceExt as _;

/// How long an unused connection may be reused.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum number of unused connections.
const MAX_IDLE: usize = 256;

pub(crate) struct UpstreamPool {
    /// Scheme and authority of the provider.
    origin: Uri,
    /// The value of the `Host` header.
    host: HeaderValue,
    connector: HttpsConnector<HttpConnector>,
    /// The oldest first.
    idle: Mutex<Vec<IdleConnection>>,
}

struct IdleConnection {
    sender: SendRequest<Full<Bytes>>,
    since: Instant,
}

/// No response was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpstreamError {
    /// No connection could be opened.
    Connect,
    /// The connection was closed before the response.
    Closed,
}

/// The connection of a response. Dropping it closes the connection.
pub(crate) struct PooledConnection {
    sender: SendRequest<Full<Bytes>>,
    pool: Arc<UpstreamPool>,
}

impl UpstreamPool {
    /// A pool for the provider at `base`; `None` if that is not an absolute URL.
    pub(crate) fn new(base: &Uri, connector: HttpsConnector<HttpConnector>) -> Option<Self> {
        let (scheme, host) = (base.scheme()?.clone(), base.host()?);
        let default_port = if scheme == Scheme::HTTPS { 443 } else { 80 };
        let host = match base.port_u16().filter(|port| *port != default_port) {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let mut parts = base.clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::from_static("/"));
        Some(Self {
            origin: Uri::from_parts(parts).ok()?,
            host: host.parse().ok()?,
            connector,
            idle: Mutex::default(),
        })
    }

    pub(crate) fn host(&self) -> &HeaderValue {
        &self.host
    }

    /// Sends a request on an open connection, or opens one. A connection that the provider closed meanwhile is replaced,
    /// unless the request may have reached it.
    pub(crate) async fn request(
        self: &Arc<Self>,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, PooledConnection), UpstreamError> {
        while let Some(mut sender) = self.take_idle() {
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok((response, PooledConnection { sender, pool: Arc::clone(self) })),
                Err(mut error) => request = error.take_message().ok_or(UpstreamError::Closed)?,
            }
        }
        let mut sender = Box::pin(self.connect()).await?;
        let response = sender.send_request(request).await.map_err(|_| UpstreamError::Closed)?;
        Ok((response, PooledConnection { sender, pool: Arc::clone(self) }))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, UpstreamError> {
        let stream =
            self.connector.clone().oneshot(self.origin.clone()).await.map_err(|_| UpstreamError::Connect)?;
        let (sender, connection) =
            Builder::new().handshake(stream).await.map_err(|_| UpstreamError::Connect)?;
        // The requests on it return its errors.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(sender)
    }

    /// The connection that was used last, if it is still open.
    fn take_idle(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle.lock();
        while let Some(IdleConnection { sender, since }) = idle.pop() {
            if since.elapsed() > IDLE_TIMEOUT {
                // The others are older.
                idle.clear();
                return None;
            }
            if !sender.is_closed() {
                return Some(sender);
            }
        }
        None
    }
}

impl PooledConnection {
    /// Keeps the connection for another request, after the whole response was read.
    pub(crate) fn release(self) {
        if self.sender.is_closed() {
            return;
        }
        let since = Instant::now();
        let mut idle = self.pool.idle.lock();
        let expired = idle.iter().take_while(|one| since - one.since > IDLE_TIMEOUT).count();
        let surplus = (idle.len() + 1).saturating_sub(MAX_IDLE);
        idle.drain(..expired.max(surplus));
        idle.push(IdleConnection { sender: self.sender, since });
    }
}

impl fmt::Debug for UpstreamPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamPool").field("origin", &self.origin).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use hyper_rustls::HttpsConnectorBuilder;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    use super::*;

    /// A provider that answers each request with the number of its connection and closes every connection after
    /// `requests` of them.
    async fn provider(requests: usize) -> (Arc<UpstreamPool>, mpsc::UnboundedReceiver<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap()).parse().unwrap();
        let (closed, closings) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for number in 1.. {
                let (mut stream, _) = listener.accept().await.unwrap();
                for _ in 0..requests {
                    let mut request = [0; 1024];
                    assert!(stream.read(&mut request).await.unwrap() > 0);
                    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{number}");
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
                drop(stream);
                closed.send(()).unwrap();
            }
        });
        let tls = foreword_tls::client_config(Vec::new()).unwrap();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
        (Arc::new(UpstreamPool::new(&base, connector).unwrap()), closings)
    }

    async fn ask(pool: &Arc<UpstreamPool>) -> String {
        let mut request = Request::new(Full::new(Bytes::new()));
        request.headers_mut().insert(http::header::HOST, pool.host().clone());
        let (response, connection) = pool.request(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        connection.release();
        String::from_utf8(body.into()).unwrap()
    }

    #[tokio::test]
    async fn connection_is_reused_after_the_response() {
        let (pool, _closings) = provider(3).await;
        for _ in 0..3 {
            assert_eq!(ask(&pool).await, "1");
        }
    }

    #[tokio::test]
    async fn closed_connection_is_replaced() {
        let (pool, mut closings) = provider(1).await;
        for number in ["1", "2", "3"] {
            assert_eq!(ask(&pool).await, number);
            closings.recv().await.unwrap();
        }
    }

    #[tokio::test]
    async fn unreachable_provider_is_a_connect_error() {
        let (pool, _closings) = provider(1).await;
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let base = format!("http://{closed}").parse().unwrap();
        let pool = Arc::new(UpstreamPool::new(&base, pool.connector.clone()).unwrap());
        let error = pool.request(Request::new(Full::new(Bytes::new()))).await.err();
        assert_eq!(error, Some(UpstreamError::Connect));
    }
}
