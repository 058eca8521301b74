//! `foreword mcp`, started by the official MCP client.

use std::collections::BTreeSet;

use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};

use crate::program::Home;

type Client = RunningService<RoleClient, ()>;

async fn start(home: &Home, args: &[&str], token: Option<&str>) -> Client {
    let mut command = home.command(&[&["mcp"], args].concat());
    command.envs(token.map(|token| ("FOREWORD_TOKEN", token)));
    let child = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
    ().serve(child).await.unwrap()
}

async fn names(client: &Client) -> BTreeSet<String> {
    client.list_all_tools().await.unwrap().into_iter().map(|tool| tool.name.to_string()).collect()
}

async fn call(client: &Client, tool: &str, arguments: Value) -> String {
    let arguments = arguments.as_object().unwrap().clone();
    let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let result = client.call_tool(request).await.unwrap();
    result.content.iter().map(|block| block.as_text().unwrap().text.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_permissions_follow_the_user() {
    let home = Home::made_for("gateway");
    let alice = start(&home, &[], None).await;
    assert_eq!(alice.peer_info().unwrap().server_info.clone().unwrap().name, "foreword");
    assert!(names(&alice).await.contains("prompt_explain"));
    let index = call(&alice, "memory_index", json!({})).await;
    assert!(index.contains("private/people.md ("), "{index}");
    let bob = start(&home, &["--user", "bob"], None).await;
    assert!(!names(&bob).await.contains("prompt_explain"));
    let index = call(&bob, "memory_index", json!({})).await;
    assert!(index.contains("shared/recent.md (") && !index.contains("private"), "{index}");
    bob.cancel().await.unwrap();
    let kept = call(
        &alice,
        "memory_write",
        json!({ "store": "shared", "title": "Hedge", "text": "Cut it in June." }),
    );
    assert!(kept.await.starts_with("Stored as shared/"));
    alice.cancel().await.unwrap();
    // The log has the events and memory has the note.
    assert!(home.succeed(&["memory", "search", "hedge june"]).contains("Cut it in June."));
    let logged = home.succeed(&["logs", "--type", "memory_write"]);
    assert!(logged.contains("memory_write") && logged.contains("alice"), "{logged}");
}

#[tokio::test(flavor = "multi_thread")]
async fn environment_token_sets_user_and_permissions() {
    let home = Home::made_for("gateway");
    let token = home.succeed(&["token", "create", "--user", "carol", "--scope", "chat"]);
    let carol = start(&home, &[], Some(token.trim())).await;
    let expected = ["memory_get", "memory_index", "memory_search", "memory_write", "prompt_build"];
    assert_eq!(names(&carol).await, expected.map(str::to_owned).into());
    assert!(!call(&carol, "memory_index", json!({})).await.contains("shared/"));
    carol.cancel().await.unwrap();
    let other =
        home.command(&["mcp", "--user", "alice"]).env("FOREWORD_TOKEN", token.trim()).output().unwrap();
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(other.status.code() == Some(2) && said.contains("belongs to `carol`"), "{said}");
    let mut wrong = home.command(&["mcp"]);
    let wrong = wrong.env("FOREWORD_TOKEN", "fwd_nothing").output().unwrap();
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        wrong.status.code() == Some(1)
            && said.contains("invalid, expired or revoked token")
            && wrong.stdout.is_empty(),
        "{said}"
    );
}

#[test]
fn stdout_carries_only_the_protocol() {
    let home = Home::made_for("gateway");
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    } });
    let ran = home.run_with_input(&["mcp"], format!("{hello}\n").as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["result"]["serverInfo"]["name"]), (1, &json!("foreword")));
    let nothing = home.run_with_input(&["mcp"], b"");
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""), "{}", nothing.stderr);
    let refused = home.refused(2, &["mcp", "--user", "bbo"]);
    assert!(refused.contains("did you mean `bob`?"), "{refused}");
}
