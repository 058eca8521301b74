//! A missing configuration or workspace: nothing is stored or executed with default settings.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{Home, PEOPLE, Ran};
use crate::server_process::Serving;

const ADA: &str = "agent: { name: Ada, model: offline/echo }\ntools: { disabled: [bash] }\n";

/// A token with all scopes for the workspace of `home`.
pub(crate) fn token(home: &Home) -> String {
    let made = home.json(&[
        "--json",
        "token",
        "create",
        "--name",
        "test",
        "--user",
        "alice",
        "--scope",
        "chat,observe,admin",
    ]);
    made["token"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
}

/// Polls until `is_so`, since file watchers need time.
pub(crate) fn until(
    serving: &Serving,
    path: &str,
    token: &str,
    is_so: impl Fn(u16, &Value) -> bool,
) -> Value {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let (status, body) = serving.get(path, token);
        if is_so(status, &body) {
            return body;
        }
        assert!(Instant::now() < end, "{path}: {status} {body}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn codes(body: &Value) -> Vec<&str> {
    let problems = body["problems"].as_array().map(Vec::as_slice).unwrap_or_default();
    problems.iter().filter_map(|problem| problem["code"].as_str().or(problem.as_str())).collect()
}

#[test]
fn commands_that_store_or_execute_need_a_workspace() {
    let commands: [&[&str]; 9] = [
        &["chat", "hello"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["run"],
        &["tick"],
        &["mcp"],
        &["template", "set", "template.md"],
        &["memory", "write", "--store", "private", "--title", "Garden", "Tomatoes."],
        &["token", "create", "--name", "mine", "--scope", "chat"],
        &["inbox", "stage", "--from", "0xA11CE", "hello"],
    ];
    for command in commands {
        let home = Home::with(&[("template.md", "You are kind.")]);
        let refused = home.refused(1, command);
        assert!(refused.contains("is not a workspace"), "{command:?}: {refused}");
        assert!(refused.contains("foreword init") && refused.contains("--here"), "{command:?}: {refused}");
        assert_eq!(home.listing(), ["template.md"], "{command:?} made something");
    }
}

#[test]
fn read_only_commands_work_anywhere() {
    let home = Home::new();
    for command in [&["build"][..], &["explain"], &["check"], &["status"], &["token", "list"]] {
        home.succeed(command);
    }
    assert!(home.listing().is_empty());
}

#[test]
fn here_uses_the_directory_as_workspace() {
    let home = Home::new();
    home.succeed(&["--here", "chat", "hello"]);
    assert!(home.path().join(".foreword").is_dir());
    home.succeed(&["chat", "hello again"]);
}

#[test]
fn environment_workspace_override_warns_once() {
    let files = [("foreword.yaml", ADA), ("SOUL.md", "You are kind.")];
    let (home, other) = (Home::with(&files), Home::with(&files));
    let ran = |workspace: &std::path::Path| {
        Ran::of(home.command(&["build"]).env("FOREWORD_WORKSPACE", workspace).output().unwrap())
    };
    let overridden = ran(&other.path());
    assert_eq!(overridden.stderr.lines().count(), 1, "{}", overridden.stderr);
    assert!(overridden.stderr.contains("FOREWORD_WORKSPACE"), "{}", overridden.stderr);
    assert!(overridden.stderr.contains(other.path().to_str().unwrap()), "{}", overridden.stderr);
    assert_eq!(ran(&home.path()).stderr, "");
    assert_eq!(home.run(&["build"]).stderr, "");
}

#[test]
fn deleted_configuration_is_reported_and_the_old_one_kept() {
    let home = Home::with(&[("foreword.yaml", &format!("{ADA}{PEOPLE}"))]);
    let token = token(&home);
    let serving = Serving::start(&home, &[]);
    assert_eq!(serving.get("/readyz", ""), (200, json!({ "status": "ok" })));
    let yaml = fs::read(home.path().join("foreword.yaml")).unwrap();
    home.remove("foreword.yaml");
    let ready = until(&serving, "/readyz", "", |_, body| body["status"] == "degraded");
    assert_eq!(codes(&ready), ["config_missing"]);
    serving.wait_for("`foreword.yaml` is missing");
    let (_, status) = serving.get("/api/v1/status", &token);
    assert_eq!(codes(&status["server"]), ["config_missing"], "{status}");
    let (_, tools) = serving.get("/api/v1/tools", &token);
    assert!(!tools.to_string().contains("\"bash\""), "a disabled tool is back: {tools}");
    home.write("foreword.yaml", yaml);
    until(&serving, "/readyz", "", |_, body| body["status"] == "ok");
}

#[test]
fn emptied_configuration_leaves_the_last_one_in_force() {
    let home = Home::with(&[("foreword.yaml", &format!("{ADA}{PEOPLE}"))]);
    let token = token(&home);
    let serving = Serving::start(&home, &[]);
    let yaml = fs::read(home.path().join("foreword.yaml")).unwrap();
    for empty in ["", "# a comment\n"] {
        home.write("foreword.yaml", empty);
        let ready = until(&serving, "/readyz", "", |_, body| body["status"] == "degraded");
        assert_eq!(codes(&ready), ["config_empty"]);
        let (_, tools) = serving.get("/api/v1/tools", &token);
        assert!(!tools.to_string().contains("\"bash\""), "a disabled tool is back: {tools}");
        home.write("foreword.yaml", &yaml);
        until(&serving, "/readyz", "", |_, body| body["status"] == "ok");
    }
}

#[test]
fn lost_configuration_is_refused_by_new_processes() {
    let home = Home::with(&[("foreword.yaml", ADA)]);
    home.succeed(&["chat", "hello"]);
    home.remove("foreword.yaml");
    for command in [&["chat", "hello"][..], &["serve", "--listen", "127.0.0.1:0"], &["build"], &["mcp"]] {
        let refused = home.refused(3, command);
        assert!(
            refused.contains("`foreword.yaml` is missing") && refused.contains("write `{}`"),
            "{refused}"
        );
    }
    assert!(home.run(&["check"]).stdout.contains("`foreword.yaml` is missing"));
    home.write("foreword.yaml", "{}\n");
    home.succeed(&["chat", "hello"]);
}

#[test]
fn missing_workspace_refuses_every_message() {
    let home = Home::with(&[("foreword.yaml", &format!("{ADA}{PEOPLE}")), ("SOUL.md", "You are kind.")]);
    let store = home.outside().join("store.db");
    let environment = [("FOREWORD_STORE_URL", store.to_str().unwrap())];
    let serving = Serving::start(&home, &environment);
    let created = home
        .command(&[
            "--json",
            "token",
            "create",
            "--name",
            "test",
            "--user",
            "alice",
            "--scope",
            "chat,observe",
        ])
        .envs(environment)
        .output()
        .unwrap();
    let created: Value = serde_json::from_slice(&created.stdout).unwrap();
    let token = created["token"].as_str().unwrap();
    let (status, conversation) = serving.post("/api/v1/conversations", token, &json!({}));
    assert_eq!(status, 201, "{conversation}");
    let messages = format!("/api/v1/conversations/{}/messages", conversation["id"].as_str().unwrap());
    let say = || serving.post(&messages, token, &json!({ "text": "hello" }));
    assert_eq!(say().0, 200);
    let elsewhere = home.outside().join("elsewhere");
    fs::rename(home.path(), &elsewhere).unwrap();
    let (status, refused) = say();
    assert_eq!((status, &refused["code"]), (503, &json!("workspace_unavailable")), "{refused}");
    assert!(!refused.to_string().contains("home"), "where it was is for the owner: {refused}");
    let (status, ready) = serving.get("/readyz", "");
    assert_eq!((status, &ready["code"]), (503, &json!("workspace_unavailable")), "{ready}");
    let status = until(&serving, "/api/v1/status", token, |_, body| !codes(&body["server"]).is_empty());
    assert_eq!(codes(&status["server"]), ["workspace_unavailable"], "{status}");
    assert!(!home.path().exists(), "the path was made again");
    fs::rename(&elsewhere, home.path()).unwrap();
    until(&serving, "/readyz", "", |status, _| status == 200);
    assert_eq!(say().0, 200);
}
