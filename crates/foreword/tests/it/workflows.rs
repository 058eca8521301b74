//! `foreword workflows`: list, show, run and past runs.

use crate::program::{Home, PEOPLE};

const LOOK_UP: &str = "\
name: look-up
description: Reads a note and says what it says.
parameters:
  - { name: note, required: true, description: Its path. }
  - { name: times, type: integer, default: 1 }
steps:
  - { name: ready, prompt: Get ready. }
  - { name: read, tool: memory_get, arguments: { path: '{{ note }}' } }
output: 'read {{ times }} times: {{ steps.read.output }}'
";

fn home() -> Home {
    Home::with(&[
        ("foreword.yaml", &format!("agent: {{ name: Ada, model: offline/echo }}\n{PEOPLE}")),
        ("workflows/look-up.yaml", LOOK_UP),
        ("memory/private/boiler.md", "# Boiler\n\nServiced on 3 May.\n"),
    ])
}

/// The id of the only run.
fn only_run(home: &Home) -> String {
    let runs = home.json(&["--json", "workflows", "runs"]);
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1, "{runs}");
    runs["runs"][0]["run"].as_str().unwrap().to_owned()
}

#[test]
fn workflows_are_listed_and_shown_with_parameters() {
    let home = home();
    for words in [&["workflows"][..], &["workflows", "list"]] {
        let listed = home.succeed(words);
        assert!(listed.contains("look-up   note, times?  Reads a note"), "{listed}");
    }
    let shown = home.succeed(&["workflows", "show", "look-up"]);
    for line in [
        "  note (string, required): Its path.",
        "  times (integer, 1 by default)",
        "1. ready prompt\n   Get ready.",
        "2. read tool memory_get\n   {\"path\":\"{{ note }}\"}",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    let json = home.json(&["--json", "workflows"]);
    assert_eq!(json["workflows"][0]["parameters"][0]["name"], "note");
    let refused = home.refused(1, &["workflows", "show", "look_up"]);
    assert!(refused.contains("did you mean `look-up`?"), "{refused}");
    assert!(!home.path().join(".foreword").exists(), "looking makes no database");
}

#[test]
fn run_prints_steps_to_stderr_and_output_to_stdout() {
    let home = home();
    let ran = home.run(&["workflows", "run", "look-up", "note=private/boiler.md", "times=2"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("read 2 times: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("Serviced on 3 May.") && ran.stdout.ends_with('\n'), "{}", ran.stdout);
    assert!(ran.stderr.contains("1/2 ready prompt\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("2/2 read tool memory_get\n"), "{}", ran.stderr);
    let runs = home.succeed(&["workflows", "runs", "look-up"]);
    assert!(runs.contains("look-up   done") && runs.contains("alice"), "{runs}");
    assert!(home.run(&["workflows", "runs", "other"]).stderr.contains("No runs yet."));
    let status = home.succeed(&["workflows", "status", &only_run(&home)]);
    assert!(status.contains("1. ready done") && status.contains("2. read done"), "{status}");
}

#[test]
fn workflow_parameters_come_from_file_and_are_checked() {
    let home = home();
    home.write("given.yaml", "note: private/gone.md\ntimes: 3\n");
    let args = ["workflows", "run", "look-up", "note=private/boiler.md", "--parameters-file", "given.yaml"];
    let printed = home.succeed(&args);
    assert!(printed.starts_with("read 3 times: "), "{printed}");
    for (args, problem) in [
        (&["times=2"][..], "`note` (string) is missing"),
        (&["note=x", "tmes=2"], "`tmes` is not a parameter; did you mean `times`?"),
        (&["note=x", "times=two"], "`times` takes a whole number, not `two`"),
    ] {
        let args = [&["workflows", "run", "look-up"], args].concat();
        let refused = home.refused(2, &args);
        assert!(refused.contains(problem), "{refused}");
    }
    let refused = home.refused(1, &["workflows", "run", "lookup"]);
    assert!(refused.contains("did you mean `look-up`?"), "{refused}");
}

#[test]
fn failed_step_is_resumed() {
    let home = home();
    let args = ["workflows", "run", "look-up", "note=private/rent.md"];
    let ran = home.run(&args);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    let run = only_run(&home);
    assert!(ran.stderr.contains("look-up: step 2 of 2 (`read`): "), "{}", ran.stderr);
    assert!(ran.stderr.contains("(done before that: ready)"), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("`foreword workflows resume {run}`")), "{}", ran.stderr);
    let status = home.succeed(&["workflows", "status", &run]);
    assert!(status.contains("1. ready done") && status.contains("2. read failed"), "{status}");

    home.write("memory/private/rent.md", "# Rent\n\nDue on the first.\n");
    let ran = home.run(&["workflows", "resume", &run]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("Due on the first."), "{}", ran.stdout);
    assert!(!ran.stderr.contains("1/2"), "what was done is not done again: {}", ran.stderr);
    let status = home.succeed(&["workflows", "status", &run]);
    assert!(status.contains("2. read done, try 2") && status.contains("failed earlier:"), "{status}");
    let refused = home.refused(1, &["workflows", "resume", &run]);
    assert!(refused.contains("there is nothing to resume"), "{refused}");
    let refused = home.refused(1, &["workflows", "resume", "run-0"]);
    assert!(refused.contains("foreword workflows runs"), "{refused}");
}

#[test]
fn workflow_run_json_is_one_document() {
    let home = home();
    let end = home.json(&["--json", "workflows", "run", "look-up", "note=private/boiler.md"]);
    assert_eq!((&end["outcome"], &end["steps"][1]["done"]), (&"done".into(), &true.into()));
    let ran = home.run(&["--json", "workflows", "run", "look-up", "note=private/rent.md"]);
    let end: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &end["outcome"]), (1, &"failed".into()));
    let status = home.json(&["--json", "workflows", "status", end["run"].as_str().unwrap()]);
    assert_eq!((&status["state"], &status["steps"][0]["name"]), (&"failed".into(), &"ready".into()));
}

#[test]
fn bob_runs_with_bobs_trust() {
    let home = home();
    home.write(
        "workflows/pay.yaml",
        "name: pay\ndescription: Pays.\ntrust: full\nsteps: [{ prompt: Pay. }]\n",
    );
    let refused = home.refused(1, &["workflows", "run", "pay", "--user", "bob"]);
    assert!(refused.contains("there is no workflow `pay`. There are: look-up"), "{refused}");
    let ran = home.run(&["workflows", "run", "look-up", "note=private/boiler.md", "--user", "bob"]);
    assert_eq!(ran.code, 1);
    assert!(!ran.stderr.contains("3 May"), "{}", ran.stderr);
}

#[test]
fn check_reports_unknown_tools_and_workflow_cycles() {
    let home = home();
    let step = |tool: &str| format!("steps: [{{ tool: {tool} }}]\n");
    let head = |name: &str| format!("name: {name}\ndescription: Does it.\n");
    home.write("workflows/a.yaml", format!("{}{}", head("a"), step("memory_serach")));
    home.write("workflows/b.yaml", format!("{}{}", head("b"), step("files__read")));
    let calls = "steps: [{ tool: workflow_run, arguments: { name: ";
    home.write("workflows/c.yaml", format!("{}{calls}lok-up }} }}]\n", head("c")));
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("there is no tool `memory_serach`"), "{}", ran.stdout);
    assert!(ran.stdout.contains("--> workflows/a.yaml:3:17"), "{}", ran.stdout);
    assert!(ran.stdout.contains("there is no workflow `lok-up`"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("files__read"), "{}", ran.stdout);
    home.write("workflows/c.yaml", format!("{}{calls}c }} }}]\n", head("c")));
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stdout.contains("the workflow `c` would run itself: c → c"), "{}", ran.stdout);
}

#[test]
fn example_of_a_new_workspace_runs() {
    for (blueprint, args) in [
        ("vm", &["workflows", "run", "disk-report", "path=/srv"][..]),
        ("gateway", &["workflows", "run", "weekly-review", "focus=money"]),
    ] {
        let home = Home::made_for(blueprint);
        let ran = home.run(args);
        assert_eq!(ran.code, 0, "{blueprint}: {}", ran.stderr);
        assert!(ran.stderr.contains("3/3 ") && !ran.stdout.is_empty(), "{}", ran.stderr);
    }
}
