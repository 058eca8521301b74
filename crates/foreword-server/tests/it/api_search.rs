//! Searching lists.

use serde_json::{Value, json};

use crate::test_app::TestApp;

async fn begin(app: &TestApp, token: &str, title: &str, words: &str) {
    let body = json!({ "title": title });
    let (status, made) = app.send("POST", "/api/v1/conversations", token, &body).await;
    assert_eq!(status, 201, "{made}");
    let path = format!("/api/v1/conversations/{}/messages", made["id"].as_str().unwrap());
    assert_eq!(app.send("POST", &path, token, &json!({ "text": words })).await.0, 200);
}

fn titles(found: &[Value]) -> Vec<&str> {
    found.iter().map(|one| one["title"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn search_covers_messages_for_the_owner_and_own_names_for_others() {
    let app = TestApp::start().await;
    begin(&app, &app.bob, "Boat", "Where is the anchor?").await;
    begin(&app, &app.bob, "Bicycle", "Where is the pump?").await;
    begin(&app, &app.alice, "Safe boat", "It opens with 1234.").await;
    for (token, words, expected) in [
        (&app.alice, "BOAT", vec!["Safe boat", "Boat"]),
        (&app.alice, "anchor", vec!["Boat"]),
        (&app.alice, "bob", vec!["Bicycle", "Boat"]),
        (&app.alice, "%25", vec![]),
        (&app.alice, "", vec!["Safe boat", "Bicycle", "Boat"]),
        (&app.bob, "boat", vec!["Boat"]),
        (&app.bob, "anchor", vec![]),
        (&app.bob, "1234", vec![]),
        (&app.carol, "b", vec![]),
    ] {
        let found = app.all_pages(&format!("/api/v1/conversations?limit=1&q={words}"), token).await;
        assert_eq!(titles(&found), expected, "{words}");
    }
    let long = format!("/api/v1/conversations?q={}", "x".repeat(201));
    let (status, problem) = app.get(&long, &app.alice).await;
    assert_eq!((status, &problem["code"]), (400, &json!("bad_query")));
    assert_eq!(app.get("/api/v1/conversations?q=%00", &app.alice).await.0, 400);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sender_search_is_owner_only() {
    let app = TestApp::start().await;
    assert_eq!(app.all_pages("/api/v1/senders?q=a", &app.alice).await, Vec::<Value>::new());
    assert_eq!(app.get("/api/v1/senders?q=a", &app.bob).await.0, 403);
    app.stop().await;
}
