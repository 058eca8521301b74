//! A bridge that listens: it keeps what it is sent, and answers as it is told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

pub(crate) const SECRET: &str = "hush-hush";

/// What came, and what is answered.
#[derive(Clone, Default)]
pub(crate) struct Webhook {
    posts: Arc<Mutex<Vec<(HeaderMap, String)>>>,
    answers: Arc<Mutex<VecDeque<u16>>>,
    port: u16,
}

impl Webhook {
    /// A bridge that answers so, then with 200 for good.
    pub(crate) async fn start(answers: &[u16]) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, answers)
    }

    pub(crate) fn on(listener: tokio::net::TcpListener, answers: &[u16]) -> Self {
        let port = listener.local_addr().unwrap().port();
        let answers = Arc::new(Mutex::new(answers.iter().copied().collect()));
        let webhook = Self { posts: Arc::default(), answers, port };
        let router = Router::new().route("/hook", post(take)).with_state(webhook.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        webhook
    }

    /// The section of the configuration for it.
    pub(crate) fn config(&self) -> String {
        config(self.port)
    }

    /// The bodies that came, once there are `count`.
    pub(crate) async fn bodies(&self, count: usize) -> Vec<Value> {
        self.posts(count).await.iter().map(|(_, body)| serde_json::from_str(body).unwrap()).collect()
    }

    pub(crate) async fn posts(&self, count: usize) -> Vec<(HeaderMap, String)> {
        for _ in 0..600 {
            let posts = self.posts.lock().unwrap().clone();
            if posts.len() >= count {
                return posts;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{} posts came, {count} were waited for", self.posts.lock().unwrap().len());
    }
}

pub(crate) fn config(port: u16) -> String {
    format!(
        "server: {{ channels: {{ signal: {{ webhook: \"http://127.0.0.1:{port}/hook\", secret_env: BRIDGE_SECRET }} }} }}\n"
    )
}

async fn take(State(webhook): State<Webhook>, headers: HeaderMap, body: String) -> StatusCode {
    webhook.posts.lock().unwrap().push((headers, body));
    let status = webhook.answers.lock().unwrap().pop_front().unwrap_or(200);
    StatusCode::from_u16(status).unwrap()
}
