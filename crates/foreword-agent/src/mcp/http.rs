//! An MCP server over HTTP. The SDK reads a whole answer before it parses it; here the size is limited.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::provider::Secret;
use foreword_workspace::config::mcp::McpEndpoint;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use parking_lot::Mutex;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpClientTransportConfig,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::McpEnvironment;
use super::bounded_lines::{MAX_MESSAGE_BYTES, TokenBucket};

const SESSION: &str = "mcp-session-id";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

type Failed = StreamableHttpError<reqwest::Error>;

/// Creates a transport for a server.
pub(super) fn transport(
    address: &McpEndpoint,
    environment: &McpEnvironment,
    timeout: Duration,
) -> Result<StreamableHttpClientTransport<BoundedHttp>, String> {
    let client = client(address, environment, timeout)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str());
    config.max_sse_event_size = MAX_MESSAGE_BYTES;
    Ok(StreamableHttpClientTransport::with_client(BoundedHttp { client, unasked: Arc::default() }, config))
}

/// Creates the HTTP client. It follows no redirects, since they could leak the token, and uses no proxy.
fn client(address: &McpEndpoint, environment: &McpEnvironment, timeout: Duration) -> Result<Client, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &address.headers {
        let unusable = || format!("the header `{}` can't be sent", name.escape_debug());
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
        headers.insert(name, secret(value).ok_or_else(unusable)?);
    }
    if let Some(variable) = &address.bearer_env {
        let token = (environment.variable)(variable).filter(|token| !token.trim().is_empty());
        let token = token.ok_or_else(|| format!("its token is missing: set `{variable}`"))?;
        let value = secret(&Secret::new(format!("Bearer {}", token.trim())));
        headers.insert(
            AUTHORIZATION,
            value.ok_or_else(|| format!("`{variable}` holds no token that can be sent"))?,
        );
    }
    let tls = foreword_tls::client_config_for(&address.url).map_err(|error| error.to_string())?;
    Client::builder()
        .tls_backend_preconfigured(tls)
        .default_headers(headers)
        .user_agent(concat!("foreword/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .http1_only()
        .tcp_nodelay(true)
        .connect_timeout(timeout)
        .build()
        .map_err(|_| "no HTTP client can be made".to_owned())
}

fn secret(value: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value.reveal()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The SDK's HTTP client with size limits for answers.
#[derive(Clone)]
pub(super) struct BoundedHttp {
    client: Client,
    /// The rate limit of unsolicited messages, shared across reconnects of the stream.
    unasked: Arc<Mutex<TokenBucket>>,
}

impl BoundedHttp {
    async fn post(
        &self,
        uri: &str,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let in_session = session.is_some();
        let mut request = self.client.post(uri).header(ACCEPT, format!("{EVENTS}, {JSON}"));
        request = with_headers(request, session, headers);
        let response = request.json(&message).send().await.map_err(without_address)?;
        let status = response.status();
        match status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => return Ok(StreamableHttpPostResponse::Accepted),
            StatusCode::NOT_FOUND if in_session => return Err(StreamableHttpError::SessionExpired),
            StatusCode::UNAUTHORIZED if response.headers().contains_key(WWW_AUTHENTICATE) => {
                // The details of the challenge are the server's text.
                return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new())));
            }
            _ => {}
        }
        let new_session = header(&response, SESSION);
        let kind = header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
        if status.is_success() && kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), new_session));
        }
        let body = body(response).await?;
        let waits = matches!(message, JsonRpcMessage::Request(_));
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(error @ JsonRpcMessage::Error(_)) => Ok(StreamableHttpPostResponse::Json(error, new_session)),
            Ok(answer) if status.is_success() => Ok(StreamableHttpPostResponse::Json(answer, new_session)),
            Err(_) if status.is_success() && !waits => Ok(StreamableHttpPostResponse::Accepted),
            _ => Err(StreamableHttpError::UnexpectedServerResponse(
                format!("HTTP {status}, and no message").into(),
            )),
        }
    }
}

fn with_headers(
    mut request: RequestBuilder,
    session: Option<Arc<str>>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> RequestBuilder {
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match session {
        Some(session) => request.header(SESSION, &*session),
        None => request,
    }
}

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

fn without_address(error: reqwest::Error) -> Failed {
    StreamableHttpError::Client(error.without_url())
}

/// The events of an answer within the size limit: an answer belongs to one message, regardless of its number of events.
fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut read = 0;
    let bytes = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(io::Error::other)?;
        read += chunk.len();
        if read > MAX_MESSAGE_BYTES { Err(too_much()) } else { Ok(chunk) }
    });
    SseStream::from_bytes_stream(bytes).boxed()
}

/// The unsolicited events of a server up to the rate limit. The first event beyond it is an error and ends the stream.
fn at_bearable_rate(
    events: BoxStream<'static, Result<Sse, SseError>>,
    bucket: Arc<Mutex<TokenBucket>>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let bounded = events.scan(false, move |is_over, event| {
        let next = if *is_over {
            None
        } else if bucket.lock().try_take(1.0) {
            Some(event)
        } else {
            *is_over = true;
            Some(Err(SseError::Body(io::Error::other("it sends more than can be read").into())))
        };
        std::future::ready(next)
    });
    bounded.boxed()
}

async fn body(mut response: Response) -> Result<Vec<u8>, Failed> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(without_address)? {
        if body.len() + chunk.len() > MAX_MESSAGE_BYTES {
            return Err(StreamableHttpError::Io(too_much()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn too_much() -> io::Error {
    io::Error::other(format!("its answer has more than {MAX_MESSAGE_BYTES} bytes"))
}

impl StreamableHttpClient for BoundedHttp {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        self.post(&uri, message, session_id, custom_headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        self.client.delete_session(uri, session_id, auth_header, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let limit = MAX_MESSAGE_BYTES;
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            limit,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        limit: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let events = self
            .client
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                limit,
            )
            .await?;
        Ok(at_bearable_rate(events, Arc::clone(&self.unasked)))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn event_flood_ends_the_stream_across_reconnects() {
        let flood = || stream::repeat_with(|| Ok(Sse::default())).take(200_000).boxed();
        let bucket = Arc::<Mutex<TokenBucket>>::default();
        let first: Vec<_> = at_bearable_rate(flood(), Arc::clone(&bucket)).collect().await;
        assert!(first.len() > 10_000 && first.len() < 200_000, "{}", first.len());
        assert!(first.last().unwrap().is_err() && first.iter().filter(|event| event.is_err()).count() == 1);
        let again: Vec<_> = at_bearable_rate(flood(), bucket).collect().await;
        assert!(again.len() < first.len(), "{}", again.len());
    }
}
