//! The records of proxied requests: payer, cost, conversation, and cache diagnosis.

use foreword_agent::conversation::inbound::{Inbound, TurnOrigin};
use foreword_agent::error::AgentError;
use foreword_agent::reports::cache_report::{CacheConversation, CacheReport, Miss};
use foreword_agent::reports::viewer::Viewer;
use foreword_core::event::{Event, EventType};
use foreword_core::id::ConversationId;
use foreword_core::message::Usage;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::ConversationPage;
use foreword_store::events::{EventFilter, EventPage};
use foreword_store::location::Location;
use foreword_store::store::Store;
use foreword_testkit::{FakeProvider, Reply, Script};
use serde_json::{Value, json};

use crate::test_app::TestApp;

const MODEL: &str = "claude-sonnet-5";

/// A provider without cache reads.
fn provider() -> FakeProvider {
    let usage = Usage { input: 20, output: 5, cache_write: 12_000, ..Usage::default() };
    FakeProvider::start(Script::answering(move |_| Reply::text("certainly").usage(usage))).unwrap()
}

fn config(provider: &FakeProvider) -> String {
    let url = provider.base_url();
    format!(
        "providers:\n  anthropic: {{ base_url: \"{url}\", api_key: sk-ant-owner }}\n  openai: {{ base_url: \"{url}/v1\", api_key: sk-owner }}\n"
    )
}

/// A clock in the prompt: recognised because it shows the time of the request.
fn clock() -> String {
    format!("{:.6}", jiff::Timestamp::now())
}

/// A long system prompt with a clock, and characters that JSON escapes before it.
fn system(time: &str) -> String {
    format!("You are \"terse\".\n{}\nIt is {time}.\n{}", "Be kind. ".repeat(90), "Be brief. ".repeat(4_000))
}

fn marked(text: &str) -> Value {
    json!([{ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } }])
}

/// The messages after this number of answers, with a marker on the last one.
fn messages(answers: usize) -> Vec<Value> {
    let mut messages = Vec::new();
    for number in 0..answers {
        messages.push(json!({ "role": "user", "content": format!("question {number}") }));
        messages.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": "certainly" }] }));
    }
    messages.push(json!({ "role": "user", "content": marked(&format!("question {answers}")) }));
    messages
}

fn body(time: &str, messages: &[Value]) -> Value {
    json!({ "model": MODEL, "max_tokens": 100, "stream": true, "system": marked(&system(time)), "messages": messages })
}

async fn ask(app: &TestApp, token: &str, body: &Value) -> u16 {
    app.send("POST", "/anthropic/v1/messages", token, body).await.0
}

/// Stops the server; its data stays.
async fn ended(mut app: TestApp) -> (Store, tempfile::TempDir) {
    let folder = std::mem::replace(&mut app.folder, tempfile::tempdir().unwrap());
    let store = app.store.clone();
    app.stop().await;
    (store, folder)
}

async fn report(store: &Store) -> CacheReport {
    let viewer = Viewer {
        store: store.clone(),
        trust: Trust::Full,
        user: None,
        conversation: None,
        turn: None,
        now: "2026-11-16T08:00:00Z".parse().unwrap(),
        zone: jiff::tz::TimeZone::UTC,
    };
    CacheReport::visible_to(&viewer, None, None).await.unwrap()
}

async fn events(store: &Store, event_type: EventType) -> Vec<Event> {
    let filter = EventFilter { event_type: Some(event_type), ..EventFilter::default() };
    let found = store.events(&filter, &EventPage::newest(100)).await.unwrap();
    found.into_iter().map(|stored| stored.event).collect()
}

fn only(report: &CacheReport) -> &CacheConversation {
    assert_eq!(report.conversations.len(), 1, "{:?}", report.conversations);
    &report.conversations[0]
}

