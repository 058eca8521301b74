//! The target of requests: the upstream itself, or a gateway in front of it.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::process::Process;
use super::report::Way;
use super::upstream::Upstream;
use crate::Found;
use crate::cold_start::program;
use crate::sample::{Sample, Scale};

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
    _sample: Sample,
}

impl Foreword {
    pub(crate) fn start(upstream: &Upstream) -> Found<Self> {
        let (program, sample) = (program()?, Sample::write(Scale::BASE)?);
        let config = sample.path().join("foreword.yaml");
        let written = std::fs::read_to_string(&config).unwrap_or_default();
        let more = format!(
            "providers: {{ openai: {{ base_url: \"http://{}/v1\", api_key: upstream-key }} }}\n\
             server: {{ limits: {{ requests_per_minute: 100000000, concurrent_turns: 100000 }} }}\n",
            upstream.address
        );
        std::fs::write(&config, format!("{written}\n{more}"))?;
        let token = |mode: &str| -> Found<String> {
            let mut create = Command::new(&program);
            create.arg("--workspace").arg(sample.path());
            create.args(["token", "create", "--name", mode, "--scope", "chat,observe", "--mode", mode]);
            let made = create.stderr(Stdio::null()).output()?;
            let token = String::from_utf8(made.stdout)?.trim().to_owned();
            if made.status.success() { Ok(token) } else { Err("no token could be made".into()) }
        };
        let (observe, prepend) = (token("observe")?, token("prepend")?);
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
            _sample: sample,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.observe.address
    }
}
