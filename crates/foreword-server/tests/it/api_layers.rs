use foreword_store::location::Location;
use serde_json::json;

use crate::test_app::{CONFIG, TestApp, read};

/// A blueprint with a layer for the owner only.
const OWN: &str = "\
blueprints:
  own:
    layers:
      - { id: rules, authority: policy, stability: static, trust: public, source: { text: Be kind. } }
      - { id: codes, authority: context, stability: agent, trust: full, source: { text: The safe opens with 1234. } }
";

/// A server whose agent has mutable layers.
async fn sovereign() -> TestApp {
    with_blueprint("sovereign", "").await
}

async fn with_blueprint(name: &str, more: &str) -> TestApp {
    let folder = tempfile::tempdir().unwrap();
    let config = CONFIG.replace("name: Ada,", &format!("name: Ada, blueprint: {name},")) + more;
    std::fs::write(folder.path().join("foreword.yaml"), config).unwrap();
    let location = Location::file(folder.path().join(".foreword/foreword.db"));
    TestApp::open(folder, &location, &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn layers_are_listed_with_mutability_and_remaining_size() {
    let app = sovereign().await;
    let (status, body) = app.get("/api/v1/layers", &app.alice).await;
    assert_eq!((status, &body["blueprint"]), (200, &json!("sovereign")));
    let kinds: Vec<_> =
        body["layers"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "mutable").count(), 4);
    assert!(kinds.contains(&"immutable") && kinds.contains(&"dynamic"));
    assert!(body["remaining"].is_u64() && body["max_chars"].is_u64());
    let (_, bobs) = app.get("/api/v1/layers", &app.bob).await;
    assert_eq!(bobs["remaining"], json!(null));
    let (status, one) = app.get("/api/v1/layers/6", &app.alice).await;
    assert_eq!((status, &one["mutable"], &one["id"]), (200, &json!(true), &json!("6")));
    assert!(one["content"].as_str().unwrap().len() > 20);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn layer_write_and_rollback_keep_the_whole_history() {
    let app = sovereign().await;
    for number in 1..=4 {
        let new = json!({ "content": format!("Check {number} times."), "message": "why not" });
        let (status, body) = app.send("PUT", "/api/v1/layers/6", &app.alice, &new).await;
        assert_eq!((status, &body["version"], &body["stored"]), (200, &json!(number + 1), &json!(true)));
        assert!(body["remaining"].is_u64());
    }
    let back = json!({ "to": 2 });
    let (status, body) = app.send("POST", "/api/v1/layers/6/rollback", &app.alice, &back).await;
    assert_eq!((status, &body["version"], &body["content"]), (200, &json!(6), &json!("Check 1 times.")));
    assert_eq!((&body["origin"], &body["restores"]), (&json!("rollback"), &json!(2)));
    let all = app.all_pages("/api/v1/layers/6/history?limit=4", &app.alice).await;
    let versions: Vec<_> = all.iter().map(|one| one["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, [6, 5, 4, 3, 2, 1]);
    assert_eq!((&all[5]["writer"]["kind"], &all[1]["writer"]["name"]), (&json!("program"), &json!("alice")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unwritable_layers_are_refused_with_distinct_codes() {
    let app = sovereign().await;
    let long = "x".repeat(5_000);
    for (path, body, status, code) in [
        ("/api/v1/layers/1", json!({ "content": "No rules." }), 409, "layer_immutable"),
        ("/api/v1/layers/77", json!({ "content": "x" }), 404, "not_found"),
        ("/api/v1/layers/..%2F..%2Fetc", json!({ "content": "x" }), 404, "not_found"),
        ("/api/v1/layers/%ff", json!({ "content": "x" }), 400, "bad_path"),
        ("/api/v1/layers/6", json!({ "content": " \n " }), 422, "layer_refused"),
        ("/api/v1/layers/6", json!({ "content": long }), 422, "layer_refused"),
        ("/api/v1/layers/6", json!({ "content": "a\u{0}b" }), 400, "nul_byte"),
        ("/api/v1/layers/6", json!({ "content": 7 }), 422, "wrong_fields"),
        ("/api/v1/layers/6", json!({ "content": "x", "expected_version": 9 }), 409, "version_conflict"),
        ("/api/v1/layers/6", json!({ "content": "x", "message": "" }), 400, "bad_line"),
    ] {
        let (found, problem) = app.send("PUT", path, &app.alice, &body).await;
        assert_eq!((found, &problem["code"]), (status, &json!(code)), "{path} {problem}");
    }
    for (to, status) in [(json!(99), 404), (json!(u64::MAX), 404), (json!("one"), 422)] {
        let back = json!({ "to": to });
        assert_eq!(app.send("POST", "/api/v1/layers/6/rollback", &app.alice, &back).await.0, status);
    }
    for token in [&app.bob, &app.carol] {
        let new = json!({ "content": "Mine." });
        assert_eq!(app.send("PUT", "/api/v1/layers/6", token, &new).await.0, 403);
        assert_eq!(app.send("POST", "/api/v1/layers/6/rollback", token, &json!({ "to": 1 })).await.0, 403);
    }
    assert_eq!(app.get("/api/v1/layers?agent=nobody", &app.alice).await.0, 200);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_layer_change_is_a_conflict() {
    let app = sovereign().await;
    let place = "/api/v1/layers/7";
    let tag = app.request("GET", place, &app.alice).send().await.unwrap().headers()["etag"].clone();
    let put = |text: &str| {
        let request = app.request("PUT", place, &app.alice).header("if-match", &tag);
        request.header("content-type", "application/json").body(json!({ "content": text }).to_string()).send()
    };
    let (one, other) = tokio::join!(put("One."), put("Other."));
    let mut statuses = [one.unwrap().status().as_u16(), other.unwrap().status().as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412]);
    let (status, problem) = read(put("Third.").await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (412, &json!("changed_meanwhile")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn layers_above_the_callers_trust_look_missing() {
    let app = with_blueprint("own", OWN).await;
    let (_, alices) = app.get("/api/v1/layers", &app.alice).await;
    assert_eq!(alices["layers"].as_array().unwrap().len(), 2);
    let (_, carols) = app.get("/api/v1/layers", &app.carol).await;
    assert_eq!(
        (carols["layers"].as_array().unwrap().len(), &carols["layers"][0]["id"]),
        (1, &json!("rules"))
    );
    let (status, codes) = app.get("/api/v1/layers/codes", &app.alice).await;
    assert_eq!((status, &codes["content"]), (200, &json!("The safe opens with 1234.")));
    for rest in ["", "/history"] {
        let (status, hidden) = app.get(&format!("/api/v1/layers/codes{rest}"), &app.carol).await;
        let (_, absent) = app.get(&format!("/api/v1/layers/cod{rest}"), &app.carol).await;
        assert_eq!((status, hidden.to_string()), (404, absent.to_string().replace("`cod`", "`codes`")));
    }
    let chat = app.token("alice", &[foreword_core::api_token::Scope::Chat], None).await;
    assert_eq!(app.get("/api/v1/layers", &chat).await.0, 403);
    app.stop().await;
}
