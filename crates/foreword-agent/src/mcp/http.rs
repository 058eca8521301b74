//! A server that is reached by HTTP. The SDK reads a whole answer before it looks at it; here it is read within bounds.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreword_core::provider::Secret;
use foreword_workspace::config::mcp::McpAddress;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
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
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::bounded_lines::{Allowance, LONGEST_MESSAGE};
use super::{McpWorld, unpoisoned};

const SESSION: &str = "mcp-session-id";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

type Failed = StreamableHttpError<reqwest::Error>;

/// A way to a server.
pub(super) fn transport(
    address: &McpAddress,
    world: &McpWorld,
    patience: Duration,
) -> Result<StreamableHttpClientTransport<BoundedHttp>, String> {
    let client = client(address, world, patience)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str());
    config.max_sse_event_size = LONGEST_MESSAGE;
    Ok(StreamableHttpClientTransport::with_client(BoundedHttp { client, unasked: Arc::default() }, config))
}

/// The client. It follows no redirects, since they could lead the token elsewhere, and knows no proxy.
fn client(address: &McpAddress, world: &McpWorld, patience: Duration) -> Result<Client, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &address.headers {
        let unusable = || format!("the header `{}` can't be sent", name.escape_debug());
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
        headers.insert(name, secret(value).ok_or_else(unusable)?);
    }
    if let Some(variable) = &address.bearer_env {
        let token = (world.variable)(variable).filter(|token| !token.trim().is_empty());
        let token = token.ok_or_else(|| format!("its token is missing: set `{variable}`"))?;
        let value = secret(&Secret::new(format!("Bearer {}", token.trim())));
        headers.insert(
            AUTHORIZATION,
            value.ok_or_else(|| format!("`{variable}` holds no token that can be sent"))?,
        );
    }
    Client::builder()
        .tls_backend_preconfigured(tls(&address.url)?)
        .default_headers(headers)
        .user_agent(concat!("foreword/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .http1_only()
        .tcp_nodelay(true)
        .connect_timeout(patience)
        .build()
        .map_err(|_| "no HTTP client can be made".to_owned())
}

fn secret(value: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value.reveal()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Whom to trust: the certificates of this machine, if any are needed at all.
fn tls(url: &str) -> Result<ClientConfig, String> {
    let mut trusted = RootCertStore::empty();
    if url.to_ascii_lowercase().starts_with("https:") {
        trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if trusted.is_empty() {
            return Err(
                "this machine trusts no certificates; install the package `ca-certificates`".to_owned()
            );
        }
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(trusted)
        .with_no_client_auth())
}

/// The SDK's client, but for how answers are read.
#[derive(Clone)]
pub(super) struct BoundedHttp {
    client: Client,
    /// How much it may still say unasked; a stream that is opened again brings no more of it.
    unasked: Arc<Mutex<Allowance>>,
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
                // What it asks for in particular is its own text.
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

/// The events of an answer, as far as they are bearable: an answer is to one message, however many events it has.
fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut read = 0;
    let bytes = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(io::Error::other)?;
        read += chunk.len();
        if read > LONGEST_MESSAGE { Err(too_much()) } else { Ok(chunk) }
    });
    SseStream::from_bytes_stream(bytes).boxed()
}

/// The events a server sends unasked, to the first that is one too many: that is an error, and the last.
fn at_bearable_rate(
    events: BoxStream<'static, Result<Sse, SseError>>,
    allowance: Arc<Mutex<Allowance>>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let bounded = events.scan(false, move |is_over, event| {
        let next = if *is_over {
            None
        } else if unpoisoned(&allowance).bears(1.0) {
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
        if body.len() + chunk.len() > LONGEST_MESSAGE {
            return Err(StreamableHttpError::Io(too_much()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn too_much() -> io::Error {
    io::Error::other(format!("its answer has more than {LONGEST_MESSAGE} bytes"))
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
        let limit = LONGEST_MESSAGE;
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
    async fn a_stream_of_more_events_than_anybody_needs_ends_and_opened_again_goes_on_no_further() {
        let flood = || stream::repeat_with(|| Ok(Sse::default())).take(200_000).boxed();
        let allowance = Arc::<Mutex<Allowance>>::default();
        let first: Vec<_> = at_bearable_rate(flood(), Arc::clone(&allowance)).collect().await;
        assert!(first.len() > 10_000 && first.len() < 200_000, "{}", first.len());
        assert!(first.last().unwrap().is_err() && first.iter().filter(|event| event.is_err()).count() == 1);
        let again: Vec<_> = at_bearable_rate(flood(), allowance).collect().await;
        assert!(again.len() < first.len(), "{}", again.len());
    }
}
