//! Real servers from package registries, neither of them written by us: `scripts/mcp-servers.sh` installs both and says
//! where.

use foreword_testkit::Reply;
use serde_json::json;

use crate::fixture::alice;
use crate::mcp_fixture::fixture;

fn installed(variable: &str) -> String {
    std::env::var(variable)
        .expect("run `scripts/mcp-servers.sh`, which installs the servers and runs these tests")
}

#[tokio::test]
#[ignore = "needs servers from PyPI and npm: run `scripts/mcp-servers.sh`"]
async fn pypi_time_server_works_in_a_turn() {
    let command = installed("FOREWORD_TEST_MCP_TIME");
    let arguments = json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let replies = [Reply::tool_call("time__convert_time", arguments), Reply::text("Nine in the evening.")];
    let server = format!(
        "    time: {{ command: {command:?}, args: [--local-timezone, UTC], start_timeout_ms: 60000 }}\n"
    );
    let fixture = fixture(replies, &[server]).await;
    let seen = fixture.say("c-1", alice(), "what is noon UTC in Tokyo?").await;
    let [(_, said, false)] = seen.results()[..] else {
        panic!("{:?} {:?}", seen.results(), fixture.report("time"))
    };
    assert!(said.contains("T21:00:00+09:00") && said.contains("+9.0h"), "{said}");
    let report = fixture.report("time");
    assert_eq!(report.tools, ["time__convert_time", "time__get_current_time"]);
    assert_eq!(report.warnings, Vec::<String>::new());
}

#[tokio::test]
#[ignore = "needs servers from PyPI and npm: run `scripts/mcp-servers.sh`"]
async fn npm_filesystem_server_works_in_a_turn() {
    let script = installed("FOREWORD_TEST_MCP_FILES");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    std::fs::write(path.join("note.txt"), "peonies\n").unwrap();
    let replies = [
        Reply::tool_call("files__read_text_file", json!({ "path": path.join("note.txt") })),
        Reply::tool_call("files__read_text_file", json!({ "path": "/etc/passwd" })),
        Reply::text("Peonies."),
    ];
    let server = format!(
        "    files: {{ command: node, args: [{script:?}, {path:?}], start_timeout_ms: 60000, tools: {{ write_file: {{ sensitive: true }} }} }}\n"
    );
    let fixture = fixture(replies, &[server]).await;
    let seen = fixture.say("c-1", alice(), "what does the note say?").await;
    let [(_, read, false), (_, refused, true)] = seen.results()[..] else {
        panic!("{:?} {:?}", seen.results(), fixture.report("files"))
    };
    assert!(read.contains("| peonies"), "{read}");
    assert!(
        refused.contains("the server `files` says that it failed") && !refused.contains("root:"),
        "{refused}"
    );
    let report = fixture.report("files");
    assert!(report.tools.len() > 10 && report.warnings.is_empty(), "{report:?}");
}
