use foreword_core::api_token::{ProxyMode, Scope};
use foreword_store::conversations::ConversationPage;
use foreword_testkit::{FakeProvider, Reply};
use serde_json::{Value, json};

use crate::proxy_observe::{COMPLETIONS, MESSAGES, app_before, post};
use crate::test_app::{TestApp, read};

const REQUEST: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":9,"x_odd":1.50,"system":"You are Claude Code.","messages":[{"role":"user","content":"hi"}]}"#;
const CHAT: &str = r#"{"model":"gpt-5","x_odd":1.50,"messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"hi"}]}"#;

/// A server with a prompt for everyone, and a part for bob only.
async fn furnished(fake: &FakeProvider, more: &str) -> TestApp {
    let app = app_before(fake, more).await;
    std::fs::write(app.folder.path().join("SOUL.md"), "You are Ada, and kind.").unwrap();
    std::fs::create_dir_all(app.folder.path().join("users/bob")).unwrap();
    std::fs::write(app.folder.path().join("users/bob/USER.md"), "Bob likes tea.").unwrap();
    app.workspace.refresh();
    app
}

async fn ask(app: &TestApp, path: &str, token: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let body = if path == MESSAGES { REQUEST } else { CHAT };
    let request = headers
        .iter()
        .fold(post(app, path, token, body), |request, (name, value)| request.header(*name, *value));
    read(request.send().await.unwrap()).await
}

