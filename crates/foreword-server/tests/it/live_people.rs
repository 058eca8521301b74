use foreword_core::api_token::Scope;
use foreword_core::id::{ConversationId, TokenId};
use foreword_core::turn_journal::TurnState;
use serde_json::json;
use tokio_tungstenite::tungstenite::Error;

use crate::live_page::Page;
use crate::test_app::{CONFIG, TestApp};

async fn refused(app: &TestApp, headers: &[(&'static str, &str)]) -> u16 {
    match Page::try_open(&app.url, headers).await {
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(other) => panic!("{other}"),
        Ok(_) => 101,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_page_and_missing_token_are_refused() {
    let app = TestApp::start().await;
    let bearer = format!("Bearer {}", app.alice);
    let (own, foreign) = (app.url.clone(), "https://evil.example.org");
    assert_eq!(refused(&app, &[("authorization", &bearer), ("origin", foreign)]).await, 403);
    assert_eq!(refused(&app, &[("authorization", &bearer), ("origin", "null")]).await, 403);
    assert_eq!(refused(&app, &[("authorization", &bearer), ("origin", &own)]).await, 101);
    assert_eq!(refused(&app, &[]).await, 401);
    let wrong = format!("Bearer fwd_{}", "a".repeat(32));
    assert_eq!(refused(&app, &[("authorization", &wrong)]).await, 401);
    let observer = app.token("alice", &[Scope::Observe], None).await;
    assert_eq!(refused(&app, &[("authorization", &format!("Bearer {observer}"))]).await, 403);
    let (status, problem) = app.get("/ws", &app.alice).await;
    assert_eq!((status, &problem["code"]), (426, &json!("not_a_websocket")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_sends_its_token_as_a_subprotocol() {
    let app = TestApp::start().await;
    let offered = format!("foreword.v1, bearer.{}", app.alice);
    let mut page = Page::try_open(&app.url, &[("sec-websocket-protocol", &offered)]).await.unwrap();
    assert_eq!(page.ask(&json!({ "type": "ping" })).await["type"], "pong");
    let wrong = format!("foreword.v1, bearer.fwd_{}", "a".repeat(32));
    assert_eq!(refused(&app, &[("sec-websocket-protocol", &wrong)]).await, 401);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bob_cannot_distinguish_alices_conversation_from_a_missing_one() {
    let app = TestApp::start().await;
    let mut alice = Page::open(&app, &app.alice).await;
    let session = alice.begin("!say A secret.").await;
    alice.until("turn_end").await;
    let mut bob = Page::open(&app, &app.bob).await;
    for id in [session.as_str(), "c-none"] {
        for request in [
            json!({ "type": "subscribe", "sessionId": id, "after": 0 }),
            json!({ "type": "cancel", "sessionId": id }),
            json!({ "type": "message", "sessionId": id, "text": "hello" }),
        ] {
            let reply = bob.ask(&request).await;
            let detail = format!("there is no conversation `{id}`");
            assert_eq!(
                (&reply["code"], &reply["detail"]),
                (&json!("not_found"), &json!(detail)),
                "{request}"
            );
        }
        let (status, _) = app.get(&format!("/api/v1/conversations/{id}/stream"), &app.bob).await;
        assert_eq!(status, 404);
    }
    let reply = bob.ask(&json!({ "type": "message", "text": "hi", "user": "alice" })).await;
    assert_eq!(reply["code"], "may_not_assert");
    let answer = json!({ "type": "answer", "sessionId": session, "callId": "x", "answer": "once" });
    assert_eq!(bob.ask(&answer).await["code"], "owner_only");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_shared_conversation_depend_on_trust() {
    let app = TestApp::start().await;
    let mut bob = Page::open(&app, &app.bob).await;
    let session = bob.begin("!say For bob.").await;
    bob.until("turn_end").await;
    let mut alice = Page::open(&app, &app.alice).await;
    alice
        .send(&json!({ "type": "message", "sessionId": session, "text": "!say For the owner alone." }))
        .await;
    let owners = alice.until("turn_end").await;
    assert!(owners.iter().any(|item| item["text"].as_str().is_some_and(|text| text.contains("owner"))));
    bob.send(&json!({ "type": "message", "sessionId": session, "text": "!say For bob again." })).await;
    let bobs = bob.until("turn_end").await;
    assert!(!format!("{bobs:?}").contains("owner alone"), "{bobs:?}");
    let mut later = Page::open(&app, &app.bob).await;
    later.subscribe(&session, 0).await;
    let again = [later.until("turn_end").await, later.until("turn_end").await].concat();
    assert!(format!("{again:?}").contains("again") && !format!("{again:?}").contains("owner"), "{again:?}");
    alice.until("turn_end").await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asserting_token_sends_and_reads_for_others() {
    let app = TestApp::start().await;
    let bridge = app.token("carol", &[Scope::Chat, Scope::Assert], None).await;
    let mut page = Page::open(&app, &bridge).await;
    let accepted =
        page.ask(&json!({ "type": "message", "text": "!say Hello bob.", "channel": "signal:bob" })).await;
    assert_eq!(accepted["type"], "accepted", "{accepted}");
    let items = page.until("turn_end").await;
    assert_eq!(items[0]["user"], "bob", "{items:?}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_token_closes_the_socket() {
    let app = TestApp::start().await;
    let mut page = Page::open(&app, &app.bob).await;
    assert_eq!(page.ask(&json!({ "type": "ping" })).await["type"], "pong");
    let tokens = app.store.tokens().await.unwrap();
    let id: TokenId = tokens.iter().find(|token| token.user == "bob").unwrap().id.clone();
    app.store.revoke_token(&id, jiff::Timestamp::now().into()).await.unwrap();
    assert_eq!(page.heard().await, None);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asserted_users_have_separate_conversations_per_key() {
    let app = TestApp::start().await;
    let bridge = app.token("carol", &[Scope::Chat, Scope::Assert], None).await;
    let says = |user: &str| json!({ "type": "message", "text": "!say Hello.", "key": "k", "user": user });
    let mut page = Page::open(&app, &bridge).await;
    let one = page.ask(&says("bob")).await;
    page.until("turn_end").await;
    // A client that missed the answer gets it when it asks again.
    let mut again = Page::open(&app, &bridge).await;
    let other = again.ask(&says("bob")).await;
    assert_eq!((&one["sessionId"], &other["before"]), (&other["sessionId"], &json!(true)), "{other}");
    assert!(again.until("turn_end").await.iter().any(|item| item["seq"] == 1));
    let mut alices = Page::open(&app, &bridge).await;
    let refused = alices.ask(&says("alice")).await;
    assert_eq!(refused["code"], "already_exists", "{refused}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invisible_turn_cannot_be_cancelled() {
    let app = TestApp::start().await;
    let mut bob = Page::open(&app, &app.bob).await;
    let session = bob.begin("!say For bob.").await;
    bob.until("turn_end").await;
    let mut alice = Page::open(&app, &app.alice).await;
    alice.send(&json!({ "type": "message", "sessionId": session, "text": "!say So far.\n!hang" })).await;
    alice.until("text_delta").await;
    let cancel = json!({ "type": "cancel", "sessionId": session });
    assert_eq!(bob.ask(&cancel).await["type"], "cancelling");
    let path = format!("/api/v1/conversations/{session}/cancel");
    assert_eq!(app.send("POST", &path, &app.bob, &json!({})).await.0, 202);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let id = ConversationId::new(&session).unwrap();
    let newest = app.store.turns(&id, None, 1).await.unwrap();
    assert_eq!(newest[0].state, TurnState::Running);
    assert_eq!(alice.ask(&cancel).await["type"], "cancelling");
    assert_eq!(alice.until("turn_end").await.last().unwrap()["outcome"], "cancelled");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lowered_trust_closes_open_subscriptions() {
    const OFTEN: &str = "server: { ping_seconds: 1 }\n";
    let app = TestApp::with(OFTEN).await;
    let file = app.folder.path().join("foreword.yaml");
    let trusting = CONFIG.replace("carol, trust: familiar", "carol, trust: full");
    std::fs::write(&file, format!("{trusting}{OFTEN}")).unwrap();
    app.workspace.refresh();
    let mut alice = Page::open(&app, &app.alice).await;
    let session = alice.begin("!say A secret.").await;
    alice.until("turn_end").await;
    let mut carol = Page::open(&app, &app.carol).await;
    carol.subscribe(&session, 0).await;
    carol.until("turn_end").await;
    let path = format!("/api/v1/conversations/{session}/stream?after=0");
    let stream = app.request("GET", &path, &app.carol).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    std::fs::write(&file, format!("{CONFIG}{OFTEN}")).unwrap();
    app.workspace.refresh();
    assert_eq!(carol.next().await, json!({ "type": "unsubscribed", "sessionId": session }));
    // The turn ends without being interrupted.
    assert!(stream.text().await.unwrap().contains("event: turn_end"));
    assert_eq!(carol.ask(&json!({ "type": "ping" })).await["type"], "pong");
    app.stop().await;
}
