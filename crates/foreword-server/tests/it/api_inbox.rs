use foreword_core::api_token::Scope;
use foreword_core::id::{InboxId, TurnId};
use foreword_core::sender::{SenderAddress, SenderExchange};
use foreword_core::timestamp::Timestamp;
use foreword_store::senders::TurnExchanges;
use serde_json::json;

use crate::house::{House, read};

const ALL: &str = "/api/v1/inbox";

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_inbox_message_is_stored_once() {
    let house = House::start().await;
    let bridge = house.token("carol", &[Scope::Assert], None).await;
    let leave = |body: &str| {
        let request = house.request("POST", ALL, &bridge).header("idempotency-key", "k-1");
        let body = json!({ "sender": " 0xA11CE ", "body": body }).to_string();
        request.header("content-type", "application/json").body(body).send()
    };
    let (status, first) = read(leave("Hello").await.unwrap()).await;
    assert_eq!((status, &first["sender"], &first["state"]), (201, &json!("0xa11ce"), &json!("staged")));
    let (status, again) = read(leave("Hello").await.unwrap()).await;
    assert_eq!((status, &again["id"]), (200, &first["id"]));
    let (status, problem) = read(leave("Something else").await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (409, &json!("already_exists")));
    let (_, listed) = house.get(ALL, &house.alice).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_asserting_tokens_send_messages_for_others() {
    let house = House::start().await;
    let (status, own) = house.send("POST", ALL, &house.bob, &json!({ "body": "Hello" })).await;
    assert_eq!((status, &own["sender"]), (201, &json!("http:bob")));
    let claimed = json!({ "sender": "http:alice", "body": "Hello" });
    let (status, problem) = house.send("POST", ALL, &house.bob, &claimed).await;
    assert_eq!((status, &problem["code"]), (403, &json!("scope_missing")));
    let (status, others) =
        house.send("POST", ALL, &house.alice, &json!({ "sender": "x", "body": "Hi" })).await;
    assert_eq!(status, 201);
    let place = |message: &serde_json::Value| format!("{ALL}/{}", message["id"].as_str().unwrap());
    assert_eq!(house.get(&place(&own), &house.bob).await.0, 200);
    assert_eq!(house.get(&place(&own), &house.carol).await.0, 404);
    assert_eq!(house.get(&place(&others), &house.bob).await.0, 404);
    assert_eq!(house.get(&place(&others), &house.alice).await.0, 200);
    assert_eq!(house.get(ALL, &house.bob).await.0, 403);
    for (body, status) in [
        (json!({ "body": " " }), 400),
        (json!({ "body": 7 }), 422),
        (json!({}), 422),
        (json!({ "body": "x", "sender": "a\nb" }), 400),
        (json!({ "body": "x".repeat(70_000) }), 413),
    ] {
        assert_eq!(house.send("POST", ALL, &house.alice, &body).await.0, status);
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_is_listed_once() {
    let house = House::start().await;
    for number in 0..7 {
        let new = json!({ "sender": format!("s-{number}"), "body": "Hello" });
        assert_eq!(house.send("POST", ALL, &house.alice, &new).await.0, 201);
    }
    let senders = |listed: Vec<serde_json::Value>| -> Vec<String> {
        listed.iter().map(|one| one["sender"].as_str().unwrap().to_owned()).collect()
    };
    let newest_first = ["s-6", "s-5", "s-4", "s-3", "s-2", "s-1", "s-0"];
    assert_eq!(senders(house.all_pages(&format!("{ALL}?limit=3"), &house.alice).await), newest_first);
    let staged = format!("{ALL}?limit=2&state=staged");
    assert_eq!(senders(house.all_pages(&staged, &house.alice).await), newest_first);
    assert_eq!(house.all_pages(&format!("{ALL}?state=consumed"), &house.alice).await.len(), 0);
    for query in ["?state=lost", "?after=zz", "?limit=0"] {
        assert_eq!(house.get(&format!("{ALL}{query}"), &house.alice).await.0, 400, "{query}");
    }
    assert_eq!(house.get(&format!("{ALL}/two%20words"), &house.alice).await.0, 400);
    house.stop().await;
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
    let house = House::start().await;
    let at: Timestamp = jiff::Timestamp::now().into();
    let names = ["0xa11ce", "http:bob", "../etc/passwd", "a b&c=d%2f?"];
    let all = names.iter().flat_map(|name| (0..3).map(|number| exchange(name, number, at))).collect();
    house.store.record_exchanges(TurnExchanges::new(all, at)).await.unwrap();
    let listed = house.all_pages("/api/v1/senders?limit=1", &house.alice).await;
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
        let (status, body) = house.get(&format!("{}?limit=2", place(name)), &house.alice).await;
        assert_eq!((status, &body["sender"]), (200, &json!(name)));
        let next = body["entries"]["next"].as_str().unwrap();
        let (_, rest) = house.get(&format!("{}?limit=2&after={next}", place(name)), &house.alice).await;
        assert_eq!(rest["entries"]["items"][0]["sender_body"], json!("question 2"));
        assert_eq!(rest["entries"]["next"], json!(null));
    }
    assert_eq!(house.get(&place("http:bob"), &house.bob).await.0, 200);
    assert_eq!(house.get(&place("0xa11ce"), &house.bob).await.0, 404);
    assert_eq!(house.get(&place("nobody"), &house.alice).await.0, 404);
    assert_eq!(house.get("/api/v1/senders", &house.bob).await.0, 403);
    for trick in ["%ff", "%00", "a%0ab"] {
        assert_eq!(house.get(&format!("/api/v1/senders/{trick}"), &house.alice).await.0, 400, "{trick}");
    }
    house.stop().await;
}
