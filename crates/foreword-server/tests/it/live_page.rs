//! A WebSocket client, like a browser's.

use std::time::Duration;

use foreword_store::location::Location;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::test_app::{CONFIG, TestApp};

/// The timeout of every wait.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Page {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Page {
    pub(crate) async fn open(app: &TestApp, token: &str) -> Self {
        Self::try_open(&app.url, &[("authorization", &format!("Bearer {token}"))]).await.unwrap()
    }

    pub(crate) async fn try_open(url: &str, headers: &[(&'static str, &str)]) -> Result<Self, Error> {
        let mut request = format!("{}/ws", url.replace("http:", "ws:")).into_client_request()?;
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        Ok(Self { socket: connect_async(request).await?.0 })
    }

    pub(crate) async fn send(&mut self, what: &Value) {
        self.send_text(what.to_string()).await;
    }

    /// As text, since `Value` would reorder fields.
    pub(crate) async fn send_text(&mut self, text: String) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    /// The next message; `None` if the connection is closed.
    pub(crate) async fn heard(&mut self) -> Option<Value> {
        loop {
            let next =
                tokio::time::timeout(RECEIVE_TIMEOUT, self.socket.next()).await.expect("nothing comes");
            match next {
                Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    pub(crate) async fn next(&mut self) -> Value {
        self.heard().await.expect("closed")
    }

    /// All messages up to the first of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            seen.push(self.next().await);
            if seen.last().unwrap()["type"] == kind {
                return seen;
            }
        }
    }

    /// Sends a request and returns the reply.
    pub(crate) async fn ask(&mut self, what: &Value) -> Value {
        self.send(what).await;
        loop {
            let next = self.next().await;
            if next["seq"].is_null() {
                return next;
            }
        }
    }

    /// Sends a message in a new conversation and returns its id.
    pub(crate) async fn begin(&mut self, text: &str) -> String {
        let accepted = self.ask(&json!({ "type": "message", "text": text })).await;
        assert_eq!(accepted["type"], "accepted", "{accepted}");
        accepted["sessionId"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn subscribe(&mut self, session: &str, after: u64) {
        let reply = self.ask(&json!({ "type": "subscribe", "sessionId": session, "after": after })).await;
        assert_eq!(reply["type"], "subscribed", "{reply}");
    }
}

/// The numbers of events.
pub(crate) fn numbers(items: &[Value]) -> Vec<u64> {
    items.iter().filter_map(|item| item["seq"].as_u64()).collect()
}

/// The text of events as a client assembles it: text of an interrupted turn since its last tool result is dropped.
pub(crate) fn streamed_text(items: &[Value]) -> String {
    let (mut kept, mut unsure) = (String::new(), String::new());
    for item in items {
        match item["type"].as_str().unwrap() {
            "text_delta" => unsure.push_str(item["text"].as_str().unwrap()),
            "tool_result" => kept.push_str(&std::mem::take(&mut unsure)),
            "turn_start" if item["resumed"] == true => unsure.clear(),
            _ => {}
        }
    }
    kept + &unsure
}

/// A directory with the default users, and additional configuration.
pub(crate) fn folder(more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("foreword.yaml"), format!("{CONFIG}{more}")).unwrap();
    folder
}

/// A new database on the test server; `None` if Postgres tests are skipped.
pub(crate) fn database(name: &str) -> Option<Location> {
    let url = match std::env::var("FOREWORD_TEST_POSTGRES") {
        Ok(skip) if skip == "skip" => return None,
        Ok(url) => url,
        Err(_) => panic!("no Postgres to test with: run `eval \"$(scripts/postgres.sh start)\"` first"),
    };
    let name = format!("live_{}_{name}", std::process::id());
    let bin = std::path::PathBuf::from(std::env::var("FOREWORD_TEST_POSTGRES_BIN").unwrap());
    let create = format!("CREATE DATABASE {name}");
    let made = std::process::Command::new(bin.join("psql")).args([&url, "-qc", &create]).status();
    assert!(made.unwrap().success());
    let (server, _) = url.rsplit_once('/').unwrap();
    Some(Location::parse(&format!("{server}/{name}"), std::path::Path::new("/")).unwrap())
}
