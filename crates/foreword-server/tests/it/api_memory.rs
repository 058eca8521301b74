use foreword_core::api_token::Scope;
use serde_json::json;

use crate::test_app::TestApp;

async fn furnished() -> TestApp {
    let app = TestApp::start().await;
    for (store, text) in [
        ("private", "# Codes\nThe safe opens with 1234.\n"),
        ("shared", "# TestApp\nThe boiler is in the cellar.\n"),
        ("social", "# Tea\nCarol likes tea.\n"),
    ] {
        let folder = app.folder.path().join("memory").join(store);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{store}.md")), text).unwrap();
    }
    app.workspace.refresh();
    app
}

fn paths(body: &serde_json::Value) -> Vec<&str> {
    body["entries"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_index_depends_on_the_callers_trust() {
    let app = furnished().await;
    let places = ["private/private.md", "shared/shared.md", "social/social.md"];
    for (token, trust, from) in [(&app.alice, "full", 0), (&app.bob, "inner", 1), (&app.carol, "familiar", 2)]
    {
        let (status, body) = app.get("/api/v1/memory/index", token).await;
        assert_eq!((status, &body["trust"]), (200, &json!(trust)));
        assert_eq!(paths(&body), places[from..]);
        for (index, place) in places.iter().enumerate() {
            let (status, body) = app.get(&format!("/api/v1/memory/get?path={place}"), token).await;
            assert_eq!(status, if index >= from { 200 } else { 404 }, "{trust} {place} {body}");
        }
        let (_, found) = app.get("/api/v1/memory/search?q=safe%20opens", token).await;
        assert_eq!(found["results"].as_array().unwrap().len(), usize::from(from == 0), "{found}");
        assert!(from == 0 || !found.to_string().contains("private"));
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn withheld_notes_are_not_found() {
    let app = furnished().await;
    let hidden = app.get("/api/v1/memory/get?path=private/private.md", &app.bob).await;
    let (status, absent) = app.get("/api/v1/memory/get?path=private/nothing.md", &app.bob).await;
    let same = absent.to_string().replace("nothing.md", "private.md");
    assert_eq!((hidden.0, hidden.1.to_string()), (status, same));
    for path in [
        "../foreword.yaml",
        "..%2f..%2fetc%2fpasswd",
        "/etc/passwd",
        "private/..%2f..%2fforeword.yaml",
        "%00",
    ] {
        let (status, _) = app.get(&format!("/api/v1/memory/get?path={path}"), &app.alice).await;
        assert_eq!(status, 404, "{path}");
    }
    for query in
        ["get", "get?path=x&from=minus", "get?path=shared/shared.md&from=99", "search", "search?q=%20"]
    {
        let (status, problem) = app.get(&format!("/api/v1/memory/{query}"), &app.alice).await;
        assert_eq!(status, 400, "{query} {problem}");
    }
    let dave = app.token("dave", &Scope::ALL, None).await;
    let (status, problem) = app.get("/api/v1/memory/search?q=tea", &dave).await;
    assert_eq!((status, &problem["code"]), (404, &json!("no_memory")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn note_needs_trust_and_is_marked_unless_the_owners() {
    let app = furnished().await;
    let note = |store: &str| json!({ "store": store, "title": "Tea", "text": "Green, no sugar." });
    let (status, kept) = app.send("POST", "/api/v1/memory/write", &app.bob, &note("shared")).await;
    assert_eq!((status, &kept["store"], &kept["from_outside"]), (201, &json!("shared"), &json!(true)));
    let path = kept["path"].as_str().unwrap();
    let (status, read) = app.get(&format!("/api/v1/memory/get?path={path}"), &app.alice).await;
    assert_eq!((status, &read["from_outside"]), (200, &json!(true)));
    assert_eq!(app.get(&format!("/api/v1/memory/get?path={path}"), &app.carol).await.0, 404);
    let (status, kept) = app.send("POST", "/api/v1/memory/write", &app.alice, &note("private")).await;
    assert_eq!((status, &kept["from_outside"]), (201, &json!(false)));
    let (_, index) = app.get("/api/v1/memory/index", &app.carol).await;
    assert_eq!(index["notes"], json!(0));
    for (token, body, expected) in [
        (&app.bob, note("private"), (403, "above_trust")),
        (&app.bob, note("attic"), (400, "unknown_store")),
        (&app.bob, json!({ "store": "shared", "title": "a\nb", "text": "x" }), (422, "bad_title")),
        (&app.bob, json!({ "store": "shared", "title": "a", "text": "" }), (422, "bad_text")),
        (&app.bob, json!({ "store": "shared", "title": "a" }), (422, "wrong_fields")),
    ] {
        let (status, problem) = app.send("POST", "/api/v1/memory/write", token, &body).await;
        assert_eq!((status, problem["code"].as_str().unwrap()), expected, "{body}");
    }
    let watcher = app.token("alice", &[Scope::Observe], None).await;
    assert_eq!(app.send("POST", "/api/v1/memory/write", &watcher, &note("shared")).await.0, 403);
    app.stop().await;
}
