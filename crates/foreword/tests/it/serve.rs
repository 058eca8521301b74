//! Starting a server: a safe first start, and clear errors.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;

use crate::program::Home;

/// A running server and its output so far.
pub(crate) struct Serving {
    child: Child,
    pub(crate) said: String,
    stderr: BufReader<ChildStderr>,
}

impl Serving {
    /// Waits until the server is running.
    pub(crate) fn start(command: Command) -> Self {
        Self::start_until(command, "is running")
    }

    /// Waits until the server prints `words`.
    pub(crate) fn start_until(mut command: Command, words: &str) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains(words) {
            assert!(stderr.read_line(&mut said).unwrap() > 0, "it ended: {said}");
        }
        Self { child, said, stderr }
    }

    fn address(&self) -> &str {
        let after = self.said.split("listening on http://").nth(1).unwrap();
        after.split_whitespace().next().unwrap()
    }

    pub(crate) fn token(&self) -> Option<&str> {
        let after = self.said.split("FOREWORD_TOKEN=").nth(1)?;
        after.split_whitespace().next()
    }

    /// The status of a GET.
    fn get(&self, path: &str, token: &str) -> String {
        self.answer(path, token).split(' ').nth(1).unwrap().to_owned()
    }

    /// The body of a GET with the token of this start.
    pub(crate) fn json(&self, path: &str) -> Value {
        let answer = self.answer(path, self.token().unwrap());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        serde_json::from_str(body).unwrap()
    }

    fn answer(&self, path: &str, token: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Stops the server with a signal; returns its standard output.
    pub(crate) fn stop(mut self) -> String {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        let (mut out, mut rest) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.stderr.read_to_string(&mut rest).unwrap();
        out
    }
}

fn everything_below(folder: &std::path::Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes.extend(everything_below(&path));
        } else {
            bytes.extend(std::fs::read(path).unwrap());
        }
    }
    bytes
}

#[test]
fn first_start_listens_on_loopback_and_shows_token_once() {
    let home = Home::new();
    let serving = Serving::start(home.command(&["--here", "serve", "--listen", "127.0.0.1:0"]));
    let token = serving.token().unwrap().to_owned();
    assert_eq!(serving.said.matches("fwd_").count(), 1, "{}", serving.said);
    assert!(serving.said.contains("Scopes chat, observe, admin, user owner"), "{}", serving.said);
    assert!(serving.said.contains("/anthropic\"") && serving.said.contains("/openai/v1\""));
    assert_eq!((serving.get("/metrics", &token), serving.get("/metrics", "")), ("200".into(), "401".into()));
    let stdout = serving.stop();
    // The token is neither in the log, nor in the store, nor in a file.
    let kept = everything_below(&home.path());
    assert!(!stdout.contains(&token) && !kept.windows(token.len()).any(|bytes| bytes == token.as_bytes()));
    let again = Serving::start(home.command(&["serve", "--listen", "127.0.0.1:0"]));
    assert_eq!(again.token(), None, "{}", again.said);
    assert_eq!(again.get("/metrics", &token), "200");
    again.stop();
    let yaml = home.json(&["--json", "token", "list"]);
    assert_eq!((&yaml["tokens"][0]["name"], yaml["tokens"].as_array().unwrap().len()), (&"first".into(), 1));
}

#[test]
fn port_in_use_is_an_error_without_token() {
    let home = Home::made_for("gateway");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = home.run(&["serve", "--listen", &address]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("can't listen on {address}")), "{}", ran.stderr);
    assert!(ran.stderr.contains("--listen 127.0.0.1:7778") && !ran.stderr.contains("fwd_"), "{}", ran.stderr);
    assert_eq!(home.json(&["--json", "token", "list"])["tokens"].as_array().unwrap().len(), 0);
}

#[test]
fn public_address_without_tls_warns() {
    let home = Home::made_for("gateway");
    let serving = Serving::start(home.command(&["serve", "--listen", "0.0.0.0:0"]));
    assert!(serving.said.contains("warning: other machines can reach 0.0.0.0:"), "{}", serving.said);
    serving.stop();
    let yaml = std::fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
    home.write("foreword.yaml", yaml + "\nserver: { public_url: \"https://agent.example.org\" }\n");
    let serving = Serving::start(home.command(&["serve", "--listen", "0.0.0.0:0"]));
    assert!(!serving.said.contains("warning:"), "{}", serving.said);
    assert!(serving.said.contains("listening on https://agent.example.org\n"), "{}", serving.said);
    serving.stop();
}

#[test]
fn demo_workspace_is_removed_at_exit() {
    let home = Home::new();
    let mut command = home.command(&["serve", "--demo", "--listen", "127.0.0.1:0"]);
    // The demo does not use the configured store: this one is unreachable.
    command.env("FOREWORD_STORE_URL", "postgres://nobody@127.0.0.1:1/none").env("TMPDIR", home.outside());
    let serving = Serving::start(command);
    assert!(
        serving.said.starts_with("Web page: http://127.0.0.1:"),
        "the link comes first: {}",
        serving.said
    );
    let folder = serving.said.split("demo workspace: ").nth(1).unwrap();
    let folder = folder.lines().next().unwrap().to_owned();
    assert!(serving.said.contains(&format!("foreword -w {folder} chat")), "{}", serving.said);
    let token = serving.token().unwrap().to_owned();
    assert_eq!(serving.get("/metrics", &token), "200");
    let prompt = home.succeed(&["-w", &folder, "build", "--user", "bob"]);
    assert!(!prompt.is_empty());
    serving.stop();
    assert!(!std::path::Path::new(&folder).exists() && home.listing().is_empty(), "{folder} is still there");
}

#[test]
fn demo_in_named_folder_is_kept() {
    let home = Home::new();
    let serving = Serving::start(home.command(&["-w", "try", "serve", "--demo", "--listen", "127.0.0.1:0"]));
    serving.stop();
    assert!(home.path().join("try/foreword.yaml").exists());
    let refused = home.refused(1, &["-w", "try", "serve", "--demo", "--listen", "127.0.0.1:0"]);
    assert!(refused.contains("already has") && refused.contains("omit --demo"), "{refused}");
}

#[test]
fn help_shows_a_quick_start() {
    let help = Home::new().succeed(&["serve", "--help"]);
    for words in ["--demo", "$FOREWORD_TOKEN", "/anthropic", "/openai/v1", "reverse proxy", "SIGTERM"] {
        assert!(help.contains(words), "{words}: {help}");
    }
}
