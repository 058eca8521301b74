//! MCP servers for tests: a script with configurable faults, over stdio or HTTP.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use foreword_agent::mcp::{ServerReport, ServerState};
use foreword_core::provider::WireDialect;
use foreword_testkit::{Script, eventually};

use crate::fixture::Fixture;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_server.py");

/// The interpreter itself: what is on the PATH may be a script that finds one, and leaves its mark on the environment.
static PYTHON: LazyLock<String> = LazyLock::new(|| {
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let asked = asked.expect("these tests need `python3`");
    String::from_utf8(asked.stdout).unwrap().trim().to_owned()
});

/// The configuration of a server with these habits, called `fake`; `more` are more of its keys.
pub(crate) fn fake(habits: &[&str], more: &str) -> String {
    named("fake", habits, more)
}

pub(crate) fn named(name: &str, habits: &[&str], more: &str) -> String {
    let words: Vec<String> = [SCRIPT].iter().chain(habits).map(|word| format!("{word:?}")).collect();
    let more = if more.is_empty() { String::new() } else { format!(", {more}") };
    format!("    {name}: {{ command: {:?}, args: [{}]{more} }}\n", *PYTHON, words.join(", "))
}

/// An agent with these servers.
pub(crate) async fn fixture(script: impl Into<Script>, servers: &[String]) -> Fixture {
    let more = format!("tools:\n  mcp:\n{}", servers.concat());
    Fixture::with(script, WireDialect::Anthropic, &more).await
}

/// A server on a port of its own, which ends with the test.
pub(crate) struct HttpServer {
    process: Child,
    pub(crate) port: u16,
}

impl HttpServer {
    pub(crate) fn start(habits: &[&str]) -> Self {
        let mut process = Command::new(&*PYTHON)
            .arg(SCRIPT)
            .arg("--http")
            .args(habits)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { process, port: line.trim().parse().unwrap() }
    }

    /// The configuration that leads to it, under the name `fake`.
    pub(crate) fn config(&self, more: &str) -> String {
        let more = if more.is_empty() { String::new() } else { format!(", {more}") };
        format!("    fake: {{ url: \"http://127.0.0.1:{}/mcp\"{more} }}\n", self.port)
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Fixture {
    pub(crate) fn report(&self, server: &str) -> ServerReport {
        let reports = self.servers.reports();
        reports.into_iter().find(|report| report.name == server).expect("there is such a server")
    }

    /// Waits until a server is as it should be.
    pub(crate) async fn server_is(&self, server: &str, is: impl Fn(&ServerReport) -> bool) -> ServerReport {
        eventually(async || {
            let report = self.report(server);
            if is(&report) { Ok(report) } else { Err(report) }
        })
        .await
    }

    /// The tools of the server `fake` that the request at `at` told the model of.
    pub(crate) fn offered_tools(&self, at: usize) -> Vec<String> {
        let body = self.provider.requests()[at].json();
        let names =
            body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.contains("__")).collect()
    }
}

pub(crate) fn ready(report: &ServerReport) -> bool {
    report.state == ServerState::Ready
}

pub(crate) fn failing(report: &ServerReport) -> bool {
    matches!(report.state, ServerState::Failing { .. })
}
