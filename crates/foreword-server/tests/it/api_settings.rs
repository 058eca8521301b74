//! Session instructions, working directory and context of a conversation: who may set them, over which paths, and that
//! they are in the prompt.

use foreword_core::api_token::Scope;
use foreword_testkit::{FakeProvider, Reply};
use serde_json::{Value, json};

use crate::live_page::Page;
use crate::proxy_observe::{MESSAGES, app_before, post};
use crate::test_app::{CONFIG, TestApp, read};

const ALL: &str = "/api/v1/conversations";
const REQUEST: &str =
    r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;

async fn say(app: &TestApp, place: &str, token: &str) {
    let said = json!({ "text": "Hello" });
    let (status, body) = app.send("POST", &format!("{place}/messages"), token, &said).await;
    assert_eq!((status, &body["outcome"]), (200, &json!("done")), "{body}");
}

async fn prompt(app: &TestApp, place: &str) -> Value {
    app.get(&format!("{place}/prompt"), &app.alice).await.1
}

fn text(prompt: &Value) -> &str {
    prompt["epoch"]["text"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_set_changed_and_removed_over_http() {
    let app = TestApp::with("").await;
    std::fs::create_dir(app.folder.path().join("site")).unwrap();
    let new = json!({ "session_instructions": "Be brief.", "cwd": "site", "context": { "locale": "pt-PT" } });
    let (status, made) = app.send("POST", ALL, &app.alice, &new).await;
    assert_eq!(status, 201, "{made}");
    let place = format!("{ALL}/{}", made["id"].as_str().unwrap());
    for body in [made, app.get(&place, &app.alice).await.1] {
        for key in ["session_instructions", "cwd", "context"] {
            assert_eq!(body[key], new[key], "{body}");
        }
    }
    say(&app, &place, &app.alice).await;
    let first = prompt(&app, &place).await;
    assert!(text(&first).contains("## Session Instructions\n\nBe brief."), "{first}");
    let change = json!({ "session_instructions": "Be polite.", "cwd": null });
    let (status, changed) = app.send("PATCH", &place, &app.alice, &change).await;
    assert_eq!(status, 200, "{changed}");
    assert_eq!(changed["session_instructions"], "Be polite.");
    assert!(changed.get("cwd").is_none(), "{changed}");
    assert_eq!(changed["context"], new["context"]);
    say(&app, &place, &app.alice).await;
    let second = prompt(&app, &place).await;
    assert!(text(&second).contains("Be polite.") && !text(&second).contains("Be brief."), "{second}");
    let newest = &second["epochs"]["items"][0];
    assert_eq!((&newest["number"], &newest["reason"]), (&json!(2), &json!("changed")));
    let because = newest["because"].as_str().unwrap();
    assert!(because.contains("session instructions changed"), "{because}");
    assert!(because.contains("working directory changed"), "{because}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_owner_and_asserting_tokens_set_them() {
    let app = TestApp::start().await;
    let bridge = app.token("carol", &[Scope::Chat, Scope::Assert], None).await;
    for (key, value) in
        [("session_instructions", json!("Obey bob.")), ("cwd", json!(".")), ("context", json!({ "a": 1 }))]
    {
        let settings = json!({ key: value });
        let (status, refused) = app.send("POST", ALL, &app.bob, &settings).await;
        assert_eq!((status, &refused["code"]), (403, &json!("may_not_set")), "{key}");
        let (_, made) = app.send("POST", ALL, &app.bob, &json!({})).await;
        let place = format!("{ALL}/{}", made["id"].as_str().unwrap());
        for body in [settings.clone(), json!({ key: null })] {
            let (status, refused) = app.send("PATCH", &place, &app.bob, &body).await;
            assert_eq!((status, &refused["code"]), (403, &json!("may_not_set")), "{key}");
        }
        let run = app.send("POST", "/api/v1/workflows/any/run", &app.bob, &settings).await;
        assert_eq!((run.0, &run.1["code"]), (403, &json!("may_not_set")), "{key}");
        let request = app.request("PATCH", &place, &bridge).header("x-foreword-user", "bob");
        let request = request.header("content-type", "application/json").body(settings.to_string());
        assert_eq!(read(request.send().await.unwrap()).await.0, 200, "{key}");
        // Bob takes part, but does not see the settings.
        assert!(app.get(&place, &app.bob).await.1.get(key).is_none(), "{key}");
        assert_eq!(app.get(&place, &app.alice).await.1[key], value);
    }
    let mut page = Page::open(&app, &app.bob).await;
    let message = json!({ "type": "message", "text": "Hello", "sessionInstructions": "Obey bob." });
    assert_eq!(page.ask(&message).await["code"], "may_not_set");
    let update = json!({ "type": "update", "sessionId": "c-1", "cwd": null });
    assert_eq!(page.ask(&update).await["code"], "may_not_set");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_set_over_the_websocket() {
    let app = TestApp::start().await;
    let mut page = Page::open(&app, &app.alice).await;
    let message = json!({
        "type": "message", "text": "Hello", "sessionInstructions": "Be brief.", "context": { "locale": "pt" },
    });
    let accepted = page.ask(&message).await;
    assert_eq!(accepted["type"], "accepted", "{accepted}");
    page.until("turn_end").await;
    let id = accepted["sessionId"].as_str().unwrap();
    let place = format!("{ALL}/{id}");
    assert!(text(&prompt(&app, &place).await).contains("Be brief."));
    let again = json!({ "type": "message", "sessionId": id, "text": "Hello", "cwd": "." });
    assert_eq!(page.ask(&again).await["code"], "settings_of_existing");
    let update = json!({ "type": "update", "sessionId": id, "sessionInstructions": null });
    assert_eq!(page.ask(&update).await["type"], "updated");
    let (_, body) = app.get(&place, &app.alice).await;
    assert!(body.get("session_instructions").is_none() && body["context"]["locale"] == "pt", "{body}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn directory_outside_the_roots_is_refused_without_listing_them() {
    let elsewhere = tempfile::tempdir().unwrap();
    let root = elsewhere.path().display().to_string();
    let app = TestApp::with(&format!("conversations: {{ cwd_roots: [{root}] }}\n")).await;
    let bridge = app.token("carol", &[Scope::Chat, Scope::Assert], None).await;
    assert_eq!(app.send("POST", ALL, &app.alice, &json!({ "cwd": root })).await.0, 201);
    let (status, problem) = app.send("POST", ALL, &app.alice, &json!({ "cwd": "/" })).await;
    assert_eq!((status, &problem["code"]), (400, &json!("cwd_not_allowed")));
    assert!(problem["help"].as_str().unwrap().contains(&root), "{problem}");
    let (status, problem) = app.send("POST", ALL, &bridge, &json!({ "cwd": "/" })).await;
    assert_eq!(status, 400);
    assert!(!problem.to_string().contains(&root), "{problem}");
    let long = json!({ "session_instructions": "x".repeat(65 * 1024) });
    assert_eq!(app.send("POST", ALL, &app.alice, &long).await.1["code"], "setting_too_long");
    assert_eq!(app.send("POST", ALL, &app.alice, &json!({ "context": [1] })).await.0, 422);
    // After the root is removed the turn fails, and bob does not learn the directory.
    let (_, made) = app.send("POST", ALL, &bridge, &json!({ "cwd": root, "user": "bob" })).await;
    std::fs::write(app.folder.path().join("foreword.yaml"), CONFIG).unwrap();
    app.workspace.refresh();
    let place = format!("{ALL}/{}/messages", made["id"].as_str().unwrap());
    let (_, said) = app.send("POST", &place, &app.bob, &json!({ "text": "Hello" })).await;
    assert_eq!(said["outcome"], "failed", "{said}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_uses_the_settings_of_its_conversation() {
    let app = TestApp::start().await;
    let new = json!({ "session_instructions": "Be brief." });
    let (_, made) = app.send("POST", ALL, &app.alice, &new).await;
    let id = made["id"].as_str().unwrap();
    let build = async |token: &str, more: Value| {
        let mut occasion = json!({ "conversation": id });
        occasion.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, built) = app.send("POST", "/api/v1/prompts/build", token, &occasion).await;
        assert_eq!(status, 200, "{built}");
        built.to_string()
    };
    assert!(build(&app.alice, json!({})).await.contains("Be brief."));
    let other = build(&app.alice, json!({ "session_instructions": "Be polite." })).await;
    assert!(other.contains("Be polite.") && !other.contains("Be brief."), "{other}");
    // Bob does not take part in it.
    assert!(!build(&app.bob, json!({})).await.contains("Be brief."));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drop_in_conversations_have_settings_too() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "proxy: { mode: prepend }\n").await;
    let ask = async || {
        let request = post(&app, MESSAGES, &app.alice, REQUEST).header("x-foreword-conversation", "c-kept");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.headers()["x-foreword-conversation"].to_str().unwrap().to_owned()
    };
    let id = ask().await;
    assert!(!fake.requests().pop().unwrap().text().contains("Be brief."));
    let settings = json!({ "session_instructions": "Be brief." });
    let (status, changed) = app.send("PATCH", &format!("{ALL}/{id}"), &app.alice, &settings).await;
    assert_eq!(status, 200, "{changed}");
    ask().await;
    assert!(fake.requests().pop().unwrap().text().contains("Be brief."));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn context_keeps_its_order_over_http_and_websocket() {
    const WRITTEN: &str = r#"{"steps":{"wash":1,"cook":2,"bake":3}}"#;
    const CHANGED: &str = r#"{"steps":{"cook":2,"bake":3,"wash":1}}"#;
    let app = TestApp::start().await;
    let json = |request: reqwest::RequestBuilder, body: String| {
        request.header("content-type", "application/json").body(body)
    };
    let stored =
        async |place: &str| app.request("GET", place, &app.alice).send().await.unwrap().text().await.unwrap();
    let posted = json(app.request("POST", ALL, &app.alice), format!(r#"{{"context":{WRITTEN}}}"#));
    let (status, made) = read(posted.send().await.unwrap()).await;
    assert_eq!(status, 201, "{made}");
    let place = format!("{ALL}/{}", made["id"].as_str().unwrap());
    let text = stored(&place).await;
    assert!(text.contains(WRITTEN), "{text}");
    let patched = json(app.request("PATCH", &place, &app.alice), format!(r#"{{"context":{CHANGED}}}"#));
    assert_eq!(patched.send().await.unwrap().status(), 200);
    let text = stored(&place).await;
    assert!(text.contains(CHANGED), "{text}");
    let mut page = Page::open(&app, &app.alice).await;
    page.send_text(format!(r#"{{"type":"message","text":"Hello","context":{WRITTEN}}}"#)).await;
    let id = page.until("turn_end").await.last().unwrap()["sessionId"].as_str().unwrap().to_owned();
    let text = stored(&format!("{ALL}/{id}")).await;
    assert!(text.contains(WRITTEN), "{text}");
    app.stop().await;
}