/// The bytes of the prompt that a miss refers to.
fn pointed_at<'a>(miss: &Miss, prompt: &'a str) -> &'a str {
    let at = |index: usize| usize::try_from(miss.diagnosis["bytes"][index].as_u64().unwrap()).unwrap();
    &prompt[at(0)..at(1)]
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_cache_markers_do_not_hide_a_changing_timestamp() {
    let provider = provider();
    let app = TestApp::with(&config(&provider)).await;
    let mut times = Vec::new();
    for answers in 0..3 {
        times.push(clock());
        assert_eq!(ask(&app, &app.alice, &body(&times[answers], &messages(answers))).await, 200);
    }
    let (store, _folder) = ended(app).await;
    let report = report(&store).await;
    let talk = only(&report);
    assert!(talk.conversation.as_str().starts_with("proxy:c-"), "{}", talk.conversation);
    assert_eq!(talk.misses.len(), 2);
    for (miss, time) in talk.misses.iter().zip(&times[1..]) {
        assert_eq!((miss.text("cause"), miss.text("section")), (Some("clock"), Some("system:0")));
        let shown = pointed_at(miss, &system(time)).to_owned();
        assert!(time.contains(&shown) && !shown.is_empty(), "{shown:?}");
        assert!(miss.extra_usd().unwrap() > 0.01, "{:?}", miss.diagnosis);
    }
    let kept = store.conversations(ConversationPage::first(10).of_user("alice")).await.unwrap();
    assert_eq!((kept.len(), &kept[0].id, &*kept[0].situation), (1, &talk.conversation, "proxy"));
}

