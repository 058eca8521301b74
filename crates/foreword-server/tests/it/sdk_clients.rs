//! Existing client libraries with a changed base URL: `scripts/sdk-clients.sh` installs them. The client programs are
//! in `tests/sdk`; each runs directly against the scripted provider and through the server in every mode.

use std::path::{Path, PathBuf};

use foreword_core::api_token::{ProxyMode, Scope};
use foreword_testkit::{FakeProvider, Received, Reply, Script};
use serde_json::json;
use tokio::process::Command;

use crate::proxy_observe::app_before;
use crate::test_app::TestApp;

/// A client, its base URL, and how to start it.
struct Client {
    program: PathBuf,
    script: &'static str,
    endpoint: &'static str,
    /// The path that the library expects after the base URL.
    straight: &'static str,
}

fn installed() -> PathBuf {
    std::env::var_os("FOREWORD_TEST_SDK_CLIENTS").expect("run this by scripts/sdk-clients.sh").into()
}

/// A scripted provider.
fn obedient() -> Script {
    let mut overloaded = false;
    Script::answering(move |request| {
        let said = request.conversation();
        let tried_before = request.header("x-stainless-retry-count").is_some_and(|count| count != "0");
        match () {
            () if said.contains("use the tool") && said.contains("sunny") => Reply::text("It is sunny."),
            () if said.contains("use the tool") => Reply::tool_call("weather", json!({ "city": "Oslo" })),
            () if said.contains("be refused") => Reply::status(400).message("no such thing"),
            () if said.contains("be limited always")
                || (said.contains("be limited once") && !tried_before) =>
            {
                Reply::status(429).header("retry-after", "0").message("slow down")
            }
            () if said.contains("be silent") => Reply::silence(),
            () if said.contains("be cut off") => Reply::cut_after("three words so"),
            () if said.contains("be overloaded once") && !overloaded => {
                overloaded = true;
                Reply::status(529)
            }
            () => {
                overloaded = false;
                Reply::text("Good morning.")
            }
        }
    })
}

impl Client {
    async fn run(&self, url: &str, key: &str, straight: bool) {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk");
        let mut command = Command::new(&self.program);
        command.arg(scripts.join(self.script)).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("BASE_URL", url).env("KEY", key).env("SDK", installed().join("npm/package.json"));
        if straight {
            command.env("STRAIGHT", "1");
        }
        let output = command.output().await.unwrap();
        let (said, complained) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{} at {url}:\n{said}\n{complained}", self.script);
        assert_eq!(said.lines().count(), if straight { 7 } else { 9 }, "{said}");
    }

    async fn check(&self) {
        let fake = FakeProvider::start(obedient()).unwrap();
        self.run(&format!("{}{}", fake.base_url(), self.straight), "sk-ant-straight", true).await;
        let straight = bodies(&fake.requests());
        for mode in [ProxyMode::Observe, ProxyMode::Prepend, ProxyMode::Replace] {
            let fake = FakeProvider::start(obedient()).unwrap();
            let app = furnished(&fake).await;
            let token = app.token("bob", &[Scope::Chat], Some(mode)).await;
            self.run(&format!("{}{}", app.url, self.endpoint), &token, false).await;
            let through = bodies(&fake.requests());
            match mode {
                ProxyMode::Observe => assert_eq!(through, straight, "the provider gets the client's bytes"),
                ProxyMode::Prepend | ProxyMode::Replace => {
                    assert_eq!(through.len(), straight.len());
                    assert!(through.iter().all(|body| body.contains("You are Ada, and kind.")));
                    let theirs = through.iter().any(|body| body.contains("You are a tester."));
                    assert_eq!(theirs, mode == ProxyMode::Prepend);
                }
            }
            app.stop().await;
        }
    }
}

async fn furnished(fake: &FakeProvider) -> TestApp {
    let app = app_before(fake, "").await;
    std::fs::write(app.folder.path().join("SOUL.md"), "You are Ada, and kind.").unwrap();
    app.workspace.refresh();
    app
}

/// The provider's requests, without those only sent through the server. The provider makes up the ids of calls.
fn bodies(requests: &[Received]) -> Vec<String> {
    requests
        .iter()
        .filter(|request| !request.conversation().contains("overloaded"))
        .map(Received::text)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the SDKs: scripts/sdk-clients.sh"]
async fn official_python_sdks_work_unchanged() {
    let program = installed().join("python/bin/python");
    let (script, endpoint, straight) = ("anthropic_client.py", "/anthropic", "");
    Client { program: program.clone(), script, endpoint, straight }.check().await;
    let (script, endpoint, straight) = ("openai_client.py", "/openai/v1", "/v1");
    Client { program, script, endpoint, straight }.check().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the SDKs: scripts/sdk-clients.sh"]
async fn official_node_sdks_work_unchanged() {
    let (script, endpoint, straight) = ("anthropic_client.mjs", "/anthropic", "");
    Client { program: "node".into(), script, endpoint, straight }.check().await;
    let (script, endpoint, straight) = ("openai_client.mjs", "/openai/v1", "/v1");
    Client { program: "node".into(), script, endpoint, straight }.check().await;
}

/// Runs `llm` with its own directory.
async fn llm(app: &TestApp, arguments: &[&str]) -> String {
    let folder = app.folder.path().join("llm");
    std::fs::create_dir_all(&folder).unwrap();
    let models = format!(
        "- model_id: through\n  model_name: gpt-5\n  api_base: \"{}/openai/v1\"\n  api_key_name: through\n",
        app.url
    );
    std::fs::write(folder.join("extra-openai-models.yaml"), models).unwrap();
    let mut command = Command::new(installed().join("llm/bin/llm"));
    command.args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("LLM_USER_PATH", &folder).env("HOME", app.folder.path());
    command.env("ANTHROPIC_BASE_URL", format!("{}/anthropic", app.url));
    let output = command.output().await.unwrap();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complained}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs llm: scripts/sdk-clients.sh"]
async fn llm_program_works_unchanged_in_every_mode() {
    for mode in [ProxyMode::Observe, ProxyMode::Prepend, ProxyMode::Replace] {
        let fake = FakeProvider::start(obedient()).unwrap();
        let app = furnished(&fake).await;
        let token = app.token("bob", &[Scope::Chat], Some(mode)).await;
        for model in ["through", "claude-sonnet-4.5"] {
            let key = ["-m", model, "--key", &token];
            let said =
                llm(&app, &[&key[..], &["-s", "You are a tester.", "say good morning"]].concat()).await;
            assert_eq!(said.trim(), "Good morning.", "{model} {mode}");
            let said = llm(&app, &[&key[..], &["-c", "--no-stream", "and again"]].concat()).await;
            assert_eq!(said.trim(), "Good morning.", "{model} {mode}");
            let last = fake.requests().pop().unwrap();
            assert!(
                last.conversation().contains("say good morning\nGood morning.\nand again"),
                "{}",
                last.text()
            );
            assert_eq!(last.text().contains("You are Ada, and kind."), mode != ProxyMode::Observe);
            assert_eq!(
                last.text().contains("You are a tester."),
                mode != ProxyMode::Replace,
                "{}",
                last.text()
            );
        }
        app.stop().await;
    }
}