fn texts(system: &Value) -> Vec<&str> {
    system.as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_prompt_precedes_the_clients_and_nothing_else_changes() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = furnished(&fake, "proxy: { mode: prepend }\n").await;
    assert_eq!(ask(&app, MESSAGES, &app.bob, &[]).await.0, 200);
    let received = fake.requests().pop().unwrap();
    let system = received.json()["system"].clone();
    let texts = texts(&system);
    assert_eq!(texts.last(), Some(&"You are Claude Code."));
    let ours = texts[..texts.len() - 1].concat();
    assert!(ours.contains("You are Ada, and kind.") && ours.contains("Bob likes tea."), "{ours}");
    // The client has its own tools, so the agent's are not mentioned.
    for tool in ["memory_search", "bash", "update_prompt_layer", "skill_get"] {
        assert!(!ours.contains(tool), "{tool}: {ours}");
    }
    let text = received.text();
    let (before, behind) = REQUEST.split_once(r#""You are Claude Code.""#).unwrap();
    assert!(text.starts_with(before) && text.ends_with(behind), "{text}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_prompt_replaces_the_clients() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = furnished(&fake, "").await;
    let token = app.token("bob", &[Scope::Chat], Some(ProxyMode::Replace)).await;
    assert_eq!(ask(&app, MESSAGES, &token, &[]).await.0, 200);
    let received = fake.requests().pop().unwrap();
    let text = received.text();
    assert!(text.contains("You are Ada, and kind.") && !text.contains("Claude Code"), "{text}");
    assert_eq!(ask(&app, COMPLETIONS, &token, &[]).await.0, 200);
    let messages = fake.requests().pop().unwrap().json()["messages"].clone();
    assert_eq!(messages[0]["role"], "developer");
    assert!(messages[0]["content"].as_str().unwrap().contains("You are Ada, and kind."));
    assert_eq!(messages[1], json!({ "role": "user", "content": "hi" }));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_keeps_its_exact_prompt() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = furnished(&fake, "proxy: { mode: prepend }\n").await;
    let named = [("x-foreword-conversation", "c-kept")];
    for path in [MESSAGES, COMPLETIONS] {
        assert_eq!(ask(&app, path, &app.alice, &named).await.0, 200);
        let first = fake.requests().pop().unwrap().text();
        std::fs::write(app.folder.path().join("SOUL.md"), format!("Another soul, after {path}.")).unwrap();
        app.workspace.refresh();
        assert_eq!(ask(&app, path, &app.alice, &named).await.0, 200);
        assert_eq!(fake.requests().pop().unwrap().text(), first, "{path}");
    }
    let response = post(&app, MESSAGES, &app.alice, REQUEST)
        .header("x-foreword-conversation", "c-new")
        .send()
        .await
        .unwrap();
    let assigned = response.headers()["x-foreword-conversation"].to_str().unwrap();
    assert!(assigned.starts_with("proxy:tok-") && assigned.ends_with(":c-new"), "{assigned}");
    assert!(fake.requests().pop().unwrap().text().contains("Another soul"));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn injected_prompt_depends_on_trust() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = furnished(&fake, "proxy: { mode: prepend }\n").await;
    let asserting = app.token("alice", &[Scope::Chat, Scope::Assert], None).await;
    let text = async |token: &str, headers: &[(&str, &str)]| {
        let (status, answer) = ask(&app, MESSAGES, token, headers).await;
        assert_eq!(status, 200, "{answer}");
        fake.requests().pop().unwrap().text()
    };
    let bobs = "Bob likes tea.";
    assert!(text(&app.bob, &[]).await.contains(bobs));
    assert!(!text(&app.carol, &[]).await.contains(bobs));
    assert!(text(&asserting, &[("x-foreword-user", "bob")]).await.contains(bobs));
    assert!(!text(&asserting, &[("x-foreword-user", "nobody")]).await.contains(bobs));
    let group = [("x-foreword-user", "bob"), ("x-foreword-situation", "group")];
    assert!(!text(&asserting, &group).await.contains(bobs), "what is bob's alone is not said in a group");
    // The same conversation: the prompt frozen for bob is not used for a lower trust.
    let (high, low) = (("x-foreword-user", "bob"), ("x-foreword-user", "carol"));
    let named = ("x-foreword-conversation", "c-shared");
    assert!(text(&asserting, &[high, named]).await.contains(bobs));
    assert!(!text(&asserting, &[low, named]).await.contains(bobs));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_of_one_token_have_separate_conversations() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = furnished(&fake, "proxy: { mode: prepend }\n").await;
    let asserting = app.token("alice", &[Scope::Chat, Scope::Assert], None).await;
    let joined = async |headers: &[(&str, &str)]| {
        let request = post(&app, MESSAGES, &asserting, REQUEST);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.headers()["x-foreword-conversation"].to_str().unwrap().to_owned()
    };
    let (bob, carol) = (("x-foreword-user", "bob"), ("x-foreword-user", "carol"));
    let (group, named) = (("x-foreword-situation", "group"), ("x-foreword-conversation", "c-shared"));
    let mut all = Vec::new();
    for headers in [vec![], vec![bob], vec![carol], vec![bob, group], vec![bob, named], vec![carol, named]] {
        let first = joined(&headers).await;
        assert_eq!(joined(&headers).await, first, "whoever goes on goes on with their own: {headers:?}");
        all.push(first);
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6, "{all:?}");
    assert_eq!(joined(&[]).await, joined(&[("x-foreword-user", "alice")]).await, "alice is who she is");
    let of_bob = app.store.conversations(ConversationPage::first(10).of_user("bob")).await.unwrap();
    assert_eq!(of_bob.len(), 3, "{of_bob:?}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pruned_conversation_is_proxied_again() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = furnished(&fake, "proxy: { mode: prepend }\n").await;
    let named = [("x-foreword-conversation", "c-again")];
    assert_eq!(ask(&app, MESSAGES, &app.bob, &named).await.0, 200);
    app.store.prune_proxied("2999-01-01T00:00:00Z".parse().unwrap()).await.unwrap();
    std::fs::write(app.folder.path().join("SOUL.md"), "You are another.").unwrap();
    app.workspace.refresh();
    assert_eq!(ask(&app, MESSAGES, &app.bob, &named).await.0, 200);
    let made = app.store.conversations(ConversationPage::first(10)).await.unwrap();
    let made: Vec<&str> = made.iter().map(|made| &*made.situation).collect();
    assert_eq!(made, ["proxy"]);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_requests_fail_closed() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = furnished(&fake, "proxy: { mode: prepend }\n").await;
    let asserting = app.token("alice", &[Scope::Chat, Scope::Assert], None).await;
    let check = async |headers: &[(&str, &str)], status: u16| {
        let (found, error) = ask(&app, MESSAGES, &asserting, headers).await;
        assert_eq!((found, &error["type"]), (status, &json!("error")), "{headers:?} {error}");
    };
    check(&[("x-foreword-agent", "Nobody")], 400).await;
    check(&[("x-foreword-situation", "nowhere")], 400).await;
    check(&[("x-foreword-user", " ")], 400).await;
    for body in [
        "",
        "[]",
        "{",
        r#"{"messages":[]}"#,
        r#"{"model":"m","system":1,"messages":[]}"#,
        r#"{"model":"m","system":"a","system":"b"}"#,
        r#"{"model":"m","messages":[]}"#,
        r#"{"model":"m","messages":"hi"}"#,
        r#"{"model":"m","system":1,"messages":[{"role":"user","content":"hi"}]}"#,
    ] {
        let (status, error) = read(post(&app, MESSAGES, &app.bob, body).send().await.unwrap()).await;
        assert_eq!((status, &error["error"]["type"]), (400, &json!("invalid_request_error")), "{body}");
    }
    let made = app.store.conversations(ConversationPage::first(10)).await.unwrap();
    assert_eq!(made, [], "what is refused leaves nothing behind");
    assert_eq!(fake.counts().requests, 0);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_prompt_gets_a_cache_breakpoint() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = furnished(&fake, "proxy: { mode: prepend }\n").await;
    std::fs::write(app.folder.path().join("SOUL.md"), "You are Ada, and always kind. ".repeat(800)).unwrap();
    app.workspace.refresh();
    assert_eq!(ask(&app, MESSAGES, &app.bob, &[]).await.0, 200);
    let text = fake.requests().pop().unwrap().text();
    let marks = text.matches("\"cache_control\":{\"type\":\"ephemeral\"").count();
    assert!((1..=4).contains(&marks), "{marks}");
    app.stop().await;
}
