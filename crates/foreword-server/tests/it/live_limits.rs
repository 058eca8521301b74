//! Limits of WebSocket messages.

use foreword_core::api_token::{Scope, TokenLimits};
use serde_json::json;
use tokio_tungstenite::tungstenite::Error;

use crate::live_page::Page;
use crate::test_app::TestApp;

#[tokio::test(flavor = "multi_thread")]
async fn page_requests_count_once_and_pings_never() {
    let app = TestApp::start().await;
    let limits = TokenLimits { requests_per_minute: Some(3), ..TokenLimits::default() };
    let token = app.limited_token("bob", &[Scope::Chat], limits).await;
    let mut page = Page::open(&app, &token).await;
    for _ in 0..5 {
        assert_eq!(page.ask(&json!({ "type": "ping" })).await["type"], "pong");
    }
    let session = page.begin("!say Hello.").await;
    page.until("turn_end").await;
    let unsubscribe = json!({ "type": "unsubscribe", "sessionId": session });
    assert_eq!(page.ask(&unsubscribe).await["type"], "unsubscribed");
    let refused = page.ask(&unsubscribe).await;
    assert_eq!((&refused["type"], &refused["code"]), (&json!("problem"), &json!("too_many_requests")));
    assert_eq!(page.ask(&json!({ "type": "ping" })).await["type"], "pong");
    let bearer = format!("Bearer {token}");
    match Page::try_open(&app.url, &[("authorization", &bearer)]).await {
        Err(Error::Http(response)) => assert_eq!(response.status().as_u16(), 429),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("let in"),
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn overlong_ids_and_keys_are_refused() {
    let app = TestApp::start().await;
    let mut page = Page::open(&app, &app.alice).await;
    let (long, longer) = ("ä".repeat(100), "ä".repeat(101));
    assert_eq!(page.ask(&json!({ "type": "ping", "id": long })).await["inReplyTo"], long.as_str());
    let refused = page.ask(&json!({ "type": "ping", "id": longer })).await;
    assert_eq!((&refused["code"], refused["inReplyTo"].is_null()), (&json!("bad_message"), true));
    for key in ["", &"k".repeat(201)] {
        let say = json!({ "type": "message", "text": "!say No.", "key": key, "id": "m" });
        let refused = page.ask(&say).await;
        assert_eq!((&refused["code"], &refused["inReplyTo"]), (&json!("bad_key"), &json!("m")), "{key}");
    }
    let say = json!({ "type": "message", "text": "!say Yes.", "key": "ä".repeat(200) });
    assert_eq!(page.ask(&say).await["type"], "accepted");
    page.until("turn_end").await;
    let refused = page.ask(&json!({ "type": "dance", "id": "d" })).await;
    assert_eq!((&refused["code"], &refused["inReplyTo"]), (&json!("bad_message"), &json!("d")));
    assert!(refused["detail"].as_str().unwrap().contains("`dance`"), "{refused}");
    // An invalid message is not echoed in full.
    let refused = page.ask(&json!({ "type": "x".repeat(1_000_000) })).await;
    assert_eq!(refused["code"], "bad_message");
    assert!(refused.to_string().len() < 2_000);
    app.stop().await;
}
