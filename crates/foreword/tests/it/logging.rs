//! Seed 001, section 14: the contents of `.foreword/logs/foreword.log` and of standard output, and what appears in
//! neither.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::program::{Home, PEOPLE, Ran};

const LOG: &str = ".foreword/logs/foreword.log";

/// A workspace without delays between retries.
fn home(logging: &str) -> Home {
    let config = format!(
        "agent: {{ name: Ada }}\n{PEOPLE}retry: {{ max_retries: 3, base_delay_ms: 5, max_delay_ms: 20 }}\n{logging}"
    );
    Home::with(&[("foreword.yaml", &config), ("memory/social/people.md", "Carol: birthday 14 March.\n")])
}

fn say(home: &Home, words: &str) -> Ran {
    home.run(&["chat", "--conversation", "c-1", words])
}

/// The lines of a file, parsed as JSON.
fn lines_of(home: &Home, path: &str) -> Vec<Value> {
    let text = fs::read_to_string(home.path().join(path)).unwrap();
    assert!(text.ends_with('\n') && !text.contains("\n\n"), "{text}");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn log(home: &Home) -> Vec<Value> {
    lines_of(home, LOG)
}

fn named<'a>(log: &'a [Value], event: &str) -> Vec<&'a Value> {
    log.iter().filter(|line| line["event"] == event).collect()
}

#[test]
fn s14_1_and_s14_3_turns_are_logged_with_tokens() {
    let home = home("");
    for words in ["!say one", "!fail 401", "!say three"] {
        let ran = say(&home, words);
        assert!(!ran.stdout.contains("turn_end") && !ran.stderr.contains("turn_end"), "{ran:?}");
    }
    let log = log(&home);
    let turns = |event| named(&log, event).iter().map(|line| line["turnId"].clone()).collect::<Vec<_>>();
    assert_eq!((turns("turn_start").len(), turns("turn_start")), (3, turns("turn_end")));
    for (start, end) in named(&log, "turn_start").into_iter().zip(named(&log, "turn_end")) {
        assert_eq!((&start["model"], &start["sessionId"]), (&json!("offline/echo"), &json!("c-1")));
        assert!(
            start["messageCount"].is_u64() && end["durationMs"].is_u64() && end["toolCallCount"].is_u64()
        );
        let tokens = |name: &str| end[name].as_u64().unwrap();
        assert_eq!(tokens("totalTokens"), tokens("inputTokens") + tokens("outputTokens"), "{end}");
    }
    assert_eq!(named(&log, "turn_end")[1]["level"], "error");
}

