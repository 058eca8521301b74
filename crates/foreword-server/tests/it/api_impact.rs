//! What saving a template would cost in running conversations.

use std::time::Duration;

use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_store::conversations::NewConversation;
use foreword_store::proxied::PROXY_SITUATION;
use serde_json::{Value, json};

use crate::test_app::TestApp;

const PLACE: &str = "/api/v1/template/impact";
const SCRIBE: &str = "agents:
  scribe: { blueprint: template, model: offline/demo-large, description: Writes. }
prices:
  - { id: offline/demo-large, context_window: 200000, min_cacheable: 20, breakpoints: explicit, prices: { input: 3, output: 15, cache_read: 0.3, cache_write_5m: 3.75, cache_write_1h: 6 } }
";

async fn impact(app: &TestApp, template: &str) -> Value {
    let (status, report) = app.send("POST", PLACE, &app.alice, &json!({ "template": template })).await;
    assert_eq!(status, 200, "{report}");
    report
}

/// A conversation of the token's user with a message.
async fn talked(app: &TestApp, token: &str, agent: &str) -> String {
    let body = json!({ "agent": agent, "title": format!("With {agent}") });
    let (status, made) = app.send("POST", "/api/v1/conversations", token, &body).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/conversations/{id}/messages");
    let (status, said) = app.send("POST", &path, token, &json!({ "text": "Hello." })).await;
    assert_eq!((status, &said["outcome"]), (200, &json!("done")), "{said}");
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn impact_lists_affected_conversations_with_lost_tokens() {
    let app = TestApp::with(SCRIBE).await;
    let stored = "You are a scribe who writes what others say, and never more than that. ".repeat(20);
    let put = json!({ "template": stored });
    assert_eq!(app.send("PUT", "/system-prompt", &app.alice, &put).await.0, 200);
    assert_eq!(impact(&app, "Anything.").await["conversations"], json!(0));
    let bobs = talked(&app, &app.bob, "scribe").await;
    talked(&app, &app.alice, "Ada").await;

    let report = impact(&app, &format!("{stored} Be brief.")).await;
    assert_eq!(
        (&report["changed"], &report["conversations"], &report["affected"]),
        (&json!(true), &json!(1), &json!(1))
    );
    let one = &report["items"][0];
    assert_eq!((&one["conversation"], &one["title"]), (&json!(bobs), &json!("With scribe")));
    assert_eq!(
        (&one["agent"], &one["model"], &one["warm"]),
        (&json!("scribe"), &json!("offline/demo-large"), &json!(true))
    );
    let number = |field: &str| one[field].as_u64().unwrap();
    assert!(number("frozen_tokens") > 100 && number("rewritten_tokens") > 0, "{one}");
    assert!(number("kept_tokens") <= number("frozen_tokens"));
    let cost = one["cost_usd"].as_f64().unwrap();
    assert!(cost > 0.0 && (report["cost_usd"].as_f64().unwrap() - cost).abs() < 1e-12, "{report}");
    let expected = report["cached_tokens"].as_f64().unwrap() * 3.45 / 1e6;
    assert!((cost - expected).abs() < 1e-9, "{cost} {expected}");
    assert_eq!(
        (&report["unpriced"], &report["max_checked"], &report["or_more"]),
        (&json!(0), &json!(200), &json!(false))
    );
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_template_has_no_impact_and_unusable_is_refused() {
    let app = TestApp::with(&format!("prompt: {{ dialect: jinja }}\n{SCRIBE}")).await;
    let put = json!({ "template": "You write." });
    assert_eq!(app.send("PUT", "/system-prompt", &app.alice, &put).await.0, 200);
    talked(&app, &app.bob, "scribe").await;
    let same = impact(&app, "You write.").await;
    assert_eq!((&same["changed"], &same["affected"], &same["items"]), (&json!(false), &json!(0), &json!([])));
    let said_otherwise = impact(&app, "You write.{# kindly #}").await;
    assert_eq!((&said_otherwise["changed"], &said_otherwise["affected"]), (&json!(true), &json!(0)));
    for bad in ["{% if %}", "{{ nope }}"] {
        let (status, problem) = app.send("POST", PLACE, &app.alice, &json!({ "template": bad })).await;
        assert_eq!((status, &problem["code"]), (400, &json!("template_refused")), "{bad}: {problem}");
    }
    let (status, problem) = app.send("POST", PLACE, &app.bob, &put).await;
    assert_eq!((status, &problem["code"]), (403, &json!("owner_only")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn proxied_conversations_do_not_hide_others() {
    let app = TestApp::with(SCRIBE).await;
    let put = json!({ "template": "You write." });
    assert_eq!(app.send("PUT", "/system-prompt", &app.alice, &put).await.0, 200);
    let bobs = talked(&app, &app.bob, "scribe").await;
    let later = Timestamp::from(jiff::Timestamp::now()).plus(Duration::from_secs(60));
    for number in 0..201 {
        let id = ConversationId::new(format!("proxy:tok-1:{number}")).unwrap();
        let new = NewConversation::new(id, "scribe", PROXY_SITUATION, later);
        app.store.create_conversation(new).await.unwrap();
    }
    let report = impact(&app, "You write well.").await;
    assert_eq!((&report["conversations"], &report["or_more"]), (&json!(1), &json!(false)), "{report}");
    assert_eq!(report["items"][0]["conversation"], json!(bobs));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_prompt_is_skipped_in_the_impact() {
    let app = TestApp::with(SCRIBE).await;
    let put = json!({ "template": "You write." });
    assert_eq!(app.send("PUT", "/system-prompt", &app.alice, &put).await.0, 200);
    let damaged = talked(&app, &app.bob, "scribe").await;
    let put = json!({ "template": "You write a little." });
    assert_eq!(app.send("PUT", "/system-prompt", &app.alice, &put).await.0, 200);
    let whole = talked(&app, &app.bob, "scribe").await;
    let database = rusqlite::Connection::open(app.folder.path().join(".foreword/foreword.db")).unwrap();
    let changed = database.execute(
        "UPDATE texts SET text = 'You lie.' WHERE hash IN (SELECT text_hash FROM epochs WHERE conversation_id = ?1)",
        [&damaged],
    );
    assert_eq!(changed.unwrap(), 1);
    let report = impact(&app, "You write well.").await;
    assert_eq!(report["conversations"], json!(1), "{report}");
    assert_eq!(report["items"][0]["conversation"], json!(whole));
    app.stop().await;
}
