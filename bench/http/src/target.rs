//! The target of requests: the upstream itself, or a gateway in front of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::Found;
use crate::process::{MemoryPart, Process};
use crate::program::program;
use crate::report::Way;
use crate::sample::{Sample, Scale};
use crate::upstream::Upstream;

/// The target of requests.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    path: &'static str,
    headers: String,
    /// Whether it supports streaming.
    streams: bool,
    process: Option<Arc<Process>>,
}

impl Target {
    /// A direct connection to the upstream.
    pub(crate) fn direct(upstream: &Upstream) -> Self {
        let (name, address, path) = ("no gateway", upstream.address, "/v1/chat/completions");
        Self { name, address, path, headers: String::new(), streams: true, process: None }
    }

    pub(crate) fn gateway(
        name: &'static str,
        process: Arc<Process>,
        path: &'static str,
        headers: String,
        streams: bool,
    ) -> Self {
        Self { name, address: process.address, path, headers, streams, process: Some(process) }
    }

    pub(crate) fn can(&self, way: Way) -> bool {
        self.streams || !way.is_stream()
    }

    /// What the memory consists of, in kilobytes.
    pub(crate) fn memory_parts(&self) -> BTreeMap<MemoryPart, u64> {
        self.process.as_ref().map(|process| process.memory_parts()).unwrap_or_default()
    }

    /// A complete HTTP request with this body.
    pub(crate) fn request(&self, body: &str) -> Vec<u8> {
        let Self { path, headers, address, .. } = self;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body.as_bytes()].concat()
    }

    pub(crate) fn processor_time(&self) -> Duration {
        self.process.as_ref().map(|process| process.processor_time()).unwrap_or_default()
    }

    pub(crate) fn memory(&self) -> f64 {
        self.process.as_ref().map(|process| process.memory()).unwrap_or_default()
    }

    pub(crate) fn peak_memory(&self) -> f64 {
        self.process.as_ref().map(|process| process.peak_memory()).unwrap_or_default()
    }
}

/// `foreword serve` on its own workspace, with a token for each mode.
pub(crate) struct Foreword {
    pub(crate) observe: Target,
    pub(crate) prepend: Target,
    pub(crate) token: String,
    /// A token of the owner for the agent.
    pub(crate) owner: String,
    _sample: Sample,
}

impl Foreword {
    /// Starts it on the sample workspace.
    pub(crate) fn start(upstream: &Upstream) -> Found<Self> {
        Self::start_with(upstream, Scale::BASE)
    }

    /// Starts it on a workspace of another size.
    pub(crate) fn start_with(upstream: &Upstream, scale: Scale) -> Found<Self> {
        let (program, sample) = (program()?, Sample::write(scale)?);
        let config = sample.path().join("foreword.yaml");
        let written = std::fs::read_to_string(&config).unwrap_or_default();
        let more = format!(
            "providers: {{ openai: {{ base_url: \"http://{}/v1\", api_key: upstream-key }} }}\n\
             server: {{ limits: {{ requests_per_minute: 100000000, concurrent_turns: 100000 }} }}\n",
            upstream.address
        );
        std::fs::write(&config, format!("{written}\n{more}"))?;
        let token = |name: &str, more: &[&str]| create_token(&program, sample.path(), name, more);
        let observe = token("observe", &["--mode", "observe"])?;
        let prepend = token("prepend", &["--mode", "prepend"])?;
        let owner = token("owner", &["--user", "alice"])?;
        let command = |port: u16| {
            let mut serve = Command::new(&program);
            serve.arg("--workspace").arg(sample.path()).args(["serve", "--listen"]);
            serve.arg(format!("127.0.0.1:{port}"));
            serve
        };
        let process = Arc::new(Process::start(command, Duration::from_secs(30))?);
        let target = |name, token: &str| {
            let headers = format!("authorization: Bearer {token}\r\n");
            Target::gateway(name, Arc::clone(&process), "/openai/v1/chat/completions", headers, true)
        };
        Ok(Self {
            observe: target("foreword, observe", &observe),
            prepend: target("foreword, prepend", &prepend),
            token: observe,
            owner,
            _sample: sample,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.observe.address
    }
}

fn create_token(program: &Path, workspace: &Path, name: &str, more: &[&str]) -> Found<String> {
    let mut create = Command::new(program);
    create.arg("--workspace").arg(workspace);
    create.args(["token", "create", "--name", name, "--scope", "chat,observe"]).args(more);
    let created = create.stderr(Stdio::null()).output()?;
    let token = String::from_utf8(created.stdout)?.trim().to_owned();
    if created.status.success() { Ok(token) } else { Err("no token could be created".into()) }
}
