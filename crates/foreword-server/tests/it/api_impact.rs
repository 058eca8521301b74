//! What saving a template would cost the conversations that go on.

use std::time::Duration;

use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_store::conversations::NewConversation;
use foreword_store::proxied::PASSED_THROUGH;
use serde_json::{Value, json};

use crate::house::House;

const PLACE: &str = "/api/v1/template/impact";
const SCRIBE: &str = "agents:
  scribe: { blueprint: template, model: offline/demo-large, description: Writes. }
prices:
  - { id: offline/demo-large, context_window: 200000, min_cacheable: 20, breakpoints: explicit, prices: { input: 3, output: 15, cache_read: 0.3, cache_write_5m: 3.75, cache_write_1h: 6 } }
";

async fn impact(house: &House, template: &str) -> Value {
    let (status, told) = house.send("POST", PLACE, &house.alice, &json!({ "template": template })).await;
    assert_eq!(status, 200, "{told}");
    told
}

/// A conversation of whoever has the token, with something said in it.
async fn talked(house: &House, token: &str, agent: &str) -> String {
    let body = json!({ "agent": agent, "title": format!("With {agent}") });
    let (status, made) = house.send("POST", "/api/v1/conversations", token, &body).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/conversations/{id}/messages");
    let (status, said) = house.send("POST", &path, token, &json!({ "text": "Hello." })).await;
    assert_eq!((status, &said["outcome"]), (200, &json!("done")), "{said}");
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_made_from_the_template_are_told_with_what_they_would_lose() {
    let house = House::with(SCRIBE).await;
    let stored = "You are a scribe who writes what others say, and never more than that. ".repeat(20);
    let put = json!({ "template": stored });
    assert_eq!(house.send("PUT", "/system-prompt", &house.alice, &put).await.0, 200);
    assert_eq!(impact(&house, "Anything.").await["conversations"], json!(0));
    let bobs = talked(&house, &house.bob, "scribe").await;
    talked(&house, &house.alice, "Ada").await;

    let told = impact(&house, &format!("{stored} Be brief.")).await;
    assert_eq!(
        (&told["changed"], &told["conversations"], &told["touched"]),
        (&json!(true), &json!(1), &json!(1))
    );
    let one = &told["items"][0];
    assert_eq!((&one["conversation"], &one["title"]), (&json!(bobs), &json!("With scribe")));
    assert_eq!(
        (&one["agent"], &one["model"], &one["warm"]),
        (&json!("scribe"), &json!("offline/demo-large"), &json!(true))
    );
    let number = |field: &str| one[field].as_u64().unwrap();
    assert!(number("frozen_tokens") > 100 && number("touched_tokens") > 0, "{one}");
    assert!(number("kept_tokens") <= number("frozen_tokens"));
    let cost = one["cost_usd"].as_f64().unwrap();
    assert!(cost > 0.0 && (told["cost_usd"].as_f64().unwrap() - cost).abs() < 1e-12, "{told}");
    let expected = told["cached_tokens"].as_f64().unwrap() * 3.45 / 1e6;
    assert!((cost - expected).abs() < 1e-9, "{cost} {expected}");
    assert_eq!(
        (&told["unpriced"], &told["looked_at"], &told["or_more"]),
        (&json!(0), &json!(200), &json!(false))
    );
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_reads_the_same_costs_nothing_and_one_that_can_t_be_used_is_refused() {
    let house = House::with(&format!("prompt: {{ dialect: jinja }}\n{SCRIBE}")).await;
    let put = json!({ "template": "You write." });
    assert_eq!(house.send("PUT", "/system-prompt", &house.alice, &put).await.0, 200);
    talked(&house, &house.bob, "scribe").await;
    let same = impact(&house, "You write.").await;
    assert_eq!((&same["changed"], &same["touched"], &same["items"]), (&json!(false), &json!(0), &json!([])));
    let said_otherwise = impact(&house, "You write.{# kindly #}").await;
    assert_eq!((&said_otherwise["changed"], &said_otherwise["touched"]), (&json!(true), &json!(0)));
    for bad in ["{% if %}", "{{ nope }}"] {
        let (status, problem) = house.send("POST", PLACE, &house.alice, &json!({ "template": bad })).await;
        assert_eq!((status, &problem["code"]), (400, &json!("template_refused")), "{bad}: {problem}");
    }
    let (status, problem) = house.send("POST", PLACE, &house.bob, &put).await;
    assert_eq!((status, &problem["code"]), (403, &json!("owner_only")));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_that_only_passed_through_do_not_hide_the_others() {
    let house = House::with(SCRIBE).await;
    let put = json!({ "template": "You write." });
    assert_eq!(house.send("PUT", "/system-prompt", &house.alice, &put).await.0, 200);
    let bobs = talked(&house, &house.bob, "scribe").await;
    let later = Timestamp::from(jiff::Timestamp::now()).plus(Duration::from_secs(60));
    for number in 0..201 {
        let id = ConversationId::new(format!("proxy:tok-1:{number}")).unwrap();
        let new = NewConversation::new(id, "scribe", PASSED_THROUGH, later);
        house.store.create_conversation(new).await.unwrap();
    }
    let told = impact(&house, "You write well.").await;
    assert_eq!((&told["conversations"], &told["or_more"]), (&json!(1), &json!(false)), "{told}");
    assert_eq!(told["items"][0]["conversation"], json!(bobs));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_prompt_is_left_out_and_the_others_are_told() {
    let house = House::with(SCRIBE).await;
    let put = json!({ "template": "You write." });
    assert_eq!(house.send("PUT", "/system-prompt", &house.alice, &put).await.0, 200);
    let damaged = talked(&house, &house.bob, "scribe").await;
    let put = json!({ "template": "You write a little." });
    assert_eq!(house.send("PUT", "/system-prompt", &house.alice, &put).await.0, 200);
    let whole = talked(&house, &house.bob, "scribe").await;
    let database = rusqlite::Connection::open(house.folder.path().join(".foreword/foreword.db")).unwrap();
    let changed = database.execute(
        "UPDATE texts SET text = 'You lie.' WHERE hash IN (SELECT text_hash FROM epochs WHERE conversation_id = ?1)",
        [&damaged],
    );
    assert_eq!(changed.unwrap(), 1);
    let told = impact(&house, "You write well.").await;
    assert_eq!(told["conversations"], json!(1), "{told}");
    assert_eq!(told["items"][0]["conversation"], json!(whole));
    house.stop().await;
}
