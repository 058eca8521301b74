use foreword_core::api_token::Scope;
use serde_json::{Value, json};

use crate::test_app::TestApp;

const TOKENS: &str = "/api/v1/tokens";

#[tokio::test(flavor = "multi_thread")]
async fn token_is_shown_once_and_works_until_revoked() {
    let app = TestApp::start().await;
    let wish = json!({ "name": "tablet", "user": "bob", "scopes": ["observe"], "mode": "prepend", "expires": "30d",
        "limits": { "requests_per_minute": 60, "usd_per_day": 0.5 } });
    let (status, made) = app.send("POST", TOKENS, &app.alice, &wish).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(
        (&made["user"], &made["scopes"], &made["mode"]),
        (&json!("bob"), &json!(["observe"]), &json!("prepend"))
    );
    assert_eq!(made["limits"], wish["limits"]);
    let text = made["token"].as_str().unwrap();
    assert_eq!(app.get("/api/v1/status", text).await.0, 200);
    assert_eq!(app.get("/api/v1/tools", text).await.1["code"], "scope_missing");
    let (_, listed) = app.get(TOKENS, &app.alice).await;
    let shown = listed["items"].as_array().unwrap().iter().find(|one| one["id"] == made["id"]).unwrap();
    assert_eq!((&shown["state"], shown["last_used_at"].is_string()), (&json!("usable"), true));
    assert!(!listed.to_string().contains(text) && !listed.to_string().contains("blake3"), "{listed}");
    let path = format!("{TOKENS}/{}", made["id"].as_str().unwrap());
    let (status, revoked) = app.send("DELETE", &path, &app.alice, &Value::Null).await;
    assert_eq!((status, &revoked["state"]), (200, &json!("revoked")));
    // At once, since this server revoked it.
    assert_eq!(app.get("/api/v1/status", text).await.0, 401);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_creates_and_lists_tokens() {
    let app = TestApp::start().await;
    let bob = app.token("bob", &[Scope::Chat, Scope::Observe, Scope::Admin, Scope::Assert], None).await;
    let before = app.store.tokens().await.unwrap();
    for (token, code) in [(&bob, "owner_only"), (&app.carol, "scope_missing")] {
        let (status, problem) = app.get(TOKENS, token).await;
        assert_eq!((status, problem["code"].as_str()), (403, Some(code)));
        let (status, problem) = app.send("POST", TOKENS, token, &json!({ "user": "alice" })).await;
        assert_eq!((status, problem["code"].as_str()), (403, Some(code)));
        let path = format!("{TOKENS}/{}", before[0].id);
        assert_eq!(app.send("DELETE", &path, token, &Value::Null).await.0, 403);
    }
    let after = app.store.tokens().await.unwrap();
    assert_eq!(after.len(), before.len());
    assert!(after.iter().all(|token| token.validity.revoked_at.is_none()));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_token_request_creates_no_token() {
    let app = TestApp::start().await;
    let before = app.store.tokens().await.unwrap().len();
    for (wish, status, code) in [
        (json!({ "user": "mallory" }), 400, "unknown_user"),
        (json!({ "user": "Alice" }), 400, "unknown_user"),
        (json!({ "name": "" }), 400, "bad_name"),
        (json!({ "expires": "soon" }), 400, "bad_expiry"),
        (json!({ "expires": "1999-01-01" }), 400, "expiry_past"),
        (json!({ "limits": { "requests_per_minute": 0 } }), 400, "bad_token_limit"),
        (json!({ "limits": { "usd_per_day": -1 } }), 400, "bad_token_limit"),
        (json!({ "limits": { "requests_per_minute": -1 } }), 422, "wrong_fields"),
        (json!({ "scopes": ["root"] }), 422, "wrong_fields"),
        (json!({ "scope": ["chat"] }), 422, "wrong_fields"),
        (json!([]), 422, "wrong_fields"),
    ] {
        let (got, problem) = app.send("POST", TOKENS, &app.alice, &wish).await;
        assert_eq!((got, problem["code"].as_str()), (status, Some(code)), "{wish}: {problem}");
    }
    let broken =
        app.request("POST", TOKENS, &app.alice).header("content-type", "application/json").body("{\"user\":");
    let (status, problem) = crate::test_app::read(broken.send().await.unwrap()).await;
    assert_eq!((status, problem["code"].as_str()), (400, Some("bad_json")));
    let untold = app.request("POST", TOKENS, &app.alice).body("{}");
    assert_eq!(untold.send().await.unwrap().status(), 415);
    assert_eq!(app.store.tokens().await.unwrap().len(), before);
    let (status, problem) = app.send("DELETE", &format!("{TOKENS}/tok-none"), &app.alice, &Value::Null).await;
    assert_eq!((status, problem["code"].as_str()), (404, Some("not_found")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_come_in_pages() {
    let app = TestApp::start().await;
    let whole = app.get(TOKENS, &app.alice).await.1;
    assert_eq!((whole["items"].as_array().unwrap().len(), &whole["next"]), (3, &Value::Null));
    let first = app.get(&format!("{TOKENS}?limit=2"), &app.alice).await.1;
    let after = first["next"].as_str().unwrap();
    let second = app.get(&format!("{TOKENS}?limit=2&after={after}"), &app.alice).await.1;
    let ids = |page: &Value| -> Vec<Value> {
        page["items"].as_array().unwrap().iter().map(|token| token["id"].clone()).collect()
    };
    assert_eq!([ids(&first), ids(&second)].concat(), ids(&whole));
    assert_eq!(second["next"], Value::Null);
    app.stop().await;
}
