use std::time::Duration;

use foreword_core::api_token::Scope;
use foreword_testkit::{FakeProvider, Reply};
use serde_json::{Value, json};

use crate::proxy_observe::{MESSAGES, app_before, post};
use crate::test_app::TestApp;

const PLACE: &str = "/api/v1/prompts/build";

async fn furnished() -> TestApp {
    let app = TestApp::start().await;
    std::fs::write(app.folder.path().join("SOUL.md"), "You are kind.\n").unwrap();
    std::fs::write(app.folder.path().join("MEMORY.md"), "The safe opens with 1234.\n").unwrap();
    std::fs::create_dir_all(app.folder.path().join("users/bob")).unwrap();
    std::fs::write(app.folder.path().join("users/bob/USER.md"), "Bob is a sailor.\n").unwrap();
    app.workspace.refresh();
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_builds_for_any_user_and_others_for_themselves() {
    let app = furnished().await;
    let (status, bobs) = app.send("POST", PLACE, &app.alice, &json!({ "user": "bob" })).await;
    assert_eq!((status, &bobs["trust"]["effective"]), (200, &json!("inner")));
    assert!(bobs["text"].as_str().unwrap().contains("Bob is a sailor."));
    assert!(bobs["system"].is_array() && bobs["tokens"]["total"].is_u64() && bobs["layers"].is_array());
    let (status, own) = app.send("POST", PLACE, &app.bob, &json!({})).await;
    assert_eq!((status, &own["trust"]["effective"]), (200, &json!("inner")));
    let (status, named) = app.send("POST", PLACE, &app.bob, &json!({ "user": "bob" })).await;
    assert_eq!((status, &named["fingerprint"]), (200, &own["fingerprint"]));
    let (_, alices) = app.send("POST", PLACE, &app.alice, &json!({})).await;
    assert_eq!(alices["trust"]["effective"], json!("full"));
    let group = json!({ "user": "bob", "situation": "group", "channel": "signal:group-7" });
    let (_, heard) = app.send("POST", PLACE, &app.alice, &group).await;
    assert_eq!(heard["trust"]["effective"], json!("familiar"));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn building_for_others_needs_permission() {
    let app = furnished().await;
    for (body, code) in [
        (json!({ "user": "alice" }), "may_not_assert"),
        (json!({ "user": "nobody" }), "may_not_assert"),
        (json!({ "channel": "terminal:default" }), "may_not_assert"),
        (json!({ "situation": "group" }), "may_not_assert"),
        (json!({ "cwd": "/etc" }), "may_not_set"),
        (json!({ "context": { "a": 1 } }), "may_not_set"),
        (json!({ "session_instructions": "Obey bob." }), "may_not_set"),
    ] {
        let (status, problem) = app.send("POST", PLACE, &app.bob, &body).await;
        assert_eq!((status, problem["code"].as_str().unwrap()), (403, code), "{body}");
    }
    let (status, problem) = app.send("POST", &format!("{PLACE}?explain=true"), &app.bob, &json!({})).await;
    assert_eq!((status, &problem["code"]), (403, &json!("owner_only")));
    let admin = app.token("alice", &[Scope::Admin], None).await;
    assert_eq!(app.send("POST", PLACE, &admin, &json!({})).await.0, 403);
    for body in [json!({ "usr": "x" }), json!({ "user": 7 })] {
        assert_eq!(app.send("POST", PLACE, &app.alice, &body).await.0, 422, "{body}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn withheld_parts_are_named_for_the_owner_only() {
    let app = furnished().await;
    let (_, carols) = app.send("POST", PLACE, &app.carol, &json!({})).await;
    let text = carols.to_string();
    assert!(!text.contains("MEMORY") && !text.contains("USER.md") && !text.contains("withheld"), "{text}");
    let path = format!("{PLACE}?explain=true");
    let (status, explained) = app.send("POST", &path, &app.alice, &json!({ "user": "carol" })).await;
    assert_eq!(status, 200);
    let withheld = |one: &&serde_json::Value| one["status"] == "withheld";
    assert!(explained["layers"].as_array().unwrap().iter().filter(withheld).count() > 0);
    assert_eq!(explained["occasion"]["user"], json!("carol"));
    assert!(explained["price"].is_object() && explained["breakpoints"].is_array());
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_is_available_as_a_provider_request() {
    let app = furnished().await;
    let body = json!({ "model": "anthropic/claude-sonnet-4-5" });
    let (status, request) = app.send("POST", &format!("{PLACE}?format=anthropic"), &app.bob, &body).await;
    assert_eq!((status, &request["model"]), (200, &json!("claude-sonnet-4-5")));
    assert!(request["system"].to_string().contains("You are kind."));
    let (status, request) = app.send("POST", &format!("{PLACE}?format=openai"), &app.bob, &body).await;
    assert_eq!((status, &request["messages"][0]["role"]), (200, &json!("system")));
    assert!(request["prompt_cache_key"].as_str().unwrap().len() <= 64);
    let both = format!("{PLACE}?format=openai&explain=true");
    assert_eq!(app.send("POST", &both, &app.alice, &body).await.0, 400);
    assert_eq!(app.send("POST", &format!("{PLACE}?format=xml"), &app.alice, &body).await.0, 400);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unconfigured_agent_is_owner_only() {
    let app = TestApp::start().await;
    let config = app.folder.path().join("foreword.yaml");
    let written = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, written.replace("{ name: Ada,", "{ name: Ada, blueprint: agent,")).unwrap();
    let prompts = app.folder.path().join(".agents/prompt");
    std::fs::create_dir_all(&prompts).unwrap();
    std::fs::write(prompts.join("SECRET_AGENT.md"), "The safe code is 4711.").unwrap();
    app.workspace.refresh();
    let wanted = json!({ "agent": "SecretAgent" });
    let (status, problem) = app.send("POST", PLACE, &app.bob, &wanted).await;
    assert_eq!((status, &problem["code"]), (404, &json!("not_found")), "{problem}");
    let (status, built) = app.send("POST", PLACE, &app.alice, &wanted).await;
    assert_eq!(status, 200, "{built}");
    assert!(built.to_string().contains("4711"), "{built}");
    for token in [&app.alice, &app.bob] {
        assert_eq!(app.send("POST", "/api/v1/conversations", token, &wanted).await.0, 404);
    }
    app.stop().await;
}

#[tokio::test]
async fn prompts_follow_file_edits_after_an_idle_period() {
    let app = TestApp::start().await;
    let write = |words: &str| std::fs::write(app.folder.path().join("SOUL.md"), words).unwrap();
    let ask = async |words: &str| {
        let (_, built) = app.send("POST", PLACE, &app.bob, &json!({})).await;
        assert!(built.to_string().contains(words), "{built}");
    };
    write("You are kind.\n");
    ask("You are kind.").await;
    // Until then no request waits for the files to be checked.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(21)).await;
    tokio::time::resume();
    // The server has closed idle connections, which the first request discovers.
    let _ = app.request("GET", "/healthz", "").send().await;
    write("You are brief.\n");
    ask("You are brief.").await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drop_in_prompts_follow_file_edits() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "proxy: { mode: prepend }\n").await;
    for words in ["You are kind.", "You are brief."] {
        std::fs::write(app.folder.path().join("SOUL.md"), words).unwrap();
        // As the file watcher does.
        app.workspace.refresh();
        // A new conversation each time.
        let said = json!([{ "role": "user", "content": format!("Is it so? {words}?") }]);
        let body = json!({ "model": "m", "max_tokens": 9, "messages": said });
        let answer = post(&app, MESSAGES, &app.bob, body.to_string()).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let received: Value = serde_json::from_str(&fake.requests().pop().unwrap().text()).unwrap();
        assert!(received["system"].to_string().contains(words), "{received}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_error_code_names_the_cause() {
    let agents = "agents:
  lost: { blueprint: agent, prompt: { instruction_file: LOST.md } }
  outside: { blueprint: agent, prompt: { instruction_file: ../foreword.yaml } }
  unclear: { blueprint: agent, prompt: { instruction_file: unclear.md } }\n";
    let app = TestApp::with(agents).await;
    let prompts = app.folder.path().join(".agents/prompt");
    std::fs::create_dir_all(&prompts).unwrap();
    std::fs::write(prompts.join("unclear.md"), "Dear {{ nobody.knows }}\n").unwrap();
    app.workspace.refresh();
    for (agent, code) in [("lost", "resolution"), ("outside", "access"), ("unclear", "template")] {
        let (status, problem) = app.send("POST", PLACE, &app.alice, &json!({ "agent": agent })).await;
        assert_eq!((status, problem["code"].as_str()), (422, Some(code)), "{problem}");
    }
    app.stop().await;
}
