//! A bridge for tests: stores the webhooks it receives, and answers as configured.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use foreword_testkit::eventually;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

pub(crate) const SECRET: &str = "hush-hush";

/// The received webhooks, and the answers.
#[derive(Clone, Default)]
pub(crate) struct Webhook {
    posts: Arc<Mutex<Vec<(HeaderMap, String)>>>,
    answers: Arc<Mutex<VecDeque<u16>>>,
    port: u16,
}

impl Webhook {
    /// A bridge that answers like this, then with 200.
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

    /// Its configuration.
    pub(crate) fn config(&self) -> String {
        config(self.port)
    }

    /// The received bodies, when there are `count`.
    pub(crate) async fn bodies(&self, count: usize) -> Vec<Value> {
        self.posts(count).await.iter().map(|(_, body)| serde_json::from_str(body).unwrap()).collect()
    }

    pub(crate) async fn posts(&self, count: usize) -> Vec<(HeaderMap, String)> {
        eventually(async || {
            let posts = self.posts.lock().unwrap().clone();
            if posts.len() >= count { Ok(posts) } else { Err((posts.len(), count)) }
        })
        .await
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
