//! `foreword logs`: events, their visibility, and `--follow`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::program::Home;
use crate::stored_data::postgres_database;

/// Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Two conversations: alice's with an error, and bob's.
fn two_conversations() -> Home {
    let home = Home::made_for("gateway");
    home.succeed(&["chat", "--conversation", "c-1", "!say hello"]);
    home.succeed(&["chat", "--conversation", "c-2", "--channel", "signal:bob", "!say hello"]);
    assert_eq!(home.run(&["chat", "--conversation", "c-1", "!fail 401"]).code, 1);
    home
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn events_are_shown_newest_last() {
    let home = two_conversations();
    let lines: Vec<String> = home.succeed(&["logs"]).lines().map(str::to_owned).collect();
    assert!(lines.iter().map(|line| &line[..23]).is_sorted(), "{lines:#?}");
    let error = lines.iter().find(|line| line.contains(" api_error ")).unwrap();
    assert!(
        error.contains(" error api_error        turn=") && error.contains(" session=c-1 user=alice"),
        "{error}"
    );
    assert!(lines.last().unwrap().contains(" error turn_completed   turn="), "{lines:#?}");
    let (date, _) = error.split_once(' ').unwrap();
    assert!(date.len() == 10 && date.starts_with("20"), "{error}");
    assert_eq!(home.succeed(&["logs", "--limit", "3"]).lines().collect::<Vec<_>>(), lines[lines.len() - 3..]);
    let events = json_lines(&home.succeed(&["--json", "logs"]));
    assert_eq!(events.len(), lines.len());
    assert!(events.iter().map(|event| event["id"].as_u64().unwrap()).is_sorted());
    assert_eq!(events.last().unwrap()["event_type"], "turn_completed");
}

#[test]
fn every_filter_works_and_type_aliases_are_accepted() {
    let home = two_conversations();
    let found = |args: &[&str]| json_lines(&home.succeed(&[&["--json", "logs"], args].concat()));
    let all = found(&[]).len();
    assert_eq!(found(&["--type", "turn_started"]), found(&["--type", "turn_start"]));
    assert_eq!(found(&["--type", "turn_started"]).len(), 3);
    assert_eq!(found(&["--level", "error"]).len(), 2);
    assert_eq!(found(&["--level", "debug"]).len(), all);
    assert!(found(&["--session", "c-2"]).iter().all(|event| event["session_id"] == "c-2"));
    assert!(found(&["--user", "bob"]).iter().all(|event| event["user_id"] == "bob"));
    assert!(!found(&["--user", "bob"]).is_empty());
    assert_eq!(found(&["--channel", "signal:bob", "--type", "turn_started"]).len(), 1);
    let turn =
        found(&["--type", "turn_started", "--session", "c-2"])[0]["turn_id"].as_str().unwrap().to_owned();
    assert!(found(&["--turn", &turn]).iter().all(|event| event["turn_id"] == turn.as_str()));
    assert_eq!((found(&["--since", "1h"]).len(), found(&["--until", "1h"]).len()), (all, 0));
}

#[test]
fn unknown_names_get_suggestions() {
    let home = two_conversations();
    let refused = home.refused(2, &["logs", "--level", "eror"]);
    assert!(
        refused.contains("unknown level `eror`") && refused.contains("did you mean `error`?"),
        "{refused}"
    );
    for (args, expected) in [
        (["--type", "turn_strat"], "unknown event type `turn_strat`: did you mean `turn_start`?"),
        (["--user", "alcie"], "unknown user `alcie`: did you mean `alice`?"),
        (["--session", "c-99"], "no matching events"),
    ] {
        let ran = home.run(&[&["logs"], &args[..]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{args:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
    home.refused(2, &["logs", "--since", "soon"]);
    home.refused(2, &["logs", "--session", "two words"]);
}

#[test]
fn other_users_see_only_their_own_conversation() {
    let home = two_conversations();
    let bob = ["--json", "logs", "--as", "bob", "--at", "signal:bob"];
    assert_eq!(home.succeed(&bob), "");
    let own = json_lines(&home.succeed(&[&bob[..], &["--conversation", "c-2"]].concat()));
    assert!(!own.is_empty() && own.iter().all(|event| event["session_id"] == "c-2"), "{own:#?}");
    assert_eq!(home.succeed(&[&bob[..], &["--conversation", "c-1"]].concat()), "");
    assert_eq!(home.succeed(&[&bob[..], &["--conversation", "c-2", "--session", "c-1"]].concat()), "");
}

#[test]
fn logs_without_events_create_no_database() {
    let home = Home::made_for("gateway");
    let before = home.listing();
    let ran = home.run(&["logs"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("start a conversation with `foreword chat`"), "{}", ran.stderr);
    assert_eq!(home.listing(), before);
}

/// `foreword logs --follow`, and its output.
struct Following {
    child: Child,
    lines: Receiver<String>,
}

impl Following {
    fn start(home: &Home, args: &[&str]) -> Self {
        Self::of(home.command(&[&["--json", "logs", "--follow"], args].concat()))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (sender, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            out.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
        Self { child, lines }
    }

    /// Waits for an event of that type in that conversation.
    fn wait_for(&self, event_type: &str, session: &str) {
        loop {
            let line = self.lines.recv_timeout(TIMEOUT).unwrap();
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event_type"] == event_type && event["session_id"] == session {
                return;
            }
        }
    }

    /// Sends Ctrl-C and returns the exit code.
    fn stop(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

#[test]
fn events_of_another_process_are_followed_until_ctrl_c() {
    let home = Home::made_for("gateway");
    home.succeed(&["chat", "--conversation", "c-1", "!say hello"]);
    let following = Following::start(&home, &["--limit", "1", "--type", "turn_end"]);
    following.wait_for("turn_completed", "c-1");
    home.succeed(&["chat", "--conversation", "c-2", "!say hello"]);
    following.wait_for("turn_completed", "c-2");
    // Pruning deletes the printed events, and ids start over.
    let database = Connection::open(home.path().join(".foreword/foreword.db")).unwrap();
    database.busy_timeout(TIMEOUT).unwrap();
    database.execute_batch("DELETE FROM events").unwrap();
    drop(database);
    std::thread::sleep(Duration::from_millis(1_500));
    home.succeed(&["chat", "--conversation", "c-3", "!say hello"]);
    following.wait_for("turn_completed", "c-3");
    assert_eq!(following.stop(), Some(0));
}

#[test]
fn events_of_another_process_on_postgres_are_followed() {
    let Some(url) = postgres_database("command_line_follows") else { return };
    let home = Home::made_for("gateway");
    let on_postgres = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("FOREWORD_STORE_URL", &url);
        command
    };
    let say = |conversation: &str| {
        let ran = on_postgres(&["chat", "--conversation", conversation, "!say hello"]).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    say("c-1");
    let following = Following::of(on_postgres(&["--json", "logs", "--follow", "--type", "turn_end"]));
    following.wait_for("turn_completed", "c-1");
    say("c-2");
    following.wait_for("turn_completed", "c-2");
    assert_eq!(following.stop(), Some(0));
}

#[test]
fn follow_waits_for_a_database() {
    let home = Home::made_for("gateway");
    let before = home.listing();
    let waiting = Following::start(&home, &[]);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(home.listing(), before);
    assert_eq!(waiting.stop(), Some(0));
    let following = Following::start(&home, &["--type", "turn_started"]);
    home.succeed(&["chat", "--conversation", "c-1", "!say hello"]);
    following.wait_for("turn_started", "c-1");
    assert_eq!(following.stop(), Some(0));
    assert_eq!(home.json(&["--json", "status"])["store"], json!("sqlite"));
}
