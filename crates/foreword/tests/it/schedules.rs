//! `foreword schedules` and `foreword run`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::program::{Home, PEOPLE};

const SCHEDULES: &str = "\
agent: { model: offline/echo }
schedules:
  heartbeat: { cron: \"*/30 * * * *\", heartbeat: true }
  digest: { cron: \"0 7 * * mon-fri\", time_zone: Europe/Berlin, prompt: \"!say All quiet.\", missed: skip }
  broken: { cron: \"@daily\", prompt: \"!fail 401\" }
  off: { cron: \"@weekly\", prompt: hello, enabled: false }
";

fn home() -> Home {
    Home::with(&[("foreword.yaml", &format!("{PEOPLE}{SCHEDULES}"))])
}

#[test]
fn schedules_are_listed_without_process_or_database() {
    let home = home();
    let list = home.succeed(&["schedules"]);
    for words in ["heartbeat", "0 7 * * mon-fri", "Europe/Berlin", "07:00", "disabled"] {
        assert!(list.contains(words), "{words}: {list}");
    }
    assert_eq!(list, home.succeed(&["schedules", "list"]));
    assert!(!home.listing().iter().any(|path| path.ends_with(".db")), "{:?}", home.listing());
    let json = home.json(&["--json", "schedules"]);
    let names: Vec<&str> =
        json["schedules"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["broken", "digest", "heartbeat", "off"]);
    let nothing = Home::new().run(&["schedules"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""));
    assert!(nothing.stderr.contains("schedules:"), "{}", nothing.stderr);
}

#[test]
fn one_schedule_is_shown_with_its_next_five_times() {
    let home = home();
    let shown = home.succeed(&["schedules", "show", "digest"]);
    assert_eq!(shown.lines().filter(|line| line.ends_with(" 07:00")).count(), 5, "{shown}");
    assert!(!shown.contains("Sat ") && !shown.contains("Sun "), "{shown}");
    assert!(shown.contains("missed") && shown.contains("skip") && shown.contains("alice"), "{shown}");
    let json = home.json(&["--json", "schedules", "show", "digest"]);
    assert_eq!(json["next"].as_array().unwrap().len(), 5);
    let refused = home.refused(1, &["schedules", "show", "digets"]);
    assert!(refused.contains("did you mean `digest`?"), "{refused}");
}

#[test]
fn schedule_run_prints_answer_and_is_recorded() {
    let home = home();
    let ran = home.run(&["schedules", "run", "digest"]);
    assert_eq!((ran.code, ran.stdout.trim()), (0, "All quiet."), "{}", ran.stderr);
    let failed = home.run(&["schedules", "run", "broken"]);
    assert_eq!(failed.code, 1);
    assert_eq!(failed.stderr.matches("401").count(), 1, "{}", failed.stderr);
    let skipped = home.run(&["schedules", "run", "heartbeat"]);
    assert_eq!((skipped.code, skipped.stdout.as_str()), (0, ""));
    assert!(skipped.stderr.contains("there is no HEARTBEAT.md"), "{}", skipped.stderr);
    home.refused(1, &["schedules", "run", "nothing"]);
    let list = home.json(&["--json", "schedules"]);
    let last = |name: &str| {
        let all = list["schedules"].as_array().unwrap();
        let found = all.iter().find(|one| one["name"] == name).unwrap();
        (found["last"]["outcome"].as_str().map(str::to_owned), found["consecutive_failures"].as_u64())
    };
    assert_eq!(last("digest"), (Some("done".to_owned()), Some(0)));
    assert_eq!(last("broken"), (Some("failed".to_owned()), Some(1)));
    assert_eq!(last("off"), (None, Some(0)));
    home.succeed(&["schedules", "run", "digest"]);
    let history = home.json(&["--json", "schedules", "history", "digest", "--limit", "5"]);
    let firings = history["firings"].as_array().unwrap();
    assert_eq!((firings.len(), &firings[0]["conversation"]), (2, &Value::from("schedule-digest")));
    let shown = home.succeed(&["schedules", "history", "broken"]);
    assert!(shown.contains("failed: ") && shown.contains("401"), "{shown}");
    home.refused(1, &["schedules", "history", "nothing"]);
}

#[test]
fn schedule_run_json_ends_with_the_outcome() {
    let home = home();
    let text = home.succeed(&["--json", "schedules", "run", "digest"]);
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["status"]), (&Value::from("cron_end"), &Value::from("done")));
}

#[test]
fn check_rejects_invalid_schedules_and_notes_missing_targets() {
    let home = Home::with(&[(
        "foreword.yaml",
        "schedules:\n  a: { cron: \"0 0 30 2 *\", tick: true }\n  b: { cron: \"* * * * * *\", tick: true }\n",
    )]);
    let refused = home.run(&["check"]).stdout;
    assert!(
        refused.contains("never fires") && refused.contains("more often than once a minute"),
        "{refused}"
    );
    let noted = Home::with(&[(
        "foreword.yaml",
        "schedules:\n  a: { cron: \"@daily\", workflow: mornign }\n  b: { cron: \"@daily\", heartbeat: true }\n",
    )]);
    let ran = noted.run(&["check"]);
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert!(ran.code == 0 && all.contains("`mornign`") && all.contains("HEARTBEAT.md"), "{all}");
}

/// `foreword run`, with its output.
fn running(home: &Home, args: &[&str]) -> Child {
    home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The first line of `lines` that contains `words`.
fn wait_for(lines: &mut impl Iterator<Item = std::io::Result<String>>, words: &str) -> String {
    let mut seen = Vec::new();
    for line in lines.by_ref().map_while(Result::ok) {
        if line.contains(words) {
            return line;
        }
        seen.push(line);
    }
    panic!("no `{words}` in {seen:?}");
}

#[test]
fn run_catches_up_reloads_and_stops() {
    let home = home();
    // Makes it due long ago.
    home.run(&["schedules", "run", "broken"]);
    let database = rusqlite::Connection::open(home.path().join(".foreword/foreword.db")).unwrap();
    let long_ago = "UPDATE schedules SET next_fire_at = '2020-01-01T00:00:00.000000Z' WHERE name = 'broken'";
    assert_eq!(database.execute(long_ago, []).unwrap(), 1);
    drop(database);
    let mut child = running(&home, &["run"]);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    wait_for(&mut lines, "Ctrl-C stops");
    wait_for(&mut lines, "broken fires");
    wait_for(&mut lines, "broken failed");
    home.write("foreword.yaml", format!("{PEOPLE}{SCHEDULES}  new: {{ cron: \"@daily\", prompt: hello }}\n"));
    wait_for(&mut lines, "foreword.yaml reloaded: schedules");
    let status =
        std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    wait_for(&mut lines, "stopping");
    assert!(child.wait().unwrap().success());
}

const ELSEWHERE: &str = "\
agent: { model: offline/echo }
schedules:
  short: { cron: \"@daily\", workflow: short }
  slow: { cron: \"@daily\", workflow: slow }
  life: { cron: \"@daily\", tick: true }
";

fn elsewhere() -> Home {
    let workflow = |name: &str, prompt: &str| {
        format!(
            "name: {name}\ndescription: Says something.\nsteps: [{{ name: say, prompt: \"{prompt}\" }}]\n"
        )
    };
    Home::with(&[
        ("foreword.yaml", &format!("{PEOPLE}{ELSEWHERE}")),
        ("workflows/short.yaml", &workflow("short", "!say Good morning.")),
        ("workflows/slow.yaml", &workflow("slow", "!wait 300s")),
    ])
}

#[test]
fn schedule_run_shows_workflow_output_and_tick_result() {
    let home = elsewhere();
    let ran = home.run(&["schedules", "run", "short"]);
    assert_eq!((ran.code, ran.stdout.trim()), (0, "Good morning."), "{}", ran.stderr);
    assert!(ran.stderr.contains("foreword workflows status run-short@"), "{}", ran.stderr);
    let ticked = home.run(&["schedules", "run", "life"]);
    assert!(ticked.code == 0 && ticked.stderr.contains("autonomous turn"), "{}", ticked.stderr);
}

#[test]
fn interrupted_workflow_explains_how_to_resume() {
    let home = elsewhere();
    let mut child = running(&home, &["schedules", "run", "slow"]);
    let firing = || home.json(&["--json", "schedules", "history", "slow"])["firings"][0].clone();
    while firing().is_null() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let status = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = wait_for(&mut lines, "interrupted");
    assert!(said.contains("foreword workflows resume run-slow@"), "{said}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let firing = firing();
    assert_eq!(
        (&firing["outcome"], &firing["error"]),
        (&Value::from("failed"), &Value::from("stopped by a user"))
    );
}
