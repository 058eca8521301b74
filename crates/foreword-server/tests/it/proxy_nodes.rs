//! Drop-in endpoints of two nodes on one Postgres.

use std::time::Duration;

use foreword_core::api_token::{ProxyMode, Scope};
use foreword_testkit::{FakeProvider, Reply};
use serde_json::{Value, json};

use crate::live_page::{database, folder};
use crate::proxy_observe::{MESSAGES, post};
use crate::test_app::{CONFIG, TestApp};

/// A request with these messages so far.
fn body(said: &[&str]) -> String {
    let message = |(at, words): (usize, &&str)| {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        json!({ "role": role, "content": words })
    };
    let messages: Vec<Value> = said.iter().enumerate().map(message).collect();
    json!({ "model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages }).to_string()
}

async fn ask(app: &TestApp, token: &str, said: &[&str], named: Option<&str>) -> String {
    let request = post(app, MESSAGES, token, body(said));
    let request =
        named.into_iter().fold(request, |request, name| request.header("x-foreword-conversation", name));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let joined = response.headers()["x-foreword-conversation"].to_str().unwrap().to_owned();
    response.bytes().await.unwrap();
    joined
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_keeps_its_prompt_on_another_node() {
    let Some(location) = database("joined") else { return };
    let fake = FakeProvider::start(Reply::text("Good morning.")).unwrap();
    let node = async || {
        let folder = folder("");
        let config = format!("{CONFIG}providers: {{ anthropic: {{ base_url: \"{}\" }} }}\n", fake.base_url());
        std::fs::write(folder.path().join("foreword.yaml"), config).unwrap();
        std::fs::write(folder.path().join("SOUL.md"), "You are Ada, and kind.").unwrap();
        TestApp::open(folder, &location, &[("ANTHROPIC_API_KEY", "sk-ant-owners")]).await
    };
    let (one, other) = (node().await, node().await);
    let token = one.token("bob", &[Scope::Chat], Some(ProxyMode::Prepend)).await;
    let begun = ask(&one, &token, &["Hello."], None).await;
    // The maximum time until one node sees the other's requests.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let further = ask(&other, &token, &["Hello.", "Good morning.", "What is for lunch?"], None).await;
    assert_eq!(further, begun);
    let prompts: Vec<Value> =
        fake.requests().iter().map(|request| request.json()["system"].clone()).collect();
    assert_eq!(prompts[0], prompts[1]);
    assert!(prompts[0].to_string().contains("You are Ada"), "{}", prompts[0]);
    // Also by the id that the other node assigned, but not for another user.
    let another = ask(&one, &token, &["Something else."], None).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ask(&other, &token, &["And more."], Some(&another)).await, another);
    let carols = other.token("carol", &[Scope::Chat], Some(ProxyMode::Prepend)).await;
    assert_ne!(ask(&other, &carols, &["And more."], Some(&another)).await, another);
    one.stop().await;
    other.stop().await;
}
