//! Clients generated from the OpenAPI document, used against a running server: `scripts/generated-clients.sh` installs
//! the generators. The client programs are in `tests/generated`.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::test_app::TestApp;

fn installed() -> PathBuf {
    std::env::var_os("FOREWORD_TEST_GENERATED_CLIENTS")
        .expect("run this by scripts/generated-clients.sh")
        .into()
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generated").join(name)
}

/// Runs a command, which must succeed, and returns its output.
async fn run(command: &mut Command) -> String {
    let output = command.output().await.unwrap();
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{printed}\n{errors}");
    printed.into_owned()
}

/// A server, and a directory with its document.
async fn described() -> (TestApp, tempfile::TempDir) {
    let app = TestApp::start().await;
    let (_, document) = app.get("/openapi.json", &app.alice).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("openapi.json"), document.to_string()).unwrap();
    (app, folder)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "scripts/generated-clients.sh installs what it needs"]
async fn generated_python_client_talks_to_a_server() {
    let (app, folder) = described().await;
    let bin = installed().join("python/bin");
    run(Command::new(bin.join("openapi-spec-validator")).arg("openapi.json").current_dir(&folder)).await;
    // The generator does not support images.
    let settings = "content_type_overrides: { image/svg+xml: application/octet-stream }\n";
    std::fs::write(folder.path().join("settings.yaml"), settings).unwrap();
    let mut generate = Command::new(bin.join("openapi-python-client"));
    generate.args(["generate", "--path", "openapi.json", "--output-path", "foreword", "--meta", "none"]);
    generate.args(["--config", "settings.yaml", "--fail-on-warning"]).current_dir(&folder);
    // The generator formats its output with ruff.
    let path = std::env::join_paths(
        [bin.clone()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    run(generate.env("PATH", path.unwrap())).await;
    let mut client = Command::new(bin.join("python"));
    client.arg(source("python_client.py")).env("PYTHONPATH", folder.path());
    client.env("BASE_URL", &app.url).env("TOKEN", &app.alice);
    assert_eq!(run(&mut client).await, "plain requests, server-sent events, WebSocket\n");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "scripts/generated-clients.sh installs what it needs"]
async fn generated_typescript_client_talks_to_a_server() {
    let (app, folder) = described().await;
    let modules = installed().join("npm/node_modules");
    std::os::unix::fs::symlink(&modules, folder.path().join("node_modules")).unwrap();
    std::fs::write(folder.path().join("package.json"), r#"{"type":"module"}"#).unwrap();
    std::fs::copy(source("typescript_client.ts"), folder.path().join("client.ts")).unwrap();
    let mut generate = Command::new(modules.join(".bin/openapi-typescript"));
    generate.args([
        "openapi.json",
        "--output",
        "schema.d.ts",
        "--root-types",
        "--root-types-no-schema-prefix",
    ]);
    run(generate.current_dir(&folder)).await;
    let mut compile = Command::new(modules.join(".bin/tsc"));
    compile.args(["--strict", "--exactOptionalPropertyTypes", "--target", "es2022", "--module", "nodenext"]);
    compile.args(["--skipLibCheck", "--outDir", "built", "client.ts"]);
    run(compile.current_dir(&folder)).await;
    let mut client = Command::new("node");
    client.arg("built/client.js").current_dir(&folder);
    client.env("BASE_URL", &app.url).env("TOKEN", &app.alice);
    assert_eq!(run(&mut client).await, "plain requests, server-sent events, WebSocket\n");
    app.stop().await;
}
