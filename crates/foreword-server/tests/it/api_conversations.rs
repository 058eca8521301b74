use foreword_core::api_token::Scope;
use serde_json::{Value, json};

use crate::test_app::{TestApp, read};

const ALL: &str = "/api/v1/conversations";

/// A conversation of the token's user.
async fn begun(app: &TestApp, token: &str) -> String {
    let (status, body) = app.send("POST", ALL, token, &json!({})).await;
    assert_eq!(status, 201, "{body}");
    format!("{ALL}/{}", body["id"].as_str().unwrap())
}

async fn say(app: &TestApp, place: &str, token: &str, text: &str) -> (u16, Value) {
    app.send("POST", &format!("{place}/messages"), token, &json!({ "text": text })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn message_is_answered_and_both_are_readable() {
    let app = TestApp::start().await;
    let (status, made) = app.send("POST", ALL, &app.bob, &json!({ "title": "Dinner" })).await;
    assert_eq!((status, &made["user"], &made["title"]), (201, &json!("bob"), &json!("Dinner")));
    let place = format!("{ALL}/{}", made["id"].as_str().unwrap());
    let (status, said) = say(&app, &place, &app.bob, "Hello").await;
    assert_eq!((status, &said["outcome"], &said["before"]), (200, &json!("done"), &json!(false)), "{said}");
    assert!(said["turn"].is_string() && said["usage"]["output"].is_u64(), "{said}");
    assert!(!said["text"].as_str().unwrap().is_empty());
    let (status, messages) = app.get(&format!("{place}/messages"), &app.bob).await;
    assert_eq!(status, 200);
    let roles: Vec<_> = messages["items"].as_array().unwrap().iter().map(|one| &one["role"]).collect();
    assert_eq!(roles, ["user", "assistant"]);
    assert_eq!(messages["items"][0]["content"], json!([{ "type": "text", "text": "Hello" }]));
    let (_, one) = app.get(&place, &app.bob).await;
    assert!(one["extent"].is_null());
    let (_, one) = app.get(&place, &app.alice).await;
    assert_eq!(one["extent"]["messages"], json!(2));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_key_is_answered_once() {
    let app = TestApp::start().await;
    let place = begun(&app, &app.bob).await;
    let send = |text: &str| {
        let request = app.request("POST", &format!("{place}/messages"), &app.bob);
        let request = request.header("idempotency-key", "k-1").header("content-type", "application/json");
        request.body(json!({ "text": text }).to_string()).send()
    };
    let (one, other) = tokio::join!(send("Hello"), send("Hello"));
    let (one, other) = (read(one.unwrap()).await, read(other.unwrap()).await);
    assert_eq!((one.0, other.0), (200, 200));
    assert_eq!((&one.1["message"], &one.1["text"]), (&other.1["message"], &other.1["text"]));
    let (status, problem) = read(send("Something else").await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (409, &json!("already_exists")));
    let (_, messages) = app.get(&format!("{place}/messages"), &app.bob).await;
    assert_eq!(messages["items"].as_array().unwrap().len(), 2);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn post_without_wait_returns_ids_and_a_stream_ends() {
    let app = TestApp::start().await;
    let place = begun(&app, &app.bob).await;
    let path = format!("{place}/messages?wait=false");
    let (status, said) = app.send("POST", &path, &app.bob, &json!({ "text": "Hello" })).await;
    assert_eq!(status, 202);
    assert!(said["message"].is_string());
    let request = app.request("POST", &format!("{place}/messages"), &app.bob);
    let request = request.header("accept", "text/event-stream").header("content-type", "application/json");
    let response = request.body(json!({ "text": "Again" }).to_string()).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let stream = response.text().await.unwrap();
    assert!(stream.contains("event: text_delta") && stream.contains("event: turn_end"), "{stream}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_has_the_metrics_of_its_turns() {
    let app = TestApp::start().await;
    let place = begun(&app, &app.bob).await;
    let (_, fresh) = app.get(&place, &app.bob).await;
    let none = json!({ "turns": 0, "tool_calls": 0, "duration_ms": 0, "tokens_in": 0, "tokens_out": 0, "cost_usd": 0.0 });
    assert_eq!(fresh["metrics"], none);
    say(&app, &place, &app.bob, "Hello").await;
    say(&app, &place, &app.alice, "!tool memory_search {\"query\":\"dinner\"}").await;
    let id = place.rsplit('/').next().unwrap();
    // The sums of the turns, at the reader's trust.
    for (token, turns, tools) in [(&app.alice, 2, 1), (&app.bob, 1, 0)] {
        let (_, read) = app.get(&place, token).await;
        let metrics = &read["metrics"];
        let listed = app.all_pages(&format!("/api/v1/turns?session={id}"), token).await;
        let sum = |field: &str| listed.iter().map(|turn| turn[field].as_u64().unwrap()).sum::<u64>();
        assert_eq!((metrics["turns"].as_u64(), listed.len() as u64), (Some(turns), turns));
        assert_eq!(metrics["tool_calls"], json!(tools), "{metrics}");
        for field in ["tool_calls", "tokens_in", "tokens_out"] {
            assert_eq!(metrics[field].as_u64(), Some(sum(field)), "{field}: {metrics}");
        }
        assert!(metrics["tokens_in"].as_u64() > Some(0), "{metrics}");
        // Each turn's duration is rounded down to milliseconds; the sum is rounded once.
        let took = metrics["duration_ms"].as_u64().unwrap();
        assert!((sum("duration_ms")..=sum("duration_ms") + turns).contains(&took), "{metrics}");
        assert_eq!(metrics["cost_usd"].as_f64(), Some(0.0), "{metrics}");
    }
    let (_, listed) = app.get(ALL, &app.alice).await;
    assert_eq!(listed["items"][0].get("metrics"), None, "a list has none");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_conversation_is_not_found() {
    let app = TestApp::start().await;
    let place = begun(&app, &app.alice).await;
    say(&app, &place, &app.alice, "My pin is 1234.").await;
    let id = place.rsplit('/').next().unwrap();
    for (method, rest, body) in [
        ("GET", "", json!(null)),
        ("GET", "/messages", json!(null)),
        ("GET", "/prompt", json!(null)),
        ("POST", "/messages", json!({ "text": "x" })),
        ("POST", "/compact", json!(null)),
        ("POST", "/cancel", json!(null)),
    ] {
        let (status, hidden) = app.send(method, &format!("{place}{rest}"), &app.bob, &body).await;
        let (absent_status, absent) = app.send(method, &format!("{ALL}/c-0{rest}"), &app.bob, &body).await;
        assert_eq!((status, absent_status), (404, 404), "{method} {rest}");
        assert_eq!(hidden.to_string().replace(id, "c-0"), absent.to_string());
    }
    let (_, listed) = app.get(&format!("{ALL}?user=alice"), &app.bob).await;
    assert_eq!(listed["items"], json!([]));
    assert_eq!(app.send("DELETE", &place, &app.bob, &json!(null)).await.0, 403);
    let watcher = app.token("bob", &[Scope::Observe], None).await;
    assert_eq!(app.send("POST", ALL, &watcher, &json!({})).await.0, 403);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_above_the_readers_trust_are_withheld() {
    let app = TestApp::start().await;
    let place = begun(&app, &app.bob).await;
    say(&app, &place, &app.bob, "Hello").await;
    assert_eq!(say(&app, &place, &app.alice, "The pin is 1234.").await.0, 200);
    for query in ["", "?all=true", "?order=newest"] {
        let (_, bobs) = app.get(&format!("{place}/messages{query}"), &app.bob).await;
        let text = bobs.to_string();
        assert!(!text.contains("1234") && !text.contains("alice"), "{text}");
        assert!(text.contains("A message of this conversation is withheld here."));
        let (_, alices) = app.get(&format!("{place}/messages{query}"), &app.alice).await;
        assert!(alices.to_string().contains("1234"));
    }
    let (_, prompt) = app.get(&format!("{place}/prompt"), &app.bob).await;
    assert!(
        prompt["epochs"]["items"].as_array().unwrap().iter().all(|one| one["trust"] == "inner"),
        "{prompt}"
    );
    let (_, prompt) = app.get(&format!("{place}/prompt"), &app.alice).await;
    let number = prompt["in_force"].as_u64().unwrap();
    assert!(prompt["epoch"]["text"].is_string() && prompt["epochs"]["items"].as_array().unwrap().len() > 1);
    assert_eq!(app.get(&format!("{place}/prompt?epoch={number}"), &app.bob).await.0, 404);
    assert_eq!(app.get(&format!("{place}/prompt?epoch=1"), &app.bob).await.0, 200);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_conversation_and_every_message_is_listed_once() {
    let app = TestApp::start().await;
    for number in 0..5 {
        let body = json!({ "id": format!("own+{number}&a b").replace(' ', "_") });
        assert_eq!(app.send("POST", ALL, &app.alice, &body).await.0, 201);
        begun(&app, &app.bob).await;
    }
    let mut ids: Vec<String> = app
        .all_pages(&format!("{ALL}?limit=3"), &app.alice)
        .await
        .iter()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 10);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 10);
    assert_eq!(app.all_pages(&format!("{ALL}?limit=2&agent=Ada"), &app.bob).await.len(), 5);
    assert_eq!(app.all_pages(&format!("{ALL}?limit=2&agent=Eve"), &app.alice).await.len(), 0);
    let place = begun(&app, &app.bob).await;
    for text in ["one", "two", "three"] {
        say(&app, &place, &app.bob, text).await;
    }
    for order in ["oldest", "newest"] {
        let path = format!("{place}/messages?limit=2&order={order}");
        let mut places: Vec<u64> =
            app.all_pages(&path, &app.bob).await.iter().map(|one| one["seq"].as_u64().unwrap()).collect();
        assert_eq!(places.is_sorted(), order == "oldest");
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 6);
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_with_a_clear_code() {
    let app = TestApp::start().await;
    let place = begun(&app, &app.alice).await;
    for (path, body, status, code) in [
        (format!("{place}/messages"), json!({ "text": " " }), 400, "empty_message"),
        (format!("{place}/messages"), json!({ "text": 7 }), 422, "wrong_fields"),
        (format!("{place}/messages"), json!({ "txt": "x" }), 422, "wrong_fields"),
        (format!("{place}/messages?wait=perhaps"), json!({ "text": "x" }), 400, "bad_query"),
        (format!("{ALL}/unknown/messages"), json!({ "text": "x" }), 404, "not_found"),
        (format!("{ALL}/two%20words/messages"), json!({ "text": "x" }), 400, "invalid_id"),
        (format!("{ALL}/%ff/messages"), json!({ "text": "x" }), 400, "bad_path"),
        (format!("{ALL}/..%2f..%2fetc/messages"), json!({ "text": "x" }), 404, "not_found"),
        (ALL.to_owned(), json!({ "id": "two words" }), 400, "invalid_id"),
        (ALL.to_owned(), json!({ "id": "proxy:tok-1:task" }), 400, "reserved_id"),
        (ALL.to_owned(), json!({ "id": "channel-0123" }), 400, "reserved_id"),
        (ALL.to_owned(), json!({ "id": "schedule-morning" }), 400, "reserved_id"),
        (ALL.to_owned(), json!({ "id": "workflow-run-1" }), 400, "reserved_id"),
        (ALL.to_owned(), json!({ "id": "inbox-0123-0" }), 400, "reserved_id"),
        (ALL.to_owned(), json!({ "id": "autonomous" }), 400, "reserved_id"),
        (ALL.to_owned(), json!({ "title": "" }), 400, "bad_line"),
        (ALL.to_owned(), json!({ "user": "bob" }), 403, "may_not_assert"),
        (format!("{place}/compact"), json!(null), 409, "nothing_to_compact"),
    ] {
        let (found, problem) = app.send("POST", &path, &app.alice, &body).await;
        assert_eq!((found, problem["code"].as_str().unwrap()), (status, code), "{path} {body}");
    }
    for query in ["?after=zz", "?after=61", "?limit=0", "?limit=501", "?limit=x"] {
        assert_eq!(app.get(&format!("{ALL}{query}"), &app.alice).await.0, 400, "{query}");
    }
    let (status, problem) = app.send("POST", ALL, &app.bob, &json!({ "id": "mine" })).await;
    assert_eq!((status, &problem["code"]), (403, &json!("may_not_choose_id")));
    let claims = app.request("POST", &format!("{place}/messages"), &app.alice);
    let claims = claims.header("x-foreword-user", "bob").header("content-type", "application/json");
    let (status, problem) = read(claims.body("{\"text\":\"x\"}").send().await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (403, &json!("may_not_assert")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asserting_token_acts_for_others_at_their_trust() {
    let app = TestApp::start().await;
    let bridge = app.token("carol", &[Scope::Chat, Scope::Assert], None).await;
    let body = json!({ "user": "bob", "channel": "signal:bob", "id": "signal:bob" });
    let (status, made) = app.send("POST", ALL, &bridge, &body).await;
    assert_eq!((status, &made["user"], &made["channel"]), (201, &json!("bob"), &json!("signal:bob")));
    let request = app.request("POST", &format!("{ALL}/signal:bob/messages"), &bridge);
    let request = request.header("x-foreword-user", "bob").header("content-type", "application/json");
    let (status, _) = read(request.body("{\"text\":\"Ahoy\"}").send().await.unwrap()).await;
    assert_eq!(status, 200);
    let (_, messages) = app.get(&format!("{ALL}/signal:bob/messages"), &app.bob).await;
    assert_eq!(
        (&messages["items"][0]["author"], &messages["items"][0]["trust"]),
        (&json!("bob"), &json!("inner"))
    );
    assert_eq!(app.get(&format!("{ALL}/signal:bob"), &bridge).await.0, 404);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_is_compacted_cancelled_and_deleted() {
    let app = TestApp::start().await;
    let place = begun(&app, &app.bob).await;
    for text in ["The sea is blue.", "The boat is red."] {
        say(&app, &place, &app.bob, text).await;
    }
    let (status, shortened) = app.send("POST", &format!("{place}/compact"), &app.bob, &json!(null)).await;
    assert_eq!(status, 200, "{shortened}");
    assert!(shortened["removed"].as_u64().unwrap() > 0 && shortened["summary"].is_string());
    let (_, messages) = app.get(&format!("{place}/messages"), &app.bob).await;
    assert_eq!(messages["items"][0]["kind"], json!("summary"));
    let (_, all) = app.get(&format!("{place}/messages?all=true"), &app.bob).await;
    assert_eq!(all["items"][0]["covered"], json!(true));
    assert_eq!(app.send("POST", &format!("{place}/cancel"), &app.bob, &json!(null)).await.0, 202);
    let tag = app.request("GET", &place, &app.bob).send().await.unwrap().headers()["etag"].clone();
    let again = app.request("GET", &place, &app.bob).header("if-none-match", tag).send().await.unwrap();
    assert_eq!(again.status(), 304);
    assert_eq!(app.send("DELETE", &place, &app.alice, &json!(null)).await.0, 204);
    assert_eq!(app.send("DELETE", &place, &app.alice, &json!(null)).await.0, 404);
    assert_eq!(app.get(&place, &app.bob).await.0, 404);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_id_is_logged_with_its_message() {
    let app = TestApp::start().await;
    let place = begun(&app, &app.bob).await;
    let request = app.request("POST", &format!("{place}/messages"), &app.bob);
    let request = request.header("x-request-id", "mine-7").header("content-type", "application/json");
    assert_eq!(request.body("{\"text\":\"Hello\"}").send().await.unwrap().status(), 200);
    app.events.flush().await.unwrap();
    let filter = foreword_store::events::EventFilter::default();
    let events = app.store.events(&filter, &foreword_store::events::EventPage::newest(50)).await.unwrap();
    let received = events.iter().find(|one| one.event.event_type.to_string() == "message_received").unwrap();
    assert_eq!(received.event.metadata.as_ref().unwrap()["request_id"], json!("mine-7"));
    assert!(received.event.trace_id.is_some());
    app.stop().await;
}
