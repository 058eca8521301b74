//! The list of turns: usage, visibility, pages.

use serde_json::{Value, json};

use crate::test_app::TestApp;

/// A conversation of the token's user with these messages.
async fn talked(app: &TestApp, token: &str, words: &[&str]) -> String {
    let (status, made) = app.send("POST", "/api/v1/conversations", token, &json!({ "title": "Talk" })).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().unwrap().to_owned();
    for text in words {
        let path = format!("/api/v1/conversations/{id}/messages");
        let (status, said) = app.send("POST", &path, token, &json!({ "text": text })).await;
        assert_eq!(status, 200, "{said}");
    }
    id
}

fn sessions(turns: &[Value]) -> Vec<&str> {
    turns.iter().map(|turn| turn["session_id"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_sees_every_turn_with_its_cost() {
    let app = TestApp::start().await;
    let bobs = talked(&app, &app.bob, &["Hello."]).await;
    let own = talked(&app, &app.alice, &["Good morning.", "And you?"]).await;
    let turns = app.all_pages("/api/v1/turns?limit=2", &app.alice).await;
    assert_eq!(sessions(&turns), [&own, &own, &bobs]);
    let last = &turns[2];
    assert_eq!(
        (&last["state"], &last["user"], &last["trust"]),
        (&json!("done"), &json!("bob"), &json!("inner"))
    );
    assert_eq!((&last["title"], &last["agent"]), (&json!("Talk"), &json!("Ada")));
    assert_eq!(
        (&last["calls"], &last["failed_calls"], &last["model"]),
        (&json!(1), &json!(0), &json!("offline/echo"))
    );
    assert!(last["tokens_in"].as_u64().unwrap() > 0 && last["duration_ms"].is_u64(), "{last}");
    let (_, trace) = app.get(&format!("/api/v1/traces/{}", last["turn"].as_str().unwrap()), &app.alice).await;
    assert_eq!((&trace["cost_usd"], &trace["started_at"]), (&last["cost_usd"], &last["started_at"]));
    for (query, count) in [
        (format!("session={bobs}"), 1),
        ("user=alice".to_owned(), 2),
        ("state=done&user=bob".to_owned(), 1),
        ("state=failed".to_owned(), 0),
        ("since=1h".to_owned(), 3),
        ("until=1h".to_owned(), 0),
    ] {
        let (status, page) = app.get(&format!("/api/v1/turns?{query}"), &app.alice).await;
        assert_eq!((status, page["items"].as_array().unwrap().len()), (200, count), "{query}");
    }
    for (query, code) in [("state=lost", "unknown_state"), ("since=x", "bad_time"), ("after=7", "bad_cursor")]
    {
        let (status, problem) = app.get(&format!("/api/v1/turns?{query}"), &app.alice).await;
        assert_eq!((status, &problem["code"]), (400, &json!(code)), "{query}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_users_see_their_turns_by_current_trust() {
    let app = TestApp::start().await;
    let owners = talked(&app, &app.alice, &["The safe opens with 1234."]).await;
    let bobs = talked(&app, &app.bob, &["Hello."]).await;
    assert_eq!(sessions(&app.all_pages("/api/v1/turns?limit=1", &app.bob).await), [&bobs]);
    for query in ["user=alice", "user=carol", "state=failed"] {
        let (status, page) = app.get(&format!("/api/v1/turns?{query}"), &app.bob).await;
        assert_eq!((status, &page), (200, &json!({ "items": [], "next": null })), "{query}");
    }
    let (status, problem) = app.get(&format!("/api/v1/turns?session={owners}"), &app.bob).await;
    let (never_status, never) = app.get("/api/v1/turns?session=c-never", &app.bob).await;
    assert_eq!((status, &problem["code"]), (never_status, &never["code"]));
    assert_eq!(status, 404);
    // Bob no longer sees his turns of a higher trust.
    let config = std::fs::read_to_string(app.folder.path().join("foreword.yaml")).unwrap();
    let config = config.replace("name: bob, trust: inner", "name: bob, trust: public");
    std::fs::write(app.folder.path().join("foreword.yaml"), config).unwrap();
    app.workspace.refresh();
    let (status, page) = app.get("/api/v1/turns", &app.bob).await;
    assert_eq!((status, &page), (200, &json!({ "items": [], "next": null })));
    let chat = app.token("bob", &[foreword_core::api_token::Scope::Chat], None).await;
    assert_eq!(app.get("/api/v1/turns", &chat).await.0, 403);
    app.stop().await;
}
