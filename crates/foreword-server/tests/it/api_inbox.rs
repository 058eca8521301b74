use foreword_core::api_token::Scope;
use foreword_core::id::{InboxId, TurnId};
use foreword_core::sender::{SenderAddress, SenderExchange};
use foreword_core::timestamp::Timestamp;
use foreword_store::senders::TurnExchanges;
use serde_json::json;

use crate::test_app::{TestApp, read};

const ALL: &str = "/api/v1/inbox";

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_inbox_message_is_stored_once() {
    let app = TestApp::start().await;
    let bridge = app.token("carol", &[Scope::Assert], None).await;
    let leave = |body: &str| {
        let request = app.request("POST", ALL, &bridge).header("idempotency-key", "k-1");
        let body = json!({ "sender": " 0xA11CE ", "body": body }).to_string();
        request.header("content-type", "application/json").body(body).send()
    };
    let (status, first) = read(leave("Hello").await.unwrap()).await;
    assert_eq!((status, &first["sender"], &first["state"]), (201, &json!("0xa11ce"), &json!("staged")));
    let (status, again) = read(leave("Hello").await.unwrap()).await;
    assert_eq!((status, &again["id"]), (200, &first["id"]));
    let (status, problem) = read(leave("Something else").await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (409, &json!("already_exists")));
    let (_, listed) = app.get(ALL, &app.alice).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_asserting_tokens_send_messages_for_others() {
    let app = TestApp::start().await;
    let (status, own) = app.send("POST", ALL, &app.bob, &json!({ "body": "Hello" })).await;
    assert_eq!((status, &own["sender"]), (201, &json!("http:bob")));
    let claimed = json!({ "sender": "http:alice", "body": "Hello" });
    let (status, problem) = app.send("POST", ALL, &app.bob, &claimed).await;
    assert_eq!((status, &problem["code"]), (403, &json!("scope_missing")));
    let (status, others) = app.send("POST", ALL, &app.alice, &json!({ "sender": "x", "body": "Hi" })).await;
    assert_eq!(status, 201);
    let place = |message: &serde_json::Value| format!("{ALL}/{}", message["id"].as_str().unwrap());
    assert_eq!(app.get(&place(&own), &app.bob).await.0, 200);
    assert_eq!(app.get(&place(&own), &app.carol).await.0, 404);
    assert_eq!(app.get(&place(&others), &app.bob).await.0, 404);
    assert_eq!(app.get(&place(&others), &app.alice).await.0, 200);
    assert_eq!(app.get(ALL, &app.bob).await.0, 403);
    for (body, status) in [
        (json!({ "body": " " }), 400),
        (json!({ "body": 7 }), 422),
        (json!({}), 422),
        (json!({ "body": "x", "sender": "a\nb" }), 400),
        (json!({ "body": "x".repeat(70_000) }), 413),
    ] {
        assert_eq!(app.send("POST", ALL, &app.alice, &body).await.0, status);
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_is_listed_once() {
    let app = TestApp::start().await;
    for number in 0..7 {
        let new = json!({ "sender": format!("s-{number}"), "body": "Hello" });
        assert_eq!(app.send("POST", ALL, &app.alice, &new).await.0, 201);
    }
    let senders = |listed: Vec<serde_json::Value>| -> Vec<String> {
        listed.iter().map(|one| one["sender"].as_str().unwrap().to_owned()).collect()
    };
    let newest_first = ["s-6", "s-5", "s-4", "s-3", "s-2", "s-1", "s-0"];
    assert_eq!(senders(app.all_pages(&format!("{ALL}?limit=3"), &app.alice).await), newest_first);
    let staged = format!("{ALL}?limit=2&state=staged");
    assert_eq!(senders(app.all_pages(&staged, &app.alice).await), newest_first);
    assert_eq!(app.all_pages(&format!("{ALL}?state=consumed"), &app.alice).await.len(), 0);
    for query in ["?state=lost", "?after=zz", "?limit=0"] {
        assert_eq!(app.get(&format!("{ALL}{query}"), &app.alice).await.0, 400, "{query}");
    }
    assert_eq!(app.get(&format!("{ALL}/two%20words"), &app.alice).await.0, 400);
    app.stop().await;
}

fn exchange(sender: &str, number: usize, at: Timestamp) -> SenderExchange {
    SenderExchange {
        inbox_message: InboxId::new(format!("in-{sender}-{number}").replace([' ', '/'], "_")).unwrap(),
        sender: SenderAddress::new(sender).unwrap(),
        body: format!("question {number}"),
        reply: Some(format!("answer {number}")),
        turn: TurnId::new("t-1").unwrap(),
        at,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn correspondence_is_paged_per_sender() {
    let app = TestApp::start().await;
    let at: Timestamp = jiff::Timestamp::now().into();
    let names = ["0xa11ce", "http:bob", "../etc/passwd", "a b&c=d%2f?"];
    let all = names.iter().flat_map(|name| (0..3).map(|number| exchange(name, number, at))).collect();
    app.store.record_exchanges(TurnExchanges::new(all, at)).await.unwrap();
    let listed = app.all_pages("/api/v1/senders?limit=1", &app.alice).await;
    let mut found: Vec<_> = listed.iter().map(|one| one["sender"].as_str().unwrap()).collect();
    found.sort_unstable();
    let mut expected = names.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected);
    let place = |name: &str| {
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
        format!("/api/v1/senders/{encoded}")
    };
    for name in names {
        let (status, body) = app.get(&format!("{}?limit=2", place(name)), &app.alice).await;
        assert_eq!((status, &body["sender"]), (200, &json!(name)));
        let next = body["entries"]["next"].as_str().unwrap();
        let (_, rest) = app.get(&format!("{}?limit=2&after={next}", place(name)), &app.alice).await;
        assert_eq!(rest["entries"]["items"][0]["sender_body"], json!("question 2"));
        assert_eq!(rest["entries"]["next"], json!(null));
    }
    assert_eq!(app.get(&place("http:bob"), &app.bob).await.0, 200);
    assert_eq!(app.get(&place("0xa11ce"), &app.bob).await.0, 404);
    assert_eq!(app.get(&place("nobody"), &app.alice).await.0, 404);
    assert_eq!(app.get("/api/v1/senders", &app.bob).await.0, 403);
    for trick in ["%ff", "%00", "a%0ab"] {
        assert_eq!(app.get(&format!("/api/v1/senders/{trick}"), &app.alice).await.0, 400, "{trick}");
    }
    app.stop().await;
}
