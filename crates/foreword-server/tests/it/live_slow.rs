use foreword_store::events::{EventFilter, EventPage};
use foreword_testkit::eventually;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, client_async};

use futures_util::StreamExt as _;

use crate::live_page::{Page, numbers, streamed_text};
use crate::test_app::TestApp;

/// More text than the buffers of a connection hold.
fn long() -> String {
    let words: Vec<String> = (0..250).map(|number| format!("{number}{}", "x".repeat(3_500))).collect();
    format!("!say {}", words.join(" "))
}

/// A client with a tiny receive buffer.
async fn narrow(app: &TestApp) -> Page {
    let address = app.url.strip_prefix("http://").unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let stream = socket.connect(address.parse().unwrap()).await.unwrap();
    let mut request = format!("ws://{address}/ws").into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {}", app.alice).parse().unwrap());
    Page { socket: client_async(request, MaybeTlsStream::Plain(stream)).await.unwrap().0 }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_reader_delays_no_turn_and_learns_of_missed_events() {
    let app = TestApp::start().await;
    let mut quick = Page::open(&app, &app.alice).await;
    let session = quick.begin("!say First.").await;
    quick.until("turn_end").await;
    let mut slow = narrow(&app).await;
    slow.subscribe(&session, 0).await;
    slow.until("turn_end").await;
    let long = json!({ "type": "message", "sessionId": session, "text": long() });
    quick.send(&long).await;
    // One client sees all of it while the other reads nothing.
    let all = quick.until("turn_end").await;
    let items: Vec<Value> = slow.until("turn_end").await;
    assert_eq!(numbers(&items), numbers(&all));
    assert_eq!(streamed_text(&items), streamed_text(&all));
    let missed: Vec<&Value> = items.iter().filter(|item| item["type"] == "missed").collect();
    assert!(missed.iter().all(|missed| missed["catchUp"] == json!({ "by": "replay" })), "{missed:?}");
    assert!(!missed.is_empty(), "it kept up: the test is too small for this machine");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_client_is_disconnected_and_active_one_stays() {
    let app = TestApp::with("server: { ping_seconds: 1 }\n").await;
    let mut there = Page::open(&app, &app.alice).await;
    let gone = Page::open(&app, &app.bob).await;
    let reading = tokio::spawn(async move {
        let mut pings = 0;
        // A client that reads answers pings.
        while let Some(Ok(message)) = there.socket.next().await {
            pings += usize::from(matches!(message, Message::Ping(_)));
            if pings == 6 {
                return there;
            }
        }
        panic!("let go after {pings}");
    });
    let mut there = reading.await.unwrap();
    assert_eq!(there.ask(&json!({ "type": "ping" })).await["type"], "pong");
    let reasons = reasons(&app).await;
    assert_eq!(reasons, ["bob: silent"]);
    drop(gone);
    app.stop().await;
}

/// The reasons of disconnects.
async fn reasons(app: &TestApp) -> Vec<String> {
    app.events.flush().await.unwrap();
    let filter = EventFilter { event_type: Some("ws_disconnect".parse().unwrap()), ..EventFilter::default() };
    let events = app.store.events(&filter, &EventPage::newest(100)).await.unwrap();
    let reason_of = |event: &foreword_core::event::Event| {
        let reason = event.metadata.as_ref().unwrap()["reason"].as_str().unwrap().to_owned();
        format!("{}: {reason}", event.user_id.as_deref().unwrap())
    };
    events.iter().map(|stored| reason_of(&stored.event)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_never_reads_is_disconnected() {
    let app = TestApp::with("server: { ping_seconds: 1 }\n").await;
    let mut quick = Page::open(&app, &app.alice).await;
    let session = quick.begin("!say First.").await;
    quick.until("turn_end").await;
    let mut never = narrow(&app).await;
    never.subscribe(&session, 0).await;
    quick.send(&json!({ "type": "message", "sessionId": session, "text": long() })).await;
    quick.until("turn_end").await;
    eventually(async || {
        let _ = quick.ask(&json!({ "type": "ping" })).await;
        let reasons = reasons(&app).await;
        if reasons == ["alice: silent"] { Ok(()) } else { Err(reasons) }
    })
    .await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_server_notifies_clients_and_closes() {
    let app = TestApp::start().await;
    let mut page = Page::open(&app, &app.alice).await;
    let session = page.begin("!say Hello.").await;
    page.until("turn_end").await;
    let path = format!("/api/v1/conversations/{session}/stream");
    let events = app.request("GET", &path, &app.alice).send().await.unwrap();
    let stopping = tokio::spawn(app.stop());
    let status = page.next().await;
    assert_eq!((&status["type"], status["seq"].is_null()), (&json!("status"), true));
    match page.socket.next().await {
        Some(Ok(Message::Close(Some(frame)))) => assert_eq!(u16::from(frame.code), 1012),
        other => panic!("{other:?}"),
    }
    drop(page);
    assert!(events.text().await.unwrap().contains("event: status"));
    stopping.await.unwrap();
}

/// The resident memory of this process in kilobytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// A client that uses no memory of its own, and its connection.
async fn bare(app: &TestApp, session: &str) -> TcpStream {
    let mut stream = TcpStream::connect(app.url.strip_prefix("http://").unwrap()).await.unwrap();
    let head = format!(
        "GET /ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nauthorization: Bearer {}\r\n\r\n",
        app.alice
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let said = json!({ "type": "subscribe", "sessionId": session }).to_string();
    // A text frame with a zero mask.
    let frame = [&[0x81, 0x80 | u8::try_from(said.len()).unwrap(), 0, 0, 0, 0], said.as_bytes()].concat();
    stream.write_all(&frame).await.unwrap();
    let (mut got, mut piece) = (Vec::new(), [0; 512]);
    while !String::from_utf8_lossy(&got).contains("subscribed") {
        let count = stream.read(&mut piece).await.unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&got));
        got.extend_from_slice(&piece[..count]);
    }
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn thousand_idle_clients_need_under_forty_megabytes() {
    let app = TestApp::start().await;
    let mut page = Page::open(&app, &app.alice).await;
    let session = page.begin("!say Hello.").await;
    page.until("turn_end").await;
    let mut clients = vec![bare(&app, &session).await];
    let before = memory();
    for _ in 0..1_000 {
        clients.push(bare(&app, &session).await);
    }
    let grown = memory().saturating_sub(before);
    println!("{grown} kB for 1,000 clients");
    assert!(grown < 40_000, "{grown} kB");
    drop((clients, page));
    app.stop().await;
}