#[tokio::test(flavor = "multi_thread")]
async fn uncached_billing_header_is_not_a_miss_reason() {
    let provider = provider();
    let app = TestApp::with(&config(&provider)).await;
    for answers in 0..3 {
        let mut body = body("now", &messages(answers));
        let billing = format!("x-anthropic-billing-header: cc_version=2.1.0; cch={answers}a7f3;");
        body["system"].as_array_mut().unwrap().insert(0, json!({ "type": "text", "text": billing }));
        assert_eq!(ask(&app, &app.alice, &body).await, 200);
    }
    let (store, _folder) = ended(app).await;
    let report = report(&store).await;
    let blamed = only(&report).misses.iter().find(|miss| miss.text("section") == Some("system:0"));
    assert!(blamed.is_none(), "{blamed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn proxied_call_is_recorded_like_an_agent_call() {
    let provider = provider();
    let app = TestApp::with(&config(&provider)).await;
    assert_eq!(ask(&app, &app.bob, &body("now", &messages(0))).await, 200);
    let (store, _folder) = ended(app).await;
    let calls = events(&store, EventType::ApiCall).await;
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!(
        (call.user_id.as_deref(), call.tokens_in, call.tokens_out),
        (Some("bob"), Some(12_020), Some(5))
    );
    assert_eq!((call.cache_read_tokens, call.cache_write_tokens), (Some(0), Some(12_000)));
    assert!(call.cost_usd.unwrap() > 0.0 && call.duration_ms.is_some() && call.trace_id.is_some());
    assert!(call.channel.as_deref().unwrap().starts_with("proxy:tok-"));
    let metadata = call.metadata.as_ref().unwrap();
    assert_eq!(metadata["model"], format!("anthropic/{MODEL}"));
    assert_eq!((&metadata["mode"], &metadata["dialect"]), (&json!("observe"), &json!("anthropic")));
    assert!(metadata["requestId"].is_string() && metadata["firstByteMs"].is_u64(), "{metadata}");
}

#[tokio::test(flavor = "multi_thread")]
async fn proxied_text_is_not_stored() {
    let provider = provider();
    let app = TestApp::with(&config(&provider)).await;
    for answers in 0..2 {
        assert_eq!(ask(&app, &app.alice, &body("soon", &messages(answers))).await, 200);
    }
    let (store, folder) = ended(app).await;
    assert_eq!(events(&store, EventType::ApiCall).await.len(), 2);
    let files = std::fs::read_dir(folder.path().join(".foreword")).unwrap();
    let files: Vec<Vec<u8>> = files.filter_map(|file| std::fs::read(file.unwrap().path()).ok()).collect();
    let holds = |words: &str| {
        files.iter().any(|file| file.windows(words.len()).any(|window| window == words.as_bytes()))
    };
    assert!(holds("claude-sonnet-5"), "what is kept is not where it was looked for");
    for words in ["question 0", "Be kind.", "certainly", "sk-ant-owner"] {
        assert!(!holds(words), "{words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_is_recorded_with_the_providers_message() {
    let provider = FakeProvider::start([Reply::status(429).message("slow down, please")]).unwrap();
    let app = TestApp::with(&config(&provider)).await;
    assert_eq!(ask(&app, &app.alice, &body("now", &messages(0))).await, 429);
    let (store, _folder) = ended(app).await;
    let failed = events(&store, EventType::ApiError).await;
    let [failed] = failed.as_slice() else { panic!("{failed:?}") };
    assert!(failed.error.as_deref().unwrap().contains("slow down, please"), "{failed:?}");
    let metadata = failed.metadata.as_ref().unwrap();
    assert_eq!((&metadata["statusCode"], &metadata["kind"]), (&json!(429), &json!("rate_limited")));
    assert_eq!(events(&store, EventType::ProviderRateLimit).await.len(), 1);
    assert_eq!(events(&store, EventType::ApiCall).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_separated_by_token_and_name() {
    let provider = provider();
    let app = TestApp::with(&config(&provider)).await;
    let same = body("now", &messages(1));
    for token in [&app.alice, &app.bob, &app.alice] {
        assert_eq!(ask(&app, token, &same).await, 200);
    }
    for token in [&app.alice, &app.bob] {
        let named = app.request("POST", "/anthropic/v1/messages", token);
        let named = named.header("x-foreword-conversation", "task-7").body(same.to_string());
        assert_eq!(named.send().await.unwrap().status(), 200);
    }
    let (store, _folder) = ended(app).await;
    let report = report(&store).await;
    let ids: Vec<&str> = report.conversations.iter().map(|talk| talk.conversation.as_str()).collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
    assert_eq!(ids.iter().filter(|id| id.starts_with("proxy:tok-") && id.ends_with(":task-7")).count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_continues_after_a_restart() {
    let provider = provider();
    let shared = tempfile::tempdir().unwrap();
    let location = Location::file(shared.path().join("foreword.db"));
    let mut token = None;
    for answers in 0..2 {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("{}{}", crate::test_app::CONFIG, config(&provider));
        std::fs::write(folder.path().join("foreword.yaml"), text).unwrap();
        let app = TestApp::open(folder, &location, &[]).await;
        let token = token.get_or_insert_with(|| app.alice.clone());
        assert_eq!(ask(&app, token, &body(&clock(), &messages(answers))).await, 200);
        let (store, _folder) = ended(app).await;
        let report = report(&store).await;
        assert_eq!(only(&report).misses.len(), answers);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clock_is_found_in_single_turn_requests() {
    let provider = provider();
    let app = TestApp::with(&config(&provider)).await;
    for question in 0..2 {
        let message = json!({ "role": "user", "content": format!("something else {question}") });
        assert_eq!(ask(&app, &app.alice, &body(&clock(), &[message])).await, 200);
    }
    let (store, _folder) = ended(app).await;
    let report = report(&store).await;
    let misses: Vec<&Miss> = report.conversations.iter().flat_map(|talk| &talk.misses).collect();
    let [miss] = misses.as_slice() else { panic!("{report:?}") };
    assert_eq!(
        (miss.text("cause"), miss.text("compared_with")),
        (Some("clock"), Some("another conversation"))
    );
    assert_eq!(report.conversations.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn openai_usage_is_counted_the_same_way() {
    let usage = Usage { input: 2_000, output: 7, cache_read: 0, ..Usage::default() };
    let provider =
        FakeProvider::start(Script::answering(move |_| Reply::text("yes").whole().usage(usage))).unwrap();
    let app = TestApp::with(&config(&provider)).await;
    for number in 0..2 {
        let mut all = vec![
            json!({ "role": "system", "content": system(&clock()) }),
            json!({ "role": "user", "content": "hi" }),
        ];
        if number == 1 {
            all.extend([
                json!({ "role": "assistant", "content": "yes" }),
                json!({ "role": "user", "content": "why?" }),
            ]);
        }
        let body = json!({ "model": "gpt-5", "messages": all });
        assert_eq!(app.send("POST", "/openai/v1/chat/completions", &app.alice, &body).await.0, 200);
    }
    let (store, _folder) = ended(app).await;
    let report = report(&store).await;
    let talk = only(&report);
    assert_eq!(talk.misses.len(), 1, "{report:?}");
    assert_eq!(
        (talk.misses[0].text("cause"), talk.misses[0].text("section")),
        (Some("clock"), Some("system:0"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_do_not_answer_in_proxied_conversations() {
    let app = TestApp::start().await;
    let id = ConversationId::new("proxy:tok-1:task").unwrap();
    let (conversation, text) = (id.clone(), "hello".to_owned());
    let inbound = Inbound { conversation, origin: TurnOrigin::default(), text, key: None };
    let refused = app.agent.send(inbound).await;
    assert!(matches!(refused, Err(AgentError::ProxiedConversation(found)) if found == id));
    app.stop().await;
}
