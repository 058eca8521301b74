//! Third-party gateways, as installed by `scripts/gateways.sh`. Missing ones are reported.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::Found;
use crate::process::Process;
use crate::table::Table;
use crate::target::Target;
use crate::upstream::Upstream;

/// The startup timeout; Python imports take long.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(180);

/// The third-party gateways.
pub(crate) struct Peers {
    pub(crate) targets: Vec<Target>,
    _folder: tempfile::TempDir,
}

impl Peers {
    pub(crate) fn start(upstream: &Upstream, table: &mut Table) -> Found<Self> {
        let folder = tempfile::tempdir()?;
        let mut targets = Vec::new();
        match std::env::var_os("FOREWORD_BENCH_LITELLM") {
            Some(program) => targets.push(litellm(program.into(), upstream, &folder)?),
            None => table.note("LiteLLM is not here: `scripts/gateways.sh` brings it"),
        }
        match std::env::var_os("FOREWORD_BENCH_PORTKEY") {
            Some(script) => targets.push(portkey(script.into(), upstream)?),
            None => table.note("Portkey is not here: `scripts/gateways.sh` brings it"),
        }
        Ok(Self { targets, _folder: folder })
    }
}

fn litellm(program: PathBuf, upstream: &Upstream, folder: &tempfile::TempDir) -> Found<Target> {
    let config = folder.path().join("config.yaml");
    let text = format!(
        "model_list:\n  - model_name: gpt-4o\n    litellm_params: {{ model: openai/gpt-4o, api_base: \"http://{}/v1\", \
         api_key: none }}\nlitellm_settings: {{ num_retries: 0, telemetry: false }}\n",
        upstream.address
    );
    std::fs::write(&config, text)?;
    let command = |port: u16| {
        let mut gateway = Command::new(program);
        gateway.current_dir(folder.path()).env("LITELLM_MASTER_KEY", "sk-bench");
        gateway.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("LITELLM_LOG", "ERROR");
        gateway.arg("--config").arg(&config).args(["--host", "127.0.0.1", "--telemetry", "False", "--port"]);
        gateway.arg(port.to_string());
        gateway
    };
    let process = Arc::new(Process::start(command, STARTUP_TIMEOUT)?);
    let headers = "authorization: Bearer sk-bench\r\n".to_owned();
    Ok(Target::gateway("LiteLLM", process, "/v1/chat/completions", headers, true))
}

fn portkey(script: PathBuf, upstream: &Upstream) -> Found<Target> {
    let command = |port: u16| {
        let mut gateway = Command::new("node");
        gateway.arg(script).arg("--headless").arg(format!("--port={port}"));
        gateway
    };
    let process = Arc::new(Process::start(command, STARTUP_TIMEOUT)?);
    let headers = format!(
        "authorization: Bearer none\r\nx-portkey-provider: openai\r\nx-portkey-custom-host: http://{}/v1\r\n",
        upstream.address
    );
    // It responds to streaming requests with 500 on the Node version this was tried with.
    Ok(Target::gateway("Portkey", process, "/v1/chat/completions", headers, false))
}
