//! `foreword serve` as a service: graceful shutdown, and a bridge as client.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use foreword_core::api_token::{Scope, TokenLimits};
use foreword_server::auth::credential::Credential;
use foreword_store::location::Location;
use foreword_store::store::Store;
use foreword_store::tokens::NewToken;
use serde_json::{Value, json};

use crate::program::{Home, PEOPLE};

/// A server that runs until it is stopped.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// Its output, line by line.
    says: mpsc::Receiver<String>,
}

impl Serving {
    pub(crate) fn start(home: &Home, environment: &[(&str, &str)]) -> Self {
        let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.envs(environment.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, says) = mpsc::channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut serving = Self { child, address: String::new(), says };
        let line = serving.wait_for("listening on");
        serving.address = line.rsplit_once("http://").unwrap().1.trim().to_owned();
        serving.wait_for("Ctrl-C stops");
        serving
    }

    pub(crate) fn wait_for(&self, words: &str) -> String {
        loop {
            let line = self.says.recv_timeout(Duration::from_secs(30)).expect(words);
            if line.contains(words) {
                return line;
            }
        }
    }

    pub(crate) fn tell(&self, signal: &str) {
        let killed = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
    }

    /// The status and JSON body of a POST.
    pub(crate) fn post(&self, path: &str, token: &str, body: &Value) -> (u16, Value) {
        self.asked(&format!("POST {path}"), token, &body.to_string())
    }

    /// The status and JSON body of a GET.
    pub(crate) fn get(&self, path: &str, token: &str) -> (u16, Value) {
        self.asked(&format!("GET {path}"), token, "")
    }

    /// The body of a GET that is not JSON.
    pub(crate) fn text(&self, path: &str, token: &str) -> String {
        self.answer(&format!("GET {path}"), token, "").split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn asked(&self, what: &str, token: &str, body: &str) -> (u16, Value) {
        request(&self.address, what, token, body)
    }

    fn answer(&self, what: &str, token: &str, body: &str) -> String {
        answer(&self.address, what, token, body)
    }
}

/// The status and JSON body of a request to the server at `address`, for other threads.
pub(crate) fn request(address: &str, what: &str, token: &str, body: &str) -> (u16, Value) {
    let answer = answer(address, what, token, body);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap())
}

fn answer(address: &str, what: &str, token: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "{what} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn store<T>(home: &Home, with: impl AsyncFnOnce(Store) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let location = Location::file(home.path().join(".foreword/foreword.db"));
        with(Store::open(&location, jiff::Timestamp::now().into()).await.unwrap()).await
    })
}

/// A token of a bridge.
fn token(home: &Home) -> String {
    let credential = Credential::from_random([9; 32]);
    let new = NewToken {
        id: "tok-bridge".parse().unwrap(),
        hash: credential.hash(),
        name: "bridge".to_owned(),
        user: "alice".to_owned(),
        scopes: [Scope::Chat, Scope::Assert].into(),
        mode: None,
        created_at: jiff::Timestamp::now().into(),
        expires_at: None,
        limits: TokenLimits::default(),
    };
    store(home, async |store| store.add_token(new).await.unwrap());
    credential.reveal().to_owned()
}

fn message(text: &str, key: &str) -> Value {
    json!({ "channel": "signal:bob", "sender": "bob", "text": text, "idempotencyKey": key })
}

/// The agent's messages in a conversation.
fn answers(home: &Home, conversation: &Value) -> Vec<String> {
    let id = conversation.as_str().unwrap().parse().unwrap();
    let history = store(home, async |store| store.history(&id).await.unwrap());
    let texts = history.messages.iter().filter(|message| message.message.role.as_str() == "assistant");
    texts.map(|message| format!("{:?}", message.message.content)).collect()
}

const PATH: &str = "/api/v1/channels/signal/messages";

#[test]
fn shutdown_finishes_running_turn_and_leaves_the_rest() {
    let home = Home::with(&[(
        "foreword.yaml",
        &format!("agent: {{ model: offline/echo }}\nserver: {{ drain_seconds: 6 }}\n{PEOPLE}"),
    )]);
    let token = token(&home);
    let mut serving = Serving::start(&home, &[]);
    let (status, first) = serving.post(PATH, &token, &message("!wait 2s\n!say one", "m-1"));
    assert_eq!(status, 202, "{first}");
    let other =
        json!({ "channel": "signal:carol", "sender": "carol", "text": "!hang", "idempotencyKey": "m-2" });
    let (_, hanging) = serving.post(PATH, &token, &other);
    serving.tell("-TERM");
    let ended = serving.child.wait().unwrap();
    assert_eq!(ended.code(), Some(0));
    assert!(answers(&home, &first["conversation"])[0].contains("one"));
    // The other message is not lost: the next process resumes its turn.
    assert!(answers(&home, &hanging["conversation"]).is_empty());
    // Its lease expires.
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(60);
    let unfinished = store(&home, async |store| {
        let pending = store.conversations_with_pending(10).await.unwrap().len();
        pending + store.unfinished_turns(later.into()).await.unwrap().len()
    });
    assert_eq!(unfinished, 1);
}

#[test]
fn second_signal_stops_at_once() {
    let home = Home::with(&[(
        "foreword.yaml",
        &format!("agent: {{ model: offline/echo }}\nserver: {{ drain_seconds: 3600 }}\n{PEOPLE}"),
    )]);
    let token = token(&home);
    let mut serving = Serving::start(&home, &[]);
    serving.post(PATH, &token, &message("!hang", "m-1"));
    serving.tell("-TERM");
    serving.wait_for("stopping");
    serving.tell("-INT");
    serving.wait_for("stopping at once");
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
}

#[test]
fn bridge_example_works_as_documented() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "agent: {{ model: offline/echo }}\nusers:\n  - {{ name: alice, trust: full, match: [\"demo:alice\"] }}\n\
         server: {{ channels: {{ demo: {{ webhook: \"http://127.0.0.1:{free}/\", secret_env: BRIDGE_SECRET }} }} }}\n"
    );
    let home = Home::with(&[("foreword.yaml", &config)]);
    let token = token(&home);
    let serving = Serving::start(&home, &[("BRIDGE_SECRET", "hush")]);
    let bridge = |lines: &str| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/bridge/bridge.py");
        let mut child = Command::new("python3")
            .arg(script)
            .env("FOREWORD_URL", format!("http://{}", serving.address))
            .env("FOREWORD_TOKEN", &token)
            .env("BRIDGE_SECRET", "hush")
            .env("BRIDGE_PORT", free.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let lines = "alice: !say The ferry leaves at noon.\nmallory: !say Who am I?\n";
    assert_eq!(
        bridge(lines),
        "<- alice: !say The ferry leaves at noon.\n-> demo:alice: The ferry leaves at noon.\n\
         <- mallory: !say Who am I?\n-> demo:mallory: Who am I?\n"
    );
    assert_eq!(
        bridge(lines),
        "<- alice: !say The ferry leaves at noon. (seen before)\n<- mallory: !say Who am I? (seen before)\n"
    );
}
