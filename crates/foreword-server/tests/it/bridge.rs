use foreword_core::api_token::Scope;
use foreword_core::event::EventType;
use foreword_core::id::ConversationId;
use foreword_core::message::{Provenance, Role};
use foreword_prompt::trust::Trust;
use foreword_store::events::{EventFilter, EventPage};
use foreword_testkit::{eventually, until};
use ring::hmac;
use serde_json::{Value, json};

use crate::test_app::TestApp;
use crate::webhook::{SECRET, Webhook, config};

const PATH: &str = "/api/v1/channels/signal/messages";

async fn app(more: &str) -> (TestApp, String) {
    let app = TestApp::with_secrets(more, &[("BRIDGE_SECRET", SECRET)]).await;
    let token = app.token("alice", &[Scope::Chat, Scope::Assert], None).await;
    (app, token)
}

fn message(sender: &str, text: &str, key: &str) -> Value {
    json!({ "channel": format!("signal:{sender}"), "sender": sender, "text": text, "idempotencyKey": key })
}

fn in_group(sender: &str, text: &str, key: &str) -> Value {
    json!({ "channel": "signal:group-7", "sender": sender, "situation": "group", "text": text, "idempotencyKey": key })
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_message_gets_one_signed_answer() {
    let webhook = Webhook::start(&[]).await;
    let (app, token) = app(&webhook.config()).await;
    let first = message("bob", "the weather, please", "m-1");
    let both = tokio::join!(app.send("POST", PATH, &token, &first), app.send("POST", PATH, &token, &first),);
    let answers = [both.0, both.1, app.send("POST", PATH, &token, &first).await];
    assert!(answers.iter().all(|(status, _)| *status == 202), "{answers:?}");
    let fresh = answers.iter().filter(|(_, body)| body["seenBefore"] == false).count();
    assert_eq!((fresh, &answers[0].1["message"]), (1, &answers[1].1["message"]));
    app.send("POST", PATH, &token, &message("bob", "and again", "m-2")).await;
    let posts = webhook.posts(2).await;
    let body: Value = serde_json::from_str(&posts[0].1).unwrap();
    assert_eq!((&body["channel"], &body["inReplyTo"]), (&"signal:bob".into(), &answers[0].1["message"]));
    assert_eq!(body["conversation"], answers[0].1["conversation"]);
    assert!(body["text"].as_str().unwrap().contains("the weather, please"), "{body}");
    let second: Value = serde_json::from_str(&posts[1].1).unwrap();
    assert!(second["text"].as_str().unwrap().contains("and again"), "{second}");
    let signature = posts[0].0["x-foreword-signature"].to_str().unwrap();
    let (time, hex) = signature.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let signed = hmac::sign(&key, format!("{time}.{}", posts[0].1).as_bytes());
    let expected: String = signed.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, expected);
    app.stop().await;
    assert_eq!(webhook.posts(2).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_to_a_restarted_bridge_keep_their_order() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (app, token) = app(&config(port)).await;
    for number in 1..=2_usize {
        app.send("POST", PATH, &token, &message("bob", &format!("number {number}"), &format!("m-{number}")))
            .await;
        // The order of the answers is that of the turns.
        until("the answer is queued", async || app.store.deliveries(None, 10).await.unwrap().len() == number)
            .await;
    }
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let webhook = Webhook::on(listener, &[503]);
    let bodies = webhook.bodies(3).await;
    let texts: Vec<&str> = bodies.iter().map(|body| body["text"].as_str().unwrap()).collect();
    assert!(texts[0].contains("number 1") && texts[1].contains("number 1"), "{texts:?}");
    assert!(texts[2].contains("number 2"), "{texts:?}");
    assert_eq!(bodies[0]["id"], bodies[1]["id"], "tried again under the same name");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_delivery_is_listed_and_retried_on_request() {
    let webhook = Webhook::start(&[410]).await;
    let (app, token) = app(&webhook.config()).await;
    app.send("POST", PATH, &token, &message("bob", "hello", "m-1")).await;
    webhook.bodies(1).await;
    let list = "/api/v1/channels/deliveries";
    let item = eventually(async || {
        let (status, page) = app.get(list, &app.alice).await;
        assert_eq!(status, 200, "{page}");
        let item = page["items"][0].clone();
        if item["status"] == "given_up" { Ok(item) } else { Err(page) }
    })
    .await;
    assert_eq!(item["error"], "the bridge answered with HTTP 410");
    let again = format!("{list}/{}/retry", item["id"].as_str().unwrap());
    for (other, expected) in [(&app.bob, 403), (&app.alice, 200)] {
        assert_eq!(app.send("POST", &again, other, &json!({})).await.0, expected);
    }
    let bodies = webhook.bodies(2).await;
    assert_eq!(bodies[0], bodies[1]);
    assert_eq!(app.get(list, &app.bob).await.0, 403);
    assert_eq!(app.send("POST", &format!("{list}/d-none/retry"), &app.alice, &json!({})).await.0, 404);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_turn_notifies_the_sender_without_the_cause() {
    let webhook = Webhook::start(&[]).await;
    let (app, token) = app(&webhook.config()).await;
    let (_, taken) = app.send("POST", PATH, &token, &message("bob", "!fail 401", "m-1")).await;
    app.send("POST", PATH, &token, &message("bob", "!say Here I am.", "m-2")).await;
    let bodies = webhook.bodies(2).await;
    assert_eq!((&bodies[0]["outcome"], &bodies[0]["inReplyTo"]), (&json!("failed"), &taken["message"]));
    let words = bodies[0]["text"].as_str().unwrap();
    assert!(words.contains("was not answered") && !words.contains("401"), "{words}");
    assert_eq!((&bodies[1]["outcome"], &bodies[1]["text"]), (&json!("done"), &json!("Here I am.")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn group_members_are_identified_by_sender_not_channel() {
    let webhook = Webhook::start(&[]).await;
    let more = format!("situations: {{ group: {{ ceiling: familiar }} }}\n{}", webhook.config());
    let (app, token) = app(&more).await;
    let (_, first) = app.send("POST", PATH, &token, &in_group("alice", "hi all", "m-1")).await;
    webhook.bodies(1).await;
    app.send("POST", PATH, &token, &in_group("mallory", "me too", "m-2")).await;
    webhook.bodies(2).await;
    // Neither a channel nor a sender with a user's name identifies that user.
    let posing = json!({ "channel": "signal:alice", "sender": "mallory", "text": "it is me", "idempotencyKey": "m-3" });
    let (_, third) = app.send("POST", PATH, &token, &posing).await;
    let named =
        json!({ "channel": "signal:x", "sender": "signal:alice", "text": "me", "idempotencyKey": "m-4" });
    let (_, fourth) = app.send("POST", PATH, &token, &named).await;
    webhook.bodies(4).await;
    let messages = async |answer: &Value| {
        let id = ConversationId::new(answer["conversation"].as_str().unwrap()).unwrap();
        let history = app.store.history(&id).await.unwrap();
        let users = history.messages.into_iter().map(|message| message.message);
        let users = users.filter(|message| message.role == Role::User && message.author.is_some());
        users.map(|message| (message.author.unwrap(), message.trust, message.provenance)).collect::<Vec<_>>()
    };
    let stranger = |name: &str| (name.to_owned(), Trust::Public, Provenance::Outside);
    let group = messages(&first).await;
    assert_eq!(group[0], ("alice".to_owned(), Trust::Familiar, Provenance::Owner));
    assert!(group.contains(&stranger("signal:mallory")), "{group:?}");
    assert_eq!(messages(&third).await[0], stranger("signal:mallory"));
    assert_eq!(messages(&fourth).await[0], stranger("signal:signal:alice"));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turn_belongs_to_its_sender_not_the_first_speaker() {
    let webhook = Webhook::start(&[]).await;
    let more = format!("situations: {{ group: {{ ceiling: familiar }} }}\n{}", webhook.config());
    let (app, token) = app(&more).await;
    for (number, sender) in ["carol", "bob", "carol", "bob"].into_iter().enumerate() {
        let message = in_group(sender, "hello", &format!("m-{number}"));
        assert_eq!(app.send("POST", PATH, &token, &message).await.0, 202);
        webhook.bodies(number + 1).await;
    }
    let calls = EventFilter { event_type: Some(EventType::ApiCall), ..EventFilter::default() };
    // Stored shortly after.
    let users = eventually(async || {
        let found = app.store.events(&calls, &EventPage::newest(10)).await.unwrap();
        let users = found.into_iter().rev().filter_map(|stored| stored.event.user_id);
        let users: Vec<String> = users.map(|user| user.to_string()).collect();
        if users.len() == 4 { Ok(users) } else { Err(users) }
    })
    .await;
    assert_eq!(users, ["carol", "bob", "carol", "bob"]);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn group_stays_a_group_without_the_bridges_flag() {
    let webhook = Webhook::start(&[]).await;
    let more = format!(
        "situations: {{ group: {{ ceiling: familiar }}, party: {{ ceiling: full }} }}\n{}",
        webhook.config()
    );
    let (app, token) = app(&more).await;
    app.send("POST", PATH, &token, &in_group("bob", "hi all", "m-1")).await;
    webhook.bodies(1).await;
    for (number, other) in ["dm", "party"].into_iter().enumerate() {
        let mut message = in_group("alice", "between us", &format!("o-{number}"));
        message["situation"] = json!(other);
        let (status, problem) = app.send("POST", PATH, &token, &message).await;
        assert_eq!((status, &problem["code"]), (409, &"other_situation".into()), "{problem}");
    }
    let mut forgotten = in_group("alice", "my secrets?", "m-2");
    forgotten.as_object_mut().unwrap().remove("situation");
    let (status, taken) = app.send("POST", PATH, &token, &forgotten).await;
    assert_eq!(status, 202, "{taken}");
    webhook.bodies(2).await;
    let id = ConversationId::new(taken["conversation"].as_str().unwrap()).unwrap();
    let history = app.store.history(&id).await.unwrap();
    let trusts: Vec<Trust> = history.messages.iter().map(|message| message.message.trust).collect();
    assert!(trusts.len() >= 4 && trusts.iter().all(|trust| *trust == Trust::Familiar), "{trusts:?}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_message_from_elsewhere_is_not_delivered() {
    let webhook = Webhook::start(&[]).await;
    let (app, token) = app(&webhook.config()).await;
    let (_, first) = app.send("POST", PATH, &token, &message("bob", "hello", "m-1")).await;
    webhook.bodies(1).await;
    let conversation = ConversationId::new(first["conversation"].as_str().unwrap()).unwrap();
    let inbound = foreword_agent::conversation::inbound::Inbound {
        conversation,
        origin: foreword_agent::conversation::inbound::TurnOrigin::default(),
        text: "between us".to_owned(),
        key: None,
    };
    app.agent.send(inbound).await.unwrap();
    app.agent.until_idle().await;
    let (_, second) = app.send("POST", PATH, &token, &message("bob", "still there?", "m-2")).await;
    let bodies = webhook.bodies(2).await;
    assert_eq!(bodies[1]["inReplyTo"], second["message"]);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_bridge_messages_are_refused_with_a_code() {
    let (app, token) = app("").await;
    let with = |field: &str, value: Value| {
        let mut message = message("bob", "hi", "m-1");
        message[field] = value;
        message
    };
    let check = async |path: &str, body: &Value, expected: (u16, &str)| {
        let (status, problem) = app.send("POST", path, &token, body).await;
        assert_eq!((status, problem["code"].as_str().unwrap_or_default()), expected, "{path} {body}");
    };
    check(PATH, &with("channel", json!("telegram:bob")), (400, "wrong_family")).await;
    check(PATH, &with("channel", json!("signal:")), (400, "wrong_family")).await;
    check(PATH, &with("channel", json!("signal")), (400, "wrong_family")).await;
    check(PATH, &with("channel", json!("signal:a\nb")), (400, "bad_name")).await;
    check(PATH, &with("sender", json!("a\u{0}b")), (400, "bad_name")).await;
    check(PATH, &with("sender", json!(" ")), (400, "bad_name")).await;
    check(PATH, &with("sender", json!("a".repeat(10_000))), (400, "bad_name")).await;
    check(PATH, &with("situation", json!("system")), (400, "unknown_situation")).await;
    check(PATH, &with("situation", json!("nowhere")), (400, "unknown_situation")).await;
    check(PATH, &with("text", json!("  ")), (400, "empty_message")).await;
    check(PATH, &with("text", json!(7)), (422, "wrong_fields")).await;
    check(PATH, &with("idempotencyKey", Value::Null), (400, "key_missing")).await;
    check(PATH, &with("user", json!("alice")), (422, "wrong_fields")).await;
    for family in ["..%2fetc", "%2e%2e%2f", "a%00b", "signal%0a", "SIGNAL", "signal%3Abob"] {
        let path = format!("/api/v1/channels/{family}/messages");
        check(&path, &message("bob", "hi", "m-1"), (400, "wrong_family")).await;
    }
    assert_eq!(app.send("POST", PATH, &token, &message("bob", "hi", "m-9")).await.0, 202);
    check(PATH, &message("bob", "something else", "m-9"), (409, "already_exists")).await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_asserting_tokens_post_bridge_messages() {
    let app = TestApp::start().await;
    let (status, problem) = app.send("POST", PATH, &app.alice, &message("bob", "hi", "m-1")).await;
    assert_eq!((status, &problem["code"]), (403, &"scope_missing".into()));
    let token = app.token("bob", &[Scope::Assert], None).await;
    assert_eq!(app.send("POST", PATH, &token, &message("bob", "hi", "m-1")).await.0, 403);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bridge_messages_use_the_settings_of_their_conversation() {
    let webhook = Webhook::start(&[]).await;
    let (app, token) = app(&webhook.config()).await;
    let (_, first) = app.send("POST", PATH, &token, &message("bob", "Hello", "m-1")).await;
    webhook.posts(1).await;
    let place = format!("/api/v1/conversations/{}", first["conversation"].as_str().unwrap());
    let change = json!({ "session_instructions": "Be brief." });
    assert_eq!(app.send("PATCH", &place, &app.alice, &change).await.0, 200);
    app.send("POST", PATH, &token, &message("bob", "Hello again", "m-2")).await;
    webhook.posts(2).await;
    let (_, prompt) = app.get(&format!("{place}/prompt"), &app.alice).await;
    let text = prompt["epoch"]["text"].as_str().unwrap();
    assert!(text.contains("## Session Instructions\n\nBe brief."), "{text}");
    app.stop().await;
}