#[test]
fn s14_2_and_s14_8_tool_outcomes_are_logged() {
    let home = home("");
    say(&home, "!tool memory_search {\"query\":\"Carol\"}\n!tool read_file {\"path\":\"nowhere.md\"}");
    say(&home, "!tool bash {\"command\":\"rm -rf /\"}");
    let log = log(&home);
    let calls: Vec<_> =
        named(&log, "tool_call").iter().map(|line| (&line["tool"], &line["isError"])).collect();
    assert_eq!(calls[..2], [(&json!("memory_search"), &json!(false)), (&json!("read_file"), &json!(true))]);
    assert!(
        named(&log, "tool_call").iter().all(|line| line["durationMs"].is_u64() && line["level"] == "info")
    );
    let [blocked] = named(&log, "tool_blocked")[..] else { panic!("{log:?}") };
    assert_eq!((&blocked["tool"], &blocked["level"]), (&json!("bash"), &json!("warn")));
    assert!(blocked["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{blocked}");
}

#[test]
fn s14_5_provider_errors_log_name_status_and_attempt() {
    let home = home("");
    say(&home, "!fail 429 times=2\nhello");
    let log = log(&home);
    let errors: Vec<_> = named(&log, "provider_error")
        .iter()
        .map(|line| json!([line["provider"], line["statusCode"], line["retryAttempt"], line["level"]]))
        .collect();
    assert_eq!(errors, [json!(["offline", 429, 0, "warn"]), json!(["offline", 429, 1, "warn"])]);
}

#[test]
fn s14_6_every_line_has_time_level_module_and_event() {
    let home = home("");
    say(&home, "!tool read_file {\"path\":\"a\\nb\\u0001\\\"c\\u2028\"}");
    let log = log(&home);
    assert!(log.len() > 4);
    for line in &log {
        let text = |name: &str| line[name].as_str().unwrap_or_else(|| panic!("{line}"));
        assert!(text("ts").len() == 24 && text("ts").ends_with('Z'), "{line}");
        assert!(["debug", "info", "warn", "error"].contains(&text("level")) && !text("module").is_empty());
        assert!(!text("event").is_empty());
    }
}

#[test]
fn s14_7_lines_below_the_level_are_not_written() {
    let home = home("logging: { level: error }\n");
    say(&home, "!fail 429 times=1\nhello");
    say(&home, "!fail 401");
    let levels: Vec<_> = log(&home).iter().map(|line| line["level"].clone()).collect();
    assert!(!levels.is_empty() && levels.iter().all(|level| level == "error"), "{levels:?}");
    let stored = home.succeed(&["export", "events"]);
    assert!(stored.contains("\"turn_started\""), "what is stored does not go by the level of the log");
}

#[test]
fn debug_lines_have_payloads_without_secrets() {
    let home = home("logging: { level: debug }\n");
    let secret = ["gh", "p_", "Zq8Rw3Tb6Yk1Lm5Xc9Vp2Hd7Gs4FnJzQ0eUi"].concat();
    say(&home, &format!("!tool bash {{\"command\":\"seq 1 2500; echo {secret}\"}}"));
    let log = log(&home);
    let [message] = named(&log, "message_payload")[..] else { panic!("{log:?}") };
    assert!(message["text"].to_string().contains("seq 1 2500"), "{message}");
    let requests = named(&log, "api_request");
    assert!(requests.len() >= 2 && requests.iter().all(|line| line["level"] == "debug"), "{requests:?}");
    assert!(requests[0]["system"].is_array() && requests[0]["messages"].to_string().contains("seq 1 2500"));
    assert!(named(&log, "api_response").iter().any(|line| line["content"].to_string().contains("\"bash\"")));
    let [output] = named(&log, "tool_output")[..] else { panic!("{log:?}") };
    let lines: Vec<&str> = output["output"].as_str().unwrap().lines().collect();
    assert!(["1", "1250", "2500"].iter().all(|line| lines.contains(line)), "{output}");
    assert_eq!((&output["tool"], &output["sessionId"]), (&json!("bash"), &json!("c-1")));
    let text = fs::read_to_string(home.path().join(LOG)).unwrap();
    assert!(text.contains("[REDACTED]") && !text.contains(&secret[4..]));
    // Payloads are only in log lines: stored events have no text.
    let stored = home.succeed(&["export", "events"]);
    assert!(!stored.contains("api_request") && !stored.contains("seq 1 2500"), "{stored}");
}

#[test]
fn payloads_are_in_no_line_at_level_info() {
    let home = home("");
    say(&home, "!tool bash {\"command\":\"echo hello\"}");
    let log = log(&home);
    for name in ["message_payload", "api_request", "api_response", "tool_output"] {
        assert!(named(&log, name).is_empty(), "{name}");
    }
}

#[test]
fn s14_9_file_is_rotated_daily_and_when_full() {
    let home = home("logging: { rotation: { max_size_mb: 1 } }\n");
    home.write(LOG, "{\"ts\":\"2026-01-02T10:00:00.000Z\",\"event\":\"of another day\"}\n");
    home.write(".foreword/logs/foreword.2001-01-01.log", "{}\n");
    home.write(".foreword/logs/notes.2001-01-01.log", "{}\n");
    // An expired file is deleted on rotation.
    say(&home, "!say hello");
    assert!(!named(&log(&home), "turn_end").is_empty());
    let today = log(&home)[0]["ts"].as_str().unwrap()[..10].to_owned();
    let filled = format!("{{\"ts\":\"{today}T00:00:00.000Z\",\"text\":\"{}\"}}\n", "x".repeat(1024 * 1024));
    home.write(LOG, filled);
    say(&home, "!say again");
    let names: Vec<String> =
        home.listing().into_iter().filter(|name| name.starts_with(".foreword/logs/f")).collect();
    assert_eq!(names, [format!(".foreword/logs/foreword.{today}.1.log"), LOG.to_owned()]);
    assert!(home.listing().contains(&".foreword/logs/notes.2001-01-01.log".to_owned()));
}

#[test]
fn s14_9_yesterdays_file_is_named_by_its_day() {
    let home = home("logging: { rotation: { max_days: 30000 } }\n");
    let old = "{\"ts\":\"2026-01-02T10:00:00.000Z\",\"event\":\"of another day\"}\n";
    home.write(LOG, old);
    say(&home, "!say hello");
    assert_eq!(fs::read_to_string(home.path().join(".foreword/logs/foreword.2026-01-02.log")).unwrap(), old);
    assert!(named(&log(&home), "of another day").is_empty());
}

#[test]
fn s14_10_secrets_are_in_no_line_or_event() {
    let home = home("logging: { redact: { patterns: ['CUST-\\d+'] } }\n");
    let secret = ["gh", "p_", "Zq8Rw3Tb6Yk1Lm5Xc9Vp2Hd7Gs4FnJzQ0eUi"].concat();
    say(&home, &format!("!tool read_file {{\"path\":\"{secret}\"}}"));
    say(&home, "!tool read_file {\"path\":\"password=hunter2-hunter2/CUST-4711\"}");
    home.run(&[
        "chat",
        "--conversation",
        &secret,
        &format!("!tool bash {{\"command\":\"rm -rf / {secret}\"}}"),
    ]);
    let text = fs::read_to_string(home.path().join(LOG)).unwrap();
    let stored = home.succeed(&["export", "events"]);
    for seen in [&text, &stored] {
        assert!(seen.contains("[REDACTED]"), "{seen}");
        for hidden in [&secret[4..], "hunter2", "CUST-4711"] {
            assert!(!seen.contains(hidden), "{hidden} is in {seen}");
        }
    }
    assert_eq!(fs::read(home.path().join(".foreword/mask-salt")).unwrap().len(), 16);
}

#[test]
fn log_file_is_configurable_and_unwritable_path_is_refused() {
    let elsewhere = home("logging: { file: ../outside.log }\n");
    say(&elsewhere, "!say hello");
    assert!(elsewhere.outside().join("outside.log").exists() && !elsewhere.path().join(LOG).exists());
    let nowhere = home("logging: { file: none }\n");
    say(&nowhere, "!say hello");
    assert!(!nowhere.path().join(".foreword/logs").exists());
    let blocked = home("");
    blocked.write(".foreword/logs", "a file where a folder should be");
    let said = blocked.refused(1, &["chat", "!say hello"]);
    assert!(said.contains("can't create the log folder `") && said.contains("`logging.file`"), "{said}");
}

#[test]
fn invalid_values_are_shown_with_caret() {
    let home = home("logging:\n  redact: { patterns: ['a(b'] }\n  rotation: { max_days: 0 }\n");
    let Ran { code, stdout: said, .. } = home.run(&["check"]);
    assert_eq!(code, 3);
    assert!(said.contains("`a(b` is not a valid pattern: unclosed group") && said.contains('^'), "{said}");
    assert!(said.contains("`logging.rotation.max_days` is 0, which is too small"), "{said}");
}

#[test]
fn run_logs_each_line_to_stdout_and_file() {
    let home = home("schedules:\n  digest: { cron: \"@daily\", prompt: \"!say done\" }\n");
    home.run(&["schedules", "run", "digest"]);
    let before = log(&home).len();
    let database = rusqlite::Connection::open(home.path().join(".foreword/foreword.db")).unwrap();
    database.execute("UPDATE schedules SET next_fire_at = '2020-01-01T00:00:00.000000Z'", []).unwrap();
    drop(database);
    let mut child = home.command(&["run"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut shown = Vec::new();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in out.by_ref().map_while(Result::ok) {
        shown.push(serde_json::from_str::<Value>(&line).unwrap_or_else(|error| panic!("{error}: {line}")));
        if shown.last().is_some_and(|line| line["event"] == "cron_end") {
            break;
        }
    }
    let status =
        std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    shown.extend(out.map_while(Result::ok).map(|line| serde_json::from_str::<Value>(&line).unwrap()));
    assert!(child.wait().unwrap().success());
    assert_eq!(shown, log(&home)[before..]);
    assert_eq!((named(&shown, "cron_start").len(), named(&shown, "cron_end").len()), (1, 1));
    assert_eq!(named(&shown, "cron_start")[0]["jobId"], "digest");
}

#[test]
fn log_level_reloads_and_the_rest_needs_restart() {
    let home = home("logging: { level: warn }\n");
    let mut child = home.command(&["run"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(errors.any(|line| line.contains("Ctrl-C stops")));
    let config = fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
    home.write("foreword.yaml", config.replace("{ level: warn }", "{ level: info, stdout: false }"));
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(out.any(|line| line.contains("\"restartNeeded\":true") && line.contains("config_reload")));
    home.write("foreword.yaml", format!("{config}inbox: {{ gather_seconds: 1 }}\n").replace("warn", "info"));
    assert!(out.any(|line| line.contains("\"level\":\"info\"") && line.contains("changedSections")));
    let status =
        std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    assert!(child.wait().unwrap().success());
}
