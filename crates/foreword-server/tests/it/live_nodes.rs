use std::time::Duration;

use foreword_core::id::ConversationId;
use foreword_core::message::{ContentBlock, Role};
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::Outcome;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::NewConversation;
use foreword_store::location::Location;
use foreword_store::messages::MessagePage;
use foreword_store::streams::NewStreamItem;
use foreword_store::turns::{BeginOutcome, BeginTurn, FinishTurn, TakeMessages};
use serde_json::{Value, json};

use crate::live_page::{Page, database, folder, numbers, streamed_text};
use crate::test_app::TestApp;

async fn node(location: &Location) -> TestApp {
    TestApp::with_lease(folder(""), location, &[], Duration::from_secs(1)).await
}

/// The events of two turns, as seen by a client.
async fn two_turns(page: &mut Page) -> Vec<Value> {
    let mut items = page.until("turn_end").await;
    items.extend(page.until("turn_end").await);
    items.retain(|item| !item["seq"].is_null());
    items
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_by_another_node_is_streamed_on_both() {
    let Some(location) = database("both") else { return };
    let (one, other) = (node(&location).await, node(&location).await);
    let mut here = Page::open(&one, &one.alice).await;
    let session = here.begin("!slow 20ms\n!say This takes a while, for there are many words in it.").await;
    here.until("text_delta").await;
    let mut there = Page::open(&other, &other.alice).await;
    there.subscribe(&session, 0).await;
    // The turn runs on one node; the other accepts the next message.
    there.send(&json!({ "type": "message", "sessionId": session, "text": "!say And this is next." })).await;
    let seen = two_turns(&mut there).await;
    assert_eq!(numbers(&seen), (1..=seen.len() as u64).collect::<Vec<_>>());
    let mut again = Page::open(&one, &one.alice).await;
    again.subscribe(&session, 0).await;
    assert_eq!(two_turns(&mut again).await, seen);
    assert!(streamed_text(&seen).ends_with("And this is next."), "{seen:?}");
    one.stop().await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turn_is_cancelled_from_another_node() {
    let Some(location) = database("cancel") else { return };
    let (one, other) = (node(&location).await, node(&location).await);
    let mut here = Page::open(&one, &one.alice).await;
    let session = here.begin("!say So far.\n!hang").await;
    here.until("text_delta").await;
    let mut there = Page::open(&other, &other.alice).await;
    there.subscribe(&session, 0).await;
    there.send(&json!({ "type": "cancel", "sessionId": session })).await;
    assert_eq!(there.until("turn_end").await.last().unwrap()["outcome"], "cancelled");
    assert_eq!(here.until("turn_end").await.last().unwrap()["outcome"], "cancelled");
    one.stop().await;
    other.stop().await;
}

/// The agent's last stored message. A client of a server whose agent asks the owner a question: its conversation, and
/// the answer to send.
async fn asked(app: &TestApp) -> (Page, impl Fn(&str) -> Value + use<>) {
    let mut page = Page::open(app, &app.alice).await;
    // A command's output is untrusted text, so writing needs approval afterwards.
    let session = page.begin("!tool bash {\"command\":\"echo do as I say\"}").await;
    page.until("turn_end").await;
    let write = "!tool write_file {\"path\":\"one.md\",\"text\":\"as it was told\"}";
    page.send(&json!({ "type": "message", "sessionId": session, "text": write })).await;
    let question = page.until("question").await.pop().unwrap();
    let answer = move |word: &str| json!({ "type": "answer", "sessionId": session, "callId": question["callId"], "answer": word });
    (page, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_answers_a_question_from_another_node() {
    let Some(location) = database("question") else { return };
    let (one, other) = (node(&location).await, node(&location).await);
    let (mut here, answer) = asked(&one).await;
    let mut bobs = Page::open(&other, &other.bob).await;
    assert_eq!(bobs.ask(&answer("once")).await["code"], "owner_only");
    let mut there = Page::open(&other, &other.alice).await;
    assert_eq!(there.ask(&answer("once")).await["type"], "answered");
    let items = here.until("turn_end").await;
    let result = items.iter().find(|item| item["type"] == "tool_result").unwrap();
    assert_eq!((&result["tool"], &result["isError"]), (&json!("write_file"), &json!(false)), "{items:?}");
    // A second answer finds no open question.
    assert_eq!(there.ask(&answer("once")).await["code"], "nothing_asked");
    one.stop().await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn confirmation_on_the_wrong_node_is_refused() {
    let shared = tempfile::tempdir().unwrap();
    let location = Location::file(shared.path().join("foreword.db"));
    let (one, other) = (node(&location).await, node(&location).await);
    let (mut here, answer) = asked(&one).await;
    let mut there = Page::open(&other, &other.alice).await;
    assert_eq!(there.ask(&answer("once")).await["code"], "other_node");
    assert_eq!(here.ask(&answer("no")).await["type"], "answered");
    assert_eq!(here.until("turn_end").await.last().unwrap()["outcome"], "done");
    one.stop().await;
    other.stop().await;
}

async fn answer(app: &TestApp, session: &str) -> String {
    let id = ConversationId::new(session).unwrap();
    let messages = app.store.all_messages(&id, MessagePage::newest(1)).await.unwrap();
    assert_eq!(messages[0].message.role, Role::Assistant);
    messages[0].message.content.iter().filter_map(ContentBlock::as_text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn client_misses_no_event_when_a_node_dies() {
    let Some(location) = database("dies") else { return };
    let stays = node(&location).await;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let place = location.clone();
    let dies = runtime.spawn(async move { node(&place).await }).await.unwrap();
    let mut page = Page::open(&dies, &dies.alice).await;
    let session = page.begin("!slow 10ms\n!long 300").await;
    let mut seen = page.until("text_delta").await;
    for _ in 0..5 {
        seen.push(page.next().await);
    }
    runtime.shutdown_background();
    while let Some(item) = page.heard().await {
        seen.push(item);
    }
    assert_ne!(seen.last().unwrap()["type"], "turn_end", "it was too fast to be killed");
    let mut page = Page::open(&stays, &stays.alice).await;
    page.subscribe(&session, *numbers(&seen).last().unwrap()).await;
    seen.extend(page.until("turn_end").await);
    assert_eq!(numbers(&seen), (1..=seen.len() as u64).collect::<Vec<_>>());
    assert!(seen.iter().any(|item| item["resumed"] == true), "{seen:?}");
    assert_eq!(streamed_text(&seen), answer(&stays, &session).await);
    drop(dies);
    stays.stop().await;
}

/// A conversation whose last turn ended on a node that died before it published the end.
async fn untold(app: &TestApp) -> &'static str {
    let ago = |seconds| Timestamp::from(jiff::Timestamp::now()).minus(Duration::from_secs(seconds));
    let id = ConversationId::new("c-untold").unwrap();
    let new = NewConversation::new(id.clone(), "Ada", "dm", ago(60));
    app.store.create_conversation(new).await.unwrap();
    let begin = BeginTurn {
        turn: "t-untold".parse().unwrap(),
        conversation: id.clone(),
        node: "node-dead".parse().unwrap(),
        trust: Trust::Full,
        take: TakeMessages::Nothing,
        lease: Duration::from_secs(30),
        now: ago(60),
    };
    let BeginOutcome::Begun(begun) = app.store.begin_turn(begin).await.unwrap() else { panic!("busy") };
    let finish = FinishTurn { outcome: Outcome::Done, reply: Vec::new(), failure: None, at: ago(50) };
    app.store.finish_turn(&begun.hold, finish).await.unwrap();
    let item = json!({ "type": "text_delta", "turnId": "t-untold", "text": "Half a" }).to_string();
    let item = NewStreamItem { trust: Trust::Full, item };
    app.store.append_stream(&id, vec![item], ago(55)).await.unwrap();
    "c-untold"
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_turn_end_is_published_once_by_another_node() {
    let app = TestApp::start().await;
    let session = untold(&app).await;
    for _ in 0..2 {
        let mut page = Page::open(&app, &app.alice).await;
        page.subscribe(session, 0).await;
        let items = page.until("turn_end").await;
        assert_eq!(numbers(&items), [1, 2]);
        let end = &items[1];
        assert_eq!((&end["outcome"], &end["incomplete"]), (&json!("done"), &json!(true)), "{end}");
        assert_eq!(page.ask(&json!({ "type": "ping" })).await["type"], "pong");
    }
    app.stop().await;
}
