//! Two nodes on one database: two processes, one of which is killed during an answer.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use crate::program::{Home, PEOPLE};
use crate::server_process::Serving;
use crate::stored_data::postgres_database;

/// Longer than the lease of a dead node (30 s) plus the interval at which the other node checks (15 s).
const TIMEOUT: Duration = Duration::from_secs(60);

fn connected(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

/// A client that reads a turn until its connection breaks.
trait Reader {
    /// The next item; `None` if the connection is broken.
    fn heard(&mut self) -> Option<Value>;

    /// All items up to the end of a turn, or until the connection breaks.
    fn rest(&mut self) -> Vec<Value> {
        let mut items: Vec<Value> = Vec::new();
        while items.last().is_none_or(|item| item["type"] != "turn_end") {
            match self.heard() {
                Some(item) => items.push(item),
                None => break,
            }
        }
        items
    }
}

/// A web page, over WebSocket.
struct Page(WebSocket<TcpStream>);

impl Page {
    fn open(node: &Serving, token: &str) -> Self {
        let mut request = format!("ws://{}/ws", node.address).into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        Self(client(request, connected(&node.address)).unwrap().0)
    }

    /// Sends a request and returns the reply.
    fn ask(&mut self, what: &Value) -> Value {
        self.0.send(Message::text(what.to_string())).unwrap();
        self.heard().expect("closed")
    }
}

impl Reader for Page {
    fn heard(&mut self) -> Option<Value> {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

/// A client that reads server-sent events.
struct Events(BufReader<TcpStream>);

impl Events {
    /// Reads the items after number `after`.
    fn open(node: &Serving, token: &str, session: &str, after: u64) -> Self {
        let mut stream = connected(&node.address);
        // HTTP/1.0 has no chunked encoding: the body contains only events.
        let head = format!(
            "GET /api/v1/conversations/{session}/stream HTTP/1.0\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
             accept: text/event-stream\r\nlast-event-id: {after}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut events = Self(BufReader::new(stream));
        assert!(events.line().unwrap().contains(" 200 "));
        while events.line().unwrap() != "\r\n" {}
        events
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).ok()?;
        // An incomplete line was being written when the node died.
        (read > 0 && line.ends_with('\n')).then_some(line)
    }
}

impl Reader for Events {
    fn heard(&mut self) -> Option<Value> {
        loop {
            if let Some(data) = self.line()?.strip_prefix("data:") {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }
}

/// The number of the last item.
fn last(items: &[Value]) -> u64 {
    items.last().and_then(|item| item["seq"].as_u64()).unwrap()
}

/// The text of a turn as a client assembles it: a turn that resumes after an interruption starts over.
fn answer_text(items: &[Value]) -> String {
    let begun = items.iter().rposition(|item| item["type"] == "turn_start").unwrap();
    let said = items[begun..].iter().filter(|item| item["type"] == "text_delta");
    said.filter_map(|item| item["text"].as_str()).collect()
}

fn kinds(items: &[Value], kind: &str) -> usize {
    items.iter().filter(|item| item["type"] == kind).count()
}

/// The stored messages of a conversation.
fn messages(node: &Serving, token: &str, session: &str) -> Vec<(String, String)> {
    let (status, page) = node.get(&format!("/api/v1/conversations/{session}/messages"), token);
    assert_eq!(status, 200, "{page}");
    let said = |item: &Value| {
        let texts = item["content"].as_array().unwrap().iter().filter_map(|block| block["text"].as_str());
        (item["role"].as_str().unwrap().to_owned(), texts.collect())
    };
    page["items"].as_array().unwrap().iter().map(said).collect()
}

/// Sends a message to a node and kills the node during the answer. Returns the items a page and a program have seen.
fn killed_in_the_middle(mut node: Serving, token: &str) -> (String, Vec<Value>, Vec<Value>) {
    let mut page = Page::open(&node, token);
    let accepted = page.ask(&json!({ "type": "message", "text": "!slow 20ms\n!long 100" }));
    let session = accepted["sessionId"].as_str().unwrap_or_else(|| panic!("{accepted}")).to_owned();
    let mut events = Events::open(&node, token, &session, 0);
    let mut seen: Vec<Value> = Vec::new();
    while kinds(&seen, "text_delta") < 10 {
        seen.push(page.heard().unwrap());
    }
    // `kill -9`: no graceful shutdown.
    node.child.kill().unwrap();
    node.child.wait().unwrap();
    seen.extend(page.rest());
    let read = events.rest();
    assert_eq!((kinds(&seen, "turn_end"), kinds(&read, "turn_end")), (0, 0), "it was too fast to be killed");
    (session, seen, read)
}

/// Takes up to 50 seconds, most of it until the lease of the dead node expires.
#[test]
fn clients_of_a_killed_node_resume_at_another() {
    let Some(url) = postgres_database("serve_nodes_killed") else { return };
    let config = format!("agent: {{ model: offline/echo }}\nstore: {{ url: \"{url}\" }}\n{PEOPLE}");
    let [home, elsewhere] = [(); 2].map(|()| Home::with(&[("foreword.yaml", &config)]));
    let made = home.json(&["--json", "token", "create", "--user", "alice", "--scope", "chat"]);
    let token = made["token"].as_str().unwrap();
    let (dies, stays) = (Serving::start(&home, &[]), Serving::start(&elsewhere, &[]));
    let (session, mut seen, mut read) = killed_in_the_middle(dies, token);

    let mut page = Page::open(&stays, token);
    let reply = page.ask(&json!({ "type": "subscribe", "sessionId": session, "after": last(&seen) }));
    assert_eq!(reply["type"], "subscribed", "{reply}");
    let mut events = Events::open(&stays, token, &session, last(&read));
    seen.extend(page.rest());
    read.extend(events.rest());
    let numbers: Vec<u64> = seen.iter().map(|item| item["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=seen.len() as u64).collect::<Vec<_>>());
    assert_eq!(seen, read);
    let end = seen.last().unwrap();
    assert_eq!((&end["type"], &end["outcome"]), (&json!("turn_end"), &json!("done")), "{end}");
    assert_eq!(seen.iter().filter(|item| item["resumed"] == true).count(), 1, "{seen:?}");

    // The message was answered once and the conversation continues, for clients of the killed node too.
    page.ask(&json!({ "type": "message", "sessionId": session, "text": "!say And on it goes." }));
    let next = page.rest();
    assert_eq!(
        (answer_text(&next), next[0]["seq"].as_u64()),
        ("And on it goes.".to_owned(), Some(last(&seen) + 1))
    );
    let again = Serving::start(&home, &[]);
    let mut events = Events::open(&again, token, &session, 0);
    assert_eq!([events.rest(), events.rest()], [seen.clone(), next]);
    let kept = messages(&again, token, &session);
    let answers: Vec<&String> =
        kept.iter().filter(|said| said.0 == "assistant").map(|said| &said.1).collect();
    assert_eq!(answers, [&answer_text(&seen), "And on it goes."]);
    assert_eq!(kept.len(), 4, "{kept:?}");
}
