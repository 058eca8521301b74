//! A collector on a loopback port that stores requests and fails as scripted.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How it answers a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// Answers with this status and `retry-after` in seconds.
    Status(u16, Option<u64>),
    /// Reads the request and never answers.
    Hang,
    /// Answers with invalid HTTP.
    Garbage,
    /// Answers with a redirect.
    Redirect,
    /// Accepts all but this number of spans.
    Rejects(u64),
}

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Value,
}

#[derive(Clone)]
pub(crate) struct Collector {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<Request>>>,
    faults: Arc<Mutex<VecDeque<Fault>>>,
}

impl Collector {
    /// A collector that answers with these faults in order, and accepts everything afterwards.
    pub(crate) async fn start(faults: &[Fault]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, faults)
    }

    /// The same on a given listener.
    pub(crate) fn on(listener: TcpListener, faults: &[Fault]) -> Self {
        let collector = Self {
            address: format!("http://{}", listener.local_addr().unwrap()),
            requests: Arc::default(),
            faults: Arc::new(Mutex::new(faults.iter().copied().collect())),
        };
        let serving = collector.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        collector
    }

    async fn serve(self, mut stream: TcpStream) {
        while let Some(request) = read(&mut stream).await {
            self.requests.lock().unwrap().push(request);
            let fault = self.faults.lock().unwrap().pop_front();
            let answer = match fault {
                None => answer(200, "", "{\"partialSuccess\":{}}"),
                Some(Fault::Rejects(number)) => {
                    answer(200, "", &format!("{{\"partialSuccess\":{{\"rejectedSpans\":\"{number}\"}}}}"))
                }
                Some(Fault::Status(status, wait)) => {
                    let wait = wait.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
                    answer(status, &wait, "{}")
                }
                Some(Fault::Redirect) => answer(307, "location: http://127.0.0.1:9/v1/traces\r\n", ""),
                Some(Fault::Garbage) => "\u{1}\u{2} what?\r\n\r\n".to_owned(),
                Some(Fault::Hang) => std::future::pending().await,
            };
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// All received spans.
    pub(crate) fn spans(&self) -> Vec<Value> {
        let requests = self.requests();
        let scopes = requests
            .iter()
            .flat_map(|request| request.body["resourceSpans"][0]["scopeSpans"].as_array().unwrap().clone());
        scopes.flat_map(|scope| scope["spans"].as_array().unwrap().clone()).collect()
    }

    /// Waits until this number of requests has arrived.
    pub(crate) async fn wait_for(&self, number: usize) {
        while self.requests().len() < number {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase().strip_prefix("content-length: ")?.trim().parse::<usize>().ok()
    });
    let mut body = bytes.split_off(end + 4);
    while body.len() < length.unwrap() {
        stream.read_buf(&mut body).await.ok()?;
    }
    Some(Request { head, body: serde_json::from_slice(&body).unwrap() })
}
