use foreword_core::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::live_page::{Page, numbers, streamed_text};
use crate::test_app::TestApp;

const TALK: &str = "!say One moment.\n!tool foreword_status\n!then\n!slow 1ms\n!say All is well, and the ferry leaves at noon.";

/// A turn seen from its start to its end, and on which node.
async fn seen(app: &TestApp) -> (String, Vec<Value>) {
    let mut page = Page::open(app, &app.alice).await;
    let session = page.begin(TALK).await;
    let items = page.until("turn_end").await;
    (session, items)
}

#[tokio::test(flavor = "multi_thread")]
async fn turn_events_are_ordered_and_numbered_from_one() {
    let app = TestApp::start().await;
    let (session, items) = seen(&app).await;
    assert_eq!(numbers(&items), (1..=items.len() as u64).collect::<Vec<_>>());
    assert!(items.iter().all(|item| item["sessionId"] == session.as_str()), "{items:?}");
    let kinds: Vec<&str> = items.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[0], "turn_start");
    let call = kinds.iter().position(|kind| *kind == "tool_call").unwrap();
    assert_eq!(kinds[call + 1], "tool_result");
    assert_eq!(items[call]["callId"], items[call + 1]["callId"]);
    assert_eq!(
        (&items[call + 1]["isError"], &items[call]["tool"]),
        (&json!(false), &json!("foreword_status"))
    );
    assert!(streamed_text(&items).ends_with("All is well, and the ferry leaves at noon."), "{items:?}");
    let end = items.last().unwrap();
    assert_eq!((&end["outcome"], &end["turnId"]), (&json!("done"), &items[0]["turnId"]));
    assert!(end["usage"]["cacheWrite"].as_u64().unwrap() > 0 && !end["cost"].is_null(), "{end}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reconnect_at_any_event_number_gets_the_rest() {
    let app = TestApp::start().await;
    let (session, items) = seen(&app).await;
    let mut page = Page::open(&app, &app.alice).await;
    for after in 0..items.len() {
        page.subscribe(&session, after as u64).await;
        assert_eq!(page.until("turn_end").await, items[after..], "after {after}");
    }
    let all = items.len() as u64;
    let reply = page.ask(&json!({ "type": "subscribe", "sessionId": session, "after": all + 1 })).await;
    assert_eq!((&reply["type"], &reply["code"]), (&json!("problem"), &json!("after_too_high")));
    page.subscribe(&session, all).await;
    assert_eq!(
        page.ask(&json!({ "type": "ping", "id": "p-1" })).await,
        json!({ "type": "pong", "inReplyTo": "p-1" })
    );
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_pages_on_one_conversation_all_see_everything() {
    let app = TestApp::start().await;
    let (session, first) = seen(&app).await;
    let mut pages = Vec::new();
    for _ in 0..3 {
        let mut page = Page::open(&app, &app.alice).await;
        page.subscribe(&session, 0).await;
        pages.push(page);
    }
    let say = json!({ "type": "message", "sessionId": session, "text": TALK });
    pages[0].send(&say).await;
    let mut all = Vec::new();
    for page in &mut pages {
        let mut items = page.until("turn_end").await;
        items.extend(page.until("turn_end").await);
        items.retain(|item| item["type"] != "accepted");
        all.push(items);
    }
    assert_eq!(all[0][..first.len()], first);
    assert_eq!(numbers(&all[0]), (1..=all[0].len() as u64).collect::<Vec<_>>());
    assert!(all[1] == all[0] && all[2] == all[0], "{all:?}");
    app.stop().await;
}

async fn restarted(app: TestApp) -> TestApp {
    let location = app.store.location().clone();
    let TestApp { server, agent, folder, .. } = app;
    server.unwrap().shut_down().await;
    agent.shut_down().await;
    TestApp::open(folder, &location, &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_continue_after_a_restart() {
    let app = TestApp::start().await;
    let (session, items) = seen(&app).await;
    let app = restarted(app).await;
    let mut page = Page::open(&app, &app.alice).await;
    page.subscribe(&session, 2).await;
    assert_eq!(page.until("turn_end").await, items[2..]);
    page.send(&json!({ "type": "message", "sessionId": session, "text": "!say Again." })).await;
    let more = page.until("turn_end").await;
    assert_eq!(numbers(&more)[0], items.len() as u64 + 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_reconnect_reports_missed_events() {
    let app = TestApp::start().await;
    let (session, items) = seen(&app).await;
    let app = restarted(app).await;
    let later = Timestamp::from(jiff::Timestamp::now()).plus(std::time::Duration::from_secs(1));
    assert_eq!(app.store.prune_streams(later, 1_000).await.unwrap(), items.len() as u64);
    let mut page = Page::open(&app, &app.alice).await;
    page.subscribe(&session, 2).await;
    let href = format!("/api/v1/conversations/{session}/messages");
    let catch_up = json!({ "by": "messages", "href": href });
    let missed =
        json!({ "type": "missed", "sessionId": session, "from": 3, "to": items.len(), "catchUp": catch_up });
    assert_eq!(page.next().await, missed);
    page.send(&json!({ "type": "message", "sessionId": session, "text": "!say Again." })).await;
    let more = page.until("turn_end").await;
    assert_eq!(numbers(&more)[0], items.len() as u64 + 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn same_key_is_answered_once_in_its_conversation() {
    let app = TestApp::start().await;
    let mut page = Page::open(&app, &app.alice).await;
    let say = json!({ "type": "message", "text": "!say Once.", "key": "k-1" });
    let one = page.ask(&say).await;
    page.until("turn_end").await;
    let other = page.ask(&say).await;
    assert_eq!((&one["sessionId"], &one["messageId"]), (&other["sessionId"], &other["messageId"]));
    assert_eq!((&one["before"], &other["before"]), (&json!(false), &json!(true)));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_turn_ends_and_keeps_its_text() {
    let app = TestApp::start().await;
    let mut page = Page::open(&app, &app.alice).await;
    let session = page.begin("!say So far.\n!hang").await;
    page.until("text_delta").await;
    let mut other = Page::open(&app, &app.alice).await;
    let reply = other.ask(&json!({ "type": "cancel", "sessionId": session })).await;
    assert_eq!(reply["type"], "cancelling");
    let rest = page.until("turn_end").await;
    assert_eq!(rest.last().unwrap()["outcome"], "cancelled");
    app.stop().await;
}

/// The events of a stream, in order.
fn events(body: &str) -> Vec<(u64, String, Value)> {
    let blocks = body.split("\n\n").filter(|block| block.starts_with("id: "));
    blocks
        .map(|block| {
            let mut lines = block.lines().map(|line| line.split_once(": ").unwrap().1);
            let (id, event, data) = (lines.next().unwrap(), lines.next().unwrap(), lines.next().unwrap());
            (id.parse().unwrap(), event.to_owned(), serde_json::from_str(data).unwrap())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_is_available_as_server_sent_events() {
    let app = TestApp::start().await;
    let (session, items) = seen(&app).await;
    let path = format!("/api/v1/conversations/{session}/stream?after=1");
    for (header, from) in [(None, 1), (Some("3"), 3)] {
        let mut request = app.request("GET", &path, &app.alice);
        if let Some(header) = header {
            request = request.header("last-event-id", header);
        }
        let mut response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut body = String::new();
        while !body.contains("event: turn_end") || !body.ends_with("\n\n") {
            body += std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap();
        }
        let seen = events(&body);
        let expected: Vec<Value> = items[from..].to_vec();
        assert_eq!(seen.iter().map(|(_, _, data)| data.clone()).collect::<Vec<_>>(), expected);
        for (id, event, data) in seen {
            assert_eq!((data["seq"].as_u64(), data["type"].as_str()), (Some(id), Some(&*event)));
        }
    }
    let (status, problem) =
        app.get(&format!("/api/v1/conversations/{session}/stream?after=999"), &app.alice).await;
    assert_eq!((status, &problem["code"]), (400, &json!("after_too_high")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_message_is_refused_and_the_socket_stays_open() {
    let app = TestApp::start().await;
    let mut page = Page::open(&app, &app.alice).await;
    for (bad, code) in [
        (json!("hello"), "bad_message"),
        (json!({ "type": "dance" }), "bad_message"),
        (json!({ "type": "message", "text": 7 }), "bad_message"),
        (json!({ "type": "message", "text": "  " }), "empty_message"),
        (json!({ "type": "subscribe", "sessionId": "../../etc" }), "not_found"),
        (json!({ "type": "cancel", "sessionId": "c none" }), "not_found"),
        (json!({ "type": "message", "sessionId": "c-none", "text": "hi" }), "not_found"),
    ] {
        let reply = page.ask(&bad).await;
        assert_eq!((&reply["type"], &reply["code"]), (&json!("problem"), &json!(code)), "{bad}");
    }
    assert_eq!(page.ask(&json!({ "type": "ping" })).await["type"], "pong");
    app.stop().await;
}
